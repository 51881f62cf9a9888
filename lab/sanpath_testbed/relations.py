"""Changes of a case that preserve its truth, so the verdict should be the same (metamorphic tests)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sanpath_lab.generator import Drawn
from sanpath_lab.generator.confirm import confirm
from sanpath_lab.generator.faults import FAULTS, can_diagnose
from sanpath_lab.generator.reading import Reading, Source
from sanpath_lab.scenario import FcPort, Neighbour, OtherDisk, Scenario, Volume
from sanpath_testbed.defects import Defect, Miscount

_LINK_GIGABITS = (1, 2, 4, 8, 16, 32)
_COARSER = Reading(frozenset(), 5.0, 10.0, 24.0)


@dataclass(frozen=True, slots=True)
class Variant:
    """A changed draw: its scenario, which sources are read, and a defect of the recording.

    `miscount`: the switch whose ports count too few bytes; None: all count right.
    `names`: new name → old name of what was renamed.
    """

    scenario: Scenario
    reading: Reading
    defect: Defect | None = None
    miscount: Miscount | None = None
    names: Mapping[str, str] | None = None

    def old_name(self, entity: str) -> str:
        """Return the name that an element had before it was renamed."""
        return renamed(entity, self.names or {})


Relation = Callable[[Drawn], Variant | None]
"""Returns the variant of a draw. None: the change does not apply to the draw."""


def variant(name: str, drawn: Drawn) -> Variant | None:
    """Return the variant of a draw by a relation.

    None: the relation does not apply, the simulation does not confirm that the truth is the same, or the sources
    show the fault in only one of the two.

    Raises KeyError: there is no such relation.
    """
    changed = RELATIONS[name](drawn)
    if changed is None or drawn.diagnosable != can_diagnose(drawn.fault, changed.reading, changed.scenario):
        return None
    if name not in _TO_CONFIRM:
        return changed
    fault = FAULTS[drawn.fault]
    return changed if confirm(changed.scenario, fault.relief, fault.latency_bound) is not None else None


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Replace every name in a text that is an entire word.

    >>> renamed("link:esx7/vmhba2--sw1/0/1", {"sw1": "blue"})
    'link:esx7/vmhba2--blue/0/1'
    """
    if not names:
        return text
    words = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.sub(rf"(?<!\w)({words})(?!\w)", lambda match: names[match[0]], text)


def _variant(drawn: Drawn, scenario: Scenario) -> Variant:
    return Variant(scenario, drawn.reading)


def _with_load(drawn: Drawn, **changes: object) -> Variant:
    load = drawn.scenario.load.model_copy(update=changes)
    return _variant(drawn, drawn.scenario.model_copy(update={"load": load}))


def _idle_host(drawn: Drawn) -> Variant | None:
    """Another host with hardly any I/O."""
    return _another_host(drawn, outstanding=1, think_seconds=5.0)


def _busy_host(drawn: Drawn) -> Variant | None:
    """Another host with some I/O on the ports of the test."""
    return _another_host(drawn, outstanding=2, think_seconds=0.02)


def _another_host(drawn: Drawn, outstanding: int, think_seconds: float) -> Variant | None:
    scenario = drawn.scenario
    first = scenario.host.hbas[0].switch_port
    edge = next(switch for switch in scenario.switches if first in switch.ports)
    ends = (end for link in scenario.inter_switch_links for end in link.ends)
    taken = {*(device.switch_port for device in scenario.devices), *ends}
    free = [port for port in edge.ports if port not in taken]
    if not free:
        return None
    hba = FcPort(
        name="vmhba2",
        wwpn="21:00:00:24:ff:00:02:77",
        capable_gigabit=16,
        switch_port=free[0],
        credits=scenario.host.hbas[0].credits,
    )
    neighbour = Neighbour(
        name="esx77",
        hba=hba,
        target=scenario.active_paths[0].target,
        volume=_volume_copy(scenario.volume, 77, limited=False),
        direction=scenario.truth.direction,
        block_bytes=8192,
        outstanding=outstanding,
        think_seconds=think_seconds,
    )
    return _variant(drawn, scenario.model_copy(update={"neighbours": (*scenario.neighbours, neighbour)}))


