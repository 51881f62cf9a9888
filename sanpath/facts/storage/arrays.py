"""Facts of arrays and volumes: the array's part of the latency, as it reports it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from sanpath.facts.host.tested_machines import busiest_utilisation
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples, gauge_or_rates, running_clocks
from sanpath.facts.storage.cloud_limits import COUNTED, SHARES, limit_shares
from sanpath.facts.storage.controllers import UNKNOWN_USE, controller_use
from sanpath.facts.table import FactRow, FactTable, number
from sanpath.model import DIRECTIONS, Direction
from sanpath.topology.paths import targets_of
from sanpath.topology.topology import Topology

_TIMES = ("service_seconds", "queue_seconds", "array_seconds", "growth_within", "spread_seconds")
_COMPARED = ("growth", "throughput_gain", "held_throughput", "queue_ratio", "upstream_utilisation")
"""Facts that compare a row with the load."""


def array_rows(
    topology: Topology,
    kind: str,
    loads: Sequence[LoadFacts],
    links: FactTable,
    samples: Sequence[StepSamples],
    controllers: Sequence[StepSamples] = (),
) -> Iterator[FactRow]:
    """Yield one row for each entity of `kind` ("array" or "volume"), step and direction with I/O.

    Arrays that the test does not use have no row; their volumes have rows without a comparison with the load.

    `array_seconds` = service + queue: summed up here, since the meaning of the array's total changed between
    releases. `growth` compares it with the step that had the fewest I/Os of the same kind in flight; None if there is
    only one step. `growth_within` compares the end of the step with its beginning. `throughput_gain` is the gain over
    the step with the most I/Os in flight among those with at most half as many: the effect of a doubled load.
    """
    by_step = {(f.step, str(f.direction)): f for f in loads}
    first_reduction, running = _first_reduction(loads, samples), running_clocks(samples)
    rows = _merged(
        row
        for sample in samples
        for row in _rows(topology, kind, sample, loads, first_reduction, (sample.source, sample.entity) in running)
    )
    rows = _with_limits_used(topology, kind, rows)
    tested = _tested(topology, kind, loads)
    use = controller_use(topology, controllers)
    for row in rows:
        if tested and row["entity"] not in tested:
            if kind == "volume":
                yield {**row, "foreign_ratio": None, **dict.fromkeys(_COMPARED)}
            continue
        growth, gain = _growth_and_gain(row, rows, by_step)
        load = by_step.get((str(row["step"]), str(row["direction"])))
        upstream = links.select(step=row["step"], direction=row["direction"], on_loaded_path=True)
        yield {
            **row,
            "growth": growth,
            "held_throughput": load.held_throughput if load is not None else None,
            "throughput_gain": gain,
            **next((use[key] for key in _arrays_of(topology, kind, row) if key in use), UNKNOWN_USE),
            "queue_ratio": number(row, "queue_seconds") / number(row, "service_seconds")
            if row["queue_seconds"] is not None and row["service_seconds"]
            else None,
            "upstream_utilisation": busiest_utilisation(upstream),
        }


def _with_limits_used(topology: Topology, kind: str, rows: Sequence[FactRow]) -> list[FactRow]:
    """Return the rows with the used shares of cloud limits and of block-device slots, and the array's configured
    limits."""
    set_limits = _set_limits(topology, rows)
    shares, slots = limit_shares(topology, kind, rows), _device_slots(topology, rows)
    return [
        {
            **row,
            **shares.get((str(row["entity"]), str(row["step"])), dict.fromkeys(SHARES)),
            "device_slots_ratio": slots.get((str(row["entity"]), str(row["step"]))),
            **set_limits[str(row["entity"]), str(row["step"])],
        }
        for row in rows
    ]


def _set_limits(topology: Topology, rows: Sequence[FactRow]) -> dict[tuple[str, str], FactRow]:
    """Return (volume, step) → its name at the array, the limits configured for it alone, and the one with the higher
    utilisation, both directions together."""
    result: dict[tuple[str, str], FactRow] = {}
    for key in {(str(row["entity"]), str(row["step"])): None for row in rows}:
        kind, _, name = key[0].partition(":")
        attributes = topology.entities[key[0]].attributes if kind == "volume" and key[0] in topology.entities else {}
        own = [row for row in rows if (row["entity"], row["step"]) == key]
        limits: dict[str, float | None] = {}
        used: dict[str, float] = {}
        for rate, fact in (("bytes_per_second", "qos_bytes_per_second"), ("ops_per_second", "qos_ops_per_second")):
            limit = attributes.get(fact)
            is_own = isinstance(limit, int | float) and limit > 0 and not attributes.get(f"group_{fact}")
            limits[fact] = float(cast(float, limit)) if is_own else None
            if is_own:
                used[fact] = sum(number(row, rate) for row in own) / float(cast(float, limit))
        result[key] = {
            "volume_name": name.partition("/")[2] or None if kind == "volume" else None,
            **limits,
            "limit_used_most": max(used, key=used.__getitem__, default=None),
        }
    return result


def _growth_and_gain(
    row: FactRow, rows: Sequence[FactRow], by_step: Mapping[tuple[str, str], LoadFacts]
) -> tuple[float | None, float | None]:
    """Return `growth` and `throughput_gain` of a row among those of other steps. None: no other step is comparable.

    `by_step`: (step, direction) → its load.
    """
    load = by_step.get((str(row["step"]), str(row["direction"])))
    if load is None or row["array_seconds"] is None:
        return None, None
    peers = [
        (peer_load, number(peer_row, "array_seconds"))
        for peer_row in rows
        if peer_row["entity"] == row["entity"]
        and peer_row["array_seconds"]
        and (peer_load := by_step.get((str(peer_row["step"]), str(peer_row["direction"])))) is not None
        and load.comparable(peer_load)
    ]
    if len(peers) <= 1:
        return None, None
    growth = number(row, "array_seconds") / min(peers, key=lambda peer: peer[0].in_flight_measured)[1]
    fewer = [peer_load for peer_load, _ in peers if peer_load.at_most_half(load)]
    if not fewer:
        return growth, None
    most_of_fewer = max(fewer, key=lambda peer_load: peer_load.in_flight_measured)
    return growth, load.ops_per_second / most_of_fewer.ops_per_second - 1


def _merged(rows: Iterable[FactRow]) -> list[FactRow]:
    """One row for each entity, step and direction if several sources count the same: the row of a source that times
    its I/Os and has the most windows. The others add the values that it does not report, except times: they belong
    together."""
    by_key: dict[tuple[object, ...], list[FactRow]] = {}
    for row in rows:
        by_key.setdefault((row["entity"], row["step"], row["direction"]), []).append(row)
    result: list[FactRow] = []
    for same in by_key.values():
        best, *others = sorted(same, key=lambda row: (row["array_seconds"] is None, -number(row, "windows")))
        for other in others:
            missing = [name for name, value in best.items() if value is None and name not in _TIMES]
            best = {**best, **{name: other[name] for name in missing}}
        result.append(best)
    return result


def _device_slots(topology: Topology, rows: Sequence[FactRow]) -> dict[tuple[str, str], float]:
    """Return (volume, step) → I/Os of both directions in flight at its block device (Little's law), over the device's
    slots. Only volumes whose device reports them are included."""
    used: dict[tuple[str, str], float] = {}
    for row in rows:
        entity, slots = str(row["entity"]), topology.entities[str(row["entity"])].attributes.get("device_slots")
        if isinstance(slots, int | float) and slots > 0 and row["array_seconds"] is not None:
            in_flight = number(row, "ops_per_second") * number(row, "array_seconds")
            key = (entity, str(row["step"]))
            used[key] = used.get(key, 0.0) + in_flight / slots
    return used


def _arrays_of(topology: Topology, kind: str, row: FactRow) -> list[tuple[str, str]]:
    """Return (array, step) for each array of a row's entity."""
    entity, step = str(row["entity"]), str(row["step"])
    arrays = [entity] if kind == "array" else topology.related(entity, "member_of", "array")
    return [(array, step) for array in arrays]


def _tested(topology: Topology, kind: str, loads: Sequence[LoadFacts]) -> set[str]:
    """Return the entities of a kind that the test uses. Empty: not known."""
    volumes = targets_of(topology, *{root for load in loads for root in load.roots})[1]
    if kind == "volume":
        return volumes
    return {array for volume in volumes for array in topology.related(volume, "member_of", "array")}


def _rows(
    topology: Topology,
    kind: str,
    sample: StepSamples,
    loads: Sequence[LoadFacts],
    first_reduction: Mapping[tuple[str, str], float],
    is_running: bool,
) -> Iterator[FactRow]:
    """Yield the rows of one entity in one step. `is_running`: whether its counters of I/O time grow."""
    entity = topology.known_as.get((sample.source, kind, sample.entity))
    if entity is None:
        return
    for direction in DIRECTIONS:
        operations = gauge_or_rates(sample, f"ops_per_second_{direction}", f"ops_{direction}_total")
        byte_rate = gauge_or_rates(sample, f"bytes_per_second_{direction}", f"bytes_{direction}_total")
        if not operations:
            continue
        load = next((f for f in loads if f.step == sample.step and f.direction == direction), None)
        foreign = _foreign_ratio(sample, load, byte_rate)
        spread = sample.resolutions.get(f"service_seconds_{direction}", 0.0) / 2
        service, queue = _service_and_queue_seconds(sample, direction, operations, is_running)
        service = None if service is None else service + spread
        yield {
            "entity": entity,
            "step": sample.step,
            "direction": direction,
            "windows": sample.windows,
            "ops_per_second": operations,
            "bytes_per_second": byte_rate,
            "service_seconds": service,
            "queue_seconds": queue,
            "qos_limit_seconds": sample.means.get(f"qos_limit_seconds_{direction}"),
            **{f"{limit}_ratio": sample.rate(f"{limit}_seconds_total") for limit in COUNTED},
            "array_seconds": None if service is None else service + (queue or 0.0),
            "growth_within": _growth_within(sample, direction),
            "spread_seconds": spread,
            "by_hand": sample.by_hand,
            "response_seconds": sample.means.get(f"response_seconds_{direction}"),
            "san_seconds": sample.means.get(f"san_seconds_{direction}"),
            "foreign_ratio": foreign,
            "shared": None if foreign is None else foreign > 0,
            "written_bytes": sample.last_values.get("written_bytes"),
            "data_reduction_ratio": sample.last_values.get("data_reduction_ratio"),
            "data_reduction_change": _change(
                sample.last_values.get("data_reduction_ratio"), first_reduction.get((sample.source, sample.entity))
            ),
        }


def _foreign_ratio(sample: StepSamples, load: LoadFacts | None, byte_rate: float | None) -> float | None:
    """Return the share of an entity's bytes that is not the test's. None: not known."""
    if load is None or not byte_rate or not load.bytes_per_second:
        return None
    foreign = max(0.0, 1 - load.bytes_per_second / byte_rate)
    return 0.0 if foreign < load.same_traffic_tolerance(sample.windows) else foreign


def _service_and_queue_seconds(
    sample: StepSamples, direction: Direction, operations: float, is_running: bool
) -> tuple[float | None, float | None]:
    """Return service and queue time of an I/O, from gauges or else from counters of I/O time. None: not reported.

    `operations`: I/Os a second. `is_running`: whether the counters of I/O time grow.
    """
    service, queue = (sample.means.get(f"{quantity}_seconds_{direction}") for quantity in ("service", "queue"))
    wait = sample.rate(f"latency_seconds_{direction}_total")
    if service is None and wait is not None and is_running:
        service = wait / operations
    if queue is None and (wait := sample.rate(f"queue_seconds_{direction}_total")) is not None:
        queue = wait / operations
    return service, queue


def _growth_within(sample: StepSamples, direction: Direction) -> float | None:
    """Return service plus queue time of the last quarter of a step over that of the first. None: not reported."""
    service, queue = (
        sample.quarter_means.get(f"{quantity}_seconds_{direction}", (None, None)) for quantity in ("service", "queue")
    )
    first, last = (
        (service_time or 0.0) + (queue_time or 0.0) for service_time, queue_time in zip(service, queue, strict=True)
    )
    return last / first if first and last and None not in service else None


def _first_reduction(loads: Sequence[LoadFacts], samples: Sequence[StepSamples]) -> dict[tuple[str, str], float]:
    """Return (source, its own id of an entity) → the data reduction in the first step in which it is reported."""
    order = {step: number for number, step in enumerate(dict.fromkeys(load.step for load in loads))}
    ratios: dict[tuple[str, str], float] = {}
    for sample in sorted(samples, key=lambda sample: order.get(sample.step, len(order))):
        if (ratio := sample.means.get("data_reduction_ratio")) is not None:
            ratios.setdefault((sample.source, sample.entity), ratio)
    return ratios


def _change(current: float | None, first: float | None) -> float | None:
    return current / first - 1 if current is not None and first else None
