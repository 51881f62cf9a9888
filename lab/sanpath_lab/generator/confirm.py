"""Whether a drawn label is true: the simulation itself says so, with the heaviest step run again with more room."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sanpath_lab.generator.relief import PLACES, ROOM, Place, relieved
from sanpath_lab.load_model import LoadRun
from sanpath_lab.scenario import Scenario
from sanpath_lab.simulation import Simulation

MOVES, STAYS = 0.05, 0.03
"""Relieving the place at fault moves throughput by more than the first, more room elsewhere by less than the
second."""
_DOUBLED = 1.6
"""With twice the I/Os in flight throughput grows so much at least where nothing but they limits."""
_CHANCE = 0.25
"""Share of what mending a cable brings that the number of frames it damages may be off by."""
_BUSY = 0.6
"""Share of the time that a link or command processor may be busy where only room elsewhere is doubled."""
_EPOCH_SECONDS = 1_800_000_000.0
_BEFORE_SECONDS, _RAMP_SECONDS = 0.5, 1.0
_LEAST_SECONDS, _MOST_SECONDS = 1.5, 6.0
_SLICE_SECONDS, _ENOUGH_IOS, _MANY_IOS = 0.1, 4000, 20_000
"""In steps of the first the simulation goes on until it has done as many I/Os as the second, or the third where
what counts is rare, or its time is over."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Operations a second of the heaviest step: as drawn, with the label's place relieved, and with all others."""

    ops: float
    relieved: float | None
    others: float | None


def confirmed(scenario: Scenario, at_fault: Collection[Place], waits: bool) -> Confirmed | None:
    """What relief does to throughput; None: the label is not true. `waits`: see Fault."""
    seconds = _LEAST_SECONDS if "damage" not in at_fault else _MOST_SECONDS
    ops, busiest = throughput(scenario, seconds)
    if not ops:
        return None
    if waits and busiest > _BUSY:
        return None
    freed, _ = throughput(relieved(scenario, at_fault), seconds)
    wanted = _DOUBLED if "in flight" in at_fault else 1 + MOVES
    if freed < wanted * ops:
        return None
    left = _others(at_fault, waits)
    others, _ = throughput(relieved(scenario, left), seconds)
    # Damaged frames are few in a short run: how many there are is chance.
    chance = _CHANCE * (freed / ops - 1) if "damage" in at_fault else 0.0
    return Confirmed(ops, freed, others) if abs(others / ops - 1) < max(STAYS, chance) else None


def _others(at_fault: Collection[Place], waits: bool) -> list[Place]:
    """Where more room must change nothing."""
    left = [place for place in PLACES if place not in at_fault and (not waits or place in ROOM)]
    # A load with more I/Os in flight gets more of what it shares with others.
    apart: dict[Place, tuple[Place, ...]] = {
        "damage": ("in flight",),
        "path turns": ("host links", "in flight"),
        "neighbours": ("in flight",),
    }
    exempt = {place for fault in at_fault for place in apart.get(fault, ())}
    return [place for place in left if place not in exempt]


def throughput(scenario: Scenario, seconds: float) -> tuple[float, float]:
    """Operations a second of the last step, and the share of the time that the busiest link or command processor on
    its paths was busy."""
    load = scenario.load
    heaviest = load.model_copy(update={"threads": load.threads[-1:], "ramp_seconds": _MOST_SECONDS * 2})
    simulation = Simulation(scenario.model_copy(update={"load": heaviest}), _EPOCH_SECONDS)
    simulation.advance(_BEFORE_SECONDS)
    run = simulation.begin_load()
    _advance(simulation, run, _RAMP_SECONDS, _ENOUGH_IOS)
    done = sum(job.ios for job in run.jobs)
    links = {link for route in simulation.fabric.routes for way in (route.to_array, route.to_host) for link in way}
    before = {link: link.octets for link in links}
    rare = any(port.damaged_frame_ratio for port in scenario.devices)
    passed = _advance(simulation, run, seconds, _MANY_IOS if rare else _ENOUGH_IOS)
    ops = (sum(job.ios for job in run.jobs) - done) / passed
    full = max((link.octets - before[link]) / passed / link.bytes_per_second for link in links)
    ports = len({route.target for route in simulation.fabric.routes})
    processors = ops * scenario.array.command_seconds / (1 if scenario.host.path_policy != "round_robin" else ports)
    return ops, max(full, processors)


def _advance(simulation: Simulation, run: LoadRun, seconds: float, enough: int) -> float:
    """Go on for so long, or until there have been I/Os enough; returns the seconds that have passed."""
    began, before = simulation.now, sum(job.ios for job in run.jobs)
    while simulation.now < began + seconds and sum(job.ios for job in run.jobs) < before + enough:
        simulation.advance(min(began + seconds, simulation.now + _SLICE_SECONDS))
    return simulation.now - began
