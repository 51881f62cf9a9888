"""Readers of result files: files that a load generator or a host has written, or is still writing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Literal, Protocol

from sanpath.errors import CollectorError, Failure
from sanpath.masking import masked_text
from sanpath.model import Event, Scalar
from sanpath.plugin.collector import Item
from sanpath.plugin.text import text_of

HEAD_BYTES = 1 << 16
"""Bytes of a file that `ResultReader.recognises` gets."""

ResultClock = Literal["utc", "local", "elapsed", "none"]
"""The clock of the times in a file.

`utc`: microseconds since the epoch. `local`: the same in the local time of the machine that wrote the file, whose
zone the file does not contain. `elapsed`: microseconds since the first load in the file began, at a time that the
file does not contain. `none`: the file contains no times.
"""


class ResultFile(Protocol):
    """A file that is being imported."""

    @property
    def name(self) -> str:
        """The name of the file, without the folder."""
        ...

    @property
    def modified_us(self) -> int:
        """When the file was last written, in microseconds since the epoch."""
        ...

    def chunks(self) -> Iterator[bytes]:
        """Yield the content from the start, in chunks of at most a mebibyte; gzip, xz and zip are unpacked."""
        ...

    def query(self, columns: Mapping[str, str], sql: str) -> Iterator[tuple[int | float | str | None, ...]]:
        """Yield the rows of a SELECT over the file as a table named `csv`.

        The file is comma-separated, without a header. `columns`: column name → DuckDB type; rows that do not fit are
        left out. This is for logs of gigabytes: Python alone is too slow.
        """
        ...


class ResultReader(ABC):
    """Reads one file, complete (`sanpath import`) or as it grows (FollowedFile).

    `load`: the name of the load, the local id of the load entity that all its jobs are members of. `seen` of every
    item is on the clock named by `clock`, which is set when the first item is yielded. A reader never stores more
    than one record of the file. It yields a `warning` for a cut, damaged or foreign passage and continues. If nothing
    can be read, `finish` raises CollectorError(UNREADABLE). Samples of the machine, if the file does not name it,
    have `load` as their entity. `idle_end_us`: how long the generator runs after its last measurement, such as a
    cool-down. `versions`: the generator's versions in the recording, for files without a version. `described`: local
    id → attributes of the loads, from files of settings that are imported together with this one. `day_first`:
    ambiguous dates have the day before the month. `host`: the machine of the file, if a person named it.
    `set_back_us`: how far the clock is set back after a local time that occurs twice; 0: it occurs once.
    `continues_us`: a local time after which the reader's times continue as if the clock had not been set back.
    """

    clock: ResultClock = "elapsed"
    idle_end_us = 0
    versions: Collection[str] = ()
    described: Mapping[str, Mapping[str, Scalar]] = MappingProxyType({})
    day_first = False
    host: str | None = None
    set_back_us: Callable[[int], int] = staticmethod(lambda _: 0)
    continues_us: int | None = None

    def __init__(self, load: str) -> None:
        self.load = load

    @classmethod
    @abstractmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """Whether this reader can read a file. `head`: its first 64 KiB; `name`: its name, without the folder."""

    @classmethod
    def is_read_last(cls, name: str) -> bool:  # noqa: ARG003 - for readers that need it
        """Whether a file of this name needs information from other files that are imported together."""
        return False

    @classmethod
    def part_of(cls, name: str) -> str:  # noqa: ARG003 - most files are complete
        """Return the run of which a file of this name is one of several parts in its folder; "": it is complete."""
        return ""

    @classmethod
    def run_of_parts(cls, head: bytes) -> str:  # noqa: ARG003 - most tools write one file
        """Return the run, as named by `part_of`, whose parts say more than this complete file, from its first 64 KiB;
        "": there are no parts."""
        return ""

    @classmethod
    def report_of_run(cls, head: bytes) -> str:  # noqa: ARG003 - most tools write one report
        """Which of a tool's reports of one run a file is, by its first 64 KiB; "": the tool writes only one."""
        return ""

    @classmethod
    def has_only_settings(cls, head: bytes) -> bool:  # noqa: ARG003 - most files have figures
        """Whether a file has settings of loads, and another one their figures. `head`: its first 64 KiB."""
        return False

    @classmethod
    def has_ambiguous_dates(cls, head: bytes) -> bool:  # noqa: ARG003 - most dates show it
        """Whether dates of a file may have the day or the month first, judged by its first 64 KiB."""
        return False

    @abstractmethod
    def feed(self, added: bytes) -> Iterable[Item]:
        """Parse the next bytes; they may end anywhere, even inside a character."""

    @abstractmethod
    def finish(self) -> Iterable[Item]:
        """Parse the remainder at the end of the file."""

    def read(self, file: ResultFile) -> Iterator[Item]:
        """Read a complete file."""
        for chunk in file.chunks():
            yield from self.feed(chunk)
        yield from self.finish()

    def read_parts(self, files: Sequence[ResultFile]) -> Iterator[Item]:
        """Read the files that are parts of one run, or the only file."""
        for file in files:
            yield from self.read(file)


class SelectingReader(ResultReader):
    """Passes a file to the first of several readers that recognises its beginning.

    A subclass sets `readers`, and `nothing_read`, the message about an unrecognised file.
    """

    readers: ClassVar[Sequence[type[ResultReader]]]
    nothing_read: ClassVar[str]

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._head = b""
        self._reader: ResultReader | None = None

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """Whether one of the readers can read a file."""
        return cls.reader_of(head, name) is not None

    @classmethod
    def reader_of(cls, head: bytes, name: str = "") -> type[ResultReader] | None:
        """Return the reader that recognises a file. None: none does."""
        head = head[:HEAD_BYTES]
        text, encoding = text_of(head)
        head = text.encode() if encoding == "utf-16" else head
        return next((reader for reader in cls.readers if reader.recognises(head, name)), None)

    def new_reader(self, head: bytes) -> ResultReader:
        """Return a reader for a file. Raises CollectorError(UNREADABLE): no reader recognises it, or it is empty."""
        if (reader := self.reader_of(head)) is None:
            raise CollectorError(Failure.UNREADABLE, self.nothing_read)
        selected = reader(self.load)
        selected.described = self.described
        return selected

    def feed(self, added: bytes) -> Iterator[Item]:
        """Collect bytes until they suffice to recognise the file, then yield its items."""
        if self._reader is None:
            self._head += added
            if len(self._head) < HEAD_BYTES:
                return
            added, self._reader = self._head, self.new_reader(self._head)
        yield from self._copy_clock(self._reader, self._reader.feed(added))

    def finish(self) -> Iterator[Item]:
        """Yield the remaining items. Raises CollectorError(UNREADABLE): there is nothing to read."""
        if self._reader is None:
            self._reader = self.new_reader(self._head)
            yield from self._copy_clock(self._reader, self._reader.feed(self._head))
        yield from self._copy_clock(self._reader, self._reader.finish())

    def _copy_clock(self, reader: ResultReader, items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            self.clock = reader.clock
            yield item
        self.clock = reader.clock


def warning(seen_us: int, code: str, text: str, advice: str | None = None) -> Event:
    """Return the event of a defect in a file that a person should know about.

    `seen_us`: on the clock of the reader. `code`: kebab-case, the same for all such cases. `advice`: what to do if
    the defect prevents a verdict, as an imperative without a full stop.
    """
    detail = {"code": code, "text": masked_text(text)}
    return Event(seen_us, "data-warning", detail if advice is None else detail | {"advice": advice})
