"""`ENTITY.setting=value` as people write it, turned into a change of the configuration.

Raises UsageError with what to do for a name or value that nobody knows. What is known but cannot be judged from the
recording is not guessed: it is said, and changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal

from sanpath.catalogue.capacity import Capacity, link_capacity
from sanpath.errors import UsageError
from sanpath.facts.compute import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import number
from sanpath.topology.paths import Cable, targets_of
from sanpath.verdict.prediction.change import ADAPTIVE, IN_TURN, ONE_PATH, Change, Policy
from sanpath.verdict.prediction.configuration import cables_by_port, configuration, controller_depth
from sanpath.verdict.units import count

SETTINGS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "speed": (("switch_port", "hba", "array_port"), "8GFC, 25GbE, 400Mb/s"),
    "queue_depth": (("lun", "vdisk"), "I/Os it lets through: 128"),
    "controller_type": (("vdisk",), "pvscsi, lsi_logic, lsi_logic_sas"),
    "limit_ops_per_second": (("vdisk",), "operations a second, or none"),
    "path_policy": (("lun",), ", ".join((*IN_TURN, *ADAPTIVE, *ONE_PATH))),
    "path_switch_operations": (("lun",), "I/Os down one path before Round Robin takes the next: 1"),
    "qos_ops_per_second": (("volume",), "operations a second, or none"),
    "qos_bytes_per_second": (("volume",), "bytes a second: 400e6, 400MB/s, or none"),
    "in_flight": (("load",), "I/Os the load keeps in flight: 64"),
}
"""Setting → the kinds of entities that have it, and how its values are written."""
_ALSO = {"iops": "path_switch_operations", "policy": "path_policy", "controller": "controller_type"}
"""What else people call a setting: iops is the word of Round Robin on ESXi."""
_FACTORS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30}


@dataclass(frozen=True, slots=True)
class Wanted:
    """One setting as it was and as it would be. `now` None: not known. `note`: why it cannot be judged, or what was
    assumed; `judged`: whether it is part of the change."""

    entity: str
    setting: str
    now: str | None
    then: str
    judged: bool = True
    note: str = ""


@dataclass(slots=True)
class _Parts:
    speeds: dict[str, Capacity] = field(default_factory=dict)
    slots: dict[str, float] = field(default_factory=dict)
    policies: dict[str, Policy] = field(default_factory=dict)
    caps: dict[tuple[str, str], float] = field(default_factory=dict)
    in_flight: float | None = None


def changed(facts: Facts, load: LoadFacts, written: Sequence[str]) -> tuple[Change, list[Wanted]]:
    """What `--set` options mean for the test that `load` is the deciding step of. Raises UsageError."""
    asked = [_read(facts, text) for text in written]
    # What is said of a policy depends on its batch: that comes first.
    asked.sort(key=lambda one: one[1] == "path_policy")
    now = {(s.entity, s.setting): _said(s.value) for s in configuration(facts, load)}
    parts, found = _Parts(), []
    ports = {entity: _speed(value) for entity, setting, value in asked if setting == "speed"}
    for entity, setting, value in asked:
        if setting == "speed":
            found.append(_faster(facts, load, entity, ports, value, parts, now.get((entity, setting))))
        else:
            found.append(_set(facts, load, entity, setting, value, parts, now.get((entity, setting))))
    return Change(parts.speeds, parts.slots, parts.policies, parts.caps, parts.in_flight), found


def settable(entity: str, setting: str) -> bool:
    """Whether a setting of an entity can be changed in a what-if."""
    return setting in SETTINGS and entity.partition(":")[0] in SETTINGS[setting][0]


def _read(facts: Facts, text: str) -> tuple[str, str, str]:
    left, equals, value = text.partition("=")
    entity, dot, setting = left.rpartition(".")
    if not (equals and dot and value and ":" in entity):
        raise UsageError(f"--set {text}: write ENTITY.setting=value, as in switch_port:sw1/fc1/7.speed=8GFC")
    setting = _ALSO.get(setting, setting)
    kind = entity.partition(":")[0]
    known = [name for name, (kinds, _) in SETTINGS.items() if kind in kinds]
    if kind == "link":
        raise UsageError(f"--set {text}: {_at_its_ports(facts, entity)}")
    if setting not in SETTINGS:
        near = get_close_matches(setting, known or list(SETTINGS), 1)
        meant = f"; did you mean {near[0]}?" if near else ""
        of = f"{kind} has {', '.join(known)}" if known else f"settings are {', '.join(SETTINGS)}"
        raise UsageError(f"--set {text}: no setting {setting}{meant} {of}" if meant else f"--set {text}: {of}")
    if entity not in facts.topology.entities:
        there = [e.id for e in facts.topology.of_kind(kind)]
        near = get_close_matches(entity, there, 1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(there[:5]) or f'no {kind}s at all'}"
        raise UsageError(f"--set {text}: the recording knows no {entity}; {hint}")
    if setting not in known:
        kinds = " or ".join(SETTINGS[setting][0])
        raise UsageError(f"--set {text}: {setting} is a setting of a {kinds}, not of a {kind}")
    return entity, setting, value.strip()


def _at_its_ports(facts: Facts, link: str) -> str:
    """A link has no settings of its own."""
    ports = [entity.id for kind in SETTINGS["speed"][0] for entity in facts.topology.of_kind(kind)]
    its_own = [port for port in ports if port.partition(":")[2] in link.removeprefix("link:").split("--")]
    example = next(iter(its_own or ports), "switch_port:sw1/fc1/7")
    return f"the speed of a link is that of its ports: set {example}.speed=8GFC"


def _set(
    facts: Facts, load: LoadFacts, entity: str, setting: str, value: str, parts: _Parts, now: str | None
) -> Wanted:
    match setting:
        case "queue_depth":
            parts.slots[entity] = _count(setting, value)
        case "controller_type":
            depth = controller_depth(value)
            if depth is None:
                raise UsageError(f"{setting}={value}: write one of {SETTINGS[setting][1]}")
            parts.slots[entity] = depth
        case "path_policy" | "path_switch_operations":
            return _policy(facts, load, entity, setting, value, parts, now)
        case "in_flight":
            total = sum(other.in_flight_measured for other in facts.loads if other.step == load.step)
            wanted = _count(setting, value)
            if load.roots != (entity,):
                whole = f"set it for {load.roots[0]}" if len(load.roots) == 1 else "the test has several loads"
                return Wanted(entity, setting, now, value, False, f"{whole}: of a part nothing can be told")
            parts.in_flight = wanted
            return Wanted(entity, setting, f"{count(total)} in step {load.step}", value)
        case _:
            mine = targets_of(facts.topology, *load.roots)[1] if setting.startswith("qos_") else _disks(facts, load)
            limit = float("inf") if value.lower() in ("none", "0") else _rate(setting, value)
            if mine != {entity}:
                why = "the test uses others as well" if entity in mine else "it was not seen to carry the test"
                return Wanted(entity, setting, now, value, False, f"{why}: nothing can be told")
            parts.caps[entity, setting.removeprefix("qos_").removeprefix("limit_")] = limit
    carries = {"queue_depth": ("device", "virtual_disk"), "controller_type": ("virtual_disk",)}.get(setting, ())
    if carries and not any(facts.tables[table].select(step=load.step, entity=entity) for table in carries):
        parts.slots.pop(entity, None)
        return Wanted(
            entity,
            setting,
            now,
            value,
            False,
            "it does not carry the test, as far as measured: nothing can be predicted",
        )
    return Wanted(entity, setting, now, value)


def _disks(facts: Facts, load: LoadFacts) -> set[str]:
    return {str(row["entity"]) for row in facts.tables["virtual_disk"].select(step=load.step)}


def _policy(
    facts: Facts, load: LoadFacts, entity: str, setting: str, value: str, parts: _Parts, now: str | None
) -> Wanted:
    before = parts.policies.get(entity, Policy())
    if setting == "path_switch_operations":
        policy = Policy(before.name, _count(setting, value))
    elif value in (*IN_TURN, *ADAPTIVE, *ONE_PATH):
        policy = Policy(value, before.switch_operations)
    else:
        near = get_close_matches(value, (*IN_TURN, *ADAPTIVE, *ONE_PATH), 1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"path_policy={value}: write one of {SETTINGS[setting][1]}{meant}")
    row = next(iter(facts.tables["multipath"].select(step=load.step, entity=entity)), None)
    if row is None or not facts.topology.related(entity, "member_of", "path"):
        return Wanted(entity, setting, now, value, False, "the paths to it are not known: nothing can be predicted")
    parts.policies[entity] = policy
    told = policy.switch_operations or number(row, "switch_operations")
    name = policy.name or row["policy"]
    if name in IN_TURN and not told:
        note = "after how many I/Os it changes path is not known: taken as every one"
        if row["platform"] == "esxi":
            note += "; left at ESXi's 1000 it uses one path at a time, so set path_switch_operations too"
        return Wanted(entity, setting, now, value, True, note)
    return Wanted(entity, setting, now, value)


def _faster(
    facts: Facts,
    load: LoadFacts,
    port: str,
    wanted: Mapping[str, tuple[float, str]],
    value: str,
    parts: _Parts,
    now: str | None,
) -> Wanted:
    """A port at another speed: its link runs at what both ends do, and the other end has its own limit."""
    cable = next(iter(cables_by_port(facts, load).get(port, ())), None)
    rows = facts.tables["link"].select(step=load.step, entity=cable.id) if cable is not None else []
    if cable is None or not rows:
        return Wanted(port, "speed", now, value, False, "no link of it was seen: nothing can be told")
    now = now or (str(rows[0]["speed"]) if rows[0]["speed"] else None)
    technology: Literal["fibre_channel", "ethernet"]
    technology = "fibre_channel" if rows[0]["technology"] == "fibre_channel" else "ethernet"
    bits, _ = wanted[port]
    other = _other_end(cable, port)
    able = wanted[other][0] if other in wanted else _capable(facts, other)
    capacity = link_capacity(technology, bits if able is None else min(bits, able))
    if capacity is None or link_capacity(technology, bits) is None:
        raise UsageError(f"speed={value}: no speed of Fibre Channel; write 8GFC, 16GFC, 32GFC")
    parts.speeds[cable.id] = capacity
    if all(row["on_loaded_path"] is False for row in rows):
        return Wanted(port, "speed", now, value, True, "it carries nothing of the test")
    if able is None:
        return Wanted(port, "speed", now, value, True, f"whether {other} can do that is not known: taken as it can")
    if able < bits * 0.99:
        return Wanted(port, "speed", now, value, True, f"{other} at its other end does {capacity.name} at most")
    return Wanted(port, "speed", now, value)


def _other_end(cable: Cable, port: str) -> str:
    return cable.device if port == cable.switch_port else cable.switch_port


def _capable(facts: Facts, port: str) -> float | None:
    told = facts.topology.entities[port].attributes.get("capable_bits_per_second")
    return float(told) if isinstance(told, int | float) else None


def _speed(value: str) -> tuple[float, str]:
    """8GFC, 16G, 10GbE, 25 Gb/s, 400Mb/s as bits a second."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([GM])(?:FC|bE|b/s|bit/s|bps|)(?: Ethernet)?", value, re.IGNORECASE)
    if found is None or not float(found[1]):
        raise UsageError(f"speed={value}: write a speed, as in {SETTINGS['speed'][1]}")
    return float(found[1]) * (1e9 if found[2].upper() == "G" else 1e6), value


def _count(setting: str, value: str) -> float:
    if not re.fullmatch(r"[1-9]\d{0,8}", value):
        raise UsageError(f"{setting}={value}: write a whole number from 1 on")
    return float(value)


def _rate(setting: str, value: str) -> float:
    """400e6, 400MB/s, 400 MiB/s, 20000, 20k."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?(?:e\d+)?)\s*([kmg]i?|)(?:b/s|b|/s|iops|)", value, re.IGNORECASE)
    if found is None or not float(found[1]):
        raise UsageError(f"{setting}={value}: write {SETTINGS[setting][1]}")
    return float(found[1]) * _FACTORS[found[2].lower()]


def _said(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
