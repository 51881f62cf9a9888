"""The fact table of loads: each load with facts of its I/O path and in comparison with its other steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isclose
from operator import attrgetter

from sanpath.facts.devices.device_share import carried_ratio, device_share, others_outstanding
from sanpath.facts.devices.planes import devices_of_load, planes_of
from sanpath.facts.fabric.load_shares import IN_USE
from sanpath.facts.host.cpu_quotas import cpu_quota_facts
from sanpath.facts.host.tested_machines import (
    UnderTest,
    busiest_utilisation,
    device_names,
    in_both_directions,
    platform,
)
from sanpath.facts.load.load_events import SourceEvents, failed_ends
from sanpath.facts.load.loads import LoadFacts, flat_beyond, flat_over_load
from sanpath.facts.load.validity import validity_facts
from sanpath.facts.storage.unwritten import unwritten_ratio
from sanpath.facts.table import FactRow, FactTable, FactValue, number
from sanpath.model import Step
from sanpath.topology.topology import Topology

UNMEASURED = ""
"""The direction of a load that failed before it was measured: nothing else is known of it."""
_LIMITED_RATIO = 0.5
"""Share of the load's I/Os below which a block device that admits them limits the load."""
_FULL_QUEUE_TOLERANCE = 0.1
"""A full queue admits the same number of I/Os whatever the load, within this ratio."""


def load_rows(
    topology: Topology,
    steps: Sequence[Step],
    loads: Sequence[LoadFacts],
    tables: Mapping[str, FactTable],
    tested: Sequence[UnderTest],
) -> Iterator[FactRow]:
    """Yield one row for each load, step and direction with I/O. `tables`: those of links, planes and control
    groups."""
    tested_in = {step.load.step: step for step in tested}
    seconds = {step.name: step.seconds for step in steps}
    for load in loads:
        step_and_direction = {"step": load.step, "direction": load.direction}
        links = [row for row in tables["link"].select(**step_and_direction) if row["on_loaded_path"]]
        host_links = [
            row for row in tables["link"].select(**step_and_direction, side="host") if row["share"] is not None
        ]
        of_step = [step_load for step_load in loads if step_load.step == load.step]
        # Both directions of a job have its flushes.
        of_flushes = max(of_step, key=attrgetter("flushes_in_flight"))
        total = of_flushes.with_flushes(sum(each.in_flight_measured for each in of_step))
        used = [row for row in host_links if number(row, "share") >= IN_USE]
        lightest = min(
            (candidate for candidate in loads if candidate.comparable(load)),
            key=lambda candidate: candidate.in_flight_measured,
        )
        yield {
            "entity": load.entity,
            **step_and_direction,
            "windows": load.windows,
            "ops_per_second": load.ops_per_second,
            "bytes_per_second": load.bytes_per_second,
            "latency_seconds": load.latency_seconds,
            "slowest_seconds": load.slowest_seconds,
            "in_flight_configured": load.in_flight_configured,
            "unwritten_ratio": unwritten_ratio(topology, load, loads, tables, seconds),
            "in_flight_measured": load.in_flight_measured,
            "flushes_in_flight": load.flushes_in_flight,
            "filled_ratio": load.filled_ratio(total),
            **_first_device(topology, load, tables["plane"]),
            "carried_ratio": carried_ratio(topology, load, tested_in.get(load.step)),
            "device_share": device_share(topology, load, tested_in.get(load.step)),
            "others_outstanding": others_outstanding(topology, load, tested_in.get(load.step)),
            "latency_ratio": load.latency_seconds / lightest.latency_seconds,
            "held_back": _is_limited_by_queue(topology, load, loads, tables["plane"]),
            "busiest_utilisation": busiest_utilisation(in_both_directions(tables["link"], load.step, load.direction)),
            "usable_links": float(len(host_links)) if host_links else None,
            "busiest_link_share": max((number(row, "share") for row in host_links), default=None),
            "used_links": float(len(used)) if host_links else None,
            "links_together_ratio": sum(number(row, "utilisation") / number(row, "full_ratio") for row in used)
            if host_links and all(row["utilisation"] is not None for row in used)
            else None,
            "follows_load": not (flat_over_load(loads, load) or flat_beyond(loads, load)),
            "cpu_ratio": load.cpu_ratio,
            **cpu_quota_facts(topology, load, tested, tables["control_group"]),
            "operation_bytes": load.operation_bytes,
            "failed_operations": load.failed_operations,
            "counted_below": bool(links or planes_of(topology, load, tables["plane"]))
            or device_share(topology, load, tested_in.get(load.step)) is not None,
            **_lun(topology, load, tables["plane"]),
            **validity_facts(topology, load, of_step),
        }


