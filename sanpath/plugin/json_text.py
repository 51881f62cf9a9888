"""JSON that others have written: what cannot be read is one kind of error, and takes no more than its size allows."""

from __future__ import annotations

import json
from typing import Any

_OBJECT_BYTES, _LIST_BYTES = 200, 96
"""What Python takes for an object of one key and for a list of one value (CPython 3.11 to 3.13, measured)."""
_TIMES_AS_MUCH, _ALWAYS_BYTES = 18, 4 << 20
"""A text may take so many times its size, whatever its size so much. Answers of devices take 3 to 6 times theirs."""


def read_json(text: str | bytes) -> Any:
    """What a JSON text says.

    Raises ValueError: it is no JSON, is nested deeper than Python reads, has a number of thousands of digits, or is
    made of so many small objects and lists that they would take many times its size.

    >>> read_json(b'{"paths": [1, 2]}')
    {'paths': [1, 2]}
    """
    if isinstance(text, str):
        objects, lists = text.count("{"), text.count("[")
    else:
        objects, lists = text.count(b"{"), text.count(b"[")
    if objects * _OBJECT_BYTES + lists * _LIST_BYTES > _ALWAYS_BYTES + _TIMES_AS_MUCH * len(text):
        raise ValueError("has more objects and lists than its size accounts for")
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("is nested too deep") from error
