"""Selects the performance counters to query. Their ids differ between releases, vCenter and ESXi."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sanpath_collectors.vsphere.connection.plain import Record
from sanpath_collectors.vsphere.tables import CONSEQUENCES, GROUPS, SAMPLE_SECONDS, UNITS, Group, Use


@dataclass(frozen=True, slots=True)
class Term:
    """The conversion of a counter's values to a metric.

    `counter`: id of the counter. `factor`: converts its unit to the metric's. `summed`: values are integrated to a
    counter metric. `times`: id of the counter by which each value is multiplied; None: none.
    """

    metric: str
    counter: int
    factor: float
    summed: bool
    times: int | None = None


@dataclass(slots=True)
class Plan:
    """The counters to query, and their conversion to metrics.

    `requested`: kind of managed object → (counter id, instances). `groups`: counter id → name of its group. `terms`:
    entity kind → its metrics. `missing`: counters that the server does not have, or has in an unknown unit.
    """

    requested: dict[str, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))
    groups: dict[int, str] = field(default_factory=dict)
    terms: dict[str, list[Term]] = field(default_factory=lambda: defaultdict(list))
    missing: list[str] = field(default_factory=list)

    def unknown(self) -> list[str]:
        """Return the facts that remain unknown, one line for each counter group with missing counters."""
        missing_names: dict[str, list[str]] = defaultdict(list)
        for counter in self.missing:
            group, _, name = counter.partition(".")
            missing_names[group].append(name)
        partly_available = dict.fromkeys(self.groups.values(), "these values are unknown")
        return [
            f"counters {group}: {', '.join(names)}: {partly_available.get(group) or CONSEQUENCES[group]}"
            for group, names in missing_names.items()
        ]


def plan(catalogue: Sequence[Record]) -> Plan:
    """Return the plan for a server with this list of counters (PerformanceManager.perfCounter)."""
    available = {
        _name(entry): (int(entry["key"]), UNITS[unit])
        for entry in catalogue
        if (unit := _key(entry, "unitInfo")) in UNITS
    }
    result = Plan()
    for name, group in GROUPS.items():
        for use in group.uses:
            _add(result, available, name, group, use)
    return result


def _add(plan: Plan, available: Mapping[str, tuple[int, float]], name: str, group: Group, use: Use) -> None:
    needed = [use.counter, use.times] if use.times else [use.counter]
    if missing := [counter for counter in needed if counter not in available]:
        plan.missing += [counter for counter in missing if counter not in plan.missing]
        return
    key, unit = available[use.counter]
    scale = next(column.scale for column in group.table.columns if column.metric == use.metric)
    factor = unit / scale * (SAMPLE_SECONDS if use.value_type == "rate" else 1)
    times = available[use.times][0] if use.times else None
    plan.terms[group.table.kind].append(Term(use.metric, key, factor, use.value_type != "gauge", times))
    requested = plan.requested[group.object_kind]
    for counter in (key, *([] if times is None else [times])):
        plan.groups[counter] = name
        if (counter, group.instances) not in requested:
            requested.append((counter, group.instances))


def _name(entry: Record) -> str:
    return f"{_key(entry, 'groupInfo')}.{_key(entry, 'nameInfo')}.{entry.get('rollupType')}"


def _key(entry: Record, name: str) -> str:
    info = entry.get(name)
    return str(info.get("key")) if isinstance(info, dict) else ""
