"""The table of places of one load, step and direction: all that the hypotheses are judged by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sanpath.facts.compute import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.load_volumes import array_side
from sanpath.facts.table import FactRow, number
from sanpath.model import Step
from sanpath.topology.paths import IoPath, hosts_of, io_paths, machines_of
from sanpath.verdict.places.scaling import Scaling, alike, scaling
from sanpath.verdict.places.segments import Segment, segments, wire_seconds

_ALL_BUSY = 0.99
_FEWER = 0.8
"""I/Os in flight of a calmer step, as a share of those here."""


@dataclass(frozen=True, slots=True)
class PlaceTable:
    """`segments`: from the load down. `links`: those that carry the load, and those that may (`on_loaded_path` None).
    `array`: what the array says of the load's traffic, None: nothing. `arrays`: those that the topology knows behind
    the load; `uncounted`: links on its way whose bytes nobody counts. `paths`: every way its
    I/O can take. `filled`: I/Os in flight of both directions over those configured, None: not told. `windows`: whole
    windows of the slowest source. `processor_seconds`: what an I/O waits for processors of the load's machine or of
    the array at most, 0 where nobody tells. `beside`: the table of the same load's other direction."""

    facts: Facts
    load: LoadFacts
    step: Step
    segments: tuple[Segment, ...]
    links: tuple[FactRow, ...]
    array: FactRow | None
    arrays: tuple[str, ...]
    uncounted: tuple[str, ...]
    paths: tuple[IoPath, ...]
    scaling: Scaling
    filled: float | None
    windows: int
    processor_seconds: float = 0.0
    beside: tuple[PlaceTable, ...] = ()

    @property
    def on_path(self) -> list[FactRow]:
        """The links that certainly carry the load."""
        return [row for row in self.links if row["on_loaded_path"]]

    @property
    def transfer(self) -> frozenset[int]:
        """Where frames wait on their way: in what the array times as transfer, where it does."""
        return self.indices("fabric", "below") or self.indices("array_door")

    @property
    def before_transfer(self) -> frozenset[int]:
        """Where commands wait behind frames that wait."""
        return self.indices("array_door") - self.transfer

    def passing(self, index: int) -> float:
        """I/Os of both directions below a segment in the mean: throughput times the time below it (Little)."""
        kind = self.segments[index].kind
        return sum(table.load.ops_per_second * table.below(kind) for table in (self, *self.beside))

    def below(self, kind: str) -> float:
        """Seconds that an I/O spends below the last segment of a kind; 0 where there is none."""
        last = max((i for i, segment in enumerate(self.segments) if segment.kind == kind), default=len(self.segments))
        return sum(segment.middle for segment in self.segments[last + 1 :])

    def indices(self, *kinds: str) -> frozenset[int]:
        """Which segments are of these kinds."""
        return frozenset(i for i, segment in enumerate(self.segments) if segment.kind in kinds)


def place_tables(facts: Facts, loads: Sequence[LoadFacts]) -> list[PlaceTable]:
    """One table a load. Virtual machines may have moved: each step is seen as it was."""
    tables = [_table(facts.in_step(load.step), load) for load in loads]
    return [replace(one, beside=tuple(other for other in tables if _other_direction(one, other))) for one in tables]


def _other_direction(one: PlaceTable, other: PlaceTable) -> bool:
    return one is not other and (one.load.step, one.load.entity) == (other.load.step, other.load.entity)


def _table(facts: Facts, load: LoadFacts) -> PlaceTable:
    here = {"step": load.step, "direction": load.direction}
    links = [row for row in facts.tables["link"].select(**here) if row["on_loaded_path"] is not False]
    row = array_side(facts.topology, load, facts.tables)
    seen = [row for row in links if row["on_loaded_path"]] + ([row] if row is not None else [])
    windows = [int(number(one, "windows")) for one in seen] + ([] if load.summary else [load.windows])
    total = _in_flight(facts, load.step)
    calmer = [
        other
        for other in facts.loads
        if alike(facts.loads, load, other) and other.in_flight_measured <= _FEWER * load.in_flight_measured
    ]
    calm = min(calmer, key=lambda other: other.in_flight_measured, default=None)
    before = () if calm is None else segments(facts, calm, wire_seconds(facts, calm), _in_flight(facts, calm.step))
    ways = io_paths(facts.topology, *load.roots)
    arrays = {path.array for path in ways if path.array}
    told = {str(row["entity"]) for row in facts.tables["link"].select(**here) if row["utilisation"] is not None}
    uncounted = dict.fromkeys(cable.id for path in ways for cable in path.cables if cable.id not in told)
    if row is not None:
        entity = str(row["entity"])
        arrays.add(next(iter(facts.topology.related(entity, "member_of", "array")), entity))
    return PlaceTable(
        facts,
        load,
        next(step for step in facts.steps if step.name == load.step),
        tuple(segments(facts, load, wire_seconds(facts, load), total, before)),
        tuple(links),
        row,
        tuple(sorted(arrays)),
        tuple(uncounted),
        tuple(ways),
        scaling(facts.loads, load),
        total / load.in_flight_configured if load.in_flight_configured else None,
        min(windows, default=load.windows),
        _waits_for_processors(facts, load),
    )


def _waits_for_processors(facts: Facts, load: LoadFacts) -> float:
    """M/M/c: rho / ((1 - rho) X) times the share of those that wait, which is less than one, for any number of
    processors."""
    arrays = facts.tables["array"].select(step=load.step, direction=load.direction)
    told = [used for used, _ in processors(facts, load)] + [number(row, "controller_busy_ratio") for row in arrays]
    busy = min(max(told, default=0.0), _ALL_BUSY)
    operations = sum(other.ops_per_second for other in facts.loads if other.step == load.step)
    return busy / (1 - busy) / operations


def processors(facts: Facts, load: LoadFacts) -> list[tuple[float, str]]:
    """Share of their processors that is busy, and name of the load's machine and of its host, of those that tell."""
    topology = facts.topology
    mine = {one for root in load.roots for one in (*machines_of(topology, root), *hosts_of(topology, root))}
    rows = facts.tables["host"].select(step=load.step)
    return [
        (number(row, "cpu_ratio"), str(row["entity"]))
        for row in rows
        if row["entity"] in mine and row["cpu_ratio"] is not None
    ]


def _in_flight(facts: Facts, step: str) -> float:
    """I/Os in flight in a step, of both directions."""
    return sum(load.in_flight_measured for load in facts.loads if load.step == step)
