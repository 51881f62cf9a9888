"""Limits that clouds set for volumes and instances, by their types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sanpath.catalogue.catalogue import cloud_limits


@dataclass(frozen=True, slots=True)
class CloudLimit:
    """The most that a type allows. None: not limited, or not known."""

    ops_per_second: float | None = None
    bytes_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class Cloud:
    """A provider. `key`: its name in cloud_limits.yaml; `name`: of its volumes; `vendor`: what its machines call
    their maker (/sys/class/dmi/id/sys_vendor)."""

    key: str
    name: str
    vendor: str

    def instance(self, instance_type: str, cached: bool = False) -> CloudLimit | None:
        """Limits of all volumes of an instance together, `cached`: of those with host caching. A type with bursts has
        none: whether it may still burst is not known. None: the type is not in the table."""
        body = cloud_limits()[self.key]
        limits = body.get("cached" if cached else "instance_types", {}).get(instance_type)
        if limits is None:
            return None
        ops, megabytes, *burst = limits
        if burst and burst != [ops, megabytes]:
            return CloudLimit()
        return CloudLimit(float(ops), float(megabytes * body["megabyte"]))

    def volume(self, volume_type: str, size_gib: float | None) -> CloudLimit | None:
        """Limits of a volume by its type. None: the type is not in the table."""
        body = cloud_limits()[self.key]["volume_types"].get(volume_type)
        return body and CloudLimit(_limit(body.get("ops"), size_gib), _limit(body.get("bytes"), size_gib))


def clouds() -> tuple[Cloud, ...]:
    """Return every provider of the table."""
    return tuple(Cloud(key, body["name"], body["vendor"]) for key, body in cloud_limits().items())


def _limit(rule: Mapping[str, Any] | None, size_gib: float | None) -> float | None:
    """Return the limit for a size. None: there is none, or it depends on the size and that is not known."""
    if rule is None or (rule.keys() & {"per_gib", "up_to_gib"} and size_gib is None):
        return None
    if size_gib is not None and "small" in rule and size_gib <= rule["up_to_gib"]:
        return float(rule["small"])
    by_size = rule.get("base", 0) + rule.get("per_gib", 0) * (size_gib or 0)
    return float(min(rule.get("most", by_size), max(rule.get("least", 0), by_size)))
