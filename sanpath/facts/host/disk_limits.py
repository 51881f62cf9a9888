"""Configured limits of virtual disks and of their throttle groups, and how much of each the throughput uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sanpath.facts.host.tested_machines import UnderTest, as_number, rate
from sanpath.facts.table import FactRow
from sanpath.model import DIRECTIONS, Direction, Scalar

_SUSTAINED = 1.02
"""Throughput over the sustained limit from which a burst is used: a step's mean is right to a percent or two."""
IMPOSSIBLE_RATIO = 1.1
"""Ratio of throughput to a limit that no step can reach, however short it is, if the limit is in force and counts
I/Os as assumed."""
_NONE: Mapping[str, Scalar] = {}
_DIRECTION_WORDS = {"": "", "_read": " of reads", "_write": " of writes"}


@dataclass(frozen=True, slots=True)
class Rates:
    """Throughput by direction. None: not known."""

    ops: Mapping[Direction, float] | None = None
    bytes: Mapping[Direction, float] | None = field(default=None)

    @property
    def total_ops(self) -> float | None:
        """Operations a second of both directions. None: not known."""
        return sum(self.ops.values()) if self.ops is not None else None

    @property
    def total_bytes(self) -> float | None:
        """Bytes a second of both directions. None: not known."""
        return sum(self.bytes.values()) if self.bytes is not None else None


@dataclass(frozen=True, slots=True)
class _Use:
    words: str
    ratio: float
    is_burst: bool


def disk_rates(step: UnderTest, disk: str) -> Rates:
    """Return the throughput of a virtual disk by its own counters; unknown where no source counts it."""
    samples = step.samples_of(disk)
    by_quantity = {
        quantity: {d: value for d in DIRECTIONS if (value := rate(samples, f"{quantity}_{d}_total")) is not None}
        for quantity in ("ops", "bytes")
    }
    return Rates(by_quantity["ops"] or None, by_quantity["bytes"] or None)


def load_rates(step: UnderTest) -> Rates:
    """Return the throughput of the load, for a disk that only the load counts."""
    return Rates(
        {load.direction: load.ops_per_second for load in step.loads},
        {load.direction: load.bytes_per_second for load in step.loads},
    )


def summed(parts: Iterable[Rates]) -> Rates:
    """Return the sum over the disks of a group. None: a disk's throughput is not known."""
    known = list(parts)
    return Rates(_summed([each.ops for each in known]), _summed([each.bytes for each in known]))


def _summed(parts: Sequence[Mapping[Direction, float] | None]) -> Mapping[Direction, float] | None:
    known = [part for part in parts if part is not None]
    if not known or len(known) != len(parts):
        return None
    return {d: sum(part.get(d, 0.0) for part in known) for d in DIRECTIONS}


def limit_facts(attributes: Mapping[str, Scalar], rates: Rates, at_end: Mapping[str, Scalar] = _NONE) -> FactRow:
    """Return the facts of the limits of a disk or group. Ratios are None where its throughput is not known.

    `at_end`: the limits that differ at the end of the step from their mean over it."""
    uses = {d: _uses(attributes, rates, d, at_end) for d in DIRECTIONS}
    reported = [use for direction_uses in uses.values() for use in direction_uses]
    highest = max(reported, key=lambda use: use.ratio, default=None)
    return {
        "limit": highest.words if highest is not None else None,
        "limit_used_ratio": highest.ratio if highest is not None else None,
        **{f"limit_used_ratio_{d}": max((use.ratio for use in uses[d]), default=None) for d in DIRECTIONS},
        "limit_burst_used": any(use.is_burst for use in reported) if reported else None,
    }


def _uses(
    attributes: Mapping[str, Scalar], rates: Rates, direction: Direction, at_end: Mapping[str, Scalar]
) -> list[_Use]:
    """Return the use of each limit that holds for a direction with I/O."""
    if rates.ops is not None and not rates.ops.get(direction):
        return []
    uses = []
    for ending, directions in (("", DIRECTIONS), (f"_{direction}", (direction,))):
        for quantity in ("ops", "bytes"):
            name = f"limit_{quantity}_per_second{ending}"
            limit = as_number(attributes.get(name))
            burst = as_number(attributes.get(f"limit_burst_{quantity}_per_second{ending}")) or 0.0
            unit = as_number(attributes.get("limit_operation_bytes"))
            throughput = _counted(rates, quantity, directions, unit)
            if not limit or throughput is None:
                continue
            if quantity == "ops" and not burst:
                throughput = counted_operations(rates, directions, unit, limit)
            is_burst = burst > limit and throughput > _SUSTAINED * limit
            in_force = burst if is_burst else limit
            words = f"{_limit_text(quantity, in_force)}{_DIRECTION_WORDS[ending]}{' in a burst' if is_burst else ''}"
            if (last := as_number(at_end.get(name))) is not None:
                words += f" on average, changed during the step to {_limit_text(quantity, last) if last else 'none'}"
            uses.append(_Use(words, throughput / in_force, is_burst))
    return uses


def _limit_text(quantity: str, limit: float) -> str:
    return f"{limit:,.0f} IOPS" if quantity == "ops" else f"{limit / 1e6:,.1f} MB/s"


def counted_operations(rates: Rates, directions: Sequence[Direction], unit: float | None, limit: float) -> float:
    """Return the I/Os a second as a limit without bursts counts them, those of more than `unit` bytes as several.

    Throughput never exceeds a limit by much: if it would, this release counts each I/O as one."""
    in_units, each = (_counted(rates, "ops", directions, size) or 0.0 for size in (unit, None))
    return min(in_units, each) if in_units > IMPOSSIBLE_RATIO * limit else in_units


def _counted(rates: Rates, quantity: str, directions: Sequence[Direction], unit: float | None = None) -> float | None:
    """Return the throughput as a limit counts it.

    An I/O of more than `unit` bytes counts as size / unit (QEMU, docs/throttle.txt). None: each counts as one.
    """
    if quantity == "bytes":
        return sum(rates.bytes.get(d, 0.0) for d in directions) if rates.bytes is not None else None
    if rates.ops is None:
        return None
    total = 0.0
    for d in directions:
        ops = rates.ops.get(d, 0.0)
        size = rates.bytes.get(d, 0.0) / ops if rates.bytes is not None and ops else 0.0
        total += ops * max(1.0, size / unit if unit else 1.0)
    return total
