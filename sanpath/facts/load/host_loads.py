"""Derives the load from the hosts' block devices, or from virtual disks, for a test without a load generator that is
read: a restore, a copy, a deployment, a test that somebody else runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isclose

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.absences import over_whole_steps
from sanpath.facts.samples.step_samples import StepSamples, gauge_or_rates, sum_of_known
from sanpath.model import DIRECTIONS, Step
from sanpath.topology.topology import Topology

_OWNERS = {"lun": "host", "vdisk": "vm"}
"""Kind of device → the machine that does the I/O. The first that anything reports is nearer to the load."""
ARRAY_TIMES = ("service", "queue", "san", "qos_limit")
"""Parts of the time that an array takes for an I/O, each of which it may report."""
_STACK = ("md", "dm-", "bcache", "drbd")
"""Names of software RAID, maps of the device mapper, caches and replicas, each of which may stand on those before."""
_BUSY_RATIO = 0.1
"""From this share of its highest rate on, a host is busy."""
_HELD_RATIO = 0.5
"""A host that keeps this share of its outstanding I/Os is busy, however few of them complete."""
_ALL_RATIO = 0.9
"""From this share of its recording on, a busy period is all of it."""
_TAKES_PART_RATIO = 0.1
"""Share of the outstanding I/Os of the busiest host from which another host takes part in the test."""
_SAME_RATE = 0.02
"""Relative difference of the bytes of devices that count the same I/Os: their windows are read one after another."""
MOVED_ABOVE = 0.05
"""Share of a device's bytes from which they are those of the devices above it. A volume that idles moves less.
Parity, a resync or copies for a snapshot move several times what the volume moves."""


def host_loads(
    topology: Topology,
    samples: Mapping[str, Sequence[StepSamples]],
    least_in_flight: float = 0.0,
    machines: Collection[str] | None = None,
) -> list[LoadFacts]:
    """Return one entry for each step and direction with I/O: the sum over the block devices of the busy hosts, or
    where none times its I/Os, over the virtual disks of the busy machines.

    An I/O counts once, though several block devices count it, such as a multipath map and a path. `roots` are the
    hosts or virtual machines, or devices whose host is not known. A device that was there for a part of a step did
    nothing in the rest of it. Their configured queue depth is not known. A host
    with fewer I/Os outstanding in a step than `least_in_flight`, or far fewer than another, is left out.
    `samples`: entity kind → its samples. `machines`: whose devices count; None: all.
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
        roots = tuple(sorted(name for name, wait in waits.items() if wait >= least))
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


def _rate(device: StepSamples, quantity: str, direction: str) -> float:
    return gauge_or_rates(device, f"{quantity}_per_second_{direction}", f"{quantity}_{direction}_total") or 0.0


def in_flight_of(devices: Sequence[StepSamples], direction: str) -> float:
    """I/Os outstanding on average, by Little's law: seconds of latency in a second.

    Of what an array counts, they are inside it; the time of their transfer is in it where the array reports that."""
    return sum(_seconds_in_a_second(device, direction) for device in devices)


def _seconds_in_a_second(device: StepSamples, direction: str) -> float:
    counted = [device.rate(f"{part}_seconds_{direction}_total") for part in ("latency", "queue")]
    if counted[0] is not None:
        # What a hypervisor counts of a device begins below its own queues.
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
    timed = [each for each in samples if any(in_flight_of([each], direction) for direction in DIRECTIONS)]
    devices = [sample for sample, _ in _topmost(topology, kind, timed)]
    return sorted(devices, key=lambda device: -max(_rate_by_window(device).values(), default=0.0))


def busy_period(step: Step, device: StepSamples, devices: Sequence[StepSamples]) -> Step:
    """Return the step without the idle time before and after the I/O of a block device, the busiest of `devices`.

    I/Os that are outstanding at any of them and do not complete are no idle time."""
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
    known: of a device and those above it, such as a multipath map over its paths, the upper ones if they move its
    bytes. A volume that idles on it says nothing about the rest of the device."""
    luns = [topology.known_as.get((sample.source, kind, sample.entity)) for sample in samples]
    rates: dict[tuple[str, str], float] = {}
    for sample, lun in zip(samples, luns, strict=True):
        if lun is not None:
            key = (sample.step, lun)
            rates[key] = max(rates.get(key, 0.0), sum(sample.rate(f"bytes_{d}_total") or 0.0 for d in DIRECTIONS))
    topmost: dict[tuple[str, str], list[tuple[StepSamples, str]]] = defaultdict(list)
    for sample, lun in zip(samples, luns, strict=True):
        if lun is None:
            continue
        above = sum(rates.get((sample.step, upper), 0.0) for upper in topology.uppers(lun, "lun"))
        if not above or above < MOVED_ABOVE * rates[sample.step, lun]:
            owner = next(iter(topology.related(lun, "attached_to", _OWNERS[kind])), lun)
            topmost[sample.step, owner].append((sample, lun))
    for (step, host), devices in topmost.items():
        levels: dict[int, list[tuple[StepSamples, str]]] = defaultdict(list)
        for sample, lun in devices:
            levels[_level(topology, lun)].append((sample, lun))
        totals = {level: sum(rates[step, lun] for _, lun in found) for level, found in levels.items()}
        top = max(level for level, total in totals.items() if total >= max(totals.values()) / 2)
        below = max((level for level in totals if level < top), default=top)
        # Devices of a kind that each move what all below them move stand on each other, such as a volume on a map.
        stacked = [
            sample
            for sample, lun in levels[top]
            if below < top and isclose(rates[step, lun], totals[below], rel_tol=_SAME_RATE)
        ]
        upper = max(stacked, key=lambda each: sum(in_flight_of([each], d) for d in DIRECTIONS), default=None)
        yield from ((sample, host) for sample, _ in levels[top] if sample is upper or sample not in stacked)


def _level(topology: Topology, lun: str) -> int:
    """Return how high a device stands, by its name, if its parts are not known: iostat reports none.

    0: a disk, or a device whose parts are known. What two levels of one host move is the same I/O."""
    return 0 if topology.members(lun, "lun") else level_by_name(topology, lun)


def level_by_name(topology: Topology, lun: str) -> int:
    """Return the place of a block device in the usual stack of Linux, by its name; 0: a disk."""
    name = next(iter(topology.entities[lun].ids.get("device", ())), "")
    return next((level for level, start in enumerate(_STACK, start=1) if name.startswith(start)), 0)
