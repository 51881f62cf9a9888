"""A file that a load generator or a host has left behind, or is still writing, as sanpath reads it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, Protocol

from sanpath.model import Event
from sanpath.plugin.collector import Item

ResultClock = Literal["utc", "local", "elapsed", "none"]
"""What the times in a file are: `utc`: microseconds since the epoch; `local`: the same, counted in the local time of
the machine that wrote it, whose zone the file does not tell; `elapsed`: microseconds since the first load in the
file began, of which the file does not tell when that was; `none`: what the file says has no time."""


class ResultFile(Protocol):
    """A file that is being imported."""

    @property
    def name(self) -> str:
        """Its name, without the folder."""
        ...

    def chunks(self) -> Iterator[bytes]:
        """Its content from the start, in parts of at most a mebibyte; gzip, xz and zip are unpacked."""
        ...

    def query(self, columns: Mapping[str, str], sql: str) -> Iterator[tuple[int | float | str | None, ...]]:
        """The rows that a SELECT gives over it as a table `csv` (comma-separated, without a header; column name →
        DuckDB type; rows that do not fit are left out). For logs of gigabytes: Python alone is too slow."""
        ...


class ResultReader(ABC):
    """Reads one file: the whole of it (`sanpath import`), or what was added since the last call (FollowedFile).

    `load`: what the load is called, the local id of the load thing that all its jobs are members of.
    `seen` of every item is on the clock that `clock` names, which is set when the first item comes. Never holds more
    of the file than a record of it. A cut, damaged or foreign part is a `warning`, and what can be read is yielded;
    when nothing can, `finish` raises CollectorError(UNREADABLE).
    """

    clock: ResultClock = "elapsed"

    def __init__(self, load: str) -> None:
        self.load = load

    @classmethod
    @abstractmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """Whether a file is one of these. `head`: its first 64 KiB; `name`: what it is called, without the folder."""

    @abstractmethod
    def feed(self, added: bytes) -> Iterable[Item]:
        """Parse what follows what was fed before; it may end anywhere, inside a character too."""

    @abstractmethod
    def finish(self) -> Iterable[Item]:
        """The file has ended."""

    def read(self, file: ResultFile) -> Iterator[Item]:
        """The whole file."""
        for part in file.chunks():
            yield from self.feed(part)
        yield from self.finish()


def warning(seen: int, code: str, text: str) -> Event:
    """Something a person should know of the file. `code`: kebab-case, the same for all such cases."""
    return Event(seen, "data-warning", {"code": code, "text": text})
