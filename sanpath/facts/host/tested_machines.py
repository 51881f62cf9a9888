"""Finds the machines and block devices that a test uses, and the main load of each step."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples, complete_sum, sum_of_known
from sanpath.facts.table import FactRow, FactTable, FactValue, number
from sanpath.model import DIRECTIONS, Scalar
from sanpath.topology.paths import hosts_of, hosts_of_all, load_of_job, machines_of
from sanpath.topology.topology import Topology

_USED_RATIO = 0.2
"""Share of the load's I/Os from which a block device counts as used, if no source reports which devices the load
uses. Another device counts from the same share of what its machine does for the load, if the busy devices do not
account for all of that."""
_Part = tuple[float, float]
"""Operations a second, and I/Os outstanding on average."""
_IDLE: _Part = (0.0, 0.0)
_ALWAYS_RATIO = 1 - 1e-6
"""A share of at least this is 1.0, apart from the rounding of a mean."""
_IDENTIFIERS = ("naa", "eui")
_PLATFORMS = {"linux": "linux", "windows": "windows", "esx": "esxi"}
"""Text in the name of an operating system → name of the platform in remedies."""
_DEVICE_NAMES = {
    re.compile(r"(sd|vd|xvd)[a-z]+|nvme\d+n\d+|(dm-|md|rbd|nbd)\d+"): "linux",
    re.compile(r"PhysicalDrive\d+|PhysicalDisk\d+"): "windows",
}
"""Names that only one operating system gives to block devices → platform (Linux kernel,
Documentation/admin-guide/devices.txt; Windows, Device namespaces)."""
_NEVER_LOOKED_UP = ("switch_port",)
"""Kinds whose samples no fact of a machine or device needs; a site has thousands of these entities."""


@dataclass(frozen=True, slots=True)
class UnderTest:
    """One step of a test with the machines and devices that it uses.

    `load`: the direction that moves more. A setting applies to both directions, so facts about settings appear once
    per step, in that direction. `machines`: virtual machines and hosts of the load. `devices`: block devices,
    multipath maps instead of their paths. `busiest_utilisation`: that of the busiest link of the loaded path, None:
    not known. `links_counted`: a source counts the bytes of a link of the loaded path. `samples`: entity → its
    samples in the step, except those of switch ports. `loads`: both directions.
    """

    load: LoadFacts
    machines: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    busiest_utilisation: float | None = None
    links_counted: bool = False
    samples: Mapping[str, Sequence[StepSamples]] = field(default_factory=dict)
    loads: tuple[LoadFacts, ...] = ()

    def samples_of(self, entity: str | None) -> Sequence[StepSamples]:
        """Return the samples of an entity in the step; () for None."""
        return self.samples.get(entity, ()) if entity is not None else ()


def under_test(
    topology: Topology, loads: Sequence[LoadFacts], samples: Mapping[str, Sequence[StepSamples]], links: FactTable
) -> list[UnderTest]:
    """Return one entry for each step with I/O."""
    by_step = _by_step(topology, samples)
    result = []
    for step in dict.fromkeys(load.step for load in loads):
        step_loads = [load for load in loads if load.step == step]
        main = max(step_loads, key=lambda load: (load.bytes_per_second, load.ops_per_second))
        step_samples = by_step.get(step, {})
        roots = dict.fromkeys(root for load in step_loads for root in load.roots)
        hosts = hosts_of_all(topology, roots)
        machines = _unique([*(machine for root in roots for machine in machines_of(topology, root)), *hosts])
        devices = _devices(topology, step_loads, machines, step_samples)
        # Where a port of the step miscounts, it is not known which links are on the loaded path.
        miscounts = bool(links.select(step=step, miscounts=True))
        on_path = in_both_directions(links, step)
        busiest = None if miscounts else busiest_utilisation(on_path)
        result.append(
            UnderTest(
                load=main,
                machines=tuple(machines),
                hosts=tuple(hosts),
                devices=tuple(devices),
                busiest_utilisation=busiest,
                links_counted=miscounts or bool(on_path),
                samples=step_samples,
                loads=tuple(step_loads),
            )
        )
    return result


def in_both_directions(links: FactTable, step: str, direction: str | None = None) -> list[FactRow]:
    """Return the rows, of both directions, of the links that carry the load, or only the I/Os of a direction.

    Every I/O crosses its links in both: data, and commands or answers. Whatever fills a link the other way delays it.
    """
    in_step = links.select(step=step)
    carry = {row["entity"] for row in in_step if row["on_loaded_path"] and direction in (None, row["direction"])}
    return [row for row in in_step if row["entity"] in carry]


def busiest_utilisation(links: Collection[FactRow]) -> float | None:
    """Return the utilisation of the busiest of these links. None: there are none, or one is not known."""
    if not links or any(row["utilisation"] is None for row in links):
        return None
    return max(number(row, "utilisation") for row in links)


def _by_step(
    topology: Topology, samples: Mapping[str, Sequence[StepSamples]]
) -> dict[str, dict[str, list[StepSamples]]]:
    """Return step → entity → its samples."""
    by_step: dict[str, dict[str, list[StepSamples]]] = {}
    for kind, kind_samples in samples.items():
        for sample in kind_samples if kind not in _NEVER_LOOKED_UP else ():
            if (entity := topology.known_as.get((sample.source, kind, sample.entity))) is not None:
                by_step.setdefault(sample.step, {}).setdefault(entity, []).append(sample)
    return by_step


def platform(topology: Topology, entity: str) -> str | None:
    """Return linux, windows or esxi: the platform of a machine, or of the machine that has the entity.

    None: not known."""
    owners = [entity, *topology.related(entity, "attached_to")]
    for owner in owners:
        system = str(topology.entities[owner].attributes.get("os") or "").lower()
        for name_part, name in _PLATFORMS.items():
            if name_part in system:
                return name
    return None


def platform_of_device(topology: Topology, lun: str) -> str | None:
    """Return the platform of the machine that has a block device, by its name if no source reports the operating
    system. Its paths may be those of a hypervisor. None: not known."""
    names = topology.entities[lun].ids.get("device", ())
    by_name = (system for pattern, system in _DEVICE_NAMES.items() if any(map(pattern.fullmatch, names)))
    return platform(topology, lun) or next(by_name, None)


def device_names(topology: Topology, lun: str) -> dict[str, FactValue]:
    """Return the names of a device in the commands of each platform, and whether they are those of NVMe."""
    ids = topology.entities[lun].ids
    device = next((name for name in ids.get("device", ()) if not name.startswith(("naa.", "eui."))), None)
    is_nvme = _over_nvme(topology, lun) if device is None else device.startswith("nvme")
    # ESXi's commands take the name of a namespace where they take that of a LUN.
    identifiers = ids.get("naa", ()) or [name for name in ids.get("device", ()) if name.startswith("eui.")]
    return {"naa": next(iter(identifiers), None), "device": device, "nvme": is_nvme}


def _over_nvme(topology: Topology, lun: str) -> bool | None:
    """Return whether the initiator ports of a device's paths speak NVMe: ESXi names some LUNs as it does namespaces.

    If they do not say, or differ, an identifier of NAA tells that it is a LUN of SCSI (SPC-4, 7.8.6). None: not
    known."""
    paths = topology.related(lun, "member_of", "path")
    ports = dict.fromkeys(port for path in paths for port in topology.related(path, "attached_to", "hba"))
    protocols = [as_text(topology.entities[port].attributes.get("protocol")) for port in ports]
    spoken = {None if protocol is None else protocol.lower().startswith("nvme") for protocol in protocols}
    common = next(iter(spoken)) if len(spoken) == 1 else None
    return False if common is None and topology.entities[lun].ids.get("naa") else common


def platform_of_hosts(topology: Topology, loads: Iterable[LoadFacts]) -> str | None:
    """Return the platform of the hosts of the test. None: not known, or they differ."""
    hosts = hosts_of_all(topology, (root for load in loads for root in load.roots))
    platforms = {platform(topology, host) for host in hosts}
    return platforms.pop() if len(platforms) == 1 else None


def as_text(value: Scalar) -> str | None:
    """Return an attribute that is a text; None: not known."""
    return str(value) if value not in (None, "") else None


def as_number(value: Scalar) -> float | None:
    """Return an attribute that is a number; None: not known, or not a number."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def as_bool(value: Scalar) -> bool | None:
    """Return an attribute that is true or false; None: not known, or neither."""
    return value if isinstance(value, bool) else None


