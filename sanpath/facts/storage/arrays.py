"""Facts of arrays and volumes: what the array says of its own part of the latency."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples, gauge_or_rates
from sanpath.facts.storage.controllers import NOT_READ, controller_use
from sanpath.facts.table import FactRow, FactTable, number
from sanpath.model import DIRECTIONS, Direction
from sanpath.topology.identity import Topology
from sanpath.topology.paths import targets_of

_COMPARED = ("growth", "throughput_gain", "held_throughput", "queue_ratio", "upstream_utilisation")
"""Facts that set a row beside the load."""
_SHARED = 0.05
"""Bytes of array and load that differ by less are the same traffic (rounding, clock edges)."""


def array_rows(
    topology: Topology,
    kind: str,
    loads: Sequence[LoadFacts],
    links: FactTable,
    samples: Sequence[StepSamples],
    controllers: Sequence[StepSamples] = (),
) -> Iterator[FactRow]:
    """One row an entity of `kind` ("array" or "volume"), step and direction with I/O. Of arrays that the test is not
    on there is none; what their volumes do is compared with no load.

    `array_seconds` = service + queue: built from the parts, since the total's meaning changed between releases.
    `growth` compares it with the step that had the fewest I/Os of the same kind in flight, None for one step alone;
    `growth_within` compares the end of the step with its beginning.
    `throughput_gain` with that of the most that are at most half as many: what a doubling of the load brought.
    """
    by_step = {(f.step, str(f.direction)): f for f in loads}
    first = _first_reduction(loads, samples)
    rows = [row for sample in samples for row in _rows(topology, kind, sample, loads, first)]
    mine = _tested(topology, kind, loads)
    inside = controller_use(topology, controllers)
    for row in rows:
        if mine and row["entity"] not in mine:
            if kind == "volume":
                yield {**row, "foreign_ratio": None, **dict.fromkeys(_COMPARED)}
            continue
        load = by_step.get((str(row["step"]), str(row["direction"])))
        peers = [
            (other, number(r, "array_seconds"))
            for r in rows
            if r["entity"] == row["entity"]
            and r["array_seconds"]
            and (other := by_step.get((str(r["step"]), str(r["direction"])))) is not None
            and load is not None
            and load.comparable(other)
        ]
        growth = gain = None
        if len(peers) > 1 and load is not None and row["array_seconds"] is not None:
            growth = number(row, "array_seconds") / min(peers, key=lambda peer: peer[0].in_flight_measured)[1]
            fewer = [other for other, _ in peers if other.at_most_half(load)]
            if fewer:
                gain = load.ops_per_second / max(fewer, key=lambda other: other.in_flight_measured).ops_per_second - 1
        upstream = links.select(step=row["step"], direction=row["direction"], on_loaded_path=True)
        yield {
            **row,
            "growth": growth,
            "held_throughput": load.held_throughput if load is not None else None,
            "throughput_gain": gain,
            **next((inside[key] for key in _arrays_of(topology, kind, row) if key in inside), NOT_READ),
            "queue_ratio": number(row, "queue_seconds") / number(row, "service_seconds")
            if row["queue_seconds"] is not None and row["service_seconds"]
            else None,
            "upstream_utilisation": max((number(link, "utilisation") for link in upstream), default=None),
        }


def _arrays_of(topology: Topology, kind: str, row: FactRow) -> list[tuple[str, str]]:
    """(array, step) of a row."""
    entity, step = str(row["entity"]), str(row["step"])
    arrays = [entity] if kind == "array" else topology.related(entity, "member_of", "array")
    return [(array, step) for array in arrays]


def _tested(topology: Topology, kind: str, loads: Sequence[LoadFacts]) -> set[str]:
    """The entities of a kind that the test has its I/O on. Empty: not known."""
    volumes = targets_of(topology, *{root for load in loads for root in load.roots})[1]
    if kind == "volume":
        return volumes
    return {array for volume in volumes for array in topology.related(volume, "member_of", "array")}


def _rows(
    topology: Topology,
    kind: str,
    sample: StepSamples,
    loads: Sequence[LoadFacts],
    first: Mapping[str, float],
) -> Iterator[FactRow]:
    entity = topology.known_as.get((sample.source, kind, sample.entity))
    if entity is None:
        return
    for direction in DIRECTIONS:
        operations = gauge_or_rates(sample, f"ops_per_second_{direction}", f"ops_{direction}_total")
        size = gauge_or_rates(sample, f"bytes_per_second_{direction}", f"bytes_{direction}_total")
        if not operations:
            continue
        load = next((f for f in loads if f.step == sample.step and f.direction == direction), None)
        foreign = None
        if load is not None and size and load.bytes_per_second:
            foreign = max(0.0, 1 - load.bytes_per_second / size)
            foreign = 0.0 if foreign < _SHARED else foreign
        service, queue = (sample.means.get(f"{part}_seconds_{direction}") for part in ("service", "queue"))
        spread = sample.resolutions.get(f"service_seconds_{direction}", 0.0) / 2
        if service is None and (waited := sample.rate(f"latency_seconds_{direction}_total")) is not None:
            service = waited / operations
        service = None if service is None else service + spread
        yield {
            "entity": entity,
            "step": sample.step,
            "direction": direction,
            "windows": sample.windows,
            "ops_per_second": operations,
            "bytes_per_second": size,
            "service_seconds": service,
            "queue_seconds": queue,
            "qos_limit_seconds": sample.means.get(f"qos_limit_seconds_{direction}"),
            "array_seconds": None if service is None else service + (queue or 0.0),
            "growth_within": _growth_within(sample, direction),
            "spread_seconds": spread,
            "by_hand": sample.by_hand,
            "response_seconds": sample.means.get(f"response_seconds_{direction}"),
            "san_seconds": sample.means.get(f"san_seconds_{direction}"),
            "foreign_ratio": foreign,
            "data_reduction_ratio": sample.last_values.get("data_reduction_ratio"),
            "data_reduction_change": _change(
                sample.last_values.get("data_reduction_ratio"), first.get(sample.entity)
            ),
        }


def _growth_within(sample: StepSamples, direction: Direction) -> float | None:
    """Service and queue time in the last quarter of a step over that in the first. None: either is not told."""
    service, queue = (
        sample.quarter_means.get(f"{part}_seconds_{direction}", (None, None)) for part in ("service", "queue")
    )
    first, last = ((of or 0.0) + (wait or 0.0) for of, wait in zip(service, queue, strict=True))
    return last / first if first and last and None not in service else None


def _first_reduction(loads: Sequence[LoadFacts], samples: Sequence[StepSamples]) -> dict[str, float]:
    """A source's own id → its data reduction in the first step in which it is told."""
    order = {step: number for number, step in enumerate(dict.fromkeys(load.step for load in loads))}
    found: dict[str, float] = {}
    for sample in sorted(samples, key=lambda sample: order.get(sample.step, len(order))):
        if (ratio := sample.means.get("data_reduction_ratio")) is not None:
            found.setdefault(sample.entity, ratio)
    return found


def _change(now: float | None, before: float | None) -> float | None:
    return now / before - 1 if now is not None and before else None
