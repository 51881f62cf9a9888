"""A latency histogram with the buckets of fio: 64 to an octave, so no bucket is wider than 1.6 % of its value."""

from __future__ import annotations

from collections import Counter

BITS = 6
PER_OCTAVE = 1 << BITS


def bucket_of(nanoseconds: int) -> int:
    """Number of the bucket a latency falls into."""
    shift = nanoseconds.bit_length() - 1 - BITS
    if shift <= 0:
        return nanoseconds
    return (shift << BITS) + (nanoseconds >> shift)


def middle_of(bucket: int) -> int:
    """Latency in nanoseconds in the middle of a bucket."""
    if bucket < 2 * PER_OCTAVE:
        return bucket
    shift = (bucket >> BITS) - 1
    return ((PER_OCTAVE + (bucket & (PER_OCTAVE - 1))) << shift) + (1 << (shift - 1))


class LatencyHistogram:
    """Counts latencies. `sum_seconds` and `sum_of_squares` give exact means, independent of the buckets."""

    def __init__(self) -> None:
        self.count = 0
        self.sum_seconds = 0.0
        self.sum_of_squares = 0.0
        self.min_seconds = 0.0
        self.max_seconds = 0.0
        self._buckets: Counter[int] = Counter()

    def add(self, seconds: float) -> None:
        """Count one I/O."""
        if not self.count or seconds < self.min_seconds:
            self.min_seconds = seconds
        if seconds > self.max_seconds:
            self.max_seconds = seconds
        self.count += 1
        self.sum_seconds += seconds
        self.sum_of_squares += seconds * seconds
        bucket = bucket_of(int(seconds * 1e9))
        self._buckets[bucket] = self._buckets.get(bucket, 0) + 1

    def by_latency(self) -> list[tuple[int, int]]:
        """(nanoseconds in the middle of a bucket, I/Os in it), fastest first."""
        return [(middle_of(bucket), self._buckets[bucket]) for bucket in sorted(self._buckets)]
