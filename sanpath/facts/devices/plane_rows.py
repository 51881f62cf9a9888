"""The fact table of planes: what each source times at each clock between the load and the fabric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sanpath.facts.devices.planes import BLOCK_LAYERS
from sanpath.facts.devices.queue_depths import hypervisor_slots, requests_held, virtqueue_slots, with_command_windows
from sanpath.facts.host.tested_machines import as_number
from sanpath.facts.samples.step_samples import StepSamples, running_clocks
from sanpath.facts.table import FactRow
from sanpath.model import DIRECTIONS, Direction
from sanpath.topology.paths import machines_of
from sanpath.topology.topology import Topology

_DIRECTIONS_RATIO = 10.0
"""Largest ratio of the latencies of the two directions at one clock: a read from flash next to a write into a
cache."""
_EXACT = 0.2
"""Resolution of a mean, as a ratio, from which it is too coarse to distinguish reads from writes."""


@dataclass(frozen=True, slots=True)
class _Mean:
    """A mean latency: the centre of its possible range, and half that range. `of_both_seconds`: the mean of reads and
    writes together, None: it is of this direction alone, or too coarse."""

    seconds: float
    tolerance_seconds: float
    of_both_seconds: float | None = None

    def __add__(self, other: _Mean) -> _Mean:
        known = self.of_both_seconds is not None and other.of_both_seconds is not None
        return _Mean(
            self.seconds + other.seconds,
            self.tolerance_seconds + other.tolerance_seconds,
            (self.of_both_seconds or 0.0) + (other.of_both_seconds or 0.0) if known else None,
        )


def plane_rows(
    topology: Topology, samples: Mapping[str, Sequence[StepSamples]], clocks: Mapping[str, Mapping[str, str | None]]
) -> Iterator[FactRow]:
    """Yield one row for each block device or virtual disk, plane, step and direction with I/O.

    `clocks`: entity kind → source → plane of its latencies. A block device of a hypervisor lies below the virtual
    disks of its guests, whatever its source calls it."""
    of_hypervisors = _hypervisor_luns(topology)
    for kind in ("lun", "vdisk"):
        running = running_clocks(samples.get(kind, ()))
        for sample in samples.get(kind, ()):
            entity = topology.known_as.get((sample.source, kind, sample.entity), f"{kind}:{sample.entity}")
            for direction in DIRECTIONS:
                operations = sample.rate(f"ops_{direction}_total")
                if not operations:
                    continue
                clock = clocks[kind].get(sample.source)
                clock = "host_block" if clock == "guest_block" and entity in of_hypervisors else clock
                is_running = (sample.source, sample.entity) in running
                for plane, mean in _latencies(sample, direction, clock, is_running):
                    yield {
                        "entity": entity,
                        "step": sample.step,
                        "direction": direction,
                        "windows": sample.windows,
                        "plane": plane,
                        "ops_per_second": operations,
                        "bytes_per_second": sample.rate(f"bytes_{direction}_total"),
                        "latency_seconds": mean.seconds,
                        "resolution_seconds": mean.tolerance_seconds,
                        "mean_of_both_seconds": mean.of_both_seconds,
                        "in_flight_measured": operations * mean.seconds,
                        "queue_depth": _queue_depth(topology, entity, plane, sample),
                    }


def _hypervisor_luns(topology: Topology) -> set[str]:
    """Return the block devices of hosts that run loads in virtual machines with virtual disks, and no load
    themselves."""
    loads = [load.id for load in topology.of_kind("load")]
    guests = {machine for load in loads for machine in machines_of(topology, load) if machine.startswith("vm:")}
    guests = {guest for guest in guests if topology.related(guest, "attached_to", "vdisk")}
    hosts = {host for guest in guests for host in topology.related(guest, "runs_on", "host")}
    hosts -= {machine for load in loads for machine in machines_of(topology, load)}
    return {lun for host in hosts for lun in topology.related(host, "attached_to", "lun")}


def _queue_depth(topology: Topology, entity: str, plane: str, sample: StepSamples) -> float | None:
    """Return the queue depth: how many I/Os a plane admits at once. None: not known.

    A block device admits as many as it has slots, or requests if these are fewer: an I/O without a free request waits
    before the device's clock starts. A hypervisor may admit fewer. A virtual disk admits as many as its virtio queues
    hold.
    """
    if plane == "device":
        return hypervisor_slots(topology, entity, sample.means, _least_in_flight(sample))
    if entity.startswith("vdisk:"):
        return virtqueue_slots(topology, entity)
    attributes = topology.entities[entity].attributes if entity in topology.entities else {}
    limits = [as_number(attributes.get("queue_depth")), requests_held(topology, entity)]
    known = [limit for limit in limits if limit is not None]
    own = min(known, default=None)
    return with_command_windows(topology, entity, own) if plane in BLOCK_LAYERS else None


def _least_in_flight(sample: StepSamples) -> float:
    """Return the least number of I/Os that a device has in flight below a hypervisor's queue (Little's law)."""
    means = {
        direction: _mean(sample, "device", direction)
        for direction in DIRECTIONS
        if sample.rate(f"ops_{direction}_total")
    }
    return sum(
        (sample.rate(f"ops_{direction}_total") or 0.0) * (mean.seconds - mean.tolerance_seconds)
        for direction, mean in means.items()
        if mean is not None
    )


def _latencies(
    sample: StepSamples, direction: Direction, plane: str | None, is_running: bool
) -> Iterator[tuple[str, _Mean]]:
    """Yield (plane, mean latency) of one device by one source. `is_running`: whether its I/O time is counted."""
    operations = sample.rate(f"ops_{direction}_total")
    wait = sample.rate(f"latency_seconds_{direction}_total")
    if operations and wait is not None and is_running:
        yield plane or "guest_block", _Mean(wait / operations, 0.0)
    elif (mean := _mean(sample, "latency", direction)) is not None:
        yield plane or "guest_block", mean
    device_mean = _mean(sample, "device", direction)
    if device_mean is not None:
        yield "device", device_mean
        kernel_mean = _mean(sample, "kernel", direction)
        if kernel_mean is not None:
            yield "kernel", device_mean + kernel_mean


def _mean(sample: StepSamples, quantity: str, direction: Direction) -> _Mean | None:
    """Return a mean that the source reports. None: not reported."""
    for name in (f"{quantity}_seconds_mean_{direction}", f"{quantity}_seconds_mean"):
        seconds = sample.means.get(name)
        if seconds is not None:
            resolution = sample.resolutions.get(name, 0.0)
            least, most = (1.0, 1.0) if name.endswith(direction) else _ratio_bounds(sample, direction)
            tolerance = ((most - least) * seconds + most * resolution) / 2
            is_exact = most > least and resolution < _EXACT * seconds
            of_both = seconds + resolution / 2 if is_exact else None
            return _Mean(((least + most) * seconds + most * resolution) / 2, tolerance, of_both)
    return None


def _ratio_bounds(sample: StepSamples, direction: Direction) -> tuple[float, float]:
    """The least and the most that one direction's mean may be, as a ratio to the mean over both."""
    rates = {each: sample.rate(f"ops_{each}_total") or 0.0 for each in DIRECTIONS}
    share = rates[direction] / sum(rates.values())
    return 1 / (share + (1 - share) * _DIRECTIONS_RATIO), 1 / (share + (1 - share) / _DIRECTIONS_RATIO)
