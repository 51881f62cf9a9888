"""Finds files that report the same run. Most load generators can write several reports: only one is counted."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory

from sanpath.errors import CollectorError, UsageError
from sanpath.model import DIRECTIONS, Event, Rows, SourceEntity
from sanpath.plugin import LOAD_COUNTERS, ResultClock, ResultReader, complete_sum
from sanpath.recorder.importing.files.imported_file import ImportedFile
from sanpath.recorder.importing.files.recognition import find_reader
from sanpath.recorder.importing.placement.placement import QUARTER_HOUR_US
from sanpath.recorder.importing.target_recording import sources_of_other_hosts
from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage.store import Location, store_at

_MAX_BYTES = 16 << 20
"""Larger files are logs, which are not read twice: a report of this size would cover a day of intervals."""
_DAY_US = 96 * QUARTER_HOUR_US
_BEGIN_TOLERANCE_US = 2_000_000
"""A report of intervals begins at the end of its first interval, an average at the beginning of the run."""
_TOLERANCE_SECONDS = 1.0
_TOLERANCE_RATIO = 0.01
"""Two reports of one run may differ by this much: one averages over time, another over intervals."""
_RATE_ROUNDING = 0.1
"""I/Os per second, of reports with one decimal."""
_LATENCY_ROUNDING_SECONDS = 1e-6
"""Latency, of reports in milliseconds with three decimals."""
_STORED_NAME = re.compile(r"(?!\.\.?$)[A-Za-z0-9_.-]+")
"""Names that an import gives to stored files. Somebody else's recording may contain names that leave the folder."""
_MIN_EQUAL_STEPS = 0.75
"""Share of the steps whose figures must be equal, if all begin together and have the same lengths. Where intervals
are missing, as when vdbench itself stood still, one report has figures of the rest and another of the whole step.
sanpath's own choice: if there are fewer than four steps, all must be equal."""
_METRICS = tuple(column.metric for column in LOAD_COUNTERS)


_Sample = tuple[int, list[int | float | None]]
"""Time and counters of a load."""


@dataclass(frozen=True, slots=True)
class DuplicateReport:
    """A file that is not counted. `kept`: the file of the same run that is."""

    kept: Path


@dataclass(frozen=True, slots=True)
class RecordedReport:
    """A file whose run the recording already has. `name`: the report of the run that an earlier command imported.
    `has_more`: the file is more detailed than that report."""

    name: str
    has_more: bool

    @property
    def remark(self) -> str:
        """What a person should know."""
        remedy = "; to count it instead, import all reports of the run into a new recording, with one command"
        return (
            f"of the same run as {self.name}, which the recording has: not counted{remedy if self.has_more else ''}"
        )


@dataclass(frozen=True, slots=True)
class KeptReport:
    """A file with other reports of its run, which are not counted.

    `others`: their names. `zone`: the time zone of its local times, if another report has UTC; None: not known.
    """

    others: tuple[str, ...]
    zone: timezone | None

    @property
    def remarks(self) -> Iterator[str]:
        """Yield what a person should know."""
        names = ", ".join(self.others)
        yield f"{names}: of the same run: not counted"
        if self.zone is not None:
            yield f"its times have no zone: they are {self.zone}, by those of the other reports"


@dataclass(frozen=True, slots=True)
class _Figures:
    """The figures of one direction in a step, rates per second. `latency_seconds`: the mean; None: not reported."""

    ops: float
    bytes: float
    latency_seconds: float | None

    def is_close(self, other: _Figures, tolerance: float) -> bool:
        """Whether the figures are equal. `tolerance` 1: except for rounding; 0: exactly."""
        bytes_per_op = max(self.bytes, other.bytes) / max(self.ops, other.ops, 1.0)
        pairs = [(self.ops, other.ops, _RATE_ROUNDING), (self.bytes, other.bytes, _RATE_ROUNDING * bytes_per_op)]
        if self.latency_seconds is not None and other.latency_seconds is not None:
            pairs.append((self.latency_seconds, other.latency_seconds, _LATENCY_ROUNDING_SECONDS))
        return all(
            math.isclose(a, b, rel_tol=max(1e-9, tolerance * _TOLERANCE_RATIO), abs_tol=tolerance * rounded)
            for a, b, rounded in pairs
        )


@dataclass(slots=True)
class _Step:
    """One step of a report. Times are in microseconds on the report's clock; `begin_us`: after the ramp."""

    name: str
    loads: Sequence[str]
    begin_us: int
    end_us: int | None = None
    figures: Sequence[_Figures] = ()

    @property
    def seconds(self) -> float:
        """The measured length."""
        return ((self.end_us or self.begin_us) - self.begin_us) / 1e6


