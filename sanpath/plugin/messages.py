"""Texts that messages of several collectors have in common."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.units import first_of

_MOST_NAMES = 8
"""Names that fit into one line of `sanpath check`."""


def name_list(names: Sequence[str], most: int = _MOST_NAMES, separator: str = ", ") -> str:
    """The first names, and the number of the others.

    >>> name_list(["sda", "sdb"]), name_list(["sda", "sdb", "sdc"], most=1)
    ('sda, sdb', 'sda and 2 more')
    """
    return first_of(names, most, separator)


def quantity(count: int, noun: str) -> str:
    """A count with its noun.

    >>> quantity(1, "path"), quantity(2, "path")
    ('1 path', '2 paths')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"
