"""Every input that ever broke something: a folder for each target, a file for each input."""

from __future__ import annotations

from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"


def broken(target: str) -> list[Path]:
    """The inputs that once broke a target."""
    return sorted((CORPUS / target.replace(" ", "-")).glob("*"))
