"""YAML that others have written: the library is loaded by whoever reads some, not by every collector."""

from __future__ import annotations

from typing import Any


def read_yaml(text: str) -> Any:
    """What a YAML text says. Raises ValueError, of one line: it is no YAML, or more than anybody writes."""
    from sanpath import yaml_text

    return yaml_text.read_yaml(text)
