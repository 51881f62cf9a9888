"""Conversion of report columns to the figures of an interval, for devices (SD, WD) and for files (FSD, FWD).

Versions differ in the columns, their order and letter case; the names here are those of flatfile.html, in lower
case. vdbench prints rates per second, response times in milliseconds and megabytes of 2^20 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sanpath_collectors.vdbench.parse import UNCONTROLLED, parse_number, to_ratio
from sanpath_collectors.vdbench.run_header import RunSettings

_MS = 1e-3
_MIB = 1024.0**2
_GIB = 1024.0**3
_SIZE_TOLERANCE_RATIO = 0.01
"""Ratio by which a rounded mean of equal sizes may differ from them."""
_METADATA_OPERATIONS = (
    "mkdir",
    "rmdir",
    "create",
    "open",
    "close",
    "delete",
    "getattr",
    "setattr",
    "access",
    "copy",
    "move",
)
"""Operations on files and directories that transfer no data."""
_BUSY_COLUMNS = ("cpu_used", "cpu% sys+u", "cpu%_total")
"""Names of the column with the processors' utilisation: in flatfile.html, and in the two header lines of other
reports for devices and for files."""

Cells = Sequence[str]


@dataclass(slots=True)
class Flow:
    """Operations of one kind in an interval. `ops` and `bytes` are per second.

    `latency_seconds`: the mean; None: not reported separately. `max_seconds`: latency of the slowest operation.
    """

    ops: float = 0.0
    bytes: float = 0.0
    latency_seconds: float | None = None
    max_seconds: float | None = None


@dataclass(slots=True)
class Figures:
    """The figures of an interval, or the average of several intervals.

    `ops`: operations per second of the configured kinds. `in_flight`: their measured mean in flight; None: not
    reported. `bytes_printed`: all bytes per second, as rounded in the report. `busy_ratio`: share of the processors
    that was busy, with anything, on all hosts of the run.
    """

    ops: float
    in_flight: float | None
    reads: Flow
    writes: Flow
    metadata: Flow
    bytes_printed: float | None
    busy_ratio: float | None = None


class Columns:
    """The columns of one header. `megabyte`: the bytes in a megabyte of this report."""

    def __init__(self, names: Sequence[str], megabyte: float = _MIB) -> None:
        self._megabyte = megabyte
        self.positions = {name.lower(): position for position, name in enumerate(names)}
        self.width = len(names)
        self.files = "read_rate" in self.positions
        self.figures: Callable[[Cells], Figures | None] = self._file_figures if self.files else self._device_figures
        """Converts a row; None: it has no rate."""
        # Old versions report one response time for reads and writes, and all but the newest report one maximum. These
        # are used only if the run has only one direction.
        self._response_columns = {
            direction: f"{direction}_resp" if f"{direction}_resp" in self else "" for direction in ("read", "write")
        }
        self._max_columns = {
            direction: f"{direction}_max" if f"{direction}_max" in self else "" for direction in ("read", "write")
        }

    def __contains__(self, name: str) -> bool:
        return name in self.positions

    def value(self, cells: Cells, name: str) -> float | None:
        """Return a figure by the name of its column. None: no such column, or no value."""
        position = self.positions.get(name)
        return None if position is None else parse_number(cells[position])

    def text(self, cells: Cells, name: str) -> str:
        """Return a cell by the name of its column; "" if there is no such column."""
        position = self.positions.get(name)
        return "" if position is None else cells[position]

    def settings(self, cells: Cells) -> RunSettings:
        """Return the settings of its run that a row contains."""
        requested = self.value(cells, "reqrate")
        has_rate_limit = requested is not None and requested not in UNCONTROLLED
        seeks, size = self.value(cells, "seekpct"), self.value(cells, "lunsize")
        return RunSettings(
            threads=self.value(cells, "threads"),
            files=self.files,
            # Without the column "threads", "xfersize" is the mean size of the completed I/Os.
            block_bytes=self._block_bytes(cells) if "threads" in self else None,
            read_ratio=to_ratio(self.value(cells, "rdpct")),
            random_ratio=to_ratio(seeks),
            working_set_bytes=size * _GIB if size else None,
            has_rate_limit=has_rate_limit,
            requested_ops_per_second=requested if has_rate_limit else None,
        )

    def _block_bytes(self, cells: Cells) -> float | None:
        """The size of every I/O; None: sizes differ. For a distribution of sizes, vdbench prints the first size."""
        size, measured = self.value(cells, "xfersize") or None, self.value(cells, "bytes/io")
        return size if not (size and measured) or abs(measured - size) <= _SIZE_TOLERANCE_RATIO * size else None

    def _device_figures(self, cells: Cells) -> Figures | None:
        rate, percent_read = self.value(cells, "rate"), self.value(cells, "read%")
        if rate is None or percent_read is None or percent_read > 100:
            return None
        bytes_per_op, printed_bytes = self.value(cells, "bytes/io"), self._bytes(cells, "mb/sec")
        if bytes_per_op is None:
            bytes_per_op = printed_bytes / rate if printed_bytes is not None and rate else 0.0
        response, in_flight = self.value(cells, "resp"), self.value(cells, "queue_depth")
        if in_flight is None and response is not None:
            in_flight = rate * response * _MS
        reads = rate * percent_read / 100
        return Figures(
            rate,
            in_flight,
            self._flow(cells, "read", reads, bytes_per_op, percent_read == 100),
            self._flow(cells, "write", rate - reads, bytes_per_op, percent_read == 0),
            Flow(),
            printed_bytes,
            self._busy_ratio(cells),
        )

    def _flow(self, cells: Cells, direction: str, ops: float, bytes_per_op: float, only_direction: bool) -> Flow:
        response = self._response_columns[direction] or ("resp" if only_direction else "")
        max_seconds = self._max_columns[direction] or ("resp_max" if only_direction else "")
        return Flow(ops, ops * bytes_per_op, self._seconds(cells, response), self._seconds(cells, max_seconds))

    def _file_figures(self, cells: Cells) -> Figures | None:
        rate, response = self.value(cells, "rate"), self.value(cells, "resp")
        reads, writes = self._file_flow(cells, "read"), self._file_flow(cells, "write")
        if rate is None or reads is None or writes is None:
            return None
        metadata, latency_sum = Flow(), 0.0
        for direction in _METADATA_OPERATIONS:
            ops = self.value(cells, f"{direction}_rate") or 0.0
            metadata.ops += ops
            latency_sum += ops * (self._seconds(cells, f"{direction}_resp") or 0.0)
        metadata.latency_seconds = latency_sum / metadata.ops if metadata.ops else None
        in_flight = None if response is None else rate * response * _MS
        return Figures(
            rate, in_flight, reads, writes, metadata, self._bytes(cells, "mb/sec"), self._busy_ratio(cells)
        )

    def _file_flow(self, cells: Cells, direction: str) -> Flow | None:
        ops, bytes_per_second = self.value(cells, f"{direction}_rate"), self._bytes(cells, f"mb_{direction}")
        latency_seconds, max_seconds = (
            self._seconds(cells, f"{direction}_resp"),
            self._seconds(cells, f"{direction}_resp_max"),
        )
        return None if ops is None else Flow(ops, bytes_per_second or 0.0, latency_seconds, max_seconds)

    def _busy_ratio(self, cells: Cells) -> float | None:
        # vdbench prints 0 if the system does not report it. Under load it is never 0.
        return to_ratio(self.value(cells, next((name for name in _BUSY_COLUMNS if name in self), ""))) or None

    def _seconds(self, cells: Cells, name: str) -> float | None:
        milliseconds = self.value(cells, name)
        return None if milliseconds is None else milliseconds * _MS

    def _bytes(self, cells: Cells, name: str) -> float | None:
        megabytes = self.value(cells, name)
        return None if megabytes is None else megabytes * self._megabyte
