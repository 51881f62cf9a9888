"""A plain line about the current state of a run, and how often it is printed."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from sanpath.masking import printable
from sanpath.units import bandwidth, duration, iops, outstanding, percent
from sanpath.views import words

if TYPE_CHECKING:
    from sanpath.diagnosis.model import Diagnosis, StepResult
    from sanpath.pulse.model import Freshness, Pulse

JUDGED_WINDOWS = 4
"""A step with fewer complete windows is still ramping up: its verdict would change with each window."""

LINE_SECONDS, LOG_SECONDS = 5.0, 30.0
"""Seconds between two lines on a terminal, and in a log: the log of a day must be readable."""


NO_IO = "no load has reported I/O yet"


def every_seconds(stream: IO[str] | None) -> float:
    """Seconds between two lines on a stream. None: nobody reads the stream."""
    return LINE_SECONDS if stream is not None and stream.isatty() else LOG_SECONDS


def pulse_line(pulse: Pulse, diagnosis: Diagnosis | None) -> str:
    """The line about the current state, and the limit from the last diagnosis. `diagnosis` None: none yet."""
    texts = [words.elapsed(pulse.elapsed_seconds)]
    if pulse.step:
        texts[0] += f" step {printable(pulse.step)} {step_time(pulse)}"
    for load in pulse.loads:
        tail = f" p99 {duration(load.p99_seconds)}" if load.p99_seconds is not None else ""
        figures = f"{iops(load.ops_per_second)}, {bandwidth(load.bytes_per_second)}"
        in_flight = outstanding(load.in_flight_measured)
        texts.append(f"{load.direction} {figures}, {duration(load.latency_seconds)}{tail}, {in_flight}")
    if not pulse.loads:
        texts.append(no_figures(pulse))
    if links := pulse.current_links:
        busiest = links[0]
        texts.append(f"{words.short(busiest.entity)} {busiest.direction} {percent(busiest.utilisation)}")
    late = [printable(name) for name, source in pulse.ages.items() if source.late]
    texts += [f"LATE: {', '.join(late)}"] if late else []
    measured = [step for step in diagnosis.steps if step.directions] if diagnosis is not None else []
    texts += [f"so far {verdict(measured[-1])}"] if measured else []
    if diagnosis is not None:
        return "sanpath: " + "; ".join([*texts, *_failing_sources(diagnosis)])
    silent = [printable(name) for name, source in pulse.ages.items() if _silent(source, pulse)]
    return "sanpath: " + "; ".join([*texts, *([f"NO ANSWER from {', '.join(silent)}"] if silent else [])])


def _silent(source: Freshness, pulse: Pulse) -> bool:
    """Whether a source has not answered in the time of three polls, and in no less than the first line of a log."""
    return source.age_seconds is None and pulse.elapsed_seconds > max(3 * source.every_seconds, 10.0)


def step_time(pulse: Pulse) -> str:
    """The time of the current step, as in "0:03 of 0:13"; without a planned time, or beyond it, "0:03"."""
    planned = pulse.step_planned_seconds
    planned_text = f" of {words.elapsed(planned)}" if planned is not None and planned >= pulse.step_seconds else ""
    return f"{words.elapsed(pulse.step_seconds)}{planned_text}"


def no_figures(pulse: Pulse) -> str:
    """Why a pulse has no figures of the load."""
    if pulse.step:
        return "no figures of the load yet"
    if pulse.last_step:
        return f"between steps, {printable(pulse.last_step)} ended {words.elapsed(pulse.idle_seconds)} ago"
    return NO_IO


def verdict(step: StepResult) -> str:
    """The limit of a step, in a few words."""
    if step.windows_used < JUDGED_WINDOWS:
        return f"measuring {printable(step.name)}"
    return f"{words.limit_text(step)} in step {printable(step.name)}"


def line(diagnosis: Diagnosis) -> str:
    """The line about the newest step: its figures, its limit so far, and failing sources."""
    texts = [f"step {printable(diagnosis.steps[-1].name)}"] if diagnosis.steps else []
    measured = [step for step in diagnosis.steps if step.directions]
    if not measured:
        texts.append(NO_IO)
    else:
        step = measured[-1]
        for direction, result in step.directions.items():
            latency = duration(result.latency_seconds.mean)
            texts.append(
                f"{direction} {iops(result.ops_per_second)}, {bandwidth(result.bytes_per_second)}, {latency}"
            )
        texts.append("measuring" if step.windows_used < JUDGED_WINDOWS else f"so far {words.limit_text(step)}")
    return "sanpath: " + "; ".join([*texts, *_failing_sources(diagnosis)])


def _failing_sources(diagnosis: Diagnosis) -> list[str]:
    """Sources that have never answered, and sources that fail sometimes."""
    texts = []
    silent = [source.name for source in diagnosis.sources if source.failures and source.last_answer is None]
    failing = [source.name for source in diagnosis.sources if source.failures and source.name not in silent]
    if silent:
        texts.append(f"NO ANSWER from {', '.join(printable(name) for name in silent)}")
    if failing:
        texts.append(f"failing: {', '.join(printable(name) for name in failing)}")
    return texts
