"""Facts of array controllers: state, failovers, utilisation, and times beside those of their peers."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from statistics import median

from sanpath.catalogue.values import WORKING_STATES
from sanpath.facts.host.tested_machines import cpu_busy_ratio
from sanpath.facts.load.load_events import SourceEvents
from sanpath.facts.samples.step_samples import MIN_OPERATIONS, StepSamples, tcp_retransmit_ratio
from sanpath.facts.table import WHOLE_RUN, FactRow
from sanpath.model import DIRECTIONS
from sanpath.topology.topology import Topology

_USE: Mapping[str, Callable[[Iterable[float]], float]] = {
    "controller_busy_ratio": max,
    "controller_core_ratio": max,
    "cache_hit_ratio": min,
    "write_cache_used_ratio": max,
    "media_busy_ratio": max,
    "tcp_retransmit_ratio": max,
}
"""Fact of an array → function that picks it from its controllers' values: the value of the controller that limits
first."""

UNKNOWN_USE: Mapping[str, None] = dict.fromkeys(_USE)
"""The facts of an array whose controllers no source reads."""


def controller_use(
    topology: Topology, samples: Sequence[StepSamples]
) -> dict[tuple[str, str], Mapping[str, float | None]]:
    """Return (array, step) → utilisation of its controllers, caches and media; None: no controller reports it."""
    values_by_array: dict[tuple[str, str], dict[str, list[float]]] = {}
    for sample in samples:
        controller = topology.known_as.get((sample.source, "controller", sample.entity))
        arrays = topology.related(controller, "member_of", "array") if controller is not None else ()
        for array in arrays:
            values = values_by_array.setdefault((array, sample.step), {})
            for fact in _USE:
                value = _COUNTED[fact](sample) if fact in _COUNTED else sample.means.get(fact)
                if value is not None:
                    values.setdefault(fact, []).append(value)
    return {
        key: {fact: least_room(values[fact]) if fact in values else None for fact, least_room in _USE.items()}
        for key, values in values_by_array.items()
    }


_COUNTED: Mapping[str, Callable[[StepSamples], float | None]] = {
    "controller_busy_ratio": lambda sample: cpu_busy_ratio([sample]),
    "controller_core_ratio": lambda sample: sample.means.get("cpu_busiest_core_ratio"),
    "tcp_retransmit_ratio": tcp_retransmit_ratio,
}


def controller_rows(
    topology: Topology,
    events: SourceEvents,
    samples: Sequence[StepSamples] = (),
    compared: Container[str] = (),
) -> Iterator[FactRow]:
    """Yield one row for each controller, over the entire run. `compared`: those that were compared with several peers
    window by window."""
    peers = peer_times(topology, samples)
    for controller in topology.of_kind("controller"):
        status, mode = (str(controller.attributes.get(name) or "").lower() or None for name in ("status", "mode"))
        source_ids = set(controller.known_as)
        failovers = sum(
            event.name == "controller-failover" and (source, str(event.detail.get("primary"))) in source_ids
            for source, event in events
        )
        yield {
            "entity": controller.id,
            "step": WHOLE_RUN,
            "direction": "both",
            "windows": 1,
            "status": status,
            "mode": mode,
            "sound": None if status is None else status in WORKING_STATES,
            "took_over": float(failovers),
            "compared_by_window": controller.id in compared,
            **peers.get(controller.id, _NO_PEERS),
        }


_PEER_FACTS = ("peer_ratio", "operation_seconds", "peer_seconds")
_NO_PEERS: Mapping[str, None] = dict.fromkeys(_PEER_FACTS)


def peer_times(topology: Topology, samples: Sequence[StepSamples]) -> dict[str, Mapping[str, float]]:
    """Return controller → its mean time over the median of its peers', and both times in seconds.

    Of several steps, the one with the lowest ratio counts: a controller with more work is slower only near its limit.
    Of both directions, the one with the higher ratio counts. Controllers without peers that report times are left
    out.
    """
    times: dict[tuple[str, str, str], dict[str, float]] = {}
    for sample in samples:
        controller = topology.known_as.get((sample.source, "controller", sample.entity))
        if controller is None:
            continue
        for direction in DIRECTIONS:
            rate, wait = (sample.rate(f"{name}_{direction}_total") for name in ("ops", "latency_seconds"))
            if rate and wait is not None and rate * sample.length_seconds >= MIN_OPERATIONS:
                for array in topology.related(controller, "member_of", "array"):
                    times.setdefault((array, sample.step, direction), {})[controller] = wait / rate
    by_direction: dict[tuple[str, str], tuple[float, float, float]] = {}
    for (_, _, of_direction), seconds in times.items():
        for controller, local_seconds in seconds.items():
            peers = [peer_seconds for peer, peer_seconds in seconds.items() if peer != controller]
            if peers and (middle := median(peers)):
                compared = (local_seconds / middle, local_seconds, middle)
                key = (controller, of_direction)
                by_direction[key] = min(compared, by_direction.get(key, compared))
    highest: dict[str, tuple[float, float, float]] = {}
    for (controller, _), compared in by_direction.items():
        highest[controller] = max(compared, highest.get(controller, compared))
    return {controller: dict(zip(_PEER_FACTS, compared, strict=True)) for controller, compared in highest.items()}
