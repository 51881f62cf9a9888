"""Columns of a report, by name → the figures of an interval, for devices (SD, WD) and for files (FSD, FWD).

Old and new versions print different columns, in a different order and letter case; the names are those of
flatfile.html, in lower case. vdbench tells rates a second, response times in milliseconds and megabytes of 2^20.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sanpath_collectors.vdbench.parse import UNCONTROLLED, number, ratio
from sanpath_collectors.vdbench.told import Told

_MS = 1e-3
_MIB = 1024.0**2
_GIB = 1024.0**3
_METADATA = ("mkdir", "rmdir", "create", "open", "close", "delete", "getattr", "setattr", "access", "copy", "move")
"""Operations on files and directories that move no data through the load itself."""

Cells = Sequence[str]


@dataclass(slots=True)
class Flow:
    """One kind of operation in an interval: a second. `latency` in seconds, None: not told apart. `longest`: the
    slowest one, seconds."""

    ops: float = 0.0
    bytes: float = 0.0
    latency: float | None = None
    longest: float | None = None


@dataclass(slots=True)
class Figures:
    """An interval, or the average of several. `ops`: operations a second that the run was told to do; `in_flight`:
    of those, on average, as measured. `bytes_printed`: all bytes a second, as the report rounds them."""

    ops: float
    in_flight: float | None
    reads: Flow
    writes: Flow
    metadata: Flow
    bytes_printed: float | None


class Columns:
    """The columns of one header. `megabyte`: bytes of what it calls so."""

    def __init__(self, names: Sequence[str], megabyte: float = _MIB) -> None:
        self._megabyte = megabyte
        self._place = {name.lower(): place for place, name in enumerate(names)}
        self.width = len(names)
        self.files = "read_rate" in self._place
        self.figures: Callable[[Cells], Figures | None] = self._file_figures if self.files else self._device_figures
        """What a row tells; None: not even a rate."""
        # Old versions tell one response time for reads and writes, and all but the newest one maximum: they are those
        # of a direction only where it is alone.
        self._response = {which: f"{which}_resp" if f"{which}_resp" in self else "" for which in ("read", "write")}
        self._longest = {which: f"{which}_max" if f"{which}_max" in self else "" for which in ("read", "write")}

    def __contains__(self, name: str) -> bool:
        return name in self._place

    def place(self, name: str) -> int:
        """Where a column stands that there is."""
        return self._place[name]

    def value(self, cells: Cells, name: str) -> float | None:
        """A figure by the name of its column. None: no such column, or not told."""
        place = self._place.get(name)
        return None if place is None else number(cells[place])

    def text(self, cells: Cells, name: str) -> str:
        """A cell by the name of its column; "" where there is none."""
        place = self._place.get(name)
        return "" if place is None else cells[place]

    def told(self, cells: Cells) -> Told:
        """What the row says of what its run was told to do."""
        requested = self.value(cells, "reqrate")
        limited = requested is not None and requested not in UNCONTROLLED
        seeks, size = self.value(cells, "seekpct"), self.value(cells, "lunsize")
        return Told(
            threads=self.value(cells, "threads"),
            files=self.files,
            # Without the column "threads", "xfersize" is the mean of the I/Os that were done.
            block_bytes=(self.value(cells, "xfersize") or None) if "threads" in self else None,
            read_ratio=ratio(self.value(cells, "rdpct")),
            random_ratio=ratio(seeks),
            working_set_bytes=size * _GIB if size else None,
            limited=limited,
            requested=requested if limited else None,
        )

    def _device_figures(self, cells: Cells) -> Figures | None:
        rate, percent_read = self.value(cells, "rate"), self.value(cells, "read%")
        if rate is None or percent_read is None or percent_read > 100:
            return None
        each, printed = self.value(cells, "bytes/io"), self._bytes(cells, "mb/sec")
        if each is None:
            each = printed / rate if printed is not None and rate else 0.0
        response, in_flight = self.value(cells, "resp"), self.value(cells, "queue_depth")
        if in_flight is None and response is not None:
            in_flight = rate * response * _MS
        reads = rate * percent_read / 100
        return Figures(
            rate,
            in_flight,
            self._flow(cells, "read", reads, each, percent_read == 100),
            self._flow(cells, "write", rate - reads, each, percent_read == 0),
            Flow(),
            printed,
        )

    def _flow(self, cells: Cells, which: str, ops: float, each: float, alone: bool) -> Flow:
        response = self._response[which] or ("resp" if alone else "")
        longest = self._longest[which] or ("resp_max" if alone else "")
        return Flow(ops, ops * each, self._seconds(cells, response), self._seconds(cells, longest))

    def _file_figures(self, cells: Cells) -> Figures | None:
        rate, response = self.value(cells, "rate"), self.value(cells, "resp")
        reads, writes = self._file_flow(cells, "read"), self._file_flow(cells, "write")
        if rate is None or reads is None or writes is None:
            return None
        metadata, waited = Flow(), 0.0
        for which in _METADATA:
            ops = self.value(cells, f"{which}_rate") or 0.0
            metadata.ops += ops
            waited += ops * (self._seconds(cells, f"{which}_resp") or 0.0)
        metadata.latency = waited / metadata.ops if metadata.ops else None
        in_flight = None if response is None else rate * response * _MS
        return Figures(rate, in_flight, reads, writes, metadata, self._bytes(cells, "mb/sec"))

    def _file_flow(self, cells: Cells, which: str) -> Flow | None:
        ops, moved = self.value(cells, f"{which}_rate"), self._bytes(cells, f"mb_{which}")
        latency, longest = self._seconds(cells, f"{which}_resp"), self._seconds(cells, f"{which}_resp_max")
        return None if ops is None else Flow(ops, moved or 0.0, latency, longest)

    def _seconds(self, cells: Cells, name: str) -> float | None:
        milliseconds = self.value(cells, name)
        return None if milliseconds is None else milliseconds * _MS

    def _bytes(self, cells: Cells, name: str) -> float | None:
        megabytes = self.value(cells, name)
        return None if megabytes is None else megabytes * self._megabyte
