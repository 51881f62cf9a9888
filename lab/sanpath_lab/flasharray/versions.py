"""Differences between versions of REST 2 and between Purity releases in the responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Version = tuple[int, int]
Item = dict[str, Any]

NEVER_RELEASED = frozenset({(2, 12), (2, 18)})
TOKENS_FOR_PERFORMANCE_SINCE: Version = (2, 38)
"""Before it, a client uses `offset` if a performance response has several pages."""

RESOURCE_SINCE: Mapping[str, Version] = {
    "arrays/performance": (2, 2),
    "controllers": (2, 2),
    "hardware": (2, 2),
    "ports": (2, 2),
    "alerts": (2, 2),
    "hosts/performance/balance": (2, 4),
    "network-interfaces": (2, 4),
    "network-interfaces/performance": (2, 4),
}
"""Fields that were added after 2.0."""

FIELD_SINCE: Mapping[str, Version] = {
    "service_usec_per_read_op_cache_reduction": (2, 4),
    "flow_control_received_discarded_packets_per_sec": (2, 36),
    "flow_control_received_pause_frames_per_sec": (2, 36),
    "flow_control_transmitted_discarded_packets_per_sec": (2, 36),
    "flow_control_transmitted_pause_frames_per_sec": (2, 36),
}

_TOTAL_INCLUDES_QUEUE = ((6, 3, 14), (6, 4, 10))


def offered(newest: Version) -> list[str]:
    """Every version of REST 2 up to the newest, ascending."""
    minors = (minor for minor in range(newest[1] + 1) if (2, minor) not in NEVER_RELEASED)
    return [f"2.{minor}" for minor in minors]


def parsed(version: str) -> Version:
    """Major and minor number. ValueError: it is no version."""
    major, minor = version.split(".")
    return int(major), int(minor)


def drop_later_fields(version: Version, item: Item) -> Item:
    """An item without the fields that came later."""
    return {
        key: drop_later_fields(version, value) if isinstance(value, dict) else value
        for key, value in item.items()
        if FIELD_SINCE.get(key, version) <= version
    }


def total_includes_queue(release: str) -> bool:
    """Return whether usec_per_*_op of a Purity release includes the time in the queue."""
    number = tuple(int(component) for component in release.split("."))
    first, second = _TOTAL_INCLUDES_QUEUE
    return number >= second or first <= number < (first[0], first[1] + 1)
