"""Converts rows of the inventory, events and polls to objects. The rows may come from an untrusted recording.

Every function raises one of MALFORMED for an invalid row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sanpath.catalogue.catalogue import attributes
from sanpath.model import Event, Poll, Scalar, SourceEntity, SourceLink

MALFORMED = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
EARLIEST_US, LATEST_US = -62_135_596_800_000_000, 253_402_300_799_000_000
"""The limits of Python's dates: microseconds since the epoch at the start of the year 1 and the end of 9999."""
MAX_ROWS = {"events": 200_000, "inventory": 1_000_000, "polls": 2_000_000}
"""Maximum rows that are read from a table: a day of fifty sources has a million polls.

A Parquet file of some kilobytes can hold millions of equal rows, each of which becomes an object.
"""
MAX_NUMBER = 2**64
"""Limit of the numbers in a document: no counter has more than 64 bits."""


class PartlyMalformedError(ValueError):
    """A part of a row is left out. `result`: the parsed rest of the row; `part`: a name for people."""

    def __init__(self, result: Any, part: str) -> None:
        super().__init__(part)
        self.result, self.part = result, part


def checked_time(us: Any) -> int:
    """Return a time in microseconds after checking its limits."""
    if not isinstance(us, int) or not EARLIEST_US <= us <= LATEST_US:
        raise ValueError("no time")
    return us


def parse_inventory_row(row: Mapping[str, Any]) -> tuple[str, int, SourceEntity | SourceLink]:
    """Return (source, seen, entity or link) of a row of the inventory.

    Raises PartlyMalformedError for an entity with impossible attributes, which are dropped.
    """
    source, seen = checked_text(row["source"]), checked_time(row["seen"])
    if row["kind"] is not None:
        texts = checked_text(row["kind"]), checked_text(row["local_id"]), checked_text(row["label"])
        known, wrong = _attributes(texts[0], row["attributes"])
        result = source, seen, SourceEntity(*texts, _identifiers(row["ids"]), known)
        if wrong:
            raise PartlyMalformedError(result, f"{texts[0]}: {wrong}")
        return result
    ends = (
        (checked_text(row["from_kind"]), checked_text(row["from_id"])),
        (checked_text(row["to_kind"]), checked_text(row["to_id"])),
    )
    return source, seen, SourceLink(checked_text(row["relation"]), *ends, checked_text(row["evidence"]))


def event(row: Mapping[str, Any]) -> Event:
    """Return the event of a row."""
    checked_text(row["source"])
    return Event(checked_time(row["seen"]), checked_text(row["name"]), details(row["detail"]))


def poll(row: Mapping[str, Any]) -> Poll:
    """Return the poll of a row."""
    poll = Poll(**row)
    for name in ("source", "outcome", "failure", "message"):
        checked_text(getattr(poll, name))
    for name in ("due", "started", "ended"):
        checked_time(getattr(poll, name))
    return poll


def details(text: str) -> dict[str, Scalar]:
    """Parse a JSON object of scalars whose numbers are finite and no larger than a 64-bit counter."""
    details = json.loads(text)
    if not isinstance(details, dict):
        raise TypeError("no object")
    for value in details.values():
        if isinstance(value, int | float):
            if not abs(value) < MAX_NUMBER:  # NaN fails every comparison.
                raise ValueError("a number out of range")
        elif value is not None and not isinstance(value, str):
            raise TypeError("no scalar")
    return details


@lru_cache
def _attributes(kind: str, text: str) -> tuple[Mapping[str, Scalar], str]:
    """Parse the attributes of an entity. Returns the attributes, and the names of those whose value the catalogue
    does not allow.

    They are cached, because many ports have the same ones.
    """
    reported, known = details(text), attributes().get(kind, {})
    wrong = sorted(name for name, value in reported.items() if name in known and not known[name].accepts(value))
    return reported | dict.fromkeys(wrong), ", ".join(wrong)


def _identifiers(text: str) -> dict[str, tuple[str, ...]]:
    identifiers = json.loads(text)
    if not all(isinstance(values, list) for values in identifiers.values()):
        raise TypeError("no lists")
    return {key: tuple(map(checked_text, values)) for key, values in identifiers.items()}


def checked_text(value: Any) -> str:
    """Return a value that is a text. Raises TypeError for any other."""
    if not isinstance(value, str):
        raise TypeError("no text")
    return value
