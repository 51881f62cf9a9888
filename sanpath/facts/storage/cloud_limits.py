"""Utilisation of the limits of a cloud's volumes and instances if no source counts the time at a limit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sanpath.facts.host.disk_limits import IMPOSSIBLE_RATIO
from sanpath.facts.table import FactRow, number
from sanpath.topology.topology import Topology

COUNTED = ("over_volume_ops", "over_volume_bytes", "over_host_ops", "over_host_bytes")
"""Limits of the volume and of the host for which an array may count how long the demand exceeded them."""
SHARES = ("volume_limit_ratio", "host_limit_ratio")
_RATES = ("ops_per_second", "bytes_per_second")

Key = tuple[str, str]
"""An entity and a step."""


def limit_shares(topology: Topology, kind: str, rows: Sequence[FactRow]) -> dict[Key, dict[str, float | None]]:
    """Return (volume, step) → share of its own limit and of its instance's that is used, reads and writes together.

    Volumes of other arrays have none, nor have those whose time at the limits is counted.
    """
    if kind != "volume":
        return {}
    volumes = {str(row["entity"]) for row in rows if row[f"{COUNTED[0]}_ratio"] is None}
    hosts = {v: _host(topology, v) for v in volumes if topology.entities[v].attributes.get("cloud") is not None}
    totals: defaultdict[Key, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in rows:
        volume, step = str(row["entity"]), str(row["step"])
        for rate in _RATES if volume in hosts else ():
            for entity in filter(None, (volume, hosts[volume])):
                totals[entity, step][rate] += number(row, rate)
    return {
        (volume, step): dict(
            zip(SHARES, (_share(topology, entity, totals, step) for entity in (volume, hosts[volume])), strict=True)
        )
        for volume, step in totals
        if volume in hosts
    }


def _host(topology: Topology, volume: str) -> str | None:
    luns = topology.related(volume, "backed_by", "lun")
    return next((host for lun in luns for host in topology.related(lun, "attached_to", "host")), None)


def _share(
    topology: Topology, entity: str | None, totals: Mapping[Key, Mapping[str, float]], step: str
) -> float | None:
    if entity is None:
        return None
    limits = {rate: topology.entities[entity].attributes.get(f"qos_{rate}") for rate in _RATES}
    shares = [totals[entity, step][rate] / float(limit) for rate, limit in limits.items() if limit]
    # A bursting volume exceeds its baseline, which is not in force then.
    return max((share for share in shares if share <= IMPOSSIBLE_RATIO), default=None)
