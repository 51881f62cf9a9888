"""Facts of a load's control groups: their limits for each block device under test, and the utilisation of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isclose

from sanpath.facts.host.disk_limits import Rates, disk_rates, limit_facts, load_rates
from sanpath.facts.host.tested_machines import UnderTest, as_number, as_text, gauge
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.facts.table import FactRow
from sanpath.model import DIRECTIONS
from sanpath.topology.topology import Topology

_SAME_RATE = 0.05
"""Relative difference up to which a group carries the load: each is measured over its own windows."""
_SAME_LIMIT = 0.01
"""Relative difference between a limit's last value and its mean from which it was changed: sanpath's own choice."""
_LIMITS = tuple(f"limit_{quantity}_per_second_{d}" for quantity in ("ops", "bytes") for d in DIRECTIONS)


def control_group_rows(topology: Topology, steps: Sequence[UnderTest]) -> Iterator[FactRow]:
    """Yield one row for each control group, block device under test and step."""
    for step in steps:
        for machine in step.machines:
            for group in topology.related(machine, "attached_to", "cgroup"):
                for device in topology.related(group, "targets", "lun"):
                    if step.samples_of(group) and _is_under_test(topology, step, device):
                        yield _row(topology, step, machine, group, device)


def _is_under_test(topology: Topology, step: UnderTest, device: str) -> bool:
    """Return whether the test uses a block device, or the multipath device that it is a path of."""
    return not {device, *topology.related(device, "member_of", "lun")}.isdisjoint(step.devices)


def _row(topology: Topology, step: UnderTest, machine: str, group: str, device: str) -> FactRow:
    samples, attributes = step.samples_of(group), topology.entities[group].attributes
    limits = {name: gauge(samples, name) for name in _LIMITS}
    counted = disk_rates(step, group)
    is_only = list(step.devices) == [device]
    rates = load_rates(step) if counted.ops is None and is_only else counted
    # Control groups have no burst limits.
    facts = limit_facts(limits, rates, _changed(samples, limits))
    used = {name: value for name, value in facts.items() if name != "limit_burst_used"}
    if not any(limits.values()):
        used["limit_used_ratio"] = 0.0
    path = as_text(attributes.get("path")) or ""
    names = topology.entities[device].ids.get("device", ())
    return {
        "entity": group,
        "step": step.load.step,
        "direction": step.load.direction,
        "windows": min(sample.windows for sample in samples),
        "host": topology.entities[machine].label,
        "group": path.strip("/") or None,
        "unit": as_text(attributes.get("unit")),
        "manager": as_text(attributes.get("manager")),
        "version": as_number(attributes.get("version")),
        "device": next(iter(names), None),
        "device_number": as_text(attributes.get("device_number")),
        "ops_per_second": rates.total_ops,
        "bytes_per_second": rates.total_bytes,
        **used,
        "test_ratio": _test_ratio(step, device, rates),
        "limit_foreign_ratio": _foreign_ratio(step, used, rates),
        "busiest_utilisation": step.busiest_utilisation,
    }


def _changed(samples: Sequence[StepSamples], limits: Mapping[str, float | None]) -> dict[str, float]:
    """Return the limits that differ at the end of the step from their mean over it, with their values at the end."""
    lasts = {
        name: next((last for sample in samples if (last := sample.last_values.get(name)) is not None), None)
        for name in limits
    }
    return {
        name: last
        for name, last in lasts.items()
        if last is not None and not isclose(last, limits[name] or 0.0, rel_tol=_SAME_LIMIT)
    }


def _test_ratio(step: UnderTest, device: str, rates: Rates) -> float | None:
    """Return the share of the test's bytes that pass the group. None: not known.

    A group with the same bytes as the test is the test's. In any other group, only the bytes that the rest of the
    device's bytes cannot account for are certain to be the test's: other loads may have processes of the same name.
    """
    test, passing, carried = load_rates(step).bytes or {}, rates.bytes, disk_rates(step, device).bytes or {}
    total = sum(test.values())
    if not total or passing is None:
        return None
    if all(isclose(byte_rate, passing.get(d, 0.0), rel_tol=_SAME_RATE) for d, byte_rate in test.items()):
        return 1.0
    certain = 0.0
    for d, byte_rate in test.items():
        at_device = carried.get(d, byte_rate)
        certain += max(0.0, min(byte_rate, at_device) - max(0.0, at_device - passing.get(d, 0.0)))
    return certain / total


def _foreign_ratio(step: UnderTest, used: FactRow, rates: Rates) -> float | None:
    """Return the share of the group's bytes that is not the test's, in the directions that have a limit."""
    limited = [d for d in DIRECTIONS if used[f"limit_used_ratio_{d}"] is not None]
    test, passing = load_rates(step).bytes or {}, rates.bytes or {}
    total = sum(passing.get(d, 0.0) for d in limited)
    return max(0.0, 1 - sum(test.get(d, 0.0) for d in limited) / total) if total else None
