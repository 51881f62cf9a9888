"""Reads untrusted JSON and YAML: memory is bounded by the size of the text, and any field may be missing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

from sanpath.errors import CollectorError, Failure

_OBJECT_BYTES, _LIST_BYTES = 200, 96
"""Memory of an object with one key and of a list with one value (CPython 3.11 to 3.13, measured)."""
_MEMORY_PER_SIZE, _ALLOWANCE_BYTES = 18, 4 << 20
"""A text may take this multiple of its size, plus this allowance. Answers of devices take 3 to 6 times their size."""

_EXCERPT_BYTES = 200
_BETWEEN_ITEMS = re.compile(r"\s*,?\s*")

_ALWAYS_FITS = _ALLOWANCE_BYTES // _LIST_BYTES
"""Any text of this size fits: an object takes at least two characters, a list one (if it is not closed)."""


def read_json(text: str | bytes) -> Any:
    """Parse a JSON text.

    Raises ValueError: it is not JSON, is nested deeper than Python reads, has a number of thousands of digits, or
    consists of so many small objects and lists that they would take many times its size in memory.

    >>> read_json(b'{"paths": [1, 2]}')
    {'paths': [1, 2]}
    """
    if len(text) > _ALWAYS_FITS and _memory_bytes(text) > _ALLOWANCE_BYTES + _MEMORY_PER_SIZE * len(text):
        raise ValueError("has more objects and lists than its size accounts for")
    try:
        return from_json(text)
    except (ValueError, TypeError):
        pass  # It also refuses what Python's own parser accepts: half of a surrogate pair, or 200 levels and more.
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("is nested too deep") from error


def read_whole_items(text: str, begin: int) -> list[Any]:
    """Parse the complete items of a JSON list that may be cut off.

    `begin`: where the first item begins. Raises ValueError as read_json does for too many small objects.

    >>> read_whole_items('[{"a": 1}, {"b": 2}, {"c', 1)
    [{'a': 1}, {'b': 2}]
    """
    if len(text) > _ALWAYS_FITS and _memory_bytes(text) > _ALLOWANCE_BYTES + _MEMORY_PER_SIZE * len(text):
        raise ValueError("has more objects and lists than its size accounts for")
    items, decoder = [], json.JSONDecoder()
    try:
        while True:
            between = _BETWEEN_ITEMS.match(text, begin)
            item, begin = decoder.raw_decode(text, between.end() if between is not None else begin)
            items.append(item)
    except (ValueError, RecursionError):
        return items


def json_answer(body: bytes, request: str) -> Any:
    """Parse the answer to a request. Raises CollectorError, UNREADABLE with an excerpt, if it is not JSON."""
    try:
        return read_json(body)
    except ValueError as error:
        raise CollectorError(Failure.UNREADABLE, f"{request}: not JSON", excerpt(body)) from error


def json_object(value: object) -> dict[str, Any]:
    """Return an object of JSON; {} for anything else."""
    return value if isinstance(value, dict) else {}


def json_objects(value: object, or_one: bool = False) -> list[Mapping[str, Any]]:
    """Return the objects in a list of JSON; [] for anything else. `or_one`: a single object is a list of one.

    >>> json_objects([{"name": "fc1"}, None]), json_objects({"name": "fc1"}), json_objects({"name": "fc1"}, True)
    ([{'name': 'fc1'}], [], [{'name': 'fc1'}])
    """
    return [item for item in _listed(value, or_one) if isinstance(item, dict)]


def json_texts(value: object, or_one: bool = False) -> list[str]:
    """Return the texts in a list of JSON; [] for anything else. `or_one`: a single text is a list of one."""
    return [item for item in _listed(value, or_one) if isinstance(item, str)]


def _listed(value: object, or_one: bool) -> list[Any]:
    if isinstance(value, list):
        return value
    return [value] if or_one else []


def read_yaml(text: str) -> Any:
    """Parse a YAML text. Raises ValueError with a message of one line: it is not YAML, or exceeds the limits."""
    from sanpath.yaml_document import read_yaml as read  # PyYAML, which few collectors need

    return read(text)


def excerpt(body: bytes) -> str:
    """The beginning of an unreadable answer, for a message."""
    return body[:_EXCERPT_BYTES].decode("utf-8", "replace")


def _memory_bytes(text: str | bytes) -> int:
    """Return the memory of the objects and lists in a text."""
    if isinstance(text, str):
        return text.count("{") * _OBJECT_BYTES + text.count("[") * _LIST_BYTES
    return text.count(b"{") * _OBJECT_BYTES + text.count(b"[") * _LIST_BYTES