@dataclass(slots=True)
class _Report:
    """The steps of one file. `form`: the reader's name for its format. `detail`: sort key, the most detailed report
    is the largest."""

    file: Path
    collector: str
    form: str
    clock: ResultClock
    steps: list[_Step]
    detail: tuple[int, bool, int, bool]


def find_same_run_reports(
    files: Sequence[Path], reader: str | None, has_zone: bool
) -> Mapping[Path, KeptReport | DuplicateReport]:
    """Return the files that are reports of one run, the most detailed of which is kept.

    Files of the same tool report the same run if their steps, as many as both have, have the same names in the same
    order, begin together, and have the same lengths and figures. Tools that write only one report of a run never have
    duplicates.

    `reader`: the reader that a person named; None: chosen by content. `has_zone`: the zone of local times is known.
    """
    found: dict[Path, KeptReport | DuplicateReport] = {}
    distinct = list(dict.fromkeys(files)) if len(files) > 1 else []
    reports = [report for file in distinct if (report := _read_report(file, reader)) is not None]
    reports.sort(key=lambda report: report.detail, reverse=True)
    while reports:
        kept, *others = reports
        duplicates = [other for other in others if _is_same_run(kept, other, has_zone)]
        reports = [other for other in others if other not in duplicates]
        if duplicates:
            found |= {duplicate.file: DuplicateReport(kept.file) for duplicate in duplicates}
            found[kept.file] = KeptReport(
                tuple(duplicate.file.name for duplicate in duplicates), _infer_zone(kept, duplicates, has_zone)
            )
    return found


def find_recorded_report(
    folder: Location, file: Path, reader: str | None, host: str | None = None
) -> RecordedReport | None:
    """Return the report of the same run that an earlier command has imported into a recording. None: there is none,
    or the recording has no copy of it.

    `reader`: the reader that a person named; None: chosen by content. `host`: the machine that a person named.
    Reports of other machines are of other runs, even if their figures are equal. None: reports of every machine are
    compared.
    """
    store = store_at(folder)
    others = _writers_of_other_hosts(Recording(folder), host) if host is not None and store.list("imports") else set()
    writers = [w for w in store.list("imports") if _STORED_NAME.fullmatch(w) and w not in others]
    copies = [(w, name) for w in writers for name in filter(_STORED_NAME.fullmatch, store.list(f"imports/{w}"))]
    if not copies or (report := _read_report(file, reader)) is None:
        return None
    with TemporaryDirectory() as scratch:
        for number, (writer, name) in enumerate(copies):
            path = Path(scratch) / str(number) / name
            path.parent.mkdir()
            path.write_bytes(store.read(f"imports/{writer}/{name}"))
            other = _read_report(path, report.collector)
            if other is not None and _is_same_run(other, report, has_zone=False):
                return RecordedReport(path.name, report.detail > other.detail)
    return None


def _writers_of_other_hosts(recording: Recording, host: str) -> set[str]:
    """Return the writers whose files come from other machines."""
    sources = sources_of_other_hosts(recording, host)
    return {start.writer for start in recording.starts if sources & {each.name for each in start.header.sources}}


def _read_report(file: Path, named: str | None) -> _Report | None:
    """Read a file. None: its tool writes no other report, or the file has no complete step, is too large, or cannot
    be read."""
    if file.stat().st_size > _MAX_BYTES:
        return None
    imported = ImportedFile(file)
    try:
        spec, reader_class = find_reader(imported, named)
        form = reader_class.report_of_run(imported.head())
        if not form:
            return None
        reader = reader_class("load")
        steps, samples, attributes = _read_steps(reader, imported)
    except (CollectorError, UsageError):
        return None
    has_figures = bool(steps) and all(any(figures.ops for figures in step.figures) for step in steps)
    detail = samples, reader.clock in ("utc", "local"), attributes, reader.clock == "utc"
    return _Report(file, spec.name, form, reader.clock, steps, detail) if has_figures else None


