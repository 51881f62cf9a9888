"""What a recording says about each entity in each step and direction, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from sanpath.facts.figures.manual_figures import ManualFigures
from sanpath.facts.figures.model import FigureComparison
from sanpath.facts.host.vm_placement import VmPlacement
from sanpath.facts.load.busiest_device import BusiestDevice
from sanpath.facts.load.load_events import Histogram, SourceEvents
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.clock_offsets import ClockOffset
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.facts.storage.idle_arrays import IdleArray
from sanpath.facts.storage.probe_pauses import ProbePause
from sanpath.facts.table import FactRow, FactTable
from sanpath.facts.time.load_edges import Unplaced
from sanpath.facts.time.recorder_coverage import RecorderAbsence, RecorderPresence
from sanpath.facts.time.slow_periods import SlowPeriods
from sanpath.model import Step
from sanpath.topology.topology import Topology

ResultT = TypeVar("ResultT")

CHART_KINDS = ("load", "lun", "volume", "array", "switch_port")
"""Entity kinds that charts show."""
Samples = Mapping[str, Sequence[StepSamples]]
"""Entity kind → its samples, one for each step, source and entity."""


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts of a recording, the input of rules and verdict.

    `topology`: at the end of the recording. `tables`: entity kind → facts. `loads`: totals of each step and
    direction. `clocks`: source → its known clock offset. `unplaced`: imported files whose time could not be checked.
    `histograms`: (step, direction) → latency distribution. `events`: all events that sources reported. `by_hand`:
    figures that a person entered. `vm_placements`: where the virtual machines ran, one for each placement.
    `recorders`: each recorder and when it was active; `absences`: when one was not. `over_time`: samples over the
    entire recording, for charts; {} if not requested. `figures`: each quantity that a person entered, with all its
    sources. `pauses`: those of a probe's load. `idle_arrays`: array → its activity before the load began.
    `load_windows`: the most entire windows that a load reported in one step, whether or not with operations and their
    latency. `busiest_device`: the bytes of a block device if there is no load; None: there is one, or none moved
    bytes. `parts`: the facts of each part of the loads, such as one host's; empty: there is one part, they are not
    known, or there are too many, whose number is `parts_left_out`. `loads_of_test`: in the facts of a part, the loads
    of all parts together. `slowed`: the facts of the steps' `slow_periods` alone; None: no step has any.
    """

    steps: tuple[Step, ...]
    topology: Topology
    tables: Mapping[str, FactTable]
    loads: Sequence[LoadFacts]
    clocks: Mapping[str, ClockOffset]
    unplaced: Sequence[Unplaced]
    histograms: Mapping[tuple[str, str], Histogram]
    events: SourceEvents
    by_hand: ManualFigures
    vm_placements: Sequence[VmPlacement] = ()
    recorders: Sequence[RecorderPresence] = ()
    absences: Sequence[RecorderAbsence] = ()
    over_time: Samples = field(default_factory=dict)
    figures: Sequence[FigureComparison] = ()
    pauses: Sequence[ProbePause] = ()
    idle_arrays: Mapping[str, IdleArray] = field(default_factory=dict)
    load_windows: int = 0
    busiest_device: BusiestDevice | None = None
    parts: Sequence[Facts] = ()
    parts_left_out: int = 0
    loads_of_test: Sequence[LoadFacts] = ()
    slow_periods: Sequence[SlowPeriods] = ()
    slowed: Facts | None = None
    _computed: dict[tuple[int, object], tuple[LoadFacts, Any]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _loads_by_step: dict[str, list[LoadFacts]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def cached(self, compute: Callable[[Facts, LoadFacts], ResultT], load: LoadFacts) -> ResultT:
        """Compute something about a load only once: a verdict asks for it dozens of times. The result must not be
        changed."""
        key = id(load), compute
        if key not in self._computed:
            self._computed[key] = load, compute(self, load)  # While the load is kept, no other load gets its id.
        result: ResultT = self._computed[key][1]
        return result

    def in_step(self, step: str) -> Facts:
        """Return the facts of a step if virtual machines moved between hosts during the recording: the topology of
        that step, and the loads of only those steps in which all machines ran on the same hosts. Other loads are not
        comparable."""
        current = next(
            (
                placement
                for placement in self.vm_placements
                if any(placed_step.name == step for placed_step in placement.steps)
            ),
            None,
        )
        if current is None or len(self.vm_placements) == 1:
            return self
        names = {placed_step.name for placed_step in current.steps}
        return replace(self, topology=current.topology, loads=[load for load in self.loads if load.step in names])

    def loads_in(self, step: str) -> list[LoadFacts]:
        """Return the loads of a step, both directions."""
        if not self._loads_by_step:
            for load in self.loads:
                self._loads_by_step.setdefault(load.step, []).append(load)
        return list(self._loads_by_step.get(step, ()))

    def test_loads_in(self, step: str) -> list[LoadFacts]:
        """Return the loads of a step, both directions, all parts together."""
        return [load for load in self.loads_of_test or self.loads if load.step == step]

    def in_flight_in(self, step: str) -> float:
        """Return the I/Os in flight of all loads of a step, both directions."""
        return sum(load.in_flight_measured for load in self.loads_in(step))

    def ops_per_second_in(self, step: str) -> float:
        """Return the operations a second of all loads of a step, both directions."""
        return sum(load.ops_per_second for load in self.loads_in(step))

    def row_of(self, load: LoadFacts) -> FactRow:
        """Return the row of a load in the table of loads."""
        (row,) = self.tables["load"].select(step=load.step, direction=load.direction, entity=load.entity)
        return row
