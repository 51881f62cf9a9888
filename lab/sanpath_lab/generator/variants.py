"""Scenarios with the same truth as another: other hosts beside it, the load cut otherwise, steps, speeds, names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import ceil
from random import Random
from typing import Any, get_args

from sanpath_lab.scenario import Direction, FcGigabit, Load, Neighbour, Scenario

Variant = Callable[[Scenario, Random], Scenario | None]
"""None: the scenario has no such variant."""

_OTHER_SHARE = 0.3
_RATES = 2
_FASTEST = max(get_args(FcGigabit))


def with_other_hosts(scenario: Scenario, random: Random) -> Scenario | None:
    """An idle host and one with some I/O of its own, both on an array port of the test."""
    used = [path.target for path in scenario.active_paths]
    added: list[Neighbour] = []
    for number, think_seconds in ((81, 5.0), (82, random.uniform(5e-3, 1e-2))):
        free = _free_port(scenario, random, added)
        if free is None:
            return None
        added.append(_host(scenario, number, free, used[0], think_seconds))
    return scenario.model_copy(update={"neighbours": (*scenario.neighbours, *added)})


def split_on_one_volume(scenario: Scenario, random: Random) -> Scenario | None:  # noqa: ARG001
    """Twice the jobs, each with half of what was in flight."""
    halved = _halved(scenario.load)
    return None if halved is None else scenario.model_copy(update={"load": halved})


def split_on_two_volumes(scenario: Scenario, random: Random) -> Scenario | None:
    """The same, with a second volume that is set up like the first."""
    if scenario.other_disks or scenario.vcenter is not None or scenario.load.jobs > 1:
        return None
    split = split_on_one_volume(scenario, random)
    if split is None:
        return None
    disk = scenario.guest_disk.model_copy(update={"name": "sdb"})
    taken = {volume.name for volume in scenario.volumes.values()}
    name = next(f"vol{number:02}" for number in range(2, 100) if f"vol{number:02}" not in taken)
    unlike = {"name": name, "id": f"{scenario.volume.id[:-4]}beef", "serial": f"{scenario.volume.serial[:-4]}BEEF"}
    volume = scenario.volume.model_copy(update={**unlike, "lun": 240})
    guest, array = scenario.load.virtual_machine, scenario.array.name
    twins = {
        f"lun:{guest}/{scenario.guest_disk.name}": f"lun:{guest}/sdb",
        f"volume:{array}/{scenario.volume.name}": f"volume:{array}/{name}",
    }
    both = (*scenario.truth.bottlenecks, *(twins[one] for one in scenario.truth.bottlenecks if one in twins))
    truth = scenario.truth.model_copy(update={"bottlenecks": both})
    other = {"disk": disk.model_dump(), "volume": volume.model_dump()}
    return Scenario.model_validate({**split.model_dump(), "other_disks": [other], "truth": truth.model_dump()})


def with_other_direction(scenario: Scenario, random: Random) -> Scenario | None:  # noqa: ARG001
    """Three in ten I/Os go the other way."""
    load = scenario.load
    if load.direction == "mixed":
        return None
    writes = _OTHER_SHARE if load.direction == "read" else 1 - _OTHER_SHARE
    return _loaded(scenario, direction="mixed", write_ratio=writes)


def last_step_only(scenario: Scenario, random: Random) -> Scenario | None:  # noqa: ARG001
    """The heaviest step by itself."""
    threads = scenario.load.threads
    return None if len(threads) == 1 else _loaded(scenario, threads=threads[-1:])


def step_twice(scenario: Scenario, random: Random) -> Scenario | None:
    """One of the steps is run a second time."""
    threads = scenario.load.threads
    again = random.randrange(len(threads))
    return _loaded(scenario, threads=(*threads[: again + 1], *threads[again:]))


def all_faster(scenario: Scenario, random: Random) -> Scenario | None:  # noqa: ARG001
    """Everything moves twice as fast and takes half the time; the fastest links stay as they are."""
    return Scenario.model_validate(_scaled(scenario.model_dump()))


def renamed(scenario: Scenario, names: Mapping[str, str]) -> Scenario:
    """Devices under other names, and switches in the reverse order."""
    words = re.compile(
        r"(?<![\w-])(" + "|".join(map(re.escape, sorted(names, key=len, reverse=True))) + r")(?![\w-])"
    )
    data = _walked(scenario.model_dump(), lambda text: words.sub(lambda found: names[found[0]], text))
    data["switches"] = data["switches"][::-1]
    return Scenario.model_validate(data)


def new_names(scenario: Scenario) -> dict[str, str]:
    """Another name for every device, so that they sort in the reverse order."""
    switches = [switch.name for switch in scenario.switches]
    arrays = [array.name for array in scenario.arrays]
    hosts = [scenario.host.name, scenario.load.virtual_machine, *(n.name for n in scenario.neighbours)]
    named = [
        (kind, name) for kind, names in (("fabric", switches), ("store", arrays), ("node", hosts)) for name in names
    ]
    return {name: f"{kind}{len(named) - place:02}" for place, (kind, name) in enumerate(named)}


VARIANTS: Mapping[str, Variant] = {
    "other hosts": with_other_hosts,
    "split on one volume": split_on_one_volume,
    "split on two volumes": split_on_two_volumes,
    "30 % of the other direction": with_other_direction,
    "last step only": last_step_only,
    "a step twice": step_twice,
    "twice as fast": all_faster,
}
"""Those whose truth the simulation has to confirm, by name."""


def _loaded(scenario: Scenario, **changes: object) -> Scenario:
    return scenario.model_copy(update={"load": scenario.load.model_copy(update=changes)})


def _halved(load: Load) -> Load | None:
    """Twice the jobs with half in flight each, so that all of them together have as much; None where one is left."""
    if all(threads % 2 == 0 for threads in load.threads):
        return load.model_copy(update={"jobs": 2 * load.jobs, "threads": tuple(n // 2 for n in load.threads)})
    if load.outstanding_per_thread % 2 == 0:
        half = load.outstanding_per_thread // 2
        return load.model_copy(update={"jobs": 2 * load.jobs, "outstanding_per_thread": half})
    if load.threads[-1] * load.outstanding_per_thread == 1:
        return None
    return load.model_copy(
        update={"jobs": 2 * load.jobs, "threads": tuple(sorted({ceil(n / 2) for n in load.threads}))}
    )


def _free_port(scenario: Scenario, random: Random, added: list[Neighbour]) -> str | None:
    """A port without a cable on the switch of the test's first initiator."""
    edge = next(s for s in scenario.switches if scenario.host.hbas[0].switch_port in s.ports)
    taken = {device.switch_port for device in scenario.devices} | {other.hba.switch_port for other in added}
    taken |= {end for link in scenario.inter_switch_links for end in link.ends}
    free = [port for port in edge.ports if port not in taken]
    return random.choice(free) if free else None


