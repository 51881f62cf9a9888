"""The course of a load over time, from its block device, if the load itself gives a single figure for a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sanpath.facts.devices.planes import devices_of_load
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import MIN_WINDOWS, StepSamples
from sanpath.topology.topology import Topology

_SAME_OPS, _MIN_AT_DEVICE_RATIO = 0.05, 0.9
"""Largest difference of the device's throughput from the load's, as a ratio, and smallest share of the load's
outstanding I/Os at the device: then the device's clock shows the load's course."""


def with_device_series(
    topology: Topology, loads: Sequence[LoadFacts], samples: Sequence[StepSamples]
) -> Iterator[LoadFacts]:
    """Yield the loads. A load without windows gets those of the device that does all its I/Os and no others.
    `samples`: of block devices, in the steps."""
    for load in loads:
        is_single_figure = load.summary and not load.series
        device = _device(topology, load, samples) if is_single_figure else None
        yield load if device is None else _with_series(load, device)


def _device(topology: Topology, load: LoadFacts, samples: Sequence[StepSamples]) -> StepSamples | None:
    """The device of a load that does its I/Os, the uppermost of a stack. None: there is none."""
    devices = devices_of_load(topology, load)
    found = [
        (waiting, sample)
        for sample in samples
        if sample.step == load.step
        and len(sample.seconds) >= MIN_WINDOWS
        and topology.known_as.get((sample.source, "lun", sample.entity)) in devices
        and (ops := sample.rate(f"ops_{load.direction}_total"))
        and abs(ops / load.ops_per_second - 1) <= _SAME_OPS
        and (waiting := sample.rate(f"latency_seconds_{load.direction}_total") or 0.0)
        >= _MIN_AT_DEVICE_RATIO * load.in_flight_measured
    ]
    return max(found, key=lambda each: each[0])[1] if found else None


def _with_series(load: LoadFacts, device: StepSamples) -> LoadFacts:
    counters = (f"{quantity}_{load.direction}_total" for quantity in ("ops", "latency_seconds"))
    ops, waits = (device.rates.get(counter, ()) for counter in counters)
    windows = [
        (rate, wait / rate, seconds)
        for rate, wait, seconds in zip(ops, waits, device.seconds, strict=False)
        if rate and wait is not None
    ]
    return replace(
        load,
        series=tuple((rate, seconds) for rate, _, seconds in windows),
        latency_series=tuple((latency, seconds) for _, latency, seconds in windows),
    )
