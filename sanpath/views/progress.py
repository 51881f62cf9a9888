"""One plain line about a run that is under way, and how often it is due."""

from __future__ import annotations

from typing import IO

from sanpath.verdict.model import Diagnosis
from sanpath.verdict.units import bandwidth, duration, iops
from sanpath.views import words

MEASURED_WINDOWS = 4
"""Before a step has as many whole windows, a verdict would change with each of them."""

LINE_SECONDS, LOG_SECONDS = 5.0, 30.0
"""Between two lines for somebody at a terminal, and for a log: to judge a run costs processor time."""


def every_seconds(stream: IO[str] | None) -> float:
    """How often a line is due on a stream; None: nobody reads it."""
    return LINE_SECONDS if stream is not None and stream.isatty() else LOG_SECONDS


def line(diagnosis: Diagnosis) -> str:
    """Newest step, what it does, what limits it so far, and sources that fail."""
    said = [f"step {words.printable(diagnosis.steps[-1].name)}"] if diagnosis.steps else []
    measured = [step for step in diagnosis.steps if step.directions]
    if not measured:
        said.append("waiting for I/O")
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
    silent = [source.name for source in diagnosis.sources if source.failures and source.last_answer is None]
    failing = [source.name for source in diagnosis.sources if source.failures and source.name not in silent]
    if silent:
        said.append(f"NO ANSWER from {', '.join(words.printable(name) for name in silent)}")
    if failing:
        said.append(f"failing: {', '.join(words.printable(name) for name in failing)}")
    return "sanpath: " + "; ".join(said)