def gauge(samples: Iterable[StepSamples], name: str) -> float | None:
    """Return the mean of a gauge over the step, by the first source that reports it. None: no source does."""
    return next((value for sample in samples if (value := sample.means.get(name)) is not None), None)


def rate(samples: Iterable[StepSamples], name: str) -> float | None:
    """Return the rate of a counter over the step, by the first source that reports it. None: no source does."""
    return next((value for sample in samples if (value := sample.rate(name)) is not None), None)


def cpu_busy_ratio(samples: Sequence[StepSamples]) -> float | None:
    """Return the busy share of all processors, counted over time or sampled at each poll. None: not reported."""
    busy, total = rate(samples, "cpu_busy_seconds_total"), rate(samples, "cpu_seconds_total")
    return busy / total if busy is not None and total else gauge(samples, "cpu_busy_ratio")


def both_directions(samples: Sequence[StepSamples], prefix: str) -> float | None:
    """Return the sum of a counter's rates for reads and for writes. None: neither is reported."""
    return sum_of_known(rate(samples, f"{prefix}_{direction}_total") for direction in DIRECTIONS)


def is_always(share: float) -> bool:
    """Return whether a share of the time is 1.0, apart from rounding."""
    return share >= _ALWAYS_RATIO


def in_flight(samples: Sequence[StepSamples]) -> float | None:
    """Return the mean number in flight: counted over time, by Little's law, or as sampled at each poll."""
    for value in (
        rate(samples, "in_flight_seconds_total"),
        both_directions(samples, "latency_seconds"),
        gauge(samples, "in_flight"),
    ):
        if value is not None:
            return value
    return complete_sum(gauge(samples, f"in_flight_{direction}") for direction in DIRECTIONS)


