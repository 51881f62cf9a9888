"""fio's latency buckets: 64 for each power of two (FIO_IO_U_PLAT_BITS is 6), each at most 1.6 % wide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from sanpath_collectors.fio.jobs.status import integer

_OCTAVE_BITS = 6
"""Bits of the number of buckets within a power of two: FIO_IO_U_PLAT_BITS of stat.h."""
_BUCKETS_PER_OCTAVE = 1 << _OCTAVE_BITS
_NS_TO_SECONDS = 1e-9

LAYOUTS = {29: 1, 19: 1000}
"""Number of powers of two that a histogram log covers → its unit in nanoseconds: 1 since fio 3.0, 1000 before."""


def upper_bounds(bins: Mapping[str, Any]) -> list[tuple[float, float]]:
    """(upper bound in seconds, share of the I/Os) of each bucket. `bins`: those of json+, any nanosecond of a bucket
    → count."""
    counts: dict[int, int] = {}
    for key, count in bins.items():
        upper = _upper_limit(integer(key, 0))
        counts[upper] = counts.get(upper, 0) + integer(count, 0)
    return bucket_shares({upper * _NS_TO_SECONDS: count for upper, count in counts.items()})


def bucket_shares(counts: Mapping[float, int]) -> list[tuple[float, float]]:
    """(upper bound, share of all I/Os) in ascending order, without empty buckets. `counts`: upper bound → I/Os."""
    total = sum(counts.values())
    return [(upper, count / total) for upper, count in sorted(counts.items()) if count]


def lower_limit(value: int) -> int:
    """The lower limit of the bucket that a value lies in."""
    width = _bucket_width(value)
    return value // width * width


def _upper_limit(value: int) -> int:
    return lower_limit(value) + _bucket_width(value)


def _bucket_width(value: int) -> int:
    return 1 << max(0, value.bit_length() - 1 - _OCTAVE_BITS)


@cache
def bucket_limits(count: int) -> tuple[int, Sequence[tuple[int, int]]] | None:
    """The unit in nanoseconds, and (lower, upper) of each bucket, of a histogram log with `count` buckets in a line.

    Each step of log_hist_coarseness halves the number of buckets. None: no version of fio writes this number.
    """
    octaves, per_octave = count, 1
    while octaves and octaves % 2 == 0:
        octaves //= 2
        per_octave *= 2
    if octaves not in LAYOUTS or per_octave > _BUCKETS_PER_OCTAVE:
        return None
    merged = _BUCKETS_PER_OCTAVE // per_octave
    fine = [limits for octave in range(octaves) for limits in _octave_limits(octave)]
    return LAYOUTS[octaves], [(fine[index][0], fine[index + merged - 1][1]) for index in range(0, len(fine), merged)]


def _octave_limits(octave: int) -> Iterator[tuple[int, int]]:
    width = 1 << max(0, octave - 1)
    first = _BUCKETS_PER_OCTAVE * width if octave else 0
    return ((first + index * width, first + (index + 1) * width) for index in range(_BUCKETS_PER_OCTAVE))


def bucket_middle(lower: int) -> int:
    """The middle of the bucket with this lower limit. fio reports it for a percentile in that bucket."""
    return (lower + _upper_limit(lower)) // 2


def percentile(counts: Mapping[int, int], ratio: float) -> int | None:
    """The value that this ratio of the I/Os does not exceed. `counts`: value → I/Os. None: no I/O."""
    rank, cumulated = ratio * sum(counts.values()), 0
    for value, count in sorted(counts.items()):
        cumulated += count
        if cumulated >= rank and cumulated:
            return value
    return None
