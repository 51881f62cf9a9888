"""What polling switch ports costs: CPU time of the polling process for each value, sanpath beside its peers.

All ask the same agents for the same ten columns of IF-MIB, in turn: what only polls is told to in every window of ten
seconds; what polls by itself and writes (sanpath's recorder, Telegraf) is read over the same windows.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from tests.benchmarks.fabric import COLUMNS, fabrics
from tests.benchmarks.go_programs import SNMP_EXPORTER, TELEGRAF, NotBuiltError, built
from tests.benchmarks.pollers import (
    EVERY_SECONDS,
    Collectors,
    Exporter,
    Recorder,
    Telegraf,
    bulkwalk,
)
from tests.benchmarks.rounds import ratios, spread

SIZES = (48, 384, 5_000)
WINDOWS = 6
POLLS_IN_A_WINDOW = {48: 10, 384: 4, 5_000: 1}
"""Of those that poll when they are told to: so that a window's CPU time is more than its own noise."""
EDGE_SECONDS, TURN_SECONDS = 9.0, 4.0
"""A window begins a second before Telegraf polls, and the others have their turn when it is done."""
INVENTORY_SECONDS = 300
PATIENCE_SECONDS = 180
"""May pass until every switch has been polled twice, whatever else the machine does."""
EXPORTER_PORT = 19_116

Poll = Callable[[], tuple[int, float]]


@dataclass
class Fabric:
    """One size of fabric, and CPU seconds a value of each tool by window."""

    ports: int
    agents: list[int]
    own: Collectors
    reported: dict[str, Poll]
    writing: dict[str, Recorder | Telegraf]
    seconds: dict[str, list[float]] = field(default_factory=dict)
    clocks: list[dict[str, float]] = field(default_factory=list)

    def note(self, name: str, values: int, seconds: float) -> None:
        """Raises RuntimeError where a tool has not read everything: its cost would be that of something else."""
        if values % (self.ports * len(COLUMNS)) or not values:
            raise RuntimeError(f"{name} read {values} values of {self.ports} ports with {len(COLUMNS)} columns")
        self.seconds.setdefault(name, []).append(seconds / values)

    def take_turns(self) -> None:
        """Whoever polls when told to."""
        for name, poll in self.reported.items():
            polls = [poll() for _ in range(POLLS_IN_A_WINDOW.get(self.ports, 1))]
            self.note(name, sum(values for values, _ in polls), sum(seconds for _, seconds in polls))

    def look_at_clocks(self) -> None:
        """Of whoever polls by itself."""
        self.clocks.append({name: tool.cpu_seconds() for name, tool in self.writing.items()})

    def read_what_was_written(self, edges: list[float]) -> None:
        """Values by window, when all has been written."""
        for name, tool in self.writing.items():
            tool.end()
            for n, (first, last) in enumerate(pairwise(edges)):
                self.note(name, tool.values(first, last), self.clocks[n + 1][name] - self.clocks[n][name])

    def reported_of(self) -> str:
        """The lines of this size."""
        several = len(self.agents)
        lines = [f"{self.ports:,} ports ({several} switch{'es' * (several > 1)}), CPU a value:"]
        for name, seconds in self.seconds.items():
            against = "sanpath's recorder" if name in self.writing else "sanpath"
            line = f"    {name}: {spread(seconds, 1e6, 'us')}"
            if name != against and against in self.seconds:
                goal = " (goal 1)" if name == "snmp_exporter" else ""
                line += f"; {against} takes {spread(ratios(self.seconds[against], seconds))} times that{goal}"
            lines.append(line)
        further = self.own.inventory_seconds / (INVENTORY_SECONDS / EVERY_SECONDS) / (self.ports * len(COLUMNS))
        lines.append(
            f"    beside that: sanpath's inventory every {INVENTORY_SECONDS} s, {1e6 * further:.2g} us a value; and "
            f"{self.own.learning_seconds:.2g} s once, at the start, to find out what there is"
        )
        return "\n  ".join(lines)


def measure() -> str:
    """A few lines a size, one for each tool; what could not be had is named."""
    skipped: list[str] = []
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        programs = {}
        for program in (SNMP_EXPORTER, TELEGRAF):
            try:
                programs[program] = built(program, folder)
            except NotBuiltError as why:
                skipped.append(f"{program.name}: {why}")
        if not shutil.which("snmpbulkwalk"):
            skipped.append("snmpbulkwalk: net-snmp is not installed")
        served = stack.enter_context(fabrics(SIZES))
        found = []
        exporter = None
        if SNMP_EXPORTER in programs:
            exporter = Exporter(programs[SNMP_EXPORTER], folder, EXPORTER_PORT)
            stack.callback(exporter.close)
        for ports, agents in served.items():
            found.append(_fabric(stack, folder, ports, agents, exporter, programs.get(TELEGRAF)))
        _windows(found)
        return "".join(
            f"\n  {line}" for line in (*(each.reported_of() for each in found), *(f"skipped {s}" for s in skipped))
        )


def _fabric(
    stack: ExitStack, folder: Path, ports: int, agents: list[int], exporter: Exporter | None, telegraf: Path | None
) -> Fabric:
    """Everything that polls this fabric, started."""
    own = stack.enter_context(Collectors(agents))
    result: dict[str, Poll] = {"sanpath": own.poll}
    if exporter is not None:
        result["snmp_exporter"] = lambda: exporter.poll(agents)
    if shutil.which("snmpbulkwalk"):
        result["snmpbulkwalk"] = lambda: bulkwalk(agents)
    place = folder / str(ports)
    place.mkdir()
    writing: dict[str, Recorder | Telegraf] = {"sanpath's recorder": Recorder(agents, place)}
    if telegraf is not None:
        writing["Telegraf"] = Telegraf(telegraf, agents, place)
    for tool in writing.values():
        stack.callback(tool.close)
    return Fabric(ports, agents, own, result, writing)


def _windows(found: list[Fabric]) -> None:
    for each in found:
        recorder = each.writing["sanpath's recorder"]
        assert isinstance(recorder, Recorder)
        patience = time.monotonic() + PATIENCE_SECONDS
        while recorder.polled < 2:
            if time.monotonic() > patience:
                raise RuntimeError(f"the recorder has not found out what {each.ports} ports have")
            time.sleep(1)
    edges: list[float] = []
    for _ in range(WINDOWS):
        edges.append(_next_edge(found))
        _sleep_until(edges[-1] + TURN_SECONDS)
        for each in found:
            each.take_turns()
    edges.append(_next_edge(found))
    for each in found:
        each.read_what_was_written(edges)


def _next_edge(found: list[Fabric]) -> float:
    """Wait for the next one; seconds since the epoch."""
    now = time.time()
    edge = now - now % EVERY_SECONDS + EDGE_SECONDS
    _sleep_until(edge if edge > now else edge + EVERY_SECONDS)
    for each in found:
        each.look_at_clocks()
    return edge if edge > now else edge + EVERY_SECONDS


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.time()))
