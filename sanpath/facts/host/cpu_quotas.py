"""Facts of a load's CPU quotas: the utilisation of the processor time that its control groups may use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sanpath.facts.host.tested_machines import UnderTest, as_number, as_text, gauge, rate
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, FactTable, FactValue, number
from sanpath.topology.paths import machines_of
from sanpath.topology.topology import Topology

_HOLDING_RATIO = 0.5
"""Share of the test's bytes from which the processor quota of a control group holds it: sanpath's own choice."""
NO_QUOTA: Mapping[str, FactValue] = {
    "in_cpu_quota": False,
    **dict.fromkeys(
        (
            "cpu_group",
            "cpu_group_unit",
            "cpu_group_manager",
            "cpu_group_version",
            "cpu_quota_cores",
            "cpu_quota_used_ratio",
            "cpu_throttled_ratio",
        )
    ),
}
"""The facts of a load that no quota is known to hold."""


def cpu_quota_facts(
    topology: Topology, load: LoadFacts, tested: Sequence[UnderTest], control_groups: FactTable
) -> Mapping[str, FactValue]:
    """Return the facts of the quota that is used most, of all quotas that hold for a load. `control_groups`: the I/O
    of control groups, which shows which of them belong to another load."""
    found = [
        facts
        for step in tested
        if step.load.step == load.step
        for machine in dict.fromkeys(machine for root in load.roots for machine in machines_of(topology, root))
        for group in topology.related(machine, "attached_to", "cgroup")
        if (facts := _facts(topology, step, group)) is not None
        and not _is_of_another_load(str(facts["cpu_group"]), control_groups.select(step=load.step))
    ]
    return max(found, key=quota_used_ratio, default=NO_QUOTA)


def quota_used_ratio(facts: Mapping[str, FactValue]) -> float:
    """Return how far a quota is used, 0 to 1; 0 if there is none. It was used up in a period in which tasks had to
    wait for the next one. So the share of such periods counts too, even if slices were left unused on other
    processors."""
    return min(1.0, max(number(facts, "cpu_quota_used_ratio"), number(facts, "cpu_throttled_ratio")))


def _facts(topology: Topology, step: UnderTest, group: str) -> Mapping[str, FactValue] | None:
    """Return the facts of the quota of one control group. None: it has none."""
    samples, about = step.samples_of(group), topology.entities[group].attributes
    quota_cores = gauge(samples, "cpu_quota_cores")
    if not quota_cores:
        return None
    used, periods, throttled = (
        rate(samples, f"cpu_{name}_total") for name in ("used_seconds", "periods", "throttled_periods")
    )
    # A period in which no task wants to run is not counted.
    stopped = None if throttled is None or not periods else min(1.0, throttled / periods)
    return {
        "in_cpu_quota": True,
        "cpu_group": (as_text(about.get("path")) or "").strip("/") or "/",
        "cpu_group_unit": as_text(about.get("unit")),
        "cpu_group_manager": as_text(about.get("manager")),
        "cpu_group_version": as_number(about.get("version")),
        "cpu_quota_cores": quota_cores,
        "cpu_quota_used_ratio": stopped if used is None else used / quota_cores,
        "cpu_throttled_ratio": stopped,
    }


def _is_of_another_load(path: str, rows: Sequence[FactRow]) -> bool:
    """Return whether the I/O of a control group, or of those in it, is known to be mostly another load's."""
    shares = list(_test_shares(path, rows))
    return bool(shares) and max(shares) < _HOLDING_RATIO


def _test_shares(path: str, rows: Sequence[FactRow]) -> Iterator[float]:
    for row in rows:
        group = str(row["group"] or "/")
        if row["test_ratio"] is not None and (path == "/" or f"{group}/".startswith(f"{path}/")):
            yield number(row, "test_ratio")
