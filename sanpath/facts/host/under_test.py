"""What the test runs over on its hosts: machines and block devices, and the main load of each step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.facts.table import FactTable, FactValue, number
from sanpath.model import DIRECTIONS, Scalar
from sanpath.topology.identity import Topology
from sanpath.topology.paths import hosts_of, machines_of

_PART = 0.2
"""Where nobody says what the load uses, a block device with this share of its I/Os is taken for it."""
_ALL = 1 - 1e-6
"""A share that differs from one by no more than the rounding of a mean."""
_IDENTIFIERS = ("naa", "eui")
_PLATFORMS = {"linux": "linux", "windows": "windows", "esx": "esxi"}
"""What an operating system's name holds → what remedies call the platform."""


@dataclass(frozen=True, slots=True)
class UnderTest:
    """One step of a test and what it runs over.

    `load`: the direction that moves more; a setting is the same in both, so that facts of settings are told once a
    step, in that direction. `machines`: virtual machines and hosts of the load; `devices`: block devices, multipath
    maps in place of their paths; `busiest_utilisation`: of the links of the loaded path, None: not seen.
    """

    load: LoadFacts
    machines: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    busiest_utilisation: float | None = None
    samples: Mapping[str, Sequence[StepSamples]] = field(default_factory=dict)

    def of(self, entity: str | None) -> Sequence[StepSamples]:
        """What was sampled of an entity in the step."""
        return self.samples.get(entity, ()) if entity is not None else ()


def under_test(
    topology: Topology, loads: Sequence[LoadFacts], samples: Mapping[str, Sequence[StepSamples]], links: FactTable
) -> list[UnderTest]:
    """One entry a step with I/O."""
    by_step = _by_step(topology, samples)
    found = []
    for step in dict.fromkeys(load.step for load in loads):
        here = [load for load in loads if load.step == step]
        main = max(here, key=lambda load: (load.bytes_per_second, load.ops_per_second))
        told = by_step.get(step, {})
        roots = dict.fromkeys(root for load in here for root in load.roots)
        hosts = _known(host for root in roots for host in hosts_of(topology, root))
        machines = _known([*(machine for root in roots for machine in machines_of(topology, root)), *hosts])
        devices = _devices(topology, list(roots), machines, told, sum(load.ops_per_second for load in here))
        loaded = links.select(step=step, on_loaded_path=True)
        seen = all(row["utilisation"] is not None for row in loaded)
        busiest = max((number(row, "utilisation") for row in loaded), default=None) if seen else None
        found.append(UnderTest(main, tuple(machines), tuple(hosts), tuple(devices), busiest, told))
    return found


def _by_step(
    topology: Topology, samples: Mapping[str, Sequence[StepSamples]]
) -> dict[str, dict[str, list[StepSamples]]]:
    """Step → entity → what was sampled of it."""
    found: dict[str, dict[str, list[StepSamples]]] = {}
    for kind, told in samples.items():
        for sample in told:
            if (entity := topology.known_as.get((sample.source, kind, sample.entity))) is not None:
                found.setdefault(sample.step, {}).setdefault(entity, []).append(sample)
    return found


def platform(topology: Topology, entity: str) -> str | None:
    """linux, windows or esxi, of a machine or of the machine that has the entity. None: not told."""
    owners = [entity, *topology.related(entity, "attached_to")]
    for owner in owners:
        system = str(topology.entities[owner].attributes.get("os") or "").lower()
        for part, name in _PLATFORMS.items():
            if part in system:
                return name
    return None


def names(topology: Topology, lun: str) -> dict[str, FactValue]:
    """What the commands of each platform call a device."""
    ids = topology.entities[lun].ids
    device = [name for name in ids.get("device", ()) if not name.startswith(("naa.", "eui."))]
    return {"naa": next(iter(ids.get("naa", ())), None), "device": next(iter(device), None)}


