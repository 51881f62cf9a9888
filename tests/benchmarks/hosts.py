"""What reading this Linux machine costs, once a second as a load test asks for it: CPU time, against cat of the same.

What the recorder spends is measured, and the children that it starts; writing is not. The peer is one `cat` of the
files of /proc and /sys that tell as much.
"""

from __future__ import annotations

import asyncio
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

from sanpath import registry
from sanpath.plugin import Cost, Rows
from sanpath.recording.writing.clock import RecorderClock
from sanpath.transport.live_context import LiveContext
from tests.benchmarks.rounds import interleaved, ratios, spread

ROUNDS, POLLS = 5, 20


def measure() -> str:
    """One line."""
    spec = registry.spec("linux_host")
    collector = registry.collector_class(spec)(spec.config.model_validate({"name": "here", "collector": spec.name}))
    context = LiveContext(RecorderClock(), Cost())
    values = 0

    async def poll() -> None:
        nonlocal values
        values = 0
        async for item in collector.poll(context):
            if isinstance(item, Rows):
                values += sum(value is not None for column in item.values.values() for value in column)

    def files() -> None:
        result = [Path("/proc/stat"), Path("/proc/diskstats"), *Path("/sys/block").glob("*/stat")]
        subprocess.run(["cat", *map(str, result)], check=True, capture_output=True)

    with asyncio.Runner() as runner:
        runner.run(collector.open(context))
        runner.run(poll())
        ours, theirs = interleaved(
            ROUNDS,
            lambda: _spent(lambda: runner.run(poll())),
            lambda: _spent(files),
        )
        runner.run(collector.close())
    return (
        f"{values} values: {spread(ours, 1e3, 'ms')} a poll; cat {spread(theirs, 1e3, 'ms')}: "
        f"{spread(ratios(ours, theirs))} times"
    )


def _spent(work: Callable[[], None]) -> float:
    before = _cpu_seconds()
    for _ in range(POLLS):
        work()
    return (_cpu_seconds() - before) / POLLS


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
