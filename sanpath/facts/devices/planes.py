"""The planes on the path of a load: the places of guest and host at which a clock times its I/Os."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isclose

from sanpath.catalogue.catalogue import planes as catalogue_planes
from sanpath.catalogue.values import FIO_OVER_NETWORK
from sanpath.facts.devices.device_share import UNSPLIT_BYTES
from sanpath.facts.load.host_loads import MOVED_ABOVE_RATIO
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, FactTable, number
from sanpath.model import Scalar
from sanpath.topology.paths import hosts_of_all, luns_of, machines_of
from sanpath.topology.topology import Topology

BLOCK_LAYERS = ("guest_block", "windows_disk", "host_block")
"""Planes at which an operating system counts and times I/Os that it sent to a device, including the wait for a slot
of the device (Linux await, PerfMon)."""
_RATE_TOLERANCE = 0.05
"""A device carries the load's I/O if their rates agree within this ratio."""
_SINGLE_WINDOW_TOLERANCE = 0.2
"""Additional tolerance if there is only one window, which covers a part of the step other than the load's windows."""
_WINDOW_DIFFERENCE = 0.02
"""Relative difference of two rates, or numbers of I/Os, that differing windows explain: sanpath's own choice."""
_MIN_PART_RATIO = 0.2
"""Ratio of the device's rate to the load's from which the device's clock is evidence about the load."""
_SPLIT_RATIO = 1.5
"""Device I/Os per load I/O from which the device's I/Os may be parts of the load's."""
_OTHERS_DIFFERENCE = 0.5
"""Relative difference between a device's times for the load's I/Os and for others' in one queue: the others may be
larger, or of the other direction."""
_DIRECTION_TOLERANCE = 0.2
"""Additional ratio by which a direction's time may lie outside these bounds: two differences may have opposite signs,
and each clock has its own windows."""


def planes_of(topology: Topology, load: LoadFacts, planes: FactTable) -> list[FactRow]:
    """Return the observed planes on the path of the load's I/O, from the load down; one row for each plane.

    A plane is on the path if it carries the load's bytes: one device, or all devices of the load together. If bytes
    are not counted, operations are compared, although I/Os may be split on their path. If the load has a single
    device at a plane, and its rate differs from the load's, its clock is less exact: others use the device too, or a
    cache above answers some I/Os. A device is ignored if only flushes write to it.
    """
    path = devices_of_load(topology, load)
    order = catalogue_planes()
    by_plane: dict[str, FactRow] = {}
    step_rows = [
        _by_its_disks(topology, row, planes)
        for row in planes.select(step=load.step, direction=load.direction)
        if not _writes_at_flush(row, load)
    ]
    carrying = [
        row for row in step_rows if _carries(row, load) and not _is_one_of_several(topology, row, load, planes)
    ]
    for row in [
        *_finest(_uppermost(topology, [row for row in carrying if row["entity"] in path])),
        *_luns_by_bytes(topology, load, path, step_rows),
    ]:
        by_plane.setdefault(str(row["plane"]), row)
    seen: set[frozenset[str]] = set()
    for plane in sorted({str(row["plane"]) for row in step_rows}):
        parallel = parallel_devices(topology, load, planes, plane)
        devices = frozenset(str(row["entity"]) for row in parallel)
        if devices in seen:
            continue
        # The block layers of machines of several kinds are one plane.
        names = sorted({plane, *(str(row["plane"]) for row in parallel)})
        seen |= {devices} if len(names) > 1 else set()
        alone = next((by_plane[name] for name in names if name in by_plane), None)
        if len(parallel) > 1 and _carries(row := combined(parallel), load):
            are_loads = alone is None or alone["entity"] in path or _are_of_several_machines(topology, parallel)
            if alone is None or _is_closer(row, alone, load, are_loads=are_loads):
                by_plane = {name: other for name, other in by_plane.items() if name not in names} | {plane: row}
        elif alone is None and (split := _split_among(parallel, load, path)) is not None:
            by_plane[plane] = split
        elif alone is None and (shared := _shared_device(topology, load, parallel, path, planes)) is not None:
            own_row = _clipped_to_load(shared, load)
            by_plane.update({} if own_row is None else {plane: own_row})
    return [
        _latency_of_whole_ios(by_plane[name], load) for name in sorted(by_plane, key=lambda name: order[name].order)
    ]


