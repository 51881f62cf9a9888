"""Families of caches: one that the test fits into, and one that it fills."""

from __future__ import annotations

from sanpath_lab.families.case import Label
from sanpath_lab.families.links import CAUSES_ELSEWHERE, fill
from sanpath_lab.families.san import San

_KIB, _GIB = 1024, 2**30


def cache_resident(san: San) -> Label:
    """The working set fits into a cache: the array's, or the file cache of the guest.

    The result is valid for the path, but not for the media.
    """
    findings = ["test-fits-in-cache"]
    if san.random.random() < 0.4:
        san.direction, san.direct, san.memory_bytes = "read", False, san.random.choice((32, 64, 128)) * _GIB
        san.working_set_bytes = round(san.memory_bytes * san.random.uniform(0.3, 3.0))
        findings.append("test-uses-file-cache")
    else:
        san.cache_bytes = san.random.choice((16, 32, 64)) * _GIB
        san.working_set_bytes = round(san.cache_bytes * san.random.uniform(0.1, 2.0))
    if san.direct and san.random.random() < 0.5:
        speed = san.random.choice((4, 8))
        san.host_gigabit = [speed, speed]
        fill(san, speed)
        ports = (san.host_port(0), san.host_port(1))
        label = {"findings": [*findings, "link-full"], "forbidden": CAUSES_ELSEWHERE}
        return san.truth("bottleneck", "host", *ports, **label), {"host_gigabit": [2 * speed, 2 * speed]}
    san.rate, san.threads, san.outstanding = san.random.uniform(800, 3000), (8, 16), san.random.choice((2, 4))
    forbidden = (*CAUSES_ELSEWHERE, "link-full")
    return san.truth("demand_limited", "load", also=["healthy"], findings=findings, forbidden=forbidden), None


def write_cache_full(san: San) -> Label:
    """The last step writes faster than the array empties its cache; from the middle of the step on it is full, and
    writes wait for the media."""
    san.direction, san.threads, san.measured_seconds = "write", (1, 4), 40.0
    san.block_bytes, san.outstanding = san.random.choice((8, 16, 32, 64)) * _KIB, san.random.choice((1, 2))
    latency = san.service_seconds + san.tail_seconds
    # An I/O takes a little longer than the array needs for it, so that the cache is full a little later than meant.
    before = san.threads[-1] * san.outstanding * san.block_bytes / (1.1 * latency)
    after = before * san.random.uniform(0.3, 0.5)
    filled_after = san.random.uniform(0.5, 0.65) * san.measured_seconds
    san.write_cache = {
        "capacity_bytes": round((before - after) * filled_after),
        "destage_bytes_per_second": after,
    }
    label = {"findings": ["test-not-steady", "array-slows-down"], "forbidden": ["link-full", "lun-queue-limits"]}
    return san.truth("bottleneck", "array_back", "array:fa1", **label), None
