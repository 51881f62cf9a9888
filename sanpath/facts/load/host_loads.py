"""Derives the load from the hosts' block devices, or from virtual disks, if no load generator is read: a restore, a
copy, a deployment, a test that somebody else runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.load.stacks import Stacked, uppermost
from sanpath.facts.samples.absent_entities import over_whole_steps
from sanpath.facts.samples.step_samples import MIN_OPERATIONS, StepSamples, gauge_or_rates, sum_of_known
from sanpath.model import DIRECTIONS, Step
from sanpath.topology.topology import Topology

_OWNERS = {"lun": "host", "vdisk": "vm"}
"""Kind of device → the machine that does the I/O. The first kind with any report is closer to the load."""
ARRAY_TIMES = ("service", "queue", "san", "qos_limit")
"""Parts of the time that an array takes for an I/O, each of which it may report."""
_STACK = ("md", "dm-", "bcache", "drbd", "loop")
"""Names of software RAID, device mapper maps, caches, replicas and file-backed devices; each may stand on the ones
before."""
_BUSY_RATIO = 0.1
"""From this share of its highest rate on, a host is busy."""
_MIN_OPS_PER_SECOND = 1.0
"""I/Os per second from which a machine that keeps none outstanding has a load: sanpath's own choice. Over days, an
idle machine that writes logs does many I/Os, too."""
_HELD_RATIO = 0.5
"""Share of its outstanding I/Os from which a host is busy, however few of them complete."""
_ALL_RATIO = 0.9
"""Share of its recording from which a busy period is all of it."""
_TAKES_PART_RATIO = 0.1
"""Share of the outstanding I/Os of the busiest host from which another host takes part in the test."""
MOVED_ABOVE_RATIO = 0.05
"""Share of a device's bytes from which they belong to the devices above it. An idle volume moves fewer. Parity, a
resync or copies for a snapshot move several times the volume's bytes."""


def host_loads(
    topology: Topology,
    samples: Mapping[str, Sequence[StepSamples]],
    least_in_flight: float = 0.0,
    machines: Collection[str] | None = None,
) -> list[LoadFacts]:
    """Return one entry for each step and direction with I/O: the sum over the block devices of the busy hosts, or if
    none times its I/Os, over the virtual disks of the busy machines.

    An I/O counts once, even if several block devices count it, such as a multipath map and a path. `roots` are the
    hosts or virtual machines, or devices of an unknown host. A device that existed for a part of a step did nothing
    in the rest. The configured queue depth is not known. A host is left out if it has fewer I/Os outstanding in a
    step than `least_in_flight`, or far fewer than another, or does hardly any. `samples`: entity kind → its samples.
    `machines`: whose devices count; None: all.
    """
    for kind in _OWNERS:
        topmost = _topmost(topology, kind, over_whole_steps(samples.get(kind, ())))
        own = ((sample, owner) for sample, owner in topmost if machines is None or owner in machines)
        if loads := list(summed_loads(own, least_in_flight)):
            return loads
    return []


def summed_loads(
    samples: Iterable[tuple[StepSamples, str]], least_in_flight: float = 0.0, seen_at_array: bool = False
) -> Iterator[LoadFacts]:
    """Yield the sum over the busy machines in each step and direction. `samples`: each with its machine."""
    by_step: dict[str, dict[str, list[StepSamples]]] = {}
    for sample, machine in samples:
        by_step.setdefault(sample.step, {}).setdefault(machine, []).append(sample)
    for step, by_machine in by_step.items():
        waits = {name: sum(in_flight_of(found, each) for each in DIRECTIONS) for name, found in by_machine.items()}
        least = max(least_in_flight, _TAKES_PART_RATIO * max(waits.values()))
        roots = tuple(
            sorted(name for name, wait in waits.items() if wait >= least and _has_enough(by_machine[name], wait))
        )
        devices = [device for name in roots for device in by_machine[name]]
        for direction in DIRECTIONS:
            operations, moved = (
                sum(_rate(device, quantity, direction) for device in devices) for quantity in ("ops", "bytes")
            )
            wait = in_flight_of(devices, direction)
            if operations and wait:
                yield LoadFacts(
                    roots=roots,
                    step=step,
                    direction=direction,
                    windows=min(d.windows for d in devices),
                    ops_per_second=operations,
                    bytes_per_second=moved,
                    latency_seconds=wait / operations,
                    in_flight_configured=None,
                    in_flight_measured=wait,
                    cpu_ratio=None,
                    seen_at_array=seen_at_array,
                )