def failed_rows(steps: Sequence[Step], loads: Sequence[LoadFacts], events: SourceEvents) -> Iterator[FactRow]:
    """Yield one row for each step in which a load failed before it was measured."""
    measured = {load.step for load in loads}
    failed = dict.fromkeys((step.name, source) for step, source, _ in failed_ends(steps, events))
    for step_name, source in failed:
        if step_name not in measured:
            yield {
                "entity": f"load:{source}",
                "step": step_name,
                "direction": UNMEASURED,
                "failed_operations": 1.0,
            }


def _lun(topology: Topology, load: LoadFacts, planes: FactTable) -> Mapping[str, FactValue]:
    """Return the names of the load's LUN at the host that has the paths. Empty: not known, or there are several
    LUNs."""
    devices = [str(row["entity"]) for row in planes_of(topology, load, planes)]
    luns = [entity for entity in devices or devices_of_load(topology, load) if entity.startswith("lun:")]
    if not devices and len(luns) > 1:
        luns = []
    return {"platform": platform(topology, luns[-1]), **device_names(topology, luns[-1])} if luns else {}


def _first_device(topology: Topology, load: LoadFacts, planes: FactTable) -> Mapping[str, FactValue]:
    """Return the time of I/Os above the first block device below the load, and how many are outstanding there."""
    rows = planes_of(topology, load, planes)
    if not rows:
        return {"above_device_seconds": None, "device_in_flight": None}
    # Several sources may read the device: each direction counts once, by the finest clock.
    of_sources = planes.select(step=load.step, plane=rows[0]["plane"], entity=rows[0]["entity"])
    coarsest_first = sorted(of_sources, key=lambda row: -number(row, "resolution_seconds"))
    both = {row["direction"]: row for row in coarsest_first}.values()
    return {
        "above_device_seconds": max(0.0, load.latency_seconds - number(rows[0], "latency_seconds")),
        "device_in_flight": sum(number(row, "in_flight_measured") for row in both),
    }


def _is_limited_by_queue(topology: Topology, load: LoadFacts, loads: Sequence[LoadFacts], planes: FactTable) -> bool:
    """Return whether a queue is full and admits less than half of the I/Os."""
    return any(
        _admits_few(row, load)
        and not any(_admits_another_number(topology, row, other_load, planes) for other_load in loads)
        for row in planes_of(topology, load, planes)
    )


def _admits_few(row: FactRow, load: LoadFacts) -> bool:
    return number(row, "in_flight_measured") < _LIMITED_RATIO * load.in_flight_measured


def _admits_another_number(topology: Topology, row: FactRow, other_load: LoadFacts, planes: FactTable) -> bool:
    """Return whether the queue admits a clearly different, also small number of I/Os in another load. Then the queue
    is not full: the load itself limits its I/Os before they reach the queue."""
    return any(
        match["entity"] == row["entity"]
        and match["plane"] == row["plane"]
        and _admits_few(match, other_load)
        and not isclose(
            number(match, "in_flight_measured"), number(row, "in_flight_measured"), rel_tol=_FULL_QUEUE_TOLERANCE
        )
        for match in planes_of(topology, other_load, planes)
    )
