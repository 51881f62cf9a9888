"""The result that a load generator prints when it ends, read as that of a load that sanpath started."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from sanpath.errors import CollectorError
from sanpath.model import Event, Rows, SourceEntity, SourceLink
from sanpath.plugin.collector import Item
from sanpath.plugin.load import LoadReader, WrappedCommand
from sanpath.plugin.result_reader import ResultReader, warning


class PrintedResult(LoadReader):
    """Reads the result that a generator prints at its end, with the reader of its result files.

    The last figure is placed at the end of the output, minus the unmeasured time at the end, and the others by their
    distance from it: the clock of the generator's machine is not needed. Samples of that machine have the load as
    their entity, and other information about it is left out: the recorder knows it by the name under which it was
    reached. A subclass sets `reader` and the `name` of the load.
    """

    reader: ClassVar[type[ResultReader]]
    name: ClassVar[str]

    def __init__(self, load: str | None = None) -> None:
        super().__init__(load or self.name)
        self._result = self.reader(self.load)
        self._items: list[Item] = []

    @classmethod
    def wrap(cls, argv: Sequence[str]) -> WrappedCommand:
        """Return the command as it is."""
        return WrappedCommand(tuple(argv))

    def feed(self, added: bytes, seen_us: int) -> Iterable[Item]:  # noqa: ARG002 - the base class' signature
        """Collect the next bytes; nothing is recorded before the end."""
        self._items += self._result.feed(added)
        return ()

    def finish(self, seen_us: int) -> Iterator[Item]:
        """Yield the items of the result, or a warning that there is none."""
        try:
            self._items += self._result.finish()
        except CollectorError as error:
            yield warning(seen_us, "no-result", str(error))
            return
        shift_us = seen_us - self._result.idle_end_us - max(map(_last_us, self._items), default=seen_us)
        for item in self._items:
            if _is_of_machine(item):
                continue
            if isinstance(item, Rows):
                entity = [self.load] * len(item.entity) if item.table.kind == "host" else item.entity
                yield replace(item, entity=entity, seen=[time_us + shift_us for time_us in item.seen])
            else:
                yield replace(item, seen=item.seen + shift_us) if isinstance(item, Event) else item

    def passthrough(self) -> bytes:
        """Return nothing: the output is the result itself."""
        return b""


def _last_us(item: Item) -> int:
    if isinstance(item, Rows):
        return max(item.seen, default=0)
    return item.seen if isinstance(item, Event) else 0


def _is_of_machine(item: Item) -> bool:
    match item:
        case SourceEntity():
            return item.kind == "host"
        case SourceLink():
            return "host" in (item.from_end[0], item.to_end[0])
        case _:
            return False
