"""Texts that messages about a machine have in common."""

from __future__ import annotations

from collections.abc import Sequence

_MAX_NAMES = 8
"""Number of names that a message lists."""


def name_list(names: Sequence[str]) -> str:
    """The first names, and the number of the others.

    >>> name_list(["sda", "sdb"]), name_list(list("abcdefghij"))
    ('sda, sdb', 'a, b, c, d, e, f, g, h and 2 more')
    """
    remaining = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {remaining} more" if remaining > 0 else "")


def quantity(count: int, noun: str) -> str:
    """A count with its noun: "1 path", "2 paths"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