def _host(scenario: Scenario, number: int, port: str, target: str, think_seconds: float) -> Neighbour:
    """A host with one I/O at a time, on a volume of its own."""
    unlike = {"name": f"vol{number}", "id": f"{scenario.volume.id[:-4]}00{number}", "lun": number}
    serial = f"{scenario.volume.serial[:-4]}00{number}"
    free = {"bandwidth_limit": None, "iops_limit": None}
    load = scenario.load
    direction: Direction = "write" if load.direction == "write" else "read"
    first = scenario.host.hbas[0]
    return Neighbour(
        name=f"esx{number}",
        hba=first.model_copy(
            update={
                "name": "vmhba2",
                "wwpn": f"21:00:00:24:ff:00:02:{number:02x}",
                "capable_gigabit": 16,
                "switch_port": port,
                "damaged_frame_ratio": 0.0,
                "drain_ratio": 1.0,
            }
        ),
        target=target,
        volume=scenario.volume.model_copy(update={**unlike, "serial": serial, **free}),
        direction=direction,
        block_bytes=16 * 1024,
        outstanding=1,
        think_seconds=think_seconds,
    )


_TIMES = re.compile(r"(service|minimum|tail|command|entry|submit|forwarding|think|cached|timeout|per_io)")
_KEPT = ("ramp_seconds", "measured_seconds", "gap_seconds")


def _scaled(data: Any) -> Any:
    """Times of an I/O by half, rates twice as high; how long a test runs is left."""
    if isinstance(data, list | tuple):
        return [_scaled(item) for item in data]
    if not isinstance(data, dict):
        return data
    return {key: _faster(key, value) for key, value in data.items()}


def _faster(key: str, value: Any) -> Any:
    if isinstance(value, dict | list | tuple) or value is None or key in _KEPT:
        return _scaled(value)
    if key in ("capable_gigabit", "gigabit"):
        return min(_FASTEST, value * _RATES)
    if key in ("destage_bytes_per_second", "ios_per_second", "bandwidth_limit", "iops_limit"):
        return value * _RATES
    timed = _TIMES.search(key) is not None and "seconds" in key
    return value / _RATES if timed else value


def _walked(data: Any, change: Callable[[str], str]) -> Any:
    """All texts in some data changed."""
    if isinstance(data, str):
        return change(data)
    if isinstance(data, list | tuple):
        return [_walked(item, change) for item in data]
    return {key: _walked(item, change) for key, item in data.items()} if isinstance(data, dict) else data
