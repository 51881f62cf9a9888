"""Records the items that a reader finds in a load's output, and shows its messages."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from sanpath.masking import masked_text
from sanpath.model import Event, Poll, Rows, Scalar
from sanpath.plugin import Clock, Item, LoadReader
from sanpath.recorder.sink import Sink
from sanpath.recorder.sources.background import run_in_background

PARSE_SECONDS = 30.0
"""How long a reader may take for a chunk of the output (at most 1 MiB)."""

ItemFilter = Callable[[Item], Item]
"""A function that each item of the reader passes before it is recorded."""


class OutputReading:
    """Reads the growing output of one load.

    `source`: the name under which its items are recorded. `reader` None: the output is only shown. `machine`: the
    host that the load runs on; None: unknown, and samples of it are left out.
    """

    def __init__(
        self,
        reader: LoadReader | None,
        source: str,
        clock: Clock,
        sink: Sink,
        item_filter: ItemFilter | None = None,
        machine: str | None = None,
    ) -> None:
        self._machine = machine
        self._reader, self._source, self._clock, self._sink = reader, source, clock, sink
        self._item_filter = item_filter or (lambda item: item)

    async def feed(self, added: bytes) -> None:
        """Take new output."""
        if added and self._reader is not None:
            await self._take(partial(self._reader.feed, added))
        else:
            self.show(added)

    async def finish(self) -> None:
        """Finish reading after the end of the load."""
        if self._reader is not None:
            await self._take(self._reader.finish)

    def report(self, text: str, is_recorded: bool) -> None:
        """Show a message about the load, and record it if `is_recorded`."""
        self.show(f"sanpath: {text}\n".encode())
        if is_recorded:
            self.event("data-warning", {"code": "output-not-kept", "text": text})

    def event(self, name: str, detail: Mapping[str, Scalar]) -> None:
        """Record an event of the load."""
        now = self._clock.now_us()
        self._sink.take(self._source, now, Event(now, name, detail))

    def show(self, text: bytes) -> None:
        """Show a text on standard error."""
        # A closed terminal must not end the test.
        with contextlib.suppress(OSError):
            if text:
                sys.stderr.buffer.write(text)
                sys.stderr.flush()

    def _with_machine_name(self, item: Item) -> Item | None:
        """Return the item; samples of the machine get its name. None: the machine is unknown."""
        if not isinstance(item, Rows) or item.table.kind != "host":
            return item
        return None if self._machine is None else replace(item, entity=[self._machine] * len(item.entity))

    async def _take(self, read: Callable[[int], Iterable[Item]]) -> None:
        """Record what the reader returns. A reader that fails is not used any more; the load goes on."""
        reader = self._reader
        assert reader is not None, "there is no reader"  # noqa: S101 - a misuse by this class itself
        seen_us = self._clock.now_us()

        items: list[Item] = []
        failure, shown = "", b""

        def parse() -> bytes:
            for item in read(seen_us):
                items.append(item)  # noqa: PERF402 - what came before a failure counts
            return reader.passthrough()

        try:
            shown = await run_in_background(parse, PARSE_SECONDS)
        except TimeoutError:
            failure = f"its output was not understood within {PARSE_SECONDS:.0f} s"
        except Exception as error:  # a defect in one reader must not end the test
            failure = masked_text(f"{type(error).__name__}: {error}")[:300]
        rows = 0
        placed = [self._with_machine_name(item) for item in tuple(items)]
        for item in (item for item in placed if item is not None):
            self._sink.take(self._source, seen_us, self._item_filter(item))
            rows += len(item.entity) if isinstance(item, Rows) else 0
        now = self._clock.now_us()
        if failure:
            self._reader = None
            self._sink.take(
                self._source, seen_us, Poll(self._source, seen_us, seen_us, now, "failed", "defect", failure)
            )
        elif rows:
            self._sink.take(self._source, seen_us, Poll(self._source, seen_us, seen_us, now, "ok", rows=rows))
        self.show(shown)