def _has_enough(devices: Sequence[StepSamples], in_flight: float) -> bool:
    """Return whether a machine did enough I/Os in a step for a mean time, or kept one outstanding all the time."""
    seconds = max(device.length_seconds for device in devices)
    operations = seconds * sum(_rate(device, "ops", direction) for device in devices for direction in DIRECTIONS)
    return in_flight >= 1 or operations >= max(MIN_OPERATIONS, _MIN_OPS_PER_SECOND * seconds) or not seconds


def _rate(device: StepSamples, quantity: str, direction: str) -> float:
    return gauge_or_rates(device, f"{quantity}_per_second_{direction}", f"{quantity}_{direction}_total") or 0.0


def in_flight_of(devices: Sequence[StepSamples], direction: str) -> float:
    """Mean number of outstanding I/Os (Little's law): seconds of latency per second. For an array's counts, these are
    the I/Os inside it; the transfer is included if the array reports it."""
    return sum(_seconds_in_a_second(device, direction) for device in devices)


def _seconds_in_a_second(device: StepSamples, direction: str) -> float:
    counted = [device.rate(f"{part}_seconds_{direction}_total") for part in ("latency", "queue")]
    if counted[0] is not None:
        # A hypervisor's counts of a device begin below its own queues.
        guest_seconds = device.means.get(f"guest_seconds_mean_{direction}")
        return (
            sum_of_known(counted) or 0.0 if guest_seconds is None else guest_seconds * _rate(device, "ops", direction)
        )
    parts = [device.means.get(f"{part}_seconds_{direction}") for part in ARRAY_TIMES]
    seconds = sum_of_known(parts) or device.means.get(f"response_seconds_{direction}") or 0.0
    return seconds * _rate(device, "ops", direction)


def busiest_devices(topology: Topology, kind: str, samples: Sequence[StepSamples]) -> list[StepSamples]:
    """Return the topmost block devices or virtual disks that time their I/Os, the one with the highest rate in any
    window first."""
    devices = [sample for sample, _ in _topmost(topology, kind, samples) if _in_flight(sample)]
    return sorted(devices, key=lambda device: -max(_rate_by_window(device).values(), default=0.0))


def at_other_times(
    topology: Topology, kind: str, device: StepSamples, samples: Sequence[StepSamples]
) -> list[StepSamples]:
    """Return the samples of a device, and those of other sources that read it before or after: files of several runs.
    Sources that read it at the same time count the same I/O."""
    name = topology.known_as.get((device.source, kind, device.entity))
    found = [device]
    for sample in samples:
        is_same = topology.known_as.get((sample.source, kind, sample.entity)) == name
        if is_same and sample.ended_us and not any(_overlap(sample, each) for each in found):
            found.append(sample)
    return found


def _overlap(one: StepSamples, other: StepSamples) -> bool:
    if not one.ended_us or not other.ended_us:
        return True
    return one.ended_us[0] <= other.ended_us[-1] and other.ended_us[0] <= one.ended_us[-1]


def busy_period(step: Step, device: StepSamples, devices: Sequence[StepSamples]) -> Step:
    """Return the step without the idle time before and after the I/O of a block device, the busiest of `devices`.
    Outstanding I/Os that do not complete are no idle time."""
    rates, held = _rate_by_window(device), _held_by_window(devices)
    least, least_held = (
        _BUSY_RATIO * max(rates.values(), default=0.0),
        max(1.0, _HELD_RATIO * max(held.values(), default=0)),
    )
    moments = list(rates)
    busy = [at for at, ended in enumerate(moments) if rates[ended] >= least > 0 or held.get(ended, 0.0) >= least_held]
    if not busy:
        return step
    first, last = busy[0], busy[-1]
    period = replace(step, start=moments[first - 1] if first else step.start, end=moments[last])
    if period.seconds >= _ALL_RATIO * step.seconds:
        return period
    rest = [rates[ended] for ended in (*moments[:first], *moments[last + 1 :])]
    done = f", and did {sum(rest) / len(rest):,.0f} IOPS" if rest else ""
    judged = (
        f"judged are the {period.seconds:,.0f} s of {step.seconds:,.0f} s between which its busiest device had I/O"
    )
    return replace(period, name="busy part", left_out=f"{judged}; the rest is left out{done}")


def _held_by_window(devices: Sequence[StepSamples]) -> Mapping[int, float]:
    """Return end of each window, microseconds → I/Os outstanding at all devices that report them."""
    held: defaultdict[int, float] = defaultdict(float)
    for device in devices:
        for ended, inside in zip(device.ended_us, device.rates.get("in_flight_seconds_total", ()), strict=False):
            held[ended] += inside or 0.0
    return held


def _rate_by_window(device: StepSamples) -> Mapping[int, float]:
    """Return end of each window, microseconds → operations a second in it, both directions."""
    rates = [device.rates.get(f"ops_{direction}_total", ()) for direction in DIRECTIONS]
    totals = [sum(rate or 0.0 for rate in window) for window in zip(*rates, strict=False)]
    return dict(zip(device.ended_us, totals, strict=False))


