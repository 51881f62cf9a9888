"""Relieves places of a scenario: doubles their capacity or speed, or removes a limit that is optional."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from sanpath_lab.scenario import FcPort, Scenario, Volume

Place = Literal[
    "host links",
    "array links",
    "isls",
    "path turns",
    "damage",
    "drain",
    "neighbours",
    "host queues",
    "in flight",
    "rate",
    "generator",
    "controller",
    "media",
    "write cache",
    "qos",
    "entry",
]
CAPACITY_PLACES: frozenset[Place] = frozenset(
    ("path turns", "damage", "drain", "neighbours", "host queues", "in flight", "rate", "media", "write cache", "qos")
)
"""Places whose capacity is separate from speed: more of it does not change an I/O that did not wait."""
_ENOUGH = 4096
_FASTEST = 32


def relieved(scenario: Scenario, places: Iterable[Place]) -> Scenario:
    """Return the scenario with these places relieved."""
    for place in places:
        scenario = _RELIEFS[place](scenario)
    return scenario


def _faster(port: FcPort) -> FcPort:
    return port.model_copy(update={"capable_gigabit": min(_FASTEST, 2 * port.capable_gigabit)})


def _switches(scenario: Scenario) -> Scenario:
    """Return the scenario with switches that do not limit a faster link."""
    fast = tuple(switch.model_copy(update={"gigabit": _FASTEST}) for switch in scenario.switches)
    return scenario.model_copy(update={"switches": fast})


def _host_links(scenario: Scenario) -> Scenario:
    slow = min(hba.capable_gigabit for hba in scenario.host.hbas)
    hbas = tuple(_faster(hba) if hba.capable_gigabit == slow else hba for hba in scenario.host.hbas)
    return _switches(scenario).model_copy(update={"host": scenario.host.model_copy(update={"hbas": hbas})})


def _array_links(scenario: Scenario) -> Scenario:
    ports = tuple(_faster(port) for port in scenario.array.ports)
    return _switches(scenario).model_copy(update={"array": scenario.array.model_copy(update={"ports": ports})})


def _isls(scenario: Scenario) -> Scenario:
    """Return the scenario with links between switches as fast as their other ports, or faster if they already are."""
    switch_gigabit = min(switch.gigabit for switch in scenario.switches)
    links = tuple(
        link.model_copy(update={"gigabit": switch_gigabit if link.gigabit < switch_gigabit else _FASTEST})
        for link in scenario.inter_switch_links
    )
    return scenario.model_copy(update={"inter_switch_links": links})


def _path_turns(scenario: Scenario) -> Scenario:
    return scenario.model_copy(update={"ios_per_path": 1})


def _healthy(port: FcPort) -> FcPort:
    return port.model_copy(update={"damaged_frame_ratio": 0.0, "drain_ratio": 1.0})


def _damage(scenario: Scenario) -> Scenario:
    host = scenario.host.model_copy(update={"hbas": tuple(map(_healthy, scenario.host.hbas))})
    array = scenario.array.model_copy(update={"ports": tuple(map(_healthy, scenario.array.ports))})
    return scenario.model_copy(update={"host": host, "array": array})


def _drain(scenario: Scenario) -> Scenario:
    sound = tuple(n.model_copy(update={"hba": _healthy(n.hba)}) for n in scenario.neighbours)
    return scenario.model_copy(update={"neighbours": sound})


def _neighbours(scenario: Scenario) -> Scenario:
    return scenario.model_copy(update={"neighbours": ()})


def _host_queues(scenario: Scenario) -> Scenario:
    def deep(disk: object) -> object:
        return disk.model_copy(update={"queue_depth": _ENOUGH})  # type: ignore[attr-defined]

    host = scenario.host.model_copy(update={"lun_queue_depth": _ENOUGH})
    other_disks = tuple(extra.model_copy(update={"disk": deep(extra.disk)}) for extra in scenario.other_disks)
    return scenario.model_copy(
        update={"host": host, "guest_disk": deep(scenario.guest_disk), "other_disks": other_disks}
    )


def _load(scenario: Scenario, **changes: object) -> Scenario:
    return scenario.model_copy(update={"load": scenario.load.model_copy(update=changes)})


def _in_flight(scenario: Scenario) -> Scenario:
    return _load(scenario, outstanding_per_thread=2 * scenario.load.outstanding_per_thread)


def _rate(scenario: Scenario) -> Scenario:
    rate = scenario.load.ios_per_second
    return scenario if rate is None else _load(scenario, ios_per_second=1.5 * rate)


def _generator(scenario: Scenario) -> Scenario:
    load = scenario.load
    cheap = {
        "user_seconds_per_io": load.user_seconds_per_io / 2,
        "system_seconds_per_io": load.system_seconds_per_io / 2,
    }
    return _load(scenario, **cheap)


def _array(scenario: Scenario, **changes: object) -> Scenario:
    return scenario.model_copy(update={"array": scenario.array.model_copy(update=changes)})


def _controller(scenario: Scenario) -> Scenario:
    return _array(scenario, command_seconds=scenario.array.command_seconds / 2)


def _media(scenario: Scenario) -> Scenario:
    media = scenario.array.parallel_media
    if media is None:
        return scenario
    return _array(
        scenario, parallel_media=2 * media, parallel_servers=max(2 * media, scenario.array.parallel_servers)
    )


def _write_cache(scenario: Scenario) -> Scenario:
    cache = scenario.array.write_cache
    if cache is None:
        return scenario
    faster = cache.model_copy(update={"destage_bytes_per_second": 2 * cache.destage_bytes_per_second})
    return _array(scenario, write_cache=faster)


def _unlimited(volume: Volume) -> Volume:
    return volume.model_copy(update={"bandwidth_limit": None, "iops_limit": None})


def _qos(scenario: Scenario) -> Scenario:
    other_disks = tuple(o.model_copy(update={"volume": _unlimited(o.volume)}) for o in scenario.other_disks)
    neighbours = tuple(n.model_copy(update={"volume": _unlimited(n.volume)}) for n in scenario.neighbours)
    changes = {"volume": _unlimited(scenario.volume), "other_disks": other_disks, "neighbours": neighbours}
    return scenario.model_copy(update=changes)


def _entry(scenario: Scenario) -> Scenario:
    return _array(scenario, entry_seconds=scenario.array.entry_seconds / 2)


_RELIEFS: Mapping[Place, Callable[[Scenario], Scenario]] = {
    "host links": _host_links,
    "array links": _array_links,
    "isls": _isls,
    "path turns": _path_turns,
    "damage": _damage,
    "drain": _drain,
    "neighbours": _neighbours,
    "host queues": _host_queues,
    "in flight": _in_flight,
    "rate": _rate,
    "generator": _generator,
    "controller": _controller,
    "media": _media,
    "write cache": _write_cache,
    "qos": _qos,
    "entry": _entry,
}
PLACES: tuple[Place, ...] = tuple(_RELIEFS)
"""All places that can limit a test."""
