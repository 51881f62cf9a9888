"""Texts that the messages of several collectors share."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.units import first_of

_MAX_NAMES = 8
"""Maximum names in a line of `sanpath check`."""


def name_list(names: Sequence[str], most: int = _MAX_NAMES, separator: str = ", ") -> str:
    """The first names, and the number of the others.

    >>> name_list(["sda", "sdb"]), name_list(["sda", "sdb", "sdc"], most=1)
    ('sda, sdb', 'sda and 2 more')
    """
    return first_of(names, most, separator)
