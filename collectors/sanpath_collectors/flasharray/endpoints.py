"""The endpoints of a FlashArray, and what remains unknown without each of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

CONSEQUENCES: Mapping[str, str] = MappingProxyType(
    {
        "arrays": "the array has no name, and its data reduction is unknown",
        "arrays/performance": "the array's latency and throughput are unknown",
        "controllers": "model and failover state are unknown",
        "hardware": "broken components are unknown",
        "ports": "target ports cannot be joined to the fabric",
        "network-interfaces": "the speed of the target ports is unknown",
        "network-interfaces/performance": "whether a target port is full is unknown",
        "hosts": "initiators cannot be joined to the array",
        "hosts/performance": "a host's share of the array's work is unknown",
        "hosts/performance/balance": "whether all paths are used is unknown",
        "volumes": "LUNs cannot be joined to volumes, and QoS limits are unknown",
        "volume-groups": "QoS limits of groups of volumes are unknown",
        "volumes/performance": "a volume's latency is unknown",
        "connections": "which volume belongs to which host is unknown",
        "alerts": "faults that the array reports are unknown",
    }
)
"""Endpoint of REST 2 → what remains unknown without it."""

ONE_SECOND: Mapping[str, str] = MappingProxyType({"resolution": "1000"})
"""Milliseconds: the finest resolution, which exists only for the array as a whole."""

PARAMETERS: Mapping[str, Mapping[str, str]] = MappingProxyType({"alerts": {"filter": "state='open'"}})
"""Endpoint → its fixed parameters: an array keeps closed alerts for months."""