def _shared_device(
    topology: Topology, load: LoadFacts, rows: Sequence[FactRow], path: set[str], planes: FactTable
) -> FactRow | None:
    """Return the row of the device that carries a load together with others' I/O, or carries only a part of the load:
    the only device that the load may use, or the only busy one of a hypervisor whose devices move exactly the bytes
    of its virtual disks. None: there is none."""
    machines = {machine for root in load.roots for machine in machines_of(topology, root)}
    if len(rows) == 1 and rows[0]["entity"] in path:
        owner = machines.intersection(topology.related(str(rows[0]["entity"]), "attached_to"))
        # The device of one machine is not on the path of the others.
        return rows[0] if not owner or owner == machines else None
    hosts = set(hosts_of_all(topology, load.roots)) - machines
    guests = {guest for host in hosts for guest in topology.related(host, "runs_on", "vm")}
    disks = {disk for guest in guests for disk in topology.related(guest, "attached_to", "vdisk")}
    own = planes.select(step=load.step, direction=load.direction, plane="vscsi")
    of_disks = sum(_rates(row, load)[0] for row in own if row["entity"] in disks)
    busiest = max(rows, key=lambda row: _rates(row, load)[0], default=None)
    if busiest is None or not of_disks or any(row["entity"] in path for row in rows):
        return None
    rest = sum(_rates(row, load)[0] for row in rows) - _rates(busiest, load)[0]
    is_sum = isclose(_rates(busiest, load)[0], of_disks, rel_tol=_RATE_TOLERANCE)
    return busiest if is_sum and rest <= _RATE_TOLERANCE * _rates(busiest, load)[1] else None


def parallel_devices(topology: Topology, load: LoadFacts, planes: FactTable, plane: str) -> list[FactRow]:
    """Return one row for each device that the load may use at a plane, from the source with the finest clock. The
    block layers of its machines are parallel, even if their operating systems have different names for them."""
    path = devices_of_load(topology, load)
    # If no source reports the load's LUNs, those of its machine, or of its host, may carry it together.
    path = path.union(*_unnamed_luns(topology, load, path))
    at_plane = planes.select(step=load.step, plane=plane)
    at_plane = [*at_plane, *_rows_of_other_machines(topology, load, planes, plane, at_plane)]
    rows = _uppermost(topology, [row for row in at_plane if row["entity"] in path])
    return _finest(_by_its_disks(topology, row, planes) for row in rows if row["direction"] == load.direction)


def _rows_of_other_machines(
    topology: Topology, load: LoadFacts, planes: FactTable, plane: str, at_plane: Sequence[FactRow]
) -> Iterator[FactRow]:
    """Yield the rows of other block layers, for those machines of the load that have no row at this plane."""
    machines = {machine for root in load.roots for machine in machines_of(topology, root)}

    def owners(row: FactRow) -> set[str]:
        return machines.intersection(topology.related(str(row["entity"]), "attached_to"))

    here = {owner for row in at_plane for owner in owners(row)}
    if plane in BLOCK_LAYERS and here and len(machines) > 1:
        for other in BLOCK_LAYERS:
            rows = planes.select(step=load.step, plane=other) if other != plane else []
            yield from (row for row in rows if (owned := owners(row)) and not owned & here)


def _uppermost(topology: Topology, rows: Sequence[FactRow]) -> list[FactRow]:
    """Return the rows, except those of devices whose bytes come from devices above them in `rows`, like the paths of
    a multipath map. A device below an idle volume is kept, because most of its bytes come from elsewhere."""
    quantity = "ops_per_second" if any(row["bytes_per_second"] is None for row in rows) else "bytes_per_second"
    by_direction: dict[tuple[str, str], float] = {}
    for row in rows:
        key = (str(row["entity"]), str(row["direction"]))
        by_direction[key] = max(by_direction.get(key, 0.0), number(row, quantity))
    moved: defaultdict[str, float] = defaultdict(float)
    for (entity, _), rate in by_direction.items():
        moved[entity] += rate

    def is_lower(entity: str) -> bool:
        above = sum(moved.get(upper, 0.0) for upper in topology.uppers(entity, "lun"))
        return above > 0 and above >= MOVED_ABOVE_RATIO * moved[entity]

    return [row for row in rows if not is_lower(str(row["entity"]))]


