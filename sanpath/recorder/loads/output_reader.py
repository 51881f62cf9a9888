"""What a reader makes of a load's output is recorded, and what is meant for people is shown."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from sanpath.model import Event, Poll, Rows, Scalar
from sanpath.plugin import Clock, Item, LoadReader
from sanpath.recorder.sink import Sink
from sanpath.recorder.sources.background import in_background

PARSE_SECONDS = 30.0
"""How long a reader may take for a part of the output, at most a mebibyte."""

Through = Callable[[Item], Item]
"""What an item of the reader passes through before it is recorded."""


class OutputReading:
    """The output of one load as it grows. `source`: under which name it is recorded; `reader` None: nobody reads it,
    and all of it is shown."""

    def __init__(
        self, reader: LoadReader | None, source: str, clock: Clock, sink: Sink, through: Through | None = None
    ) -> None:
        self._reader, self._source, self._clock, self._sink = reader, source, clock, sink
        self._through = through or (lambda item: item)

    async def feed(self, added: bytes) -> None:
        """Take what was added."""
        if added and self._reader is not None:
            await self._take(partial(self._reader.feed, added))
        else:
            self.show(added)

    async def finish(self) -> None:
        """The load has ended."""
        if self._reader is not None:
            await self._take(self._reader.finish)

    def tell(self, text: str, recorded: bool) -> None:
        """Say something of the load to whoever looks, and if that is asked record it as well."""
        self.show(f"sanpath: {text}\n".encode())
        if recorded:
            self.event("data-warning", {"code": "output-not-kept", "text": text})

    def event(self, name: str, detail: Mapping[str, Scalar]) -> None:
        """Record what happened to the load."""
        now = self._clock.now_us()
        self._sink.take(self._source, now, Event(now, name, detail))

    def show(self, text: bytes) -> None:
        """Show what is meant for people."""
        # Losing the terminal does not end the test.
        with contextlib.suppress(OSError):
            if text:
                sys.stderr.buffer.write(text)
                sys.stderr.flush()

    async def _take(self, read: Callable[[int], Iterable[Item]]) -> None:
        """Record what the reader makes of the output; a reader that fails is given up, and the load goes on."""
        reader = self._reader
        assert reader is not None, "there is nobody to read"  # noqa: S101 - a misuse by this class itself
        seen = self._clock.now_us()

        items: list[Item] = []
        failure, text = "", b""

        def parse() -> bytes:
            for item in read(seen):
                items.append(item)  # noqa: PERF402 - what came before a failure counts
            return reader.passthrough()

        try:
            text = await in_background(parse, PARSE_SECONDS)
        except TimeoutError:
            failure = f"its output was not understood within {PARSE_SECONDS:.0f} s"
        except Exception as error:  # a defect in one reader must not end the test
            failure = f"{type(error).__name__}: {error}"[:300]
        rows = 0
        for item in tuple(items):
            self._sink.take(self._source, seen, self._through(item))
            rows += len(item.entity) if isinstance(item, Rows) else 0
        now = self._clock.now_us()
        if failure:
            self._reader = None
            self._sink.take(self._source, seen, Poll(self._source, seen, seen, now, "failed", "defect", failure))
        elif rows:
            self._sink.take(self._source, seen, Poll(self._source, seen, seen, now, "ok", rows=rows))
        self.show(text)
