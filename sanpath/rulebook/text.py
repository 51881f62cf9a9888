"""Words for messages: what was probably meant, and names that may hold anything."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'utilisation'?`, or an empty string when nothing comes near."""
    # difflib's own cutoff of 0.6 misses cut-off words: "utill" against "utilisation" scores 0.5.
    near = get_close_matches(name, list(known), n=1, cutoff=0.45)
    return f"; did you mean {near[0]!r}?" if near else ""


def printable(text: str) -> str:
    """The text with a mark for every control character: names come from devices and files of others."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
