"""Which steps of the code an input takes: what is kept of seeds, and what an input is worth."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

Step = tuple[int, int, int]
"""Code object, line, and the line before it in the same call."""


def _ours(filename: str) -> bool:
    return "/tests/" not in filename and ("/sanpath/" in filename or "/sanpath_collectors/" in filename)


def reached(work: Callable[[], object]) -> frozenset[Step]:
    """The steps of sanpath's own code that a call takes; what it raises is left out."""
    found: set[Step] = set()

    def entered(frame: FrameType, _event: str, _argument: Any) -> Any:
        code = frame.f_code
        if not _ours(code.co_filename):
            return None
        here, last = id(code), 0

        def stepped(frame: FrameType, event: str, _argument: Any) -> Any:
            nonlocal last
            if event == "line":
                found.add((here, frame.f_lineno, last))
                last = frame.f_lineno
            return stepped

        return stepped

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        work()
    except Exception:
        return frozenset(found)
    finally:
        sys.settrace(before)
    return frozenset(found)
