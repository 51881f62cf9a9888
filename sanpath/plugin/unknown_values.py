"""Combines values of which some may be unknown (None)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

_K = TypeVar("_K")
_T = TypeVar("_T")
_N = TypeVar("_N", int, float)


def without_none(values: Mapping[_K, _T | None]) -> dict[_K, _T]:
    """Return the entries with a known value.

    >>> without_none({"cores": 8, "memory_bytes": None})
    {'cores': 8}
    """
    return {name: value for name, value in values.items() if value is not None}


def common_value(values: Iterable[_T | None]) -> _T | None:
    """Return the value that all have in common; None if they differ, or one is unknown."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


def complete_sum(values: Iterable[_N | None]) -> _N | None:
    """Return the sum; None if a value is unknown, or there is none.

    >>> complete_sum([4, 8]), complete_sum([4, None]), complete_sum([])
    (12, None, None)
    """
    terms = list(values)
    known = [value for value in terms if value is not None]
    return sum(known) if known and len(known) == len(terms) else None