def platform_of_hosts(topology: Topology, loads: Iterable[LoadFacts]) -> str | None:
    """The platform of the hosts of the test. None: not told, or they differ."""
    hosts = {host for load in loads for root in load.roots for host in hosts_of(topology, root)}
    found = {platform(topology, host) for host in hosts}
    return found.pop() if len(found) == 1 else None


def text(value: Scalar) -> str | None:
    """An attribute that is a name; None: not known."""
    return str(value) if value not in (None, "") else None


def figure(value: Scalar) -> float | None:
    """An attribute that is a number; None: not known, or it is none."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def truth(value: Scalar) -> bool | None:
    """An attribute that is yes or no; None: not known, or it is neither."""
    return value if isinstance(value, bool) else None


def gauge(samples: Iterable[StepSamples], name: str) -> float | None:
    """The mean of a gauge over the step, by the first source that tells it."""
    return next((told for sample in samples if (told := sample.means.get(name)) is not None), None)


def rate(samples: Iterable[StepSamples], name: str) -> float | None:
    """The rate of a counter over the step, by the first source that tells it."""
    return next((told for sample in samples if (told := sample.rate(name)) is not None), None)


def both(samples: Sequence[StepSamples], before: str, after: str = "_total") -> float | None:
    """The rate of a counter that is kept a direction, reads and writes together. None: neither is told."""
    told = [rate(samples, f"{before}_{direction}{after}") for direction in DIRECTIONS]
    known = [value for value in told if value is not None]
    return sum(known) if known else None


def always(share: float) -> bool:
    """Whether a share of the time is all of it, but for rounding."""
    return share >= _ALL


def in_flight(samples: Sequence[StepSamples]) -> float | None:
    """Mean number in flight: counted over time, by Little's law, or as it was at each poll."""
    for told in (
        rate(samples, "in_flight_seconds_total"),
        both(samples, "latency_seconds"),
        gauge(samples, "in_flight"),
    ):
        if told is not None:
            return told
    each = [gauge(samples, f"in_flight_{direction}") for direction in DIRECTIONS]
    return None if None in each else sum(value or 0.0 for value in each)


def _devices(
    topology: Topology,
    roots: Sequence[str],
    machines: Sequence[str],
    samples: Mapping[str, Sequence[StepSamples]],
    operations: float,
) -> list[str]:
    own = dict.fromkeys(lun for machine in machines for lun in topology.related(machine, "attached_to", "lun"))
    named = [lun for root in roots for lun in topology.related(root, "targets", "lun")]
    disks = [disk for machine in machines for disk in topology.related(machine, "attached_to", "vdisk")]
    named += [lun for disk in disks for lun in topology.related(disk, "backed_by", "lun")]
    if not named:
        named = [lun for lun in own if (both(samples.get(lun, ()), "ops") or 0.0) >= _PART * operations]
    identifiers = {(key, i) for lun in named for key in _IDENTIFIERS for i in topology.entities[lun].ids.get(key, ())}
    same = [
        lun
        for lun in own
        if any((key, i) in identifiers for key in _IDENTIFIERS for i in topology.entities[lun].ids.get(key, ()))
    ]
    below = [lower for lun in named for lower in _lower(topology, lun)]
    found = dict.fromkeys([*named, *same, *below])
    return [lun for lun in found if not _is_path(topology, lun)]


def _lower(topology: Topology, lun: str) -> list[str]:
    """What a volume manager's device lies on, to the bottom."""
    lower = [link.from_entity for link in topology.links if link.relation == "member_of" and link.to_entity == lun]
    luns = [entity for entity in lower if topology.entities[entity].kind == "lun"]
    return luns + [deeper for entity in luns for deeper in _lower(topology, entity)]


def _is_path(topology: Topology, lun: str) -> bool:
    """Whether a block device is one path of a multipath device: its settings count with those of the whole."""
    upper = [link.to_entity for link in topology.links if link.relation == "member_of" and link.from_entity == lun]
    return any(figure(topology.entities[entity].attributes.get("paths")) is not None for entity in upper)


def _known(values: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(value for value in values if value is not None))