def in_flight_below_queue(samples: Sequence[StepSamples], of_resolution: float = 0.5) -> float | None:
    """Return the mean number in flight below a hypervisor's queue: operations times DAVG (Little's law).

    None: not reported. Where the reported mean is truncated, the true mean is higher by half the resolution, on
    average, and by all of it at most. `of_resolution`: the share of the resolution that is added.
    """
    by_direction = []
    for direction in DIRECTIONS:
        operations = rate(samples, f"ops_{direction}_total")
        for name in (f"device_seconds_mean_{direction}", "device_seconds_mean"):
            if operations and (seconds := gauge(samples, name)) is not None:
                resolution = max(sample.resolutions.get(name, 0.0) for sample in samples)
                by_direction.append(operations * (seconds + of_resolution * resolution))
                break
        else:
            if operations:
                return None
    return sum(by_direction) if by_direction else None


def _devices(
    topology: Topology,
    loads: Sequence[LoadFacts],
    machines: Sequence[str],
    samples: Mapping[str, Sequence[StepSamples]],
) -> list[str]:
    """Return the block devices that the loads of a step use."""
    machine_luns = _luns_of(topology, machines)
    named = [lun for load in loads for lun in _targets(topology, load)]
    disks = [disk for machine in machines for disk in topology.related(machine, "attached_to", "vdisk")]
    named += [lun for disk in disks for lun in topology.related(disk, "backed_by", "lun")]
    if not named:
        # I/Os in flight at a guest's device are also in flight at its hypervisor's.
        guests = [machine for machine in machines if topology.entities[machine].kind == "vm"]
        levels = guests, [machine for machine in machines if machine not in guests]
        named = [lun for level in levels for lun in _used(topology, loads, level, samples)]
    if not named and len(machine_luns) == 1 and not any(map(samples.get, machine_luns)):
        named = list(machine_luns)  # The only device that any source knows. Its I/O was not counted.
    identifiers = {
        (key, identifier)
        for lun in named
        for key in _IDENTIFIERS
        for identifier in topology.entities[lun].ids.get(key, ())
    }
    same_device = [
        lun
        for lun in machine_luns
        if any(
            (key, identifier) in identifiers
            for key in _IDENTIFIERS
            for identifier in topology.entities[lun].ids.get(key, ())
        )
    ]
    below = [lower for lun in named for lower in topology.with_all_members([lun], "lun")]
    devices = dict.fromkeys([*named, *same_device, *below])
    return [lun for lun in devices if not _is_path(topology, lun)]


def _luns_of(topology: Topology, machines: Iterable[str]) -> list[str]:
    return _unique(lun for machine in machines for lun in topology.related(machine, "attached_to", "lun"))


