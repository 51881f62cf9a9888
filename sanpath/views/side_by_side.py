"""Three or more systems side by side, as text."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from sanpath.comparison.drift import Drift
from sanpath.comparison.side_by_side import Row, SideBySide
from sanpath.diagnosis.experiment import KIND_WORDS
from sanpath.diagnosis.model import CurvePoint
from sanpath.masking import printable
from sanpath.units import count, counted, duration, iops, kibibytes, percent, percent_change
from sanpath.views.compare import latency_text
from sanpath.views.terminal_tables import as_lines, table
from sanpath.views.words import short


def as_text(comparison: SideBySide, width: int | None = None) -> str:
    """The systems by letter with their limits, a row for each number of I/Os in flight, and the same latency."""
    parts: list[RenderableType] = []
    letters = [chr(ord("A") + number) for number in range(len(comparison.systems))]
    for letter, system in zip(letters, comparison.systems, strict=True):
        limits = ", ".join(short(entity) for entity in system.limits)
        parts.append(
            Text(printable(f"{letter}  {system.name}: {KIND_WORDS[system.kind]}{f': {limits}' if limits else ''}"))
        )
    if comparison.rows:
        header = ("direction", "block", "outstanding", *letters)
        parts.append(table(header, map(_cells, comparison.rows), padding=(0, 2, 0, 0)))
    else:
        parts.append(Text("No two of them were tested with the same outstanding I/Os and block size."))
    parts += [
        Text(f"at the same latency: {latency_text(entry, letters, comparison.same_latency)}")
        for entry in comparison.same_latency
    ]
    parts += [Text(f"drift: {_drift_text(drift)}") for drift in comparison.drifts]
    return as_lines(*parts, width=width)


def _drift_text(drift: Drift) -> str:
    size = "" if drift.operation_bytes is None else f"{kibibytes(drift.operation_bytes)} "
    step = f"{size}{drift.direction}s with {count(drift.in_flight)} outstanding"
    days, per_month = counted(round(drift.days), "day"), percent_change(drift.per_month)
    moved = f"throughput {percent_change(drift.change)} in {days}, {per_month} a month"
    noise = "no step was repeated" if drift.spread is None else f"repetitions differ by up to {percent(drift.spread)}"
    cause = (
        f"{counted(drift.changed_settings, 'other setting')} changed in that time, which may be the reason"
        if drift.changed_settings
        else "no setting that was read differs: devices that fill up, wear out or rebuild drift like this"
    )
    return f"{step}: {moved} ({noise}); {cause}"


def _cells(row: Row) -> list[str]:
    size = "?" if row.operation_bytes is None else kibibytes(row.operation_bytes)
    direction = ", ".join(filter(None, (row.direction, "flushed" if row.flushes else "", row.pattern)))
    return [direction, size, count(row.in_flight), *(_cell(row, step) for step in row.steps)]


def _cell(row: Row, step: CurvePoint | None) -> str:
    """IOPS, their ratio to those of the first system in the row, and latency."""
    if step is None:
        return "-"
    first = next(s for s in row.steps if s is not None)
    times = "" if step is first else f" x{step.ops_per_second / first.ops_per_second:.2f}"
    return f"{iops(step.ops_per_second)}{times}, {duration(step.latency_seconds)}"
