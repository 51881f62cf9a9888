"""The traffic of the busiest block device where no load is read: it is no load, but a person may recognise it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import DIRECTIONS, Direction
from sanpath.topology.topology import Topology


@dataclass(frozen=True, slots=True)
class BusiestDevice:
    """The busiest device in the busiest step. `bytes_per_second`: of each direction that moves any.

    `ops_per_second`: None: the operations of a direction are not known. `has_latency`: the time of its I/Os is
    counted, but they are too few, or too short, to be a load."""

    entity: str
    bytes_per_second: Mapping[Direction, float]
    ops_per_second: float | None
    has_latency: bool


def busiest_device(topology: Topology, samples: Sequence[StepSamples]) -> BusiestDevice | None:
    """Return the device with the most bytes. None: no device moved any."""
    known = [sample for sample in samples if (sample.source, "lun", sample.entity) in topology.known_as]
    busiest = max(known, key=lambda sample: sum(_moved(sample).values()), default=None)
    moved = _moved(busiest) if busiest is not None else {}
    if busiest is None or not moved:
        return None
    rates = [_operations(busiest, direction) for direction in moved]
    operations = None if None in rates else sum(rate for rate in rates if rate is not None)
    has_latency = all(busiest.rate(f"latency_seconds_{direction}_total") is not None for direction in moved)
    return BusiestDevice(topology.known_as[busiest.source, "lun", busiest.entity], moved, operations, has_latency)


def _moved(sample: StepSamples) -> dict[Direction, float]:
    rates = {direction: sample.rate(f"bytes_{direction}_total") or 0.0 for direction in DIRECTIONS}
    return {direction: rate for direction, rate in rates.items() if rate}


def _operations(sample: StepSamples, direction: Direction) -> float | None:
    """Operations per second. None: they are not known for a window in which bytes were moved."""
    windows = zip(*(sample.rates.get(f"{what}_{direction}_total", ()) for what in ("ops", "bytes")), strict=False)
    is_known = all(operations is not None or not moved for operations, moved in windows)
    return sample.rate(f"ops_{direction}_total") if is_known else None
