"""Rows of the tables beside the samples → things, links, events and polls; they may have been written by anybody.

Every function raises a kind of MALFORMED for a row that is of another form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sanpath.model import Event, Poll, Scalar, SourceEntity, SourceLink

MALFORMED = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
EARLIEST_US, LATEST_US = -62_135_596_800_000_000, 253_402_300_799_000_000
"""Microseconds since the epoch at the begin of the year 1 and the end of 9999: what a date can be written of."""
MOST = {"events": 200_000, "inventory": 1_000_000, "polls": 2_000_000}
"""Rows of a table that are taken: a day of fifty sources has a million polls. A Parquet file of some kilobytes can
hold millions of equal rows, and a reader makes of each an object."""
_LARGEST = 2**64


def moment(us: Any) -> int:
    """A time that can be."""
    if not isinstance(us, int) or not EARLIEST_US <= us <= LATEST_US:
        raise ValueError("no time")
    return us


def entity_or_link(row: Mapping[str, Any]) -> tuple[str, int, SourceEntity | SourceLink]:
    """(source, seen, thing or link) of a row of the inventory."""
    source, seen = _text(row["source"]), moment(row["seen"])
    if row["kind"] is not None:
        texts = _text(row["kind"]), _text(row["local_id"]), _text(row["label"])
        return source, seen, SourceEntity(*texts, _identifiers(row["ids"]), _attributes(row["attributes"]))
    ends = (_text(row["from_kind"]), _text(row["from_id"])), (_text(row["to_kind"]), _text(row["to_id"]))
    return source, seen, SourceLink(_text(row["relation"]), *ends, _text(row["evidence"]))


def event(row: Mapping[str, Any]) -> Event:
    """The event of a row."""
    _text(row["source"])
    return Event(moment(row["seen"]), _text(row["name"]), details(row["detail"]))


def poll(row: Mapping[str, Any]) -> Poll:
    """The account of a poll."""
    told = Poll(**row)
    for name in ("source", "outcome", "failure", "message"):
        _text(getattr(told, name))
    for name in ("due", "started", "ended"):
        moment(getattr(told, name))
    return told


def details(text: str) -> dict[str, Scalar]:
    """An object of scalars, its numbers finite and no larger than a counter."""
    told = json.loads(text)
    if not isinstance(told, dict):
        raise TypeError("no object")
    for value in told.values():
        if isinstance(value, int | float):
            if not abs(value) < _LARGEST:  # NaN is not less than anything.
                raise ValueError("no number that anything here can have")
        elif value is not None and not isinstance(value, str):
            raise TypeError("no scalar")
    return told


@lru_cache
def _attributes(text: str) -> Mapping[str, Scalar]:
    """Of a thing; those of many ports are the same."""
    return details(text)


def _identifiers(text: str) -> dict[str, tuple[str, ...]]:
    told = json.loads(text)
    if not all(isinstance(values, list) for values in told.values()):
        raise TypeError("no lists")
    return {key: tuple(map(_text, values)) for key, values in told.items()}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value