def _targets(topology: Topology, load: LoadFacts) -> list[str]:
    """Return the LUNs that the loads name. If a load names no target, they are those of its jobs, if each job names
    one."""
    named = []
    for root in load.roots:
        jobs = [job for job in load.jobs if job in topology.entities and load_of_job(topology, job) == root]
        of_jobs = [topology.related(job, "targets", "lun") for job in jobs]
        if topology.related(root, "targets"):
            named += topology.related(root, "targets", "lun")
        elif all(of_jobs):
            named += [lun for luns in of_jobs for lun in luns]
    return named


def _used(
    topology: Topology,
    loads: Sequence[LoadFacts],
    machines: Sequence[str],
    samples: Mapping[str, Sequence[StepSamples]],
) -> list[str]:
    """Return the devices that carry enough of the load's operations or outstanding I/Os to be in use.

    The limited part of a load has few operations, but its share of the outstanding I/Os (Little's law). Another
    program's disk may have the same number outstanding, so only as many devices count as explain the load's I/Os.
    """
    whole = sum(load.ops_per_second for load in loads), sum(load.in_flight_measured for load in loads)
    of_machines = _wholes_of_machines(topology, loads, samples)
    groups: list[tuple[Sequence[str], _Part]] = [(machines, whole)]
    if of_machines:
        groups = [((machine,), of_machines.get(machine, _IDLE)) for machine in machines]
    used: list[str] = []
    for members, of_group in groups:
        parts = {lun: _work(samples.get(lun, ())) for lun in _luns_of(topology, members)}
        busy = [lun for lun, part in parts.items() if part[0] >= _USED_RATIO * whole[0]]
        used += [*busy, *_also_used(topology, parts, busy, of_group, _USED_RATIO / max(1, len(members)))]
    return used


def _also_used(
    topology: Topology, parts: Mapping[str, _Part], busy: Collection[str], whole: _Part, least: float
) -> list[str]:
    """Return the devices with at least a share of the operations or outstanding I/Os of a load that are missing in
    those of its busy devices. Empty: they are not known to account for all.

    `parts`: device → what it has."""
    # The I/Os of a path, or of a part of a volume, are those of the device above it.
    counted = [lun for lun in parts if not any(parts.get(upper, _IDLE)[0] for upper in topology.uppers(lun, "lun"))]
    known = _sum(parts[lun] for lun in counted if lun in busy)
    found: list[str] = []
    for lun in sorted(set(counted).difference(busy), key=lambda lun: (-parts[lun][1], lun)):
        with_lun = _sum((known, parts[lun]))
        limits = list(zip(with_lun, parts[lun], whole, strict=True))
        # A part of what the device has may be an error of the two counts, or not the load's.
        fits = all(together - _USED_RATIO * own <= limit for together, own, limit in limits)
        if fits and any(own and own >= least * limit for _, own, limit in limits):
            found.append(lun)
            known = with_lun
    return found if known[0] >= (1 - _USED_RATIO) * whole[0] else []


def _wholes_of_machines(
    topology: Topology, loads: Sequence[LoadFacts], samples: Mapping[str, Sequence[StepSamples]]
) -> dict[str, _Part]:
    """Return machine → operations and outstanding I/Os of the jobs on it or in its guests. Empty: not known for one
    of the jobs."""
    wholes: dict[str, _Part] = {}
    for job in dict.fromkeys(job for load in loads for job in load.jobs):
        part = _work(samples.get(job, ()))
        if not part[0]:
            return {}
        load = job if machines_of(topology, job) else load_of_job(topology, job)
        machines = machines_of(topology, load)
        if len(machines) != 1:
            return {}
        for machine in _unique([*machines, *hosts_of(topology, load)]):
            wholes[machine] = _sum((wholes.get(machine, _IDLE), part))
    return wholes


def _work(samples: Sequence[StepSamples]) -> _Part:
    return both_directions(samples, "ops") or 0.0, in_flight(samples) or 0.0


def _sum(parts: Iterable[_Part]) -> _Part:
    operations, outstanding = zip(_IDLE, *parts, strict=True)
    return sum(operations, 0.0), sum(outstanding, 0.0)


def _is_path(topology: Topology, lun: str) -> bool:
    """Return whether a block device is one path of a multipath device, whose settings include those of its paths."""
    upper = [link.to_entity for link in topology.links if link.relation == "member_of" and link.from_entity == lun]
    return any(as_number(topology.entities[entity].attributes.get("paths")) is not None for entity in upper)


def _unique(values: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(value for value in values if value is not None))
