"""A collector: the class that reads one source, and the object that a collector's folder exports."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import ClassVar, Generic, Literal, Protocol, TypeVar, runtime_checkable

from sanpath.errors import CollectorError, Failure
from sanpath.extras import Extra
from sanpath.model import Event, Rows, SourceEntity, SourceLink, Table
from sanpath.plugin.config import SourceConfig
from sanpath.plugin.connections import Context

API = 1

Item = Rows | SourceEntity | SourceLink | Event


@dataclass(frozen=True, slots=True)
class Check:
    """A source's answer to `sanpath check`, before a run.

    `identity`: model, name and version as the device reports them. `device_time`: its clock in microseconds, None if
    it has none. `unreadable`: what this account cannot read, with the consequence. `device_time_within`: by how many
    microseconds `device_time` may be off in either direction, beside the time that the answer took.
    """

    identity: str
    device_time: int | None = None
    unreadable: tuple[str, ...] = ()
    device_time_within: int = 0


C = TypeVar("C", bound=SourceConfig)
T = TypeVar("T")


class Collector(ABC, Generic[C]):
    """One source during one run. Methods are called one at a time: open, inventory, poll…, close."""

    runs_in: ClassVar[Literal["loop", "thread"]] = "loop"
    """"thread": the SDK blocks, so the recorder gives the source its own daemon thread and event loop."""

    open_seconds: ClassVar[float] = 10.0
    """How long `open` may wait without data; longer if a poll may take longer."""

    delay_seconds: ClassVar[float] = 0.0
    """How long after its interval a sample may become available. The run ends with a poll so long after its load."""

    def __init__(self, config: C) -> None:
        self.config = config

    async def open(self, ctx: Context) -> None:
        """Connect and log in. Raises CollectorError."""

    @abstractmethod
    async def check(self, ctx: Context) -> Check:
        """Report identity, clock and missing rights. Called after `open`. Raises CollectorError."""

    @abstractmethod
    def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:
        """Yield the entities and the links between them. Called after `open` and every few minutes."""

    @abstractmethod
    def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """Yield the samples of one round as replies arrive: those yielded before the deadline are recorded."""

    async def close(self) -> None:
        """Log out. At most two seconds."""

    @asynccontextmanager
    async def closed_on_failure(self) -> AsyncIterator[None]:
        """Close what was opened if the block fails or is cancelled."""
        try:
            yield
        except BaseException:
            await self.close()
            raise

    def opened(self, connection: T | None) -> T:
        """Return a connection. Raises UNREACHABLE if it is None: the source is not open."""
        if connection is None:
            raise CollectorError(Failure.UNREACHABLE, f"{self.config.name} is not open")
        return connection


@dataclass(frozen=True, slots=True)
class HistoryItem:
    """A past item and its device.

    `source`: the device's name, under which the item is recorded. `tables`: all tables that this device may yield.
    Times of the item are microseconds since the epoch.
    """

    source: str
    tables: tuple[Table, ...]
    item: Item


@runtime_checkable
class KeepsHistory(Protocol):
    """A Collector whose source stores past values, readable after `open`."""

    def history(self, ctx: Context, began_us: int, ended_us: int) -> AsyncIterator[HistoryItem]:
        """Yield the values stored between two times, in microseconds since the epoch. Raises CollectorError."""
        ...


@dataclass(frozen=True, slots=True)
class Right:
    """An access right on the device: its name, the reason for it, and what is unknown without it."""

    name: str
    reason: str
    without: str


@dataclass(frozen=True, slots=True)
class Spec:
    """The one object that a collector's folder exports, as COLLECTOR.

    `collector` (a Collector), `load` (a LoadReader) and `result` (a ResultReader) are "module:Class", imported on
    first use; at least one is given. `commands`: program names recognised after `sanpath run --`. `result_endings`:
    usual endings of its result files; files with other endings are offered to it last. Empty: any. `cadence_seconds`:
    how often the source updates its values (vSphere: 20). `extra`: the libraries that it needs beyond the smallest
    install; None: none.
    """

    name: str
    title: str
    tables: tuple[Table, ...]
    config: type[SourceConfig] | None = None
    collector: str | None = None
    load: str | None = None
    result: str | None = None
    result_endings: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    cadence_seconds: float = 1.0
    rights: tuple[Right, ...] = ()
    extra: Extra | None = None
    api: int = API
