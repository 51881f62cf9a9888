"""Which of a server's performance counters are asked for. Ids differ between releases, vCenter and ESXi."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sanpath_collectors.vsphere.plain import Record
from sanpath_collectors.vsphere.tables import CONSEQUENCES, GROUPS, SAMPLE_SECONDS, UNITS, Group, Use


@dataclass(frozen=True, slots=True)
class Term:
    """How values of a counter become a metric.

    `counter`: its id; `factor`: what a value is multiplied by; `summed`: it is added to those before; `times`: id of
    the counter whose value it is multiplied by as well.
    """

    metric: str
    counter: int
    factor: float
    summed: bool
    times: int | None = None


@dataclass(slots=True)
class Plan:
    """What is asked, and what it tells.

    `asked`: kind of managed object → (counter id, instances); `groups`: counter id → name of its group; `terms`:
    entity kind → what is told of it. `missing`: counters that the server does not have, or in an unknown unit.
    """

    asked: dict[str, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))
    groups: dict[int, str] = field(default_factory=dict)
    terms: dict[str, list[Term]] = field(default_factory=lambda: defaultdict(list))
    missing: list[str] = field(default_factory=list)

    def unknown(self) -> list[str]:
        """What stays unknown, one line a group of counters that the server lacks."""
        lost: dict[str, list[str]] = defaultdict(list)
        for counter in self.missing:
            group, _, name = counter.partition(".")
            lost[group].append(name)
        partly = dict.fromkeys(self.groups.values(), "these values are unknown")
        return [
            f"counters {group}: {', '.join(names)}: {partly.get(group) or CONSEQUENCES[group]}"
            for group, names in lost.items()
        ]


def plan(catalogue: Sequence[Record]) -> Plan:
    """What to ask of a server with this list of counters (PerformanceManager.perfCounter)."""
    known = {_name(entry): (int(entry["key"]), UNITS[unit]) for entry in catalogue if (unit := _unit(entry)) in UNITS}
    made = Plan()
    for name, group in GROUPS.items():
        for use in group.uses:
            _add(made, known, name, group, use)
    return made


def _add(made: Plan, known: Mapping[str, tuple[int, float]], name: str, group: Group, use: Use) -> None:
    needed = [use.counter, use.times] if use.times else [use.counter]
    if lacking := [counter for counter in needed if counter not in known]:
        made.missing += [counter for counter in lacking if counter not in made.missing]
        return
    key, unit = known[use.counter]
    scale = next(column.scale for column in group.table.columns if column.metric == use.metric)
    factor = unit / scale * (SAMPLE_SECONDS if use.how == "rate" else 1)
    times = known[use.times][0] if use.times else None
    made.terms[group.table.kind].append(Term(use.metric, key, factor, use.how != "gauge", times))
    asked = made.asked[group.of]
    for counter in (key, *([] if times is None else [times])):
        made.groups[counter] = name
        if (counter, group.instances) not in asked:
            asked.append((counter, group.instances))


def _name(entry: Record) -> str:
    return f"{_key(entry, 'groupInfo')}.{_key(entry, 'nameInfo')}.{entry.get('rollupType')}"


def _unit(entry: Record) -> str:
    return _key(entry, "unitInfo")


def _key(entry: Record, part: str) -> str:
    info = entry.get(part)
    return str(info.get("key")) if isinstance(info, dict) else ""
