"""Finds the block devices whose I/Os are a host's load, each counted once, by their bytes. It is used if no source
reports the stack: iostat, sar and node_exporter report a name and its bytes.

The devices below a device move its bytes too: once, or several times if they hold copies or parity. A device that no
upper device explains is a load of its own.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import combinations
from math import isclose

_SAME_BYTES = 0.02
"""Relative difference up to which the bytes of two devices may count the same I/Os: their windows are read one after
another."""
_MEMBERS = 0.05
"""Relative difference up to which members of one array write the same: the array's own metadata is added."""
_MAX_COPIES = 3
"""A mirror may have three sides, and RAID 6 reads and writes two blocks of parity with each block of data."""
_LATENCY_RATIO, _CLOCK_SECONDS = 0.8, 5e-5
"""An I/O takes at least as long above as below: ratio, and seconds by which rounded times may differ."""
_MIN_BYTES_RATIO = 0.01
"""Share of the busiest device's bytes below which nothing is concluded about a device."""
_PASSED_RATIO = 0.5
"""Smallest share of its bytes that a device with a cache passes on to the devices below it: sanpath's own choice."""
_MAX_CANDIDATES = 8
"""Largest number of devices that are searched for parts."""
_MAX_TRIED = 3
"""With more devices than that, the largest number of choices without one device that are tried: a nearly idle device
changes the sum only a little."""


@dataclass(frozen=True, slots=True)
class Stacked:
    """The traffic of a device, or of several together.

    `level`: its place in the usual stack by its name, 0: a disk. `moved`, `ops` and `waits`: bytes, I/Os and seconds
    of latency per second, of reads and of writes. `multiplies`: it is software RAID, whose members may differ.
    """

    name: str
    level: int
    moved: tuple[float, float]
    ops: tuple[float, float]
    waits: tuple[float, float]
    multiplies: bool = False

    @property
    def total(self) -> float:
        """Bytes a second in both directions."""
        return sum(self.moved)

    @property
    def is_timed(self) -> bool:
        """Whether its I/Os are timed. Older Linux kernels do not time software RAID."""
        return any(self.waits) or not any(self.ops)


def uppermost(devices: Sequence[Stacked]) -> dict[str, tuple[str, ...]]:
    """Return the devices whose I/Os are the load → the devices below that each explains, () if none. A device that
    moves no more than the lower devices, and cannot be placed, is contained in their traffic."""
    stacks = _Stacks({device: () for device in devices if device.level == 0})
    least = _MIN_BYTES_RATIO * max((device.total for device in devices), default=0.0)
    for level in sorted({device.level for device in devices} - {0}):
        lower = [device for device in devices if device.level < level]
        # If devices stand on each other, the lower one has fewer I/Os outstanding.
        own = sorted((device for device in devices if device.level == level), key=lambda each: sum(each.waits))
        busy = [device for device in own if device.total >= least > 0]
        stacks.place(busy, _exact_parts)
        for device in busy:
            stacks.place([device], _parts_of)
        stacks.place(busy, _parts_of)
        held = sum(device.total for device in lower)
        for device in own:
            if device in stacks.placed or device.total <= (1 + _SAME_BYTES) * held or (lower and not device.is_timed):
                continue
            # A cache in it, or above the lower devices, answers the I/Os that these do not move.
            is_cached = held >= _PASSED_RATIO * device.total and _takes_no_longer(lower, device)
            stacks.put([device], [each for each in stacks.below if each in lower] if is_cached else [])
    return {device.name: tuple(part.name for part in parts) for device, parts in stacks.below.items()}


@dataclass(slots=True)
class _Stacks:
    """`below`: as the result of `uppermost`, so far. `placed`: devices whose parts are known."""

    below: dict[Stacked, Sequence[Stacked]]
    placed: set[Stacked] = field(default_factory=set)

    def place(
        self, uppers: Sequence[Stacked], find: Callable[[Stacked, Sequence[Stacked]], Sequence[Stacked]]
    ) -> None:
        """Put these devices, or those of them that are not yet placed, on the parts that they have together."""
        left = [device for device in uppers if device not in self.placed]
        if left and (parts := find(_joint(left), list(self.below))):
            self.put(left, parts)

    def put(self, uppers: Sequence[Stacked], parts: Sequence[Stacked]) -> None:
        """Put these devices on these parts, which are no load of their own any more."""
        for part in parts:
            del self.below[part]
        self.below |= dict.fromkeys(uppers, parts)
        self.placed.update(uppers)


def _joint(devices: Sequence[Stacked]) -> Stacked:
    def sums(values: Iterable[tuple[float, float]]) -> tuple[float, float]:
        reads, writes = zip(*values, strict=True)
        return sum(reads), sum(writes)

    return Stacked(
        "",
        max(device.level for device in devices),
        sums(device.moved for device in devices),
        sums(device.ops for device in devices),
        sums(device.waits for device in devices),
        multiplies=all(device.multiplies for device in devices),
    )


def _parts_of(upper: Stacked, lower: Sequence[Stacked]) -> Sequence[Stacked]:
    """The devices whose bytes are those of the upper one, with copies and parity. Empty: none, or it is not clear."""
    return _exact_parts(upper, lower) or _copied_parts(upper, lower) or _exact_parts(upper, lower, ambiguous=True)