def _topmost(topology: Topology, kind: str, samples: Sequence[StepSamples]) -> Iterator[tuple[StepSamples, str]]:
    """Yield block devices with their host, or virtual disks with their machine, or either with itself if that is not
    known.

    Of a device and those above it, such as a multipath map over its paths, the upper ones are taken if they move its
    bytes. An idle volume on it says nothing about the rest of the device. If no source reports a device's parts, its
    name and its bytes decide. A device whose I/Os are counted but not timed gets the times of those below it.
    """
    known: dict[tuple[str, str], StepSamples] = {}
    for sample in samples:
        if (lun := topology.known_as.get((sample.source, kind, sample.entity))) is not None:
            other = known.get((sample.step, lun))
            found = sample if other is None else max(other, sample, key=lambda each: (_in_flight(each), _moved(each)))
            known[sample.step, lun] = found
    groups: dict[tuple[str, str], dict[str, StepSamples]] = defaultdict(dict)
    owners: dict[str, str] = {}
    for (step, lun), sample in known.items():
        owner = next(iter(topology.related(lun, "attached_to", _OWNERS[kind])), None)
        owners[lun] = owner or lun
        above = sum(_moved(known[step, upper]) for upper in topology.uppers(lun, "lun") if (step, upper) in known)
        if not above or above < MOVED_ABOVE_RATIO * _moved(sample):
            groups[step, owner or sample.source][lun] = sample
    for (step, _), devices in groups.items():
        for lun, parts in uppermost([_stacked(topology, lun, sample) for lun, sample in devices.items()]).items():
            lower = [known[step, part] for part in parts or topology.members(lun, "lun") if (step, part) in known]
            yield _timed_below(devices[lun], lower), owners[lun]


def _in_flight(device: StepSamples) -> float:
    return sum(in_flight_of([device], direction) for direction in DIRECTIONS)


def _moved(device: StepSamples) -> float:
    return sum(_rate(device, "bytes", direction) for direction in DIRECTIONS)


def _stacked(topology: Topology, lun: str, device: StepSamples) -> Stacked:
    """A device with its level by its name, if its parts are not known: iostat reports none."""
    level = 0 if topology.members(lun, "lun") else level_by_name(topology, lun)
    moved, ops = ((_rate(device, what, "read"), _rate(device, what, "write")) for what in ("bytes", "ops"))
    waits = (in_flight_of([device], "read"), in_flight_of([device], "write"))
    return Stacked(lun, level, moved, ops, waits, multiplies=level == 1)


def _timed_below(device: StepSamples, lower: Sequence[StepSamples]) -> StepSamples:
    """Return a device with the I/O times of the devices below it, if its own I/Os are counted but not timed."""
    if _in_flight(device):
        return device
    for direction in DIRECTIONS:
        ops, wait = f"ops_{direction}_total", f"latency_seconds_{direction}_total"
        done = sum(_rate(each, "ops", direction) for each in lower)
        if not device.rate(ops) or not done:
            continue
        mean = in_flight_of(lower, direction) / done
        by_window = [_by_window(each, wait, ops) for each in lower]
        waits = []
        for ended, rate in zip(device.ended_us, device.rates.get(ops, ()), strict=False):
            pairs = [each[ended] for each in by_window if ended in each]
            count = sum(count for _, count in pairs)
            waits.append(None if rate is None else rate * (sum(w for w, _ in pairs) / count if count else mean))
        overall, in_all = device.overall, (device.rate(ops) or 0.0) * mean
        device = replace(
            device,
            rates={**device.rates, wait: waits} if device.rates else device.rates,
            overall=None if overall is None else replace(overall, rates={**overall.rates, wait: in_all}),
            mean_rates={**device.mean_rates, wait: in_all} if device.mean_rates else device.mean_rates,
        )
    return device


def _by_window(device: StepSamples, wait: str, ops: str) -> Mapping[int, tuple[float, float]]:
    """Return end of each window, microseconds → seconds of latency, and I/Os, in a second."""
    values = zip(device.ended_us, device.rates.get(wait, ()), device.rates.get(ops, ()), strict=False)
    return {ended: (waited, done) for ended, waited, done in values if waited is not None and done is not None}


def level_by_name(topology: Topology, lun: str) -> int:
    """Return the level of a block device in the usual Linux stack, by its name; 0: a disk."""
    entity = topology.entities[lun]
    name = next(iter(entity.ids.get("device", ())), "")
    if entity.attributes.get("map") and not name.startswith(_STACK):
        name = _STACK[1]
    return next((level for level, start in enumerate(_STACK, start=1) if name.startswith(start)), 0)
