"""Parses `ENTITY.setting=value`, as people write it, into a change of the configuration.

An unknown name or value raises UsageError with advice. If the effect of a known setting cannot be judged from the
recording, it changes nothing, and its note gives the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from sanpath.catalogue.link_capacity import Capacity, link_capacity
from sanpath.catalogue.values import ADAPTIVE_POLICIES, IN_TURN_POLICIES, SINGLE_PATH_POLICIES
from sanpath.errors import UsageError
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.load_volumes import volumes_of
from sanpath.facts.table import number
from sanpath.units import count
from sanpath.whatif.ceilings import technology_of
from sanpath.whatif.change import Change, Policy
from sanpath.whatif.configuration import cables_by_port, configuration, controller_depth

_POLICIES = (*IN_TURN_POLICIES, *ADAPTIVE_POLICIES, *SINGLE_PATH_POLICIES)
SETTINGS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "speed": (("switch_port", "hba", "array_port"), "8GFC, 25GbE, 400Mb/s"),
    "queue_depth": (("lun", "vdisk"), "outstanding I/Os that it allows: 128"),
    "controller_type": (("vdisk",), "pvscsi, lsi_logic, lsi_logic_sas"),
    "limit_ops_per_second": (("vdisk",), "operations a second, or none"),
    "path_policy": (("lun",), ", ".join(_POLICIES)),
    "path_switch_operations": (("lun",), "I/Os down one path before Round Robin takes the next: 1"),
    "qos_ops_per_second": (("volume",), "operations a second, or none"),
    "qos_bytes_per_second": (("volume",), "bytes a second: 400e6, 400MB/s, or none"),
    "in_flight": (("load",), "outstanding I/Os of the load: 64"),
}
"""Setting → the kinds of entities that have it, and the format of its values."""
_ALIASES = {"iops": "path_switch_operations", "policy": "path_policy", "controller": "controller_type"}
"""Other names of settings: ESXi calls the batch of Round Robin iops."""
_FACTORS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30}


@dataclass(frozen=True, slots=True)
class Wanted:
    """One setting, before and after. `now`: the recorded value, None: unknown. `judged`: whether the change includes
    it. `note`: why its effect cannot be judged, or an assumption.
    """

    entity: str
    setting: str
    now: str | None
    then: str
    judged: bool = True
    note: str = ""


@dataclass(slots=True)
class _ChangeDraft:
    """A change under construction.

    `load`: the load of the deciding step. `now`: (entity, setting) → its recorded value. `port_speeds`: port → its
    requested speed in bits a second. The other fields have the same meaning as in Change.
    """

    facts: Facts
    load: LoadFacts
    now: Mapping[tuple[str, str], str]
    port_speeds: Mapping[str, float]
    speeds: dict[str, Capacity] = field(default_factory=dict)
    slots: dict[str, float] = field(default_factory=dict)
    policies: dict[str, Policy] = field(default_factory=dict)
    caps: dict[tuple[str, str], float] = field(default_factory=dict)
    in_flight: float | None = None

    def wanted(self, entity: str, setting: str, value: str, note: str = "", judged: bool = True) -> Wanted:
        """The setting as a part of the change. `note`: an assumption, or, if `judged` is False, why it is not a
        part."""
        return Wanted(entity, setting, self.now.get((entity, setting)), value, judged, note)


def parse_settings(facts: Facts, load: LoadFacts, written: Sequence[str]) -> tuple[Change, list[Wanted]]:
    """The change that `--set` options request for the test. `load`: the load of its deciding step. Raises
    UsageError."""
    parsed = [_parse(facts, text) for text in written]
    # The note of a policy depends on its batch, so the batch comes first.
    parsed.sort(key=lambda item: item[1] == "path_policy")
    now = {(s.entity, s.setting): _as_text(s.value) for s in configuration(facts, load)}
    port_speeds = {entity: _speed(value) for entity, setting, value in parsed if setting == "speed"}
    draft = _ChangeDraft(facts, load, now, port_speeds)
    wanted = [_set(draft, *setting) for setting in parsed]
    return Change(draft.speeds, draft.slots, draft.policies, draft.caps, draft.in_flight), wanted


def settable(entity: str, setting: str) -> bool:
    """Whether a setting of an entity can be changed in a what-if."""
    return setting in SETTINGS and entity.partition(":")[0] in SETTINGS[setting][0]


def _parse(facts: Facts, text: str) -> tuple[str, str, str]:
    left, equals, value = text.partition("=")
    entity, dot, setting = left.rpartition(".")
    if not (equals and dot and value and ":" in entity):
        raise UsageError(f"--set {text}: write ENTITY.setting=value, as in switch_port:sw1/fc1/7.speed=8GFC")
    setting = _ALIASES.get(setting, setting)
    kind = entity.partition(":")[0]
    settings = [name for name, (kinds, _) in SETTINGS.items() if kind in kinds]
    if kind == "link":
        raise UsageError(f"--set {text}: {_port_advice(facts, entity)}")
    if setting not in SETTINGS:
        matches = get_close_matches(setting, settings or list(SETTINGS), 1)
        suggestion = f"; did you mean {matches[0]}?" if matches else ""
        available = f"{kind} has {', '.join(settings)}" if settings else f"settings are {', '.join(SETTINGS)}"
        raise UsageError(
            f"--set {text}: no setting {setting}{suggestion} {available}"
            if suggestion
            else f"--set {text}: {available}"
        )
    if entity not in facts.topology.entities:
        entities = [e.id for e in facts.topology.of_kind(kind)]
        matches = get_close_matches(entity, entities, 1, cutoff=0.5)
        hint = (
            f"did you mean {matches[0]}?"
            if matches
            else f"there are: {', '.join(entities[:5]) or f'no {kind}s at all'}"
        )
        raise UsageError(f"--set {text}: the recording has no {entity}; {hint}")
    if setting not in settings:
        kinds = " or ".join(SETTINGS[setting][0])
        raise UsageError(f"--set {text}: {setting} is a setting of a {kinds}, not of a {kind}")
    return entity, setting, value.strip()


def _port_advice(facts: Facts, link: str) -> str:
    """Advice for the speed of a link, which has no settings of its own."""
    ports = [entity.id for kind in SETTINGS["speed"][0] for entity in facts.topology.of_kind(kind)]
    ends = [port for port in ports if port.partition(":")[2] in link.removeprefix("link:").split("--")]
    example = next(iter(ends or ports), "switch_port:sw1/fc1/7")
    return f"the speed of a link is that of its ports: set {example}.speed=8GFC"


def _set(draft: _ChangeDraft, entity: str, setting: str, value: str) -> Wanted:
    facts, load = draft.facts, draft.load
    tables: tuple[str, ...]
    match setting:
        case "speed":
            return _set_speed(draft, entity, value)
        case "path_policy" | "path_switch_operations":
            return _set_policy(draft, entity, setting, value)
        case "in_flight":
            in_flight = _count(setting, value)
            if load.roots != (entity,):
                advice = f"set it for {load.roots[0]}" if len(load.roots) == 1 else "the test has several loads"
                return draft.wanted(entity, setting, value, f"{advice}: a part of them cannot be predicted", False)
            draft.in_flight = in_flight
            return Wanted(entity, setting, f"{count(facts.in_flight_in(load.step))} in step {load.step}", value)
        case "queue_depth":
            slots, tables = _count(setting, value), ("device", "virtual_disk")
        case "controller_type":
            depth, tables = controller_depth(value), ("virtual_disk",)
            if depth is None:
                raise UsageError(f"{setting}={value}: write one of {SETTINGS[setting][1]}")
            slots = depth
        case _:
            is_qos = setting.startswith("qos_")
            carriers = volumes_of(facts.topology, load, facts.tables) if is_qos else _disks(facts, load)
            limit = float("inf") if value.lower() in ("none", "0") else _rate(setting, value)
            if carriers != {entity}:
                reason = "the test uses others as well" if entity in carriers else "it does not carry the test"
                return draft.wanted(entity, setting, value, f"{reason}: nothing can be predicted", False)
            draft.caps[entity, setting.removeprefix("qos_").removeprefix("limit_")] = limit
            return draft.wanted(entity, setting, value)
    if not any(facts.tables[table].select(entity=entity) for table in tables):
        reason = "it does not carry the test, as far as measured: nothing can be predicted"
        draft.slots.pop(entity, None)
        return draft.wanted(entity, setting, value, reason, False)
    draft.slots[entity] = slots
    return draft.wanted(entity, setting, value)


def _disks(facts: Facts, load: LoadFacts) -> set[str]:
    return {str(row["entity"]) for row in facts.tables["virtual_disk"].select(step=load.step)}


def _set_policy(draft: _ChangeDraft, entity: str, setting: str, value: str) -> Wanted:
    before = draft.policies.get(entity, Policy())
    if setting == "path_switch_operations":
        policy = Policy(before.name, _count(setting, value))
    elif value in _POLICIES:
        policy = Policy(value, before.switch_operations)
    else:
        matches = get_close_matches(value, _POLICIES, 1)
        suggestion = f"; did you mean {matches[0]}?" if matches else ""
        raise UsageError(f"path_policy={value}: write one of {SETTINGS[setting][1]}{suggestion}")
    row = next(iter(draft.facts.tables["multipath"].select(step=draft.load.step, entity=entity)), None)
    if row is None or not draft.facts.topology.related(entity, "member_of", "path"):
        reason = "the paths to it are not known: nothing can be predicted"
        return draft.wanted(entity, setting, value, reason, False)
    draft.policies[entity] = policy
    batch = policy.switch_operations or number(row, "switch_operations")
    note = ""
    if (policy.name or row["policy"]) in IN_TURN_POLICIES and not batch:
        note = "the number of I/Os after which it changes path is not known: assumed to be 1"
        if row["platform"] == "esxi":
            note += "; left at ESXi's 1000 it uses one path at a time, so set path_switch_operations too"
    return draft.wanted(entity, setting, value, note)


def _set_speed(draft: _ChangeDraft, port: str, value: str) -> Wanted:
    """Set the speed of a port: its link runs at the lower of this speed and the highest speed of the other end."""
    facts, load = draft.facts, draft.load
    cable = next(iter(cables_by_port(facts, load).get(port, ())), None)
    rows = facts.tables["link"].select(step=load.step, entity=cable.id) if cable is not None else []
    if cable is None or not rows:
        return draft.wanted(port, "speed", value, "no link of it is measured: nothing can be predicted", False)
    technology, bits = technology_of(rows[0]), draft.port_speeds[port]
    other_port = cable.device if port == cable.switch_port else cable.switch_port
    capable = draft.port_speeds.get(other_port, _capable_bits_per_second(facts, other_port))
    capacity = link_capacity(technology, bits if capable is None else min(bits, capable))
    if capacity is None or link_capacity(technology, bits) is None:
        raise UsageError(f"speed={value}: not a speed of Fibre Channel; write 8GFC, 16GFC, 32GFC")
    draft.speeds[cable.id] = capacity
    note = ""
    if all(row["on_loaded_path"] is False for row in rows):
        note = "its link carries nothing of the test"
    elif capable is None:
        note = f"the highest speed of {other_port} is not known: assumed to be at least this"
    elif capable < bits * 0.99:
        note = f"{other_port} at its other end supports {capacity.name} at most"
    wanted = draft.wanted(port, "speed", value, note)
    return wanted if wanted.now or not rows[0]["speed"] else replace(wanted, now=str(rows[0]["speed"]))


def _capable_bits_per_second(facts: Facts, port: str) -> float | None:
    """The highest speed of a port. None: no source reports it."""
    capable = facts.topology.entities[port].attributes.get("capable_bits_per_second")
    return float(capable) if isinstance(capable, int | float) else None


def _speed(value: str) -> float:
    """Bits a second of 8GFC, 16G, 10GbE, 25 Gb/s or 400Mb/s."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([GM])(?:FC|bE|b/s|bit/s|bps|)(?: Ethernet)?", value, re.IGNORECASE)
    if match is None or not float(match[1]):
        raise UsageError(f"speed={value}: write a speed, as in {SETTINGS['speed'][1]}")
    return float(match[1]) * (1e9 if match[2].upper() == "G" else 1e6)


def _count(setting: str, value: str) -> float:
    if not re.fullmatch(r"[1-9]\d{0,8}", value):
        raise UsageError(f"{setting}={value}: write a whole number from 1 on")
    return float(value)


def _rate(setting: str, value: str) -> float:
    """A rate written as 400e6, 400MB/s, 400 MiB/s, 20000 or 20k."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?(?:e\d+)?)\s*([kmg]i?|)(?:b/s|b|/s|iops|)", value, re.IGNORECASE)
    if match is None or not float(match[1]):
        raise UsageError(f"{setting}={value}: write {SETTINGS[setting][1]}")
    return float(match[1]) * _FACTORS[match[2].lower()]


def _as_text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