def _volume_copy(volume: Volume, number: int, limited: bool = True) -> Volume:
    """Return a copy of a volume with another number in its name, identifiers and LUN."""
    limits = {} if limited else {"bandwidth_limit": None, "iops_limit": None}
    identity = {
        "name": f"vol{number:02}",
        "id": f"{volume.id[:-2]}{number:02x}",
        "serial": f"{volume.serial[:-2]}{number:02X}",
        "lun": number,
    }
    return volume.model_copy(update={**identity, **limits})


def _split(drawn: Drawn) -> Variant | None:
    """The job split in two, each doing half of it."""
    load = drawn.scenario.load
    if all(threads % 2 == 0 for threads in load.threads):
        return _with_load(drawn, jobs=2 * load.jobs, threads=tuple(threads // 2 for threads in load.threads))
    if load.outstanding_per_thread % 2 == 0:
        return _with_load(drawn, jobs=2 * load.jobs, outstanding_per_thread=load.outstanding_per_thread // 2)
    return None


def _split_volumes(drawn: Drawn) -> Variant | None:
    """The same on two volumes; each has a queue and limits of its own."""
    split = _split(drawn)
    if split is None or split.scenario.other_disks or split.scenario.vcenter is not None:
        return None
    scenario = split.scenario
    disk = scenario.guest_disk.model_copy(update={"name": "sdb"})
    second_disk = OtherDisk(disk=disk, volume=_volume_copy(scenario.volume, 2))
    second_names = {"lun:sqlvm1/sda": "lun:sqlvm1/sdb", "volume:fa1/vol01": "volume:fa1/vol02"}
    truth = scenario.truth
    added = tuple(second_names[name] for name in truth.bottlenecks if name in second_names)
    truth = truth.model_copy(update={"bottlenecks": (*truth.bottlenecks, *added)})
    return replace(split, scenario=scenario.model_copy(update={"other_disks": (second_disk,), "truth": truth}))


def _mixed(drawn: Drawn) -> Variant | None:
    """30 % of the I/Os have the other direction."""
    load = drawn.scenario.load
    if load.direction == "mixed":
        return None
    return _with_load(drawn, direction="mixed", write_ratio=0.3 if load.direction == "read" else 0.7)


def _one_step(drawn: Drawn) -> Variant | None:
    """The last step alone."""
    threads = drawn.scenario.load.threads
    return _with_load(drawn, threads=threads[-1:]) if len(threads) > 1 else None


def _step_twice(drawn: Drawn) -> Variant:
    """The last step a second time."""
    threads = drawn.scenario.load.threads
    return _with_load(drawn, threads=(*threads, threads[-1]))


def _other_names(drawn: Drawn) -> Variant:
    """Every source and host has another name, and they are listed in the reverse order."""
    scenario = drawn.scenario
    arrays = {array.name: f"store-{number}" for number, array in enumerate(reversed(scenario.arrays), 1)}
    switches = {switch.name: f"blue{number}" for number, switch in enumerate(reversed(scenario.switches), 1)}
    names = {**arrays, **switches, scenario.host.name: "node9"}
    renamed_scenario = Scenario.model_validate_json(renamed(scenario.model_dump_json(), names))
    renamed_scenario = renamed_scenario.model_copy(
        update={"switches": renamed_scenario.switches[::-1], "name": scenario.name}
    )
    return Variant(renamed_scenario, drawn.reading, names={new: old for old, new in names.items()})


def _half_the_rate(drawn: Drawn) -> Variant | None:
    """Everything takes twice as long."""
    scenario = drawn.scenario
    gigabits = [device.capable_gigabit for device in scenario.devices]
    gigabits += [switch.gigabit for switch in scenario.switches]
    gigabits += [link.gigabit for link in scenario.inter_switch_links]
    if min(gigabits) == _LINK_GIGABITS[0]:
        return None
    slower = _slowed(scenario.model_dump())
    return _variant(drawn, Scenario.model_validate(slower))


_TIMES = (
    "minimum_seconds",
    "tail_seconds",
    "command_seconds",
    "entry_seconds",
    "cached_seconds",
    "submit_seconds",
    "forwarding_seconds",
    "think_seconds",
    "timeout_seconds",
    "user_seconds_per_io",
    "system_seconds_per_io",
)
_RATES = ("destage_bytes_per_second", "bandwidth_limit", "iops_limit", "ios_per_second")
_GIGABITS = ("capable_gigabit", "gigabit")


def _slowed(document: object) -> object:
    """Return the document with times doubled, and rates and speeds halved."""
    if isinstance(document, Mapping):
        return {name: _slowed_value(name, value) for name, value in document.items()}
    return [_slowed(item) for item in document] if isinstance(document, list | tuple) else document


def _slowed_value(name: str, value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        if name in _TIMES:
            return 2 * value
        if name in _RATES:
            return type(value)(value / 2)
        return _LINK_GIGABITS[_LINK_GIGABITS.index(int(value)) - 1] if name in _GIGABITS else value
    return _slowed(value)


def _other_clocks(drawn: Drawn) -> Variant:
    """The clocks of load and array are off."""
    return Variant(drawn.scenario, drawn.reading, "skew")


def _coarser(drawn: Drawn) -> Variant | None:
    """Switches and arrays are polled less often."""
    if drawn.reading.switch_seconds is not None:
        return None
    seconds = max(_COARSER.measured_seconds, drawn.scenario.load.measured_seconds)
    changed = _with_load(drawn, measured_seconds=seconds)
    return replace(changed, reading=replace(_COARSER, unread=drawn.reading.unread))


def _dropped(drawn: Drawn) -> Variant | None:
    """A source that is not needed to recognise the fault is not read."""
    sources: Sequence[Source] = ("array", "switches", "host")
    spare = [source for source in sources if source not in FAULTS[drawn.fault].required_sources]
    if drawn.reading.unread or not spare or not drawn.diagnosable:
        return None
    unread = frozenset((spare[drawn.seed % len(spare)],))
    return Variant(drawn.scenario, replace(drawn.reading, unread=unread))


def _counted_low(drawn: Drawn) -> Variant:
    """A switch counts 3 % of the bytes too little."""
    return Variant(drawn.scenario, drawn.reading, miscount=Miscount(_crossed_switch(drawn), 0.97))


def _stands_still(drawn: Drawn) -> Variant:
    """A switch's counters of bytes stand still."""
    return Variant(drawn.scenario, drawn.reading, miscount=Miscount(_crossed_switch(drawn), 0.0))


def _crossed_switch(drawn: Drawn) -> str:
    """Return the switch of the port at fault, or of the host's first initiator."""
    ports = [name.removeprefix("switch_port:") for name in drawn.scenario.truth.bottlenecks]
    switch_of_port = {port: switch.name for switch in drawn.scenario.switches for port in switch.ports}
    first = drawn.scenario.host.hbas[0].switch_port
    return next((switch_of_port[port] for port in ports if port in switch_of_port), switch_of_port[first])


RELATIONS: Mapping[str, Relation] = {
    "idle-host": _idle_host,
    "busy-host": _busy_host,
    "split": _split,
    "split-volumes": _split_volumes,
    "mixed": _mixed,
    "one-step": _one_step,
    "step-twice": _step_twice,
    "other-names": _other_names,
    "half-the-rate": _half_the_rate,
    "other-clocks": _other_clocks,
    "coarser": _coarser,
    "dropped": _dropped,
    "counted-low": _counted_low,
    "stands-still": _stands_still,
}
"""Relation name → relation. Reports print the docstrings of these functions up to the first semicolon."""
_TO_CONFIRM = frozenset(("idle-host", "busy-host", "split", "split-volumes", "mixed", "half-the-rate"))
"""Relations that change the heaviest step, so the simulation has to confirm them."""


def meaning(name: str) -> str:
    """Return a few words on what a relation changes."""
    return (RELATIONS[name].__doc__ or "").split(";")[0].strip().rstrip(".")
