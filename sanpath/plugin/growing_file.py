"""A source that is a growing file: every poll reads the lines that were appended."""

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
from sanpath.plugin.result_reader import HEAD_BYTES, ResultReader, warning

_MAX_CHUNK_BYTES = 1 << 20
"""Maximum bytes per read."""


class FollowedFileConfig(SourceConfig):
    """A file on this machine that another program is writing."""

    path: Path = Field(description="the file; it may begin to exist later")
    host: str | None = Field(
        default=None, min_length=1, description="name of the machine that writes it, as in the topology"
    )
    every_seconds: float = Field(default=1.0, gt=0, description="seconds between looks at the file")


class FollowedFile(Collector[FollowedFileConfig]):
    """Follows a file with the `reader` of a subclass.

    The content from before the run is read for its header and entities; its samples and marks belong to no step of
    this run and are dropped. A sample's `seen` is the time of reading, its device time is the file's.
    """

    runs_in = "thread"
    reader: ClassVar[type[ResultReader]]

    def __init__(self, config: FollowedFileConfig) -> None:
        super().__init__(config)
        self._reader = self._new_reader()
        self._offset = 0
        self._inventory: dict[object, SourceEntity | SourceLink] = {}
        self._lag_us: int | None = None

    def _new_reader(self) -> ResultReader:
        return self.reader(self.config.name)

    async def open(self, ctx: Context) -> None:
        """Read the present content. Raises CollectorError: UNREADABLE if it is another kind of file."""
        self._reader, self._offset, self._lag_us = self._new_reader(), 0, None
        head = await ctx.files.read_from(str(self.config.path), 0, HEAD_BYTES)
        if head and not self.reader.recognises(head, self.config.path.name):
            raise CollectorError(
                Failure.UNREADABLE,
                f"{self.config.path.name}: is not a file that collector {self.config.collector} follows",
            )
        async for _ in self._read_new_items(ctx):
            pass

    async def check(self, ctx: Context) -> Check:
        """Report whether the file exists, and its size so far."""
        if await ctx.files.read_from(str(self.config.path), 0, 1) is None:
            missing = f"{self.config.path} does not exist yet: nothing is known until it does"
            return Check(self.config.path.name, unreadable=(missing,))
        return Check(f"{self.config.path.name}, {self._offset:,} bytes so far")

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:  # noqa: ARG002 - the base class' signature
        """Yield the entities and links of the file so far, and the host on which it was written."""
        for item in list(self._inventory.values()):
            yield item
        if self.config.host is not None:
            yield SourceEntity("host", self.config.host, self.config.host, {"name": (self.config.host,)})
            for entity in list(self._inventory.values()):
                if isinstance(entity, SourceEntity) and entity.kind in ("load", "lun"):
                    relation = "runs_on" if entity.kind == "load" else "attached_to"
                    yield SourceLink(
                        relation, (entity.kind, entity.local_id), ("host", self.config.host), "configuration"
                    )

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """Yield the items appended since the last poll."""
        new_items = [item async for item in self._read_new_items(ctx)]
        if not new_items and await self._is_restarted(ctx):
            self._reader, self._offset, self._lag_us = self._new_reader(), 0, None
            text = f"{self.config.path.name} is shorter than before: it is read from its beginning"
            yield warning(ctx.clock.now_us(), "file-restarted", text)
            new_items = [item async for item in self._read_new_items(ctx)]
        now_us = ctx.clock.now_us()
        if newest_us := max((t for item in new_items if isinstance(item, Rows) for t in item.seen), default=None):
            # No sample can be from the future: the smallest lag is the best estimate of the clocks' difference.
            self._lag_us = min(now_us - newest_us, self._lag_us if self._lag_us is not None else now_us - newest_us)
        for item in new_items:
            match item:
                case Rows() if item.table.kind == "host" and not all(
                    ("host", e) in self._inventory for e in item.entity
                ):
                    # The file does not name its machine.
                    if self.config.host is not None:
                        machine_item = replace(item, entity=[self.config.host] * len(item.entity))
                        yield replace(machine_item, seen=[now_us] * len(item.seen), device_time=list(item.seen))
                case Rows():
                    yield replace(item, seen=[now_us] * len(item.seen), device_time=list(item.seen))
                case Event():
                    yield replace(item, seen=now_us if self._lag_us is None else item.seen + self._lag_us)
                case _:
                    yield item

    async def _is_restarted(self, ctx: Context) -> bool:
        """Whether the file is shorter than what was read: its writer has started it again."""
        last = max(0, self._offset - 1)
        return self._offset > 0 and await ctx.files.read_from(str(self.config.path), last, 1) == b""

    async def _read_new_items(self, ctx: Context) -> AsyncIterator[Item]:
        while chunk := await ctx.files.read_from(str(self.config.path), self._offset, _MAX_CHUNK_BYTES):
            self._offset += len(chunk)
            for item in self._reader.feed(chunk):
                if isinstance(item, SourceEntity):
                    self._inventory[item.kind, item.local_id] = item
                elif isinstance(item, SourceLink):
                    self._inventory[item] = item
                yield item
