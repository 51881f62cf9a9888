"""The load as its hosts see it, for a test whose generator nobody reads: a restore, a copy, a deployment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import DIRECTIONS, Step
from sanpath.topology.identity import Topology

_BUSY = 0.1
"""A host is at work from this share of the most that it has done."""


def host_loads(topology: Topology, samples: Sequence[StepSamples]) -> Iterator[LoadFacts]:
    """One entry a host, step and direction with I/O: the sum over its block devices, each I/O counted once.

    `roots` is the host; its configured queue depth is not known.
    """
    by_host: dict[tuple[str, str], list[StepSamples]] = {}
    for sample, host in _topmost(topology, samples):
        by_host.setdefault((sample.step, host), []).append(sample)
    for (step, host), devices in by_host.items():
        for direction in DIRECTIONS:
            operations = sum(d.rate(f"ops_{direction}_total") or 0.0 for d in devices)
            waited = sum(d.rate(f"latency_seconds_{direction}_total") or 0.0 for d in devices)
            moved = sum(d.rate(f"bytes_{direction}_total") or 0.0 for d in devices)
            if operations and waited:
                windows = min(d.windows for d in devices)
                mean = waited / operations
                yield LoadFacts((host,), step, direction, windows, operations, moved, mean, None, waited, None)


def busiest_device(topology: Topology, samples: Sequence[StepSamples]) -> list[StepSamples]:
    """The block device that has done most in a window; none where there is none."""
    devices = [sample for sample, _ in _topmost(topology, samples)]
    return sorted(devices, key=lambda device: max(_work(device).values(), default=0.0))[-1:]


def busy_period(step: Step, devices: Sequence[StepSamples]) -> Step:
    """The step without the idle time before and after the work of a block device."""
    work = _work(devices[0]) if devices else {}
    at_work = [ended for ended, rate in work.items() if rate and rate >= _BUSY * max(work.values())]
    if not at_work:
        return step
    moments = list(work)
    before = moments.index(at_work[0]) - 1
    return replace(step, start=moments[before] if before >= 0 else step.start, end=at_work[-1])


def _work(device: StepSamples) -> Mapping[int, float]:
    """End of each window → operations a second in it, both directions."""
    rates = [device.rates.get(f"ops_{direction}_total", ()) for direction in DIRECTIONS]
    told = [sum(rate or 0.0 for rate in window) for window in zip(*rates, strict=False)]
    return dict(zip(device.ended_us, told, strict=False))


def _topmost(topology: Topology, samples: Sequence[StepSamples]) -> Iterator[tuple[StepSamples, str]]:
    """Block devices with their host: maps in place of their paths."""
    for sample in samples:
        lun = topology.known_as.get((sample.source, "lun", sample.entity))
        hosts = topology.related(lun, "attached_to", "host") if lun is not None else []
        if lun is not None and hosts and not _has_map(topology, lun):
            yield sample, hosts[0]


def _has_map(topology: Topology, lun: str) -> bool:
    return any(
        link.relation == "member_of" and link.from_entity == lun and topology.entities[link.to_entity].kind == "lun"
        for link in topology.links
    )
