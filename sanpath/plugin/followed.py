"""A source that is a growing file: what is added to it is read at every poll."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from sanpath.errors import CollectorError, Failure
from sanpath.model import Event, Rows, SourceEntity, SourceLink
from sanpath.plugin.collector import Check, Collector, Item
from sanpath.plugin.config import SourceConfig
from sanpath.plugin.connections import Context
from sanpath.plugin.result import ResultReader

_PART = 1 << 20
_HEAD = 1 << 16


class FollowedFileConfig(SourceConfig):
    """A file on this machine that something else is writing."""

    path: Path = Field(description="the file; it may begin to exist later")
    host: str | None = Field(
        default=None, min_length=1, description="what people call the machine that writes it, as in the topology"
    )
    every_seconds: float = Field(default=1.0, gt=0, description="seconds between looks at the file")


class FollowedFile(Collector[FollowedFileConfig]):
    """Follows a file with the reader that a subclass names.

    What the file held before the run is read for its header and its things; its samples and marks belong to no step
    of this run and are dropped. A sample is seen when it is read, and its device time is the file's.
    """

    runs_in = "thread"
    reader: ClassVar[type[ResultReader]]

    def __init__(self, config: FollowedFileConfig) -> None:
        super().__init__(config)
        self._reader = self._new_reader()
        self._offset = 0
        self._things: dict[object, SourceEntity | SourceLink] = {}
        self._lag_us: int | None = None

    def _new_reader(self) -> ResultReader:
        return self.reader(self.config.name)

    async def open(self, ctx: Context) -> None:
        """Read what there is. Raises CollectorError: UNREADABLE when it is another kind of file."""
        self._reader, self._offset, self._lag_us = self._new_reader(), 0, None
        head = await ctx.files.read_from(str(self.config.path), 0, _HEAD)
        if head and not self.reader.recognises(head, self.config.path.name):
            raise CollectorError(
                Failure.UNREADABLE, f"{self.config.path.name}: is no file of {self.config.collector}"
            )
        async for _ in self._added(ctx):
            pass

    async def check(self, ctx: Context) -> Check:
        """Whether the file is there."""
        if await ctx.files.read_from(str(self.config.path), 0, 1) is None:
            gone = f"{self.config.path} is not there yet"
            return Check(self.config.path.name, unreadable=(f"{gone}: nothing is known until it is",))
        return Check(f"{self.config.path.name}, {self._offset:,} bytes so far")

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:  # noqa: ARG002 - the base class' signature
        """What the file has told of so far, and the host it was written on."""
        for item in list(self._things.values()):
            yield item
        if self.config.host is not None:
            yield SourceEntity("host", self.config.host, self.config.host, {"name": (self.config.host,)})
            for thing in list(self._things.values()):
                if isinstance(thing, SourceEntity) and thing.kind in ("load", "lun"):
                    relation = "runs_on" if thing.kind == "load" else "attached_to"
                    yield SourceLink(
                        relation, (thing.kind, thing.local_id), ("host", self.config.host), "configuration"
                    )

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """What was added."""
        added = [item async for item in self._added(ctx)]
        now = ctx.clock.now_us()
        if newest := max((moment for item in added if isinstance(item, Rows) for moment in item.seen), default=None):
            # What was written last cannot be from the future: the smallest lag comes nearest to that of the clocks.
            self._lag_us = min(now - newest, self._lag_us if self._lag_us is not None else now - newest)
        for item in added:
            match item:
                case Rows():
                    yield replace(item, seen=[now] * len(item.seen), device_time=list(item.seen))
                case Event():
                    yield replace(item, seen=now if self._lag_us is None else item.seen + self._lag_us)
                case _:
                    yield item

    async def _added(self, ctx: Context) -> AsyncIterator[Item]:
        while part := await ctx.files.read_from(str(self.config.path), self._offset, _PART):
            self._offset += len(part)
            for item in self._reader.feed(part):
                if isinstance(item, SourceEntity):
                    self._things[item.kind, item.local_id] = item
                elif isinstance(item, SourceLink):
                    self._things[item] = item
                yield item
