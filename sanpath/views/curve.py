"""Throughput and latency over outstanding I/Os: a table with a row per step and direction, and the limit of each."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from sanpath.diagnosis.model import Diagnosis, StepResult
from sanpath.masking import printable
from sanpath.units import bandwidth, count, duration, iops, outstanding
from sanpath.views import terminal_tables, words
from sanpath.views.markdown import safe, table

TITLE = "Throughput and latency over outstanding I/Os"
HEADER: Sequence[str] = ("step", "direction", "outstanding", "IOPS", "payload", "mean", "p99", "limited by")


def rows(diagnosis: Diagnosis) -> list[list[str]]:
    """Rows of the table, in the order of the run."""
    return [row for step in diagnosis.steps for row in _cells(step)]


def knee(diagnosis: Diagnosis) -> str:
    """The number of I/Os in flight from which more load adds only latency, as a sentence."""
    verdict = diagnosis.verdict
    knee = words.knee_text(diagnosis)
    if knee is None:
        judged = [step for step in diagnosis.steps if step.directions]
        if not judged:
            return "Knee: none was found, no step was judged."
        most = max(step.in_flight.configured or step.in_flight.measured or 0 for step in judged)
        return f"Knee: none was found up to {outstanding(most)}."
    calm = ""
    if verdict.r0.seconds is not None and verdict.r0.from_step:
        calm = f" ({duration(verdict.r0.seconds)} without a queue, from step {verdict.r0.from_step})"
    limits = ", ".join(words.short(b.entity) for b in verdict.bottlenecks)
    return printable(f"Knee{f' at {limits}' if limits else ''}: {knee}{calm}.")


def text(diagnosis: Diagnosis, width: int | None = None, colour: bool = False) -> str:
    """Title, table and limits for a terminal. `width`: columns, None: the terminal's."""
    title, below = Text(f"\n{TITLE}", style="bold"), Text(f"\n{knee(diagnosis)}")
    curve = terminal_tables.table(HEADER, rows(diagnosis), range(2, 7))
    return terminal_tables.as_lines(title, curve, below, width=width, colour=colour)


def markdown(diagnosis: Diagnosis) -> str:
    """The same for a report."""
    return "\n".join([f"\n## {TITLE}\n", *table(HEADER, rows(diagnosis)), "", safe(knee(diagnosis)), ""])


def _cells(step: StepResult) -> list[list[str]]:
    bound = words.limit_text(step)
    configured = "?" if step.in_flight.configured is None else count(step.in_flight.configured)
    rows = []
    for direction, result in step.directions.items():
        latency = result.latency_seconds
        rows.append(
            [
                printable(step.name),
                direction,
                configured,
                iops(result.ops_per_second).removesuffix(" IOPS"),
                bandwidth(result.bytes_per_second),
                duration(latency.mean),
                "-" if latency.p99 is None else duration(latency.p99),
                bound,
            ]
        )
    return rows or [[printable(step.name), "-", configured, "-", "-", "-", "-", bound]]
