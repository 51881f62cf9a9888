"""Headers and cells of the tables that the views share: steps, links, recorders, sources, entered figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sanpath.diagnosis.experiment import KIND_WORDS
from sanpath.facts.figures.model import amount
from sanpath.masking import printable
from sanpath.units import bandwidth, count, duration, iops, percent
from sanpath.views.words import short

if TYPE_CHECKING:
    from sanpath.diagnosis.model import Diagnosis, StepResult
    from sanpath.diagnosis.sources import RecorderAccount, SourceAccount

CLOCKS = {
    "protocol": "clocks compared",
    "newest_sample": "by its newest sample",
    "load_edges": "by the load's edges",
}


def step_cells(step: StepResult) -> list[list[str]]:
    """Rows of the step table: name, direction, in flight, IOPS, bandwidth, both latencies, verdict."""
    rows = []
    for direction, result in step.directions.items():
        in_flight = step.in_flight.measured
        configured = count(step.in_flight.configured) if step.in_flight.configured else "?"
        law = duration(in_flight / result.ops_per_second) if in_flight and len(step.directions) == 1 else "-"
        rows.append(
            [
                printable(step.full_name),
                direction,
                f"{count(in_flight)} of {configured}" if in_flight is not None else "?",
                iops(result.ops_per_second).removesuffix(" IOPS"),
                bandwidth(result.bytes_per_second),
                duration(result.latency_seconds.mean),
                law,
                f"{KIND_WORDS[step.verdict.kind]} {step.verdict.grade}",
            ]
        )
    return rows or [[printable(step.full_name), *["-"] * 6, f"{KIND_WORDS[step.verdict.kind]} {step.verdict.grade}"]]


STEP_HEADER = ("step", "direction", "outstanding", "IOPS", "payload", "latency", "I/Os÷IOPS", "verdict")


ELEMENT_HEADER: Sequence[str] = ("link", "speed", "direction", "utilisation", "counted", "share", "other I/O")


def element_cells(diagnosis: Diagnosis) -> list[list[str]]:
    """Rows of the link table for the deciding step: links that carry I/O, those of the loaded path first."""
    step = diagnosis.verdict.from_step
    return [
        [
            short(use.entity),
            use.speed or "?",
            use.direction,
            "?" if use.utilisation is None else percent(use.utilisation),
            "?" if use.bytes_per_second is None else bandwidth(use.bytes_per_second),
            "?" if use.share is None and use.on_loaded_path is None else percent(use.share or 0.0),
            "-" if not use.foreign_bytes_per_second else bandwidth(use.foreign_bytes_per_second),
        ]
        for use in diagnosis.elements
        if use.step == step and (use.on_loaded_path is not False or (use.utilisation or 0) >= MIN_UTILISATION)
    ]


MIN_UTILISATION = 0.001
"""A link with a lower utilisation carries no I/O, only its keep-alive traffic."""


def recorder_cells(account: RecorderAccount) -> tuple[str, ...]:
    """A row of the table of recorders: name, host, sources, start, last sign of life, clock offset."""
    clock_text = "not compared"
    if account.clock_offset_seconds is not None and account.clock_uncertainty_seconds is not None:
        clock_text = f"{account.clock_offset_seconds:+.1f} ± {account.clock_uncertainty_seconds:.1f} s"
    times = f"{account.starts} times, " if account.starts > 1 else ""
    last_seen = f"{account.last}{'' if account.ended else ', did not end'}"
    return account.name, account.host, ", ".join(account.sources), f"{times}{account.began}", last_seen, clock_text


RECORDER_HEADER = ("recorder", "host", "sources", "started", "last seen", "clock")


def recorder_rows(diagnosis: Diagnosis) -> list[tuple[str, ...]]:
    """Rows of the table of recorders; [] if a single one recorded from the beginning to the end of the load."""
    shown = len(diagnosis.recorders) > 1 or any(account.absences for account in diagnosis.recorders)
    return [recorder_cells(account) for account in diagnosis.recorders] if shown else []


def clock_text(source: SourceAccount) -> str:
    """The offset of a source's clock, and how it was found; "-": the source reports no times."""
    if source.clock_offset_seconds is None:
        return "-"
    uncertainty = source.clock_uncertainty_seconds
    method = "" if source.clock_told_by is None else f", {CLOCKS[source.clock_told_by]}"
    return f"{source.clock_offset_seconds:+.1f}{'' if uncertainty is None else f' ± {uncertainty:.1f}'} s{method}"


SOURCE_HEADER = ("source", "collector", "polls", "failed", "gaps", "clock offset", "time in polls", "last failure")


def source_cells(source: SourceAccount) -> list[str]:
    """A row of the table of sources."""
    polls, failures, gaps = (str(number) for number in (source.polls, source.failures, source.gaps))
    cost = f"{source.cost_seconds:.1f} s"
    return [source.name, source.kind, polls, failures, gaps, clock_text(source), cost, source.last_failure or "-"]


FIGURE_HEADER = ("entity", "quantity", "step", "figures", "largest factor", "share used")


def figure_cells(diagnosis: Diagnosis) -> list[list[str]]:
    """A row for each quantity that has several values or a used share, or was computed or measured."""
    return [
        [
            figures.entity,
            " ".join(part for part in (figures.quantity.replace("_", " "), figures.direction) if part),
            figures.step or "all",
            "; ".join(f"{amount(figures.unit, value)} ({value.source})" for value in figures.values),
            "-" if figures.ratio is None else f"{figures.ratio:.2f}",
            "-" if figures.used_ratio is None else percent(figures.used_ratio),
        ]
        for figures in diagnosis.figures
        if len(figures.values) > 1 or figures.used_ratio is not None or figures.values[0].origin != "stated"
    ]
