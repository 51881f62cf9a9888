"""Helps with messages: suggests similar names, and makes untrusted names printable."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return `; did you mean 'utilisation'?`, or an empty string if no name is similar."""
    # difflib's default cutoff of 0.6 misses truncated words: "utill" against "utilisation" scores 0.5.
    similar = get_close_matches(name, list(names), n=1, cutoff=0.45)
    return f"; did you mean {similar[0]!r}?" if similar else ""


def printable(text: str) -> str:
    """Return the text with control characters replaced: names come from devices and from files of others, and would
    reach the terminal."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
