"""Confirms a drawn label: simulates the heaviest step again with places relieved, and compares throughput."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sanpath_lab.generator.relief import CAPACITY_PLACES, PLACES, Place, relieved
from sanpath_lab.physics.load_model import LoadRun
from sanpath_lab.scenario import Scenario
from sanpath_lab.simulation import Simulation

MIN_RELIEF_GAIN, MAX_UNRELATED_GAIN = 0.05, 0.03
"""Ratios. Relieving the place at fault raises throughput by more than the first ratio. Relieving unrelated places
changes throughput by less than the second."""
_MIN_CONCURRENCY_GAIN = 1.6
"""Smallest ratio by which throughput grows with twice the I/Os in flight if only concurrency limits."""
_DAMAGE_SAMPLING_ERROR = 0.25
"""Sampling error of the gain from repairing a cable, as a share of it: few frames are damaged in a short run."""
_BUSY = 0.6
"""Highest utilisation of a link or command processor for a fault whose throughput is bound by latency."""
_EPOCH_SECONDS = 1_800_000_000.0
_BEFORE_SECONDS, _RAMP_SECONDS = 0.5, 1.0
_MIN_SECONDS, _MAX_SECONDS = 1.5, 6.0
_SLICE_SECONDS, _MIN_IOS, _MIN_IOS_IF_RARE = 0.1, 4000, 20_000
"""The simulation advances in slices until it has completed the second number of I/Os, or its time is over. The third
number applies where damaged frames, which are rare, have to be counted."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Operations a second of the heaviest step: as drawn, and with the fault relieved."""

    ops: float
    relieved: float


def confirm(scenario: Scenario, at_fault: Collection[Place], latency_bound: bool) -> Confirmation | None:
    """Return the throughput with and without relief. None: the label is not true. `latency_bound`: see Fault."""
    seconds = _MIN_SECONDS if "damage" not in at_fault else _MAX_SECONDS
    ops, busiest = throughput(scenario, seconds)
    if not ops:
        return None
    if latency_bound and busiest > _BUSY:
        return None
    relieved_ops, _ = throughput(relieved(scenario, at_fault), seconds)
    min_gain = _MIN_CONCURRENCY_GAIN if "in flight" in at_fault else 1 + MIN_RELIEF_GAIN
    if relieved_ops < min_gain * ops:
        return None
    unrelated_places = _places_not_at_fault(at_fault, latency_bound)
    unrelated_ops, _ = throughput(relieved(scenario, unrelated_places), seconds)
    # Few frames are damaged in a short run, so their number varies by chance.
    sampling_error = _DAMAGE_SAMPLING_ERROR * (relieved_ops / ops - 1) if "damage" in at_fault else 0.0
    max_change = max(MAX_UNRELATED_GAIN, sampling_error)
    if abs(unrelated_ops / ops - 1) >= max_change:
        return None
    if "neighbours" in at_fault and any(neighbour.decoy for neighbour in scenario.neighbours):
        # Relieving them also removes decoys, and a decoy may hold the test up instead of the labelled hosts.
        labelled = tuple(neighbour for neighbour in scenario.neighbours if not neighbour.decoy)
        ops_without_decoys, _ = throughput(scenario.model_copy(update={"neighbours": labelled}), seconds)
        if abs(ops_without_decoys / ops - 1) >= max_change:
            return None
    return Confirmation(ops, relieved_ops)


def _places_not_at_fault(at_fault: Collection[Place], latency_bound: bool) -> list[Place]:
    """Return the places whose relief must not change throughput."""
    candidates = [
        place for place in PLACES if place not in at_fault and (not latency_bound or place in CAPACITY_PLACES)
    ]
    # A load with more I/Os in flight gets a larger share of what it shares with other hosts.
    dependent_places: dict[Place, tuple[Place, ...]] = {
        "damage": ("in flight",),
        "path turns": ("host links", "in flight"),
        "neighbours": ("in flight",),
    }
    exempt = {place for fault in at_fault for place in dependent_places.get(fault, ())}
    return [place for place in candidates if place not in exempt]


def throughput(scenario: Scenario, seconds: float) -> tuple[float, float]:
    """Return operations a second of the last step, and the highest utilisation of a link or command processor on its
    paths."""
    load = scenario.load
    heaviest = load.model_copy(update={"threads": load.threads[-1:], "ramp_seconds": _MAX_SECONDS * 2})
    simulation = Simulation(scenario.model_copy(update={"load": heaviest}), _EPOCH_SECONDS)
    simulation.advance(_BEFORE_SECONDS)
    run = simulation.begin_load()
    _advance(simulation, run, _RAMP_SECONDS, _MIN_IOS)
    ios_before = sum(job.ios for job in run.jobs)
    links = {
        link
        for route in simulation.fabric.routes
        for direction in (route.to_array, route.to_host)
        for link in direction
    }
    before = {link: link.octets for link in links}
    rare = any(port.damaged_frame_ratio for port in scenario.devices)
    elapsed_seconds = _advance(simulation, run, seconds, _MIN_IOS_IF_RARE if rare else _MIN_IOS)
    ops = (sum(job.ios for job in run.jobs) - ios_before) / elapsed_seconds
    link_utilisation = max((link.octets - before[link]) / elapsed_seconds / link.bytes_per_second for link in links)
    ports = len({route.target for route in simulation.fabric.routes})
    processor_utilisation = (
        ops * scenario.array.command_seconds / (1 if scenario.host.path_policy != "round_robin" else ports)
    )
    return ops, max(link_utilisation, processor_utilisation)


def _advance(simulation: Simulation, run: LoadRun, seconds: float, ios: int) -> float:
    """Advance by `seconds`, or until `ios` more I/Os have completed. Returns the seconds that have passed."""
    began, before = simulation.now, sum(job.ios for job in run.jobs)
    while simulation.now < began + seconds and sum(job.ios for job in run.jobs) < before + ios:
        simulation.advance(min(began + seconds, simulation.now + _SLICE_SECONDS))
    return simulation.now - began