def _exact_parts(upper: Stacked, lower: Sequence[Stacked], ambiguous: bool = False) -> Sequence[Stacked]:
    """The fewest devices that together move the same bytes. `ambiguous`: even if other devices write the same as one
    of them and might be its mirror."""
    able = _possible_parts(upper, lower)
    for parts in _choices(able, upper.total):
        moved, names = _joint(parts).moved, {part.name for part in parts}
        differ = sum(abs(one - other) for one, other in zip(moved, upper.moved, strict=True))
        if differ > _SAME_BYTES * upper.total or not _takes_no_longer(parts, upper):
            continue
        others = [device for device in able if device.name not in names]
        if ambiguous or not any(_writes_alike(one, other) for one in parts for other in others):
            return parts
    return ()


def _choices(devices: Sequence[Stacked], total: float) -> Iterator[tuple[Stacked, ...]]:
    """Ways to choose devices that together move this many bytes, few devices before many. Of many devices: one, those
    that move the same, and all, or all but one, whichever is closest."""

    def fits(moved: float) -> bool:
        return abs(moved - total) <= _SAME_BYTES * total

    if len(devices) <= _MAX_CANDIDATES:
        for count in range(1, len(devices) + 1):
            chosen = combinations(devices, count)
            yield from (parts for parts in chosen if fits(sum(part.total for part in parts)))
        return
    yield from ((device,) for device in devices if fits(device.total))
    yield from (parts for parts in _equals(devices, lambda each: each.total) if fits(sum(p.total for p in parts)))
    whole = sum(device.total for device in devices)

    def rest(one: Stacked | None) -> float:
        return whole if one is None else whole - one.total

    for one in nsmallest(_MAX_TRIED, [None, *devices], key=lambda each: abs(rest(each) - total)):
        if fits(rest(one)):
            yield tuple(device for device in devices if device is not one)


def _equals(devices: Sequence[Stacked], rate: Callable[[Stacked], float]) -> list[tuple[Stacked, ...]]:
    """For each device, those with the same rate, in order of the rates; the same ones once."""
    ordered = sorted(devices, key=rate)
    rates = [rate(device) for device in ordered]
    limits = (
        (bisect_left(rates, own * (1 - _MEMBERS)), bisect_right(rates, own / (1 - _MEMBERS)))
        for own in rates
        if own > 0
    )
    return [tuple(ordered[first:end]) for first, end in dict.fromkeys(limits)]


def _copied_parts(upper: Stacked, lower: Sequence[Stacked]) -> Sequence[Stacked]:
    """The devices that write the upper one's bytes, with copies or parity: each writes the same, and none more than
    all. Each read is read once; parity is read for writes. Members of software RAID may differ if their reads add up:
    one of them may fail, or be slow."""
    reads, writes = upper.moved
    able = [device for device in _possible_parts(upper, lower) if device.moved[1] <= (1 + _MEMBERS) * writes]
    groups = _equals(able, lambda each: each.moved[1])
    fitting = [parts for parts in groups if len(parts) > 1 and _are_copies(parts, upper, parity=len(parts) > 2)]
    fitting = [parts for parts in fitting if len(parts) > 2 or isclose(_ratio(parts, upper), 2, rel_tol=_MEMBERS)]
    if not fitting and upper.multiplies and len(able) > 1 and reads and _are_copies(able, upper, parity=False):
        return able
    return min(fitting, key=lambda parts: abs(_ratio(parts, upper) - round(_ratio(parts, upper))), default=())


def _ratio(parts: Sequence[Stacked], upper: Stacked) -> float:
    return _joint(parts).moved[1] / upper.moved[1]


def _are_copies(parts: Sequence[Stacked], upper: Stacked, parity: bool) -> bool:
    (reads, writes), (read, written) = upper.moved, _joint(parts).moved
    differ = _SAME_BYTES * upper.total
    are_read = reads - differ <= read <= reads + (written if parity else 0.0) + differ
    are_written = writes > 0 and writes - differ <= written <= (1 + _MEMBERS) * _MAX_COPIES * writes
    return are_read and are_written and _takes_no_longer(parts, upper)


def _possible_parts(upper: Stacked, lower: Sequence[Stacked]) -> list[Stacked]:
    """The devices that may be parts of the upper one: those that are not nearly idle."""
    return [each for each in lower if each.total >= _MIN_BYTES_RATIO * upper.total]


def _writes_alike(one: Stacked, other: Stacked) -> bool:
    return one.moved[1] > 0 and isclose(one.moved[1], other.moved[1], rel_tol=_MEMBERS)


def _takes_no_longer(parts: Sequence[Stacked], upper: Stacked) -> bool:
    """Whether I/Os of these devices may be parts of the upper one's."""
    lower = _joint(parts)
    both = zip(upper.ops, upper.waits, lower.ops, lower.waits, strict=True)
    return all(
        wait / done >= _LATENCY_RATIO * below_wait / below_done - _CLOCK_SECONDS
        for done, wait, below_done, below_wait in both
        if done and wait and below_done
    )
