"""The small seeds of every target anew, from the recorded ones: python -m tests.fuzz.reduction [TARGET ...]

A part of an input is left out when what stays takes the same steps. Of functions those calls are kept that were seen
when the recorded devices were asked and the recorded files read.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from tests.fuzz.coverage import Step, reached
from tests.fuzz.functions import BETWEEN
from tests.fuzz.seeds import keep
from tests.fuzz.target import Target
from tests.fuzz.targets import TARGETS

T = TypeVar("T")
SECONDS = 20.0
"""For one input."""
_LARGEST = 64 << 10


def reduced(target: Target, seed: bytes, wanted: frozenset[Step]) -> bytes:
    """The shortest found that takes the steps that are wanted."""
    until = time.monotonic() + SECONDS

    def enough(given: bytes) -> bool:
        return time.monotonic() < until and wanted <= reached(partial(target.run, given))

    head, mark, body = seed.partition(b"\n") if target.headed else (b"", b"", seed)
    body, between, others = body.partition(BETWEEN) if target.headed else (body, b"", b"")
    tail = between + others
    document = None
    with contextlib.suppress(ValueError):
        document = json.loads(body)
    if isinstance(document, dict | list):
        whole = head + mark + json.dumps(document).encode() + tail
        if enough(whole):
            return (
                _document(document, lambda d: enough(head + mark + json.dumps(d).encode() + tail), head + mark) + tail
            )
    lines = _fewer(body.splitlines(keepends=True), lambda parts: enough(head + mark + b"".join(parts) + tail))
    words = re.split(rb"(?<=[,>])", b"".join(lines))
    return head + mark + b"".join(_fewer(words, lambda parts: enough(head + mark + b"".join(parts) + tail))) + tail


def _document(document: Any, enough: Callable[[Any], bool], before: bytes) -> bytes:
    """A JSON document without the entries that are not needed, the outermost first."""
    holder = [document]
    todo: list[tuple[Any, Any]] = [(holder, 0)]
    while todo:
        above, key = todo.pop(0)
        here = above[key]
        if isinstance(here, list):

            def listed(entries: Sequence[Any], above: Any = above, key: Any = key) -> bool:
                above[key] = list(entries)
                return enough(holder[0])

            above[key] = _fewer(here, listed)
            todo += [(above[key], place) for place in range(len(above[key]))]
        elif isinstance(here, dict):

            def keyed(entries: Sequence[tuple[str, Any]], above: Any = above, key: Any = key) -> bool:
                above[key] = dict(entries)
                return enough(holder[0])

            above[key] = dict(_fewer(list(here.items()), keyed))
            todo += [(above[key], name) for name in above[key]]
    return before + json.dumps(holder[0]).encode()


def _fewer(parts: list[T], enough: Callable[[list[T]], bool]) -> list[T]:
    """Without the runs of them that are not needed, long ones first (delta debugging)."""
    size = len(parts) // 2
    while size:
        at = 0
        while at < len(parts):
            without = parts[:at] + parts[at + size :]
            if enough(without):
                parts = without
            else:
                at += size
        size //= 2
    enough(parts)  # leaves what was found in its place
    return parts


def chosen(target: Target, seeds: Sequence[bytes]) -> Iterator[tuple[bytes, frozenset[Step]]]:
    """Those that take steps that no shorter one takes, with these steps."""
    known: set[Step] = set()
    for seed in sorted(set(seeds), key=lambda seed: (len(seed), seed)):
        found = reached(partial(target.run, seed)) - known
        if found or not known:
            known |= found
            yield seed, found


def main(names: list[str]) -> None:
    for target in TARGETS:
        if not target.reducible or (names and target.name not in names):
            continue
        began, whole = time.monotonic(), [seed[:_LARGEST] for seed in target.recorded()]
        target.failure(whole[0])  # what is loaded and remembered at the first call is not the input's
        found = [reduced(target, seed, wanted) for seed, wanted in chosen(target, whole)]
        keep(target.name, set(found))
        spent = time.monotonic() - began
        print(
            f"{target.name}: {len(whole)} of {sum(map(len, whole)):,} bytes, now {len(set(found))} of "
            f"{sum(map(len, set(found))):,}, {spent:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