def _finest(rows: Iterable[FactRow]) -> list[FactRow]:
    """Return one row for each device and plane.

    The source with the finest clock is preferred, then the one with the lowest latency: a higher latency includes a
    queue above the plane."""
    finest: dict[tuple[str, str], FactRow] = {}
    for row in sorted(rows, key=lambda row: (number(row, "resolution_seconds"), number(row, "latency_seconds"))):
        finest.setdefault((str(row["entity"]), str(row["plane"])), row)
    return list(finest.values())


def combined(rows: Sequence[FactRow]) -> FactRow:
    """Combine parallel devices into one row: rates and I/Os in flight are added, latency is a mean over the I/Os.

    The row has the name of the device with the most I/Os in flight, and their number. Its bytes and its queue depth
    are None if any device's are not known."""
    operations = sum(number(row, "ops_per_second") for row in rows)
    flying = sum(number(row, "in_flight_measured") for row in rows)
    byte_rates, depths = [row["bytes_per_second"] for row in rows], [row["queue_depth"] for row in rows]
    means = [row["mean_of_both_seconds"] for row in rows]
    largest = max(rows, key=lambda row: number(row, "in_flight_measured"))
    return {
        **largest,
        "devices": float(len({row["entity"] for row in rows})),
        "windows": min(int(number(row, "windows")) for row in rows),
        "ops_per_second": operations,
        "bytes_per_second": None if None in byte_rates else sum(number(row, "bytes_per_second") for row in rows),
        "in_flight_measured": flying,
        "latency_seconds": flying / operations,
        "resolution_seconds": max(number(row, "resolution_seconds") for row in rows),
        "mean_of_both_seconds": None
        if None in means
        else sum(number(row, "mean_of_both_seconds") * number(row, "ops_per_second") for row in rows) / operations,
        "queue_depth": None if None in depths else sum(number(row, "queue_depth") for row in rows),
    }


def with_latency_of_direction(
    row: FactRow, above: FactRow | LoadFacts, opposite: FactRow | LoadFacts | None
) -> FactRow:
    """Return a row of a plane with a narrower latency if the source gives one mean for reads and writes.

    `above`, `opposite`: the same I/Os at a clock further up, of this direction and of the other. A queue treats reads
    and writes alike. So the difference between the directions at the upper clock arises below the plane, above it, or
    partly in both. The latency of this direction therefore lies between the mean of both directions and that mean
    plus the entire difference.
    """
    if opposite is None or row["mean_of_both_seconds"] is None:
        return row
    mean, middle, error = (
        number(row, name) for name in ("mean_of_both_seconds", "latency_seconds", "resolution_seconds")
    )
    (rate, seconds), (opposite_rate, opposite_seconds) = _rate_and_time(above), _rate_and_time(opposite)
    different = mean + opposite_rate / (rate + opposite_rate) * (seconds - opposite_seconds)
    low = max(middle - error, min(mean, different) * (1 - _DIRECTION_TOLERANCE))
    high = min(middle + error, max(mean, different) * (1 + _DIRECTION_TOLERANCE))
    if low > high:
        return row
    return {
        **row,
        "latency_seconds": (low + high) / 2,
        "resolution_seconds": (high - low) / 2,
        "mean_of_both_seconds": None,
        "in_flight_measured": number(row, "ops_per_second") * (low + high) / 2,
    }


def _rate_and_time(clock: FactRow | LoadFacts) -> tuple[float, float]:
    """Return the I/Os a second at a clock, and their mean time in seconds."""
    if isinstance(clock, LoadFacts):
        return clock.ops_per_second, clock.latency_seconds
    return number(clock, "ops_per_second"), number(clock, "latency_seconds")


def _by_its_disks(topology: Topology, row: FactRow, planes: FactTable) -> FactRow:
    """Return the row of a LUN from the clock of the virtual disk on it, if that disk carries all its I/Os."""
    if row["mean_of_both_seconds"] is None:
        return row
    disks = topology.related(str(row["entity"]), "backed_by", "vdisk")
    rows = {str(each["direction"]): each for disk in disks for each in planes.select(entity=disk, step=row["step"])}
    above = rows.pop(str(row["direction"]), None)
    if len(disks) != 1 or above is None or above["resolution_seconds"]:
        return row
    same = isclose(number(above, "ops_per_second"), number(row, "ops_per_second"), rel_tol=_RATE_TOLERANCE)
    return with_latency_of_direction(row, above, next(iter(rows.values()), None)) if same else row


