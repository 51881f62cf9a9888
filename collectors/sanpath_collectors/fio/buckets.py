"""fio's latency buckets: 64 to a power of two (FIO_IO_U_PLAT_BITS 6), at most 1.6 % wide each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from sanpath_collectors.fio.status import integer

_BITS = 6
"""Bits of the number of buckets within a power of two: FIO_IO_U_PLAT_BITS of stat.h."""
_PER_OCTAVE = 1 << _BITS
_NS = 1e-9

LAYOUTS = {29: 1, 19: 1000}
"""Powers of two that a histogram log covers → its unit in nanoseconds, which is that of fio since 3.0."""


def upper_bounds(bins: Mapping[str, Any]) -> list[tuple[float, float]]:
    """(upper bound in seconds, share of the I/Os) from the `bins` of json+: any nanosecond of a bucket → count."""
    counts: dict[int, int] = {}
    for key, count in bins.items():
        upper = _upper_limit(integer(key, 0))
        counts[upper] = counts.get(upper, 0) + integer(count, 0)
    return shares({upper * _NS: count for upper, count in counts.items()})


def shares(counts: Mapping[float, int]) -> list[tuple[float, float]]:
    """(upper bound, share of all) in rising order, without empty buckets. `counts`: I/Os by upper bound."""
    total = sum(counts.values())
    return [(upper, count / total) for upper, count in sorted(counts.items()) if count]


def lower_limit(value: int) -> int:
    """The lower limit of the bucket that a value lies in."""
    width = _width(value)
    return value // width * width


def _upper_limit(value: int) -> int:
    return lower_limit(value) + _width(value)


def _width(value: int) -> int:
    return 1 << max(0, value.bit_length() - 1 - _BITS)


@cache
def bucket_limits(count: int) -> tuple[int, Sequence[tuple[int, int]]] | None:
    """The unit in nanoseconds, and (lower, upper) of each of the `count` buckets of a line of a histogram log.

    log_hist_coarseness halves the number of buckets each time. None: no version of fio has this layout.
    """
    octaves, per_octave = count, 1
    while octaves and octaves % 2 == 0:
        octaves //= 2
        per_octave *= 2
    if octaves not in LAYOUTS or per_octave > _PER_OCTAVE:
        return None
    merged = _PER_OCTAVE // per_octave
    fine = [limits for octave in range(octaves) for limits in _octave(octave)]
    return LAYOUTS[octaves], [(fine[index][0], fine[index + merged - 1][1]) for index in range(0, len(fine), merged)]


def _octave(octave: int) -> Iterator[tuple[int, int]]:
    width = 1 << max(0, octave - 1)
    first = _PER_OCTAVE * width if octave else 0
    return ((first + index * width, first + (index + 1) * width) for index in range(_PER_OCTAVE))


def middle(lower: int) -> int:
    """The middle of the bucket with this lower limit, which fio reports for a percentile in that bucket."""
    return (lower + _upper_limit(lower)) // 2


def percentile(counts: Mapping[int, int], ratio: float) -> int | None:
    """The value that this ratio of the I/Os does not exceed. `counts`: I/Os by value. None: no I/O."""
    rank, cumulated = ratio * sum(counts.values()), 0
    for value, count in sorted(counts.items()):
        cumulated += count
        if cumulated >= rank and cumulated:
            return value
    return None
