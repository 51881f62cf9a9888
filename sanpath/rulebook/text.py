"""Helps with messages: suggests similar names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return `; did you mean 'utilisation'?`, or an empty string if no name is similar."""
    # difflib's default cutoff of 0.6 misses truncated words: "utill" against "utilisation" scores 0.5.
    similar = get_close_matches(name, list(names), n=1, cutoff=0.45)
    return f"; did you mean {similar[0]!r}?" if similar else ""