def _luns_by_bytes(topology: Topology, load: LoadFacts, path: set[str], rows: Sequence[FactRow]) -> list[FactRow]:
    """Return rows of the LUN in a guest, and of the LUN in its host, that carry the load's bytes, if no source
    reports the load's LUN. Empty: several LUNs carry the same bytes. If a path carries the same bytes as its
    multipath map, the map is the LUN."""
    found = []
    for luns in _unnamed_luns(topology, load, path):
        own_rows = _uppermost(topology, [row for row in rows if row["entity"] in luns])
        carrying = [row for row in own_rows if _carries(row, load)]
        found += carrying if len({row["entity"] for row in carrying}) == 1 else []
    return found


def _unnamed_luns(topology: Topology, load: LoadFacts, path: set[str]) -> Iterator[set[str]]:
    """Yield the LUNs of the machines in which the load runs, and those of their hosts, each only if `path` contains
    none of them, and if the load uses block devices at all."""
    if is_past_block_devices(topology, load):
        return
    machines = {machine for root in load.roots for machine in machines_of(topology, root)}
    hosts = set(hosts_of_all(topology, load.roots)) - machines
    for level in (machines, hosts):
        luns = {lun for machine in level for lun in topology.related(machine, "attached_to", "lun")}
        if not luns & path:
            yield luns


def is_past_block_devices(topology: Topology, load: LoadFacts) -> bool:
    """Return whether all jobs of a load are known to reach their storage over the network themselves."""
    known = topology.entities
    jobs = [known[job].attributes for job in load.jobs if job in known]
    return bool(jobs) and all(map(_is_over_network, jobs))


def _is_over_network(attributes: Mapping[str, Scalar]) -> bool:
    """Return whether a job is known to reach its storage over the network, without its machine's block devices. In
    recordings whose jobs do not report that, fio's engine shows it."""
    declared = attributes.get("over_network")
    return declared if isinstance(declared, bool) else attributes.get("ioengine") in FIO_OVER_NETWORK


def devices_of_load(topology: Topology, load: LoadFacts) -> set[str]:
    """Return the block devices and virtual disks that the load's I/O may use. If the virtual disk below each LUN of
    the load is known, the machine's other disks carry other data."""
    devices: set[str] = set()
    for root in load.roots:
        luns = luns_of(topology, root)
        own = [topology.related(lun, "backed_by", "vdisk") for lun in luns]
        attached = [
            disk
            for machine in machines_of(topology, root)
            for disk in topology.related(machine, "attached_to", "vdisk")
        ]
        disks = [disk for found in own for disk in found] if own and all(own) else attached
        devices |= {*luns, *disks, *(lun for disk in disks for lun in topology.related(disk, "backed_by", "lun"))}
    return devices


def _writes_at_flush(row: FactRow, load: LoadFacts) -> bool:
    """Return whether the load's writes end in a file cache, while its flushes wait for the device: then the device's
    clock is no evidence about a write."""
    device_seconds = number(row, "latency_seconds") - number(row, "resolution_seconds")
    return load.flushes_in_flight > load.in_flight_measured and device_seconds > load.latency_seconds


def _clipped_to_load(row: FactRow, load: LoadFacts) -> FactRow | None:
    """Return the row of a device for the load's I/Os, if the device also serves others, or only a part of the load.

    I/Os that a cache answers spend no time at the device, unless the rates differ only because of their windows.
    None: the device is slower than the load, so it serves I/O that the load does not wait for; or it counts more I/Os
    than the load and no bytes, so that its I/Os may be parts of the load's.
    """
    of_device, of_load = _rates(row, load)
    times = of_device / of_load
    if times >= _SPLIT_RATIO and not row["bytes_per_second"] and (load.operation_bytes or 0.0) > UNSPLIT_BYTES:
        return None
    mean, error = number(row, "latency_seconds"), number(row, "resolution_seconds")
    error_ratio = _OTHERS_DIFFERENCE * (1 - 1 / times) if times > 1 else (1 - times) / (1 + times)
    middle = mean if times > 1 else mean * (1 + times) / 2
    if times < _MIN_PART_RATIO or middle * (1 - error_ratio) - error > load.latency_bounds[1]:
        return None
    seconds = min(middle, load.latency_bounds[1])
    own = load.ops_per_second * seconds
    return {
        **row,
        "ops_per_second": load.ops_per_second,
        "bytes_per_second": load.bytes_per_second or None,
        "latency_seconds": seconds,
        "mix_error_ratio": error_ratio,
        "mean_of_both_seconds": None,
        "in_flight_measured": own,
        "others_in_flight": max(0.0, number(row, "in_flight_measured") - own) if times > 1 else 0.0,
    }