def _read_steps(reader: ResultReader, file: ImportedFile) -> tuple[list[_Step], int, int]:
    """Return the steps of a file, the number of samples of its loads, and the number of their attributes."""
    steps: list[_Step] = []
    samples: dict[str, list[_Sample]] = defaultdict(list)
    attributes: dict[str, int] = {}
    for item in reader.read(file):
        match item:
            case Rows() if item.table.kind == "load":
                for load, seen, *values in zip(item.entity, item.seen, *_columns(item), strict=True):
                    samples[load].append((seen, values))
            case SourceEntity() if item.kind == "load":
                attributes[item.local_id] = len(item.attributes)
            case Event(name="step-begin"):
                loads = str(item.detail.get("loads", "")).split(",")
                steps.append(_Step(str(item.detail.get("step", "")), loads, item.seen))
            case Event(name="ramp-end" | "step-end"):
                running = [s for s in steps if s.end_us is None and s.name == str(item.detail.get("step", ""))]
                for step in running[:1]:
                    if item.name == "ramp-end":
                        step.begin_us = item.seen
                    else:
                        step.end_us = item.seen
    for step in steps:
        step.figures = _compute_figures(step, [samples[load] for load in step.loads if load in samples])
    return steps, sum(map(len, samples.values())), sum(attributes.values())


def _columns(rows: Rows) -> list[Sequence[int | float | None]]:
    """Return the counters of all loads; a counter that is not reported is a column of None."""
    return [rows.values.get(metric, [None] * len(rows.entity)) for metric in _METRICS]


def _compute_figures(step: _Step, loads: Sequence[Sequence[_Sample]]) -> list[_Figures]:
    """Return the figures of a step's reads and writes, summed over its loads; []: the step has no samples or no
    end."""
    increases = []
    for samples in loads:
        within = [values for seen, values in samples if step.begin_us <= seen <= (step.end_us or 0)]
        if len(within) > 1:
            increases.append([_increase(*both) for both in zip(within[0], within[-1], strict=True)])
    if not increases or not step.seconds:
        return []
    sums = dict(zip(_METRICS, (complete_sum(column) for column in zip(*increases, strict=True)), strict=True))
    figures = []
    for direction in DIRECTIONS:
        ops, latencies = sums[f"ops_{direction}_total"] or 0.0, sums[f"latency_seconds_{direction}_total"]
        mean = latencies * 1e-9 / ops if ops and latencies is not None else None
        figures.append(_Figures(ops / step.seconds, (sums[f"bytes_{direction}_total"] or 0.0) / step.seconds, mean))
    return figures


def _increase(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _is_same_run(report: _Report, other: _Report, has_zone: bool) -> bool:
    """Whether `other` is of the same run as `report`, and has nothing that it lacks."""
    # If a run was interrupted, the detailed report has its last step; other reports have only steps that have ended.
    count = len(other.steps)
    if count > len(report.steps):
        return False
    names = [[step.name for step in each.steps[:count]] for each in (report, other)]
    if report.collector != other.collector or names[0] != names[1]:
        return False
    # Reports of the same form round alike, so those of one run are equal. Those of two machines may be nearly equal.
    tolerance = 0.0 if report.form == other.form else 1.0
    shift_us = _clock_shift_us(report, other, has_zone)
    steps = list(zip(report.steps[:count], other.steps[:count], strict=True))
    equal = sum(
        all(a.is_close(b, tolerance) for a, b in zip(step.figures, duplicate.figures, strict=True))
        for step, duplicate in steps
    )
    return equal >= (_MIN_EQUAL_STEPS if tolerance else 1.0) * len(steps) and all(
        abs(step.begin_us - duplicate.begin_us - shift_us) <= tolerance * _BEGIN_TOLERANCE_US
        and abs(step.seconds - duplicate.seconds)
        <= tolerance * (_TOLERANCE_SECONDS + _TOLERANCE_RATIO * step.seconds)
        for step, duplicate in steps
    )


def _clock_shift_us(report: _Report, other: _Report, has_zone: bool) -> int:
    """Return by how many microseconds a report's clock is ahead of another's. 0: both clocks are known."""
    ahead_us = report.steps[0].begin_us - other.steps[0].begin_us
    clocks = {report.clock, other.clock}
    if clocks & {"elapsed", "none"}:
        return ahead_us
    return round(ahead_us / QUARTER_HOUR_US) * QUARTER_HOUR_US if clocks == {"local", "utc"} and not has_zone else 0


def _infer_zone(kept: _Report, duplicates: Sequence[_Report], has_zone: bool) -> timezone | None:
    """Return the zone of local times, from a report of the same run with UTC. None: there is no such report, or the
    zone is given."""
    if kept.clock != "local" or has_zone:
        return None
    ahead_us = next(
        (_clock_shift_us(kept, duplicate, has_zone) for duplicate in duplicates if duplicate.clock == "utc"), None
    )
    return None if ahead_us is None or abs(ahead_us) >= _DAY_US else timezone(timedelta(microseconds=ahead_us))
