"""One plain line about a run that is under way, and how often it is due."""

from __future__ import annotations

from typing import IO

from sanpath.pulse.model import Pulse
from sanpath.verdict.model import Diagnosis, StepResult
from sanpath.verdict.units import bandwidth, count, duration, iops, percent
from sanpath.views import words

MEASURED_WINDOWS = 4
"""Before a step has as many whole windows, a verdict would change with each of them."""

LINE_SECONDS, LOG_SECONDS = 5.0, 30.0
"""Between two lines for somebody at a terminal, and for a log: a day of it has to be readable."""


NO_IO = "no load has reported I/O yet"


def every_seconds(stream: IO[str] | None) -> float:
    """How often a line is due on a stream; None: nobody reads it."""
    return LINE_SECONDS if stream is not None and stream.isatty() else LOG_SECONDS


def beat(pulse: Pulse, diagnosis: Diagnosis | None) -> str:
    """What happens now, and what limits by the last diagnosis; None: there is none yet."""
    said = [words.elapsed(pulse.elapsed_seconds)]
    if pulse.step:
        planned = pulse.step_planned_seconds
        of = f" of {words.elapsed(planned)}" if planned is not None and planned >= pulse.step_seconds else ""
        said[0] += f" step {words.printable(pulse.step)} {words.elapsed(pulse.step_seconds)}{of}"
    for load in pulse.loads:
        tail = f" p99 {duration(load.p99)}" if load.p99 is not None else ""
        figures = f"{iops(load.ops_per_second)}, {bandwidth(load.bytes_per_second)}"
        in_flight = f"{count(load.in_flight_measured)} in flight"
        said.append(f"{load.direction} {figures}, {duration(load.latency_seconds)}{tail}, {in_flight}")
    if not pulse.loads:
        said.append(no_figures(pulse))
    if links := pulse.current_links:
        busiest = links[0]
        said.append(f"{words.short(busiest.entity)} {busiest.direction} {percent(busiest.utilisation)}")
    late = [words.printable(name) for name, source in pulse.ages.items() if source.late]
    said += [f"LATE: {', '.join(late)}"] if late else []
    measured = [step for step in diagnosis.steps if step.directions] if diagnosis is not None else []
    said += [f"so far {verdict(measured[-1])}"] if measured else []
    return "sanpath: " + "; ".join([*said, *(_in_trouble(diagnosis) if diagnosis is not None else [])])


def no_figures(pulse: Pulse) -> str:
    """Why a pulse has no figures of the load."""
    if pulse.step:
        return "no figures of the load yet"
    if pulse.last_step:
        return f"between steps, {words.printable(pulse.last_step)} ended {words.elapsed(pulse.idle_seconds)} ago"
    return NO_IO


def verdict(step: StepResult) -> str:
    """What limits in a step, in a few words."""
    if step.windows_used < MEASURED_WINDOWS:
        return f"measuring {words.printable(step.name)}"
    limits = [f"{words.short(b.entity)} {b.direction}" for b in step.verdict.bottlenecks]
    said = f"{words.plain(step.verdict.kind)}{': ' if limits else ''}{', '.join(limits)}"
    return f"{said} in step {words.printable(step.name)}"


def line(diagnosis: Diagnosis) -> str:
    """Newest step, what it does, what limits it so far, and sources that fail."""
    said = [f"step {words.printable(diagnosis.steps[-1].name)}"] if diagnosis.steps else []
    measured = [step for step in diagnosis.steps if step.directions]
    if not measured:
        said.append(NO_IO)
    else:
        step = measured[-1]
        for direction, result in step.directions.items():
            latency = duration(result.latency_seconds.mean)
            said.append(f"{direction} {iops(result.ops_per_second)}, {bandwidth(result.bytes_per_second)}, {latency}")
        limits = [f"{words.short(b.entity)} {b.direction}" for b in step.verdict.bottlenecks]
        if step.windows_used < MEASURED_WINDOWS:
            said.append("measuring")
        else:
            said.append(f"so far {words.plain(step.verdict.kind)}{': ' if limits else ''}{', '.join(limits)}")
    return "sanpath: " + "; ".join([*said, *_in_trouble(diagnosis)])


def _in_trouble(diagnosis: Diagnosis) -> list[str]:
    said = []
    silent = [source.name for source in diagnosis.sources if source.failures and source.last_answer is None]
    failing = [source.name for source in diagnosis.sources if source.failures and source.name not in silent]
    if silent:
        said.append(f"NO ANSWER from {', '.join(words.printable(name) for name in silent)}")
    if failing:
        said.append(f"failing: {', '.join(words.printable(name) for name in failing)}")
    return said