def _latency_of_whole_ios(row: FactRow, load: LoadFacts) -> FactRow:
    """Return the row of a device with the time of a load's I/O that consists of several device I/Os: at least the
    time of one, and at most the sum of all."""
    parts = number(row, "ops_per_second") / load.ops_per_second
    if parts < _SPLIT_RATIO or not row["bytes_per_second"] or not load.bytes_per_second:
        return row
    mean, error = number(row, "latency_seconds"), number(row, "resolution_seconds")
    low, high = mean - error, max(mean + error, min(parts * (mean + error), load.latency_bounds[1]))
    return {**row, "latency_seconds": (low + high) / 2, "resolution_seconds": (high - low) / 2}


def _is_one_of_several(topology: Topology, row: FactRow, load: LoadFacts, planes: FactTable) -> bool:
    """Return whether a device is one of several that each carry parts of the load's I/Os, although its I/O rate
    equals the load's. That is possible if bytes are not counted and the load's I/Os are large enough to be split."""
    if row["bytes_per_second"] or (load.operation_bytes or 0.0) <= UNSPLIT_BYTES:
        return False
    rows = parallel_devices(topology, load, planes, str(row["plane"]))
    operations = sum(number(each, "ops_per_second") for each in rows)
    return len(rows) > 1 and operations >= _SPLIT_RATIO * load.ops_per_second


def _split_among(rows: Sequence[FactRow], load: LoadFacts, path: set[str]) -> FactRow | None:
    """Return the row of a load's devices that carry its I/Os in parts, if no bytes are counted. The time of an I/O
    lies between that of one part and the sum of all its parts. None: the load's I/Os cannot be split like that, or
    there is only one device, whose additional I/Os may be others'."""
    if len(rows) < 2 or not all(row["entity"] in path for row in rows):
        return None
    row, most = combined(rows), load.latency_bounds[1]
    parts, size = number(row, "ops_per_second") / load.ops_per_second, load.operation_bytes or 0.0
    mean, error = number(row, "latency_seconds"), number(row, "resolution_seconds")
    if row["bytes_per_second"] or size <= UNSPLIT_BYTES or parts < _SPLIT_RATIO or mean - error > most:
        return None
    low, high = mean - error, max(mean - error, min(parts * (mean + error), most))
    return {
        **row,
        "ops_per_second": load.ops_per_second,
        "latency_seconds": (low + high) / 2,
        "resolution_seconds": (high - low) / 2,
        "mean_of_both_seconds": None,
        "in_flight_measured": load.ops_per_second * (low + high) / 2,
    }


def _are_of_several_machines(topology: Topology, rows: Iterable[FactRow]) -> bool:
    """Return whether devices belong to several machines, each of which runs a part of the load."""
    return len({owner for row in rows for owner in topology.related(str(row["entity"]), "attached_to")}) > 1


def _is_closer(together: FactRow, alone: FactRow, load: LoadFacts, *, are_loads: bool) -> bool:
    """Return whether all devices carry the load together, not a single one of them. Either their total rate is closer
    to the load's by more than windows differ, or it is equally close, and they have no more I/Os in flight together
    than the load. `are_loads`: the devices are known to be the load's. If not, others may use them, and only the
    rates count."""
    of_load = _rates(together, load)[1]
    deviation, of_alone = (abs(_rates(row, load)[0] - of_load) / of_load for row in (together, alone))
    if abs(deviation - of_alone) > _WINDOW_DIFFERENCE:
        return deviation < of_alone
    return are_loads and number(together, "in_flight_measured") <= (1 + _WINDOW_DIFFERENCE) * load.in_flight_measured


def _rates(row: FactRow, load: LoadFacts) -> tuple[float, float]:
    """Return the rates of a device and a load: bytes a second if both are counted, otherwise operations."""
    if row["bytes_per_second"] and load.bytes_per_second:
        return number(row, "bytes_per_second"), load.bytes_per_second
    return number(row, "ops_per_second"), load.ops_per_second


def _carries(row: FactRow, load: LoadFacts) -> bool:
    windows = int(number(row, "windows"))
    tolerance = max(_RATE_TOLERANCE + _SINGLE_WINDOW_TOLERANCE / max(1, windows), load.sampling_error(windows))
    return isclose(*_rates(row, load), rel_tol=tolerance)
