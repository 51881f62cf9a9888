"""vSAN's own statistics: means of five minutes of clusters, hosts, disk groups and disks. Pure: data in, rows out.

Latencies are taken for microseconds and ratios for percents: the API does not say so, users of it do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sanpath.plugin import Rows, SourceEntity, SourceLink, Table
from sanpath_collectors.vsphere.tables import VSAN_MEDIA, VSAN_NODE, VSAN_SECONDS

_CLIENT: Mapping[str, str] = {
    "ops_per_second_read": "iopsRead",
    "ops_per_second_write": "iopsWrite",
    "bytes_per_second_read": "throughputRead",
    "bytes_per_second_write": "throughputWrite",
    "latency_seconds_mean_read": "latencyAvgRead",
    "latency_seconds_mean_write": "latencyAvgWrite",
    "in_flight": "oio",
    "congestion": "congestion",
}
_DEVICE: Mapping[str, str] = {
    "ops_per_second_read": "iopsDevRead",
    "ops_per_second_write": "iopsDevWrite",
    "bytes_per_second_read": "throughputDevRead",
    "bytes_per_second_write": "throughputDevWrite",
    "latency_seconds_mean_read": "latencyDevRead",
    "latency_seconds_mean_write": "latencyDevWrite",
}
_CONGESTIONS = tuple(f"{of}Congestion" for of in ("mem", "slab", "ssd", "iops", "log", "comp"))


@dataclass(frozen=True, slots=True)
class Kind:
    """An entity type of the service. `labels`: metric → label; `largest`: metric → labels whose largest counts."""

    table: Table
    labels: Mapping[str, str]
    largest: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def asked(self) -> list[str]:
        """All labels."""
        return [*self.labels.values(), *(label for labels in self.largest.values() for label in labels)]


KINDS: Mapping[str, Kind] = {
    "cluster-domclient": Kind(VSAN_MEDIA, _CLIENT),
    "host-domclient": Kind(VSAN_NODE, {**_CLIENT, "client_cache_hit_ratio": "clientCacheHitRate"}),
    "host-domcompmgr": Kind(
        VSAN_NODE,
        {
            "resync_ops_per_second_read": "iopsResyncRead",
            "resync_bytes_per_second_read": "tputResyncRead",
            "resync_seconds_mean_read": "latAvgResyncRead",
        },
    ),
    "disk-group": Kind(
        VSAN_MEDIA,
        {
            "write_buffer_free_ratio": "wbFreePct",
            "read_cache_hit_ratio": "rcHitRate",
            "destage_bytes_per_second": "ssdBytesDrained",
            "resync_bytes_per_second_read": "tputResyncRead",
            "resync_bytes_per_second_write": "tputResyncWrite",
        },
        {"congestion": _CONGESTIONS},
    ),
    "cache-disk": Kind(VSAN_MEDIA, _DEVICE),
    "capacity-disk": Kind(VSAN_MEDIA, _DEVICE),
    "vsan-esa-disk-layer": Kind(VSAN_MEDIA, _CLIENT),
    "vsan-esa-disk-scsifw": Kind(VSAN_MEDIA, _DEVICE),
}
"""Entity type → what is read of it. The first three and the last two are what the express architecture (ESA) has."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """What the service says of one entity. `values`: label → values in the order of `times`, with commas between."""

    entity: str
    times: str
    values: Mapping[str, str]


def rows(
    told: Sequence[Statistics],
    name: str,
    cluster: str,
    nodes: Mapping[str, str],
    newest: dict[str, int],
    seen: int,
) -> Iterator[Rows]:
    """The samples that are new, an entity at a time. `newest`: entity → time of its last one, brought up to date."""
    kind = KINDS[name]
    for one in told:
        times = [_time(text) for text in one.times.split(",")]
        columns = {metric: _numbers(one.values.get(label, "")) for metric, label in kind.labels.items()}
        for metric, labels in kind.largest.items():
            each = [_numbers(one.values.get(label, "")) for label in labels]
            columns[metric] = [_largest([of[n] for of in each if n < len(of)]) for n in range(len(times))]
        last = newest.get(one.entity, -1)
        new = [(time, place) for place, time in enumerate(times) if time is not None and time > last]
        new = sorted(new)[-1:] if last < 0 else sorted(new)
        if not new:
            continue
        newest[one.entity] = new[-1][0]
        yield Rows(
            kind.table,
            [local_id(one.entity, cluster, nodes)] * len(new),
            [seen] * len(new),
            {m: [of[place] if place < len(of) else None for _, place in new] for m, of in columns.items()},
            [time for time, _ in new],
            [float(VSAN_SECONDS)] * len(new),
        )


def items(entities: Sequence[str], cluster: str, nodes: Mapping[str, str]) -> Iterator[SourceEntity | SourceLink]:
    """The things that statistics were told of, by the service's ids of them."""
    for entity in entities:
        name = entity.partition(":")[0]
        known = KINDS[name].table.kind
        called = local_id(entity, cluster, nodes)
        granularity = {"samples_cover_seconds": VSAN_SECONDS}
        if known == "cluster_node":
            yield SourceEntity("cluster_node", called, called, {"name": (called,)}, granularity)
            yield SourceLink("runs_on", ("cluster_node", called), ("host", called), "vSAN node")
            yield SourceLink("member_of", ("cluster_node", called), ("media", cluster), "vSAN cluster")
        else:
            yield SourceEntity("media", called, called, {"name": (called,)}, {"type": name, **granularity})
            if called != cluster:
                yield SourceLink("member_of", ("media", called), ("media", cluster), "vSAN cluster")


def enabled(config: object) -> bool:
    """Whether a cluster of this configuration has vSAN."""
    own = config.get("vsanConfigInfo") if isinstance(config, dict) else None
    return isinstance(own, dict) and own.get("enabled") is True


def local_id(entity: str, cluster: str, nodes: Mapping[str, str]) -> str:
    """What people call an entity of the service: the cluster, a host, or a disk group or disk of the cluster.

    >>> local_id("disk-group:52a1", "vsan1", {}), local_id("host-domclient:5f00", "vsan1", {"5f00": "esx7"})
    ('vsan1/disk-group 52a1', 'esx7')
    """
    name, _, uuid = entity.partition(":")
    if name == "cluster-domclient":
        return cluster
    if KINDS[name].table.kind == "cluster_node":
        return nodes.get(uuid, uuid)
    return f"{cluster}/{name} {uuid}"


def _time(text: str) -> int | None:
    """Microseconds since the epoch of a time in UTC.

    >>> _time("1970-01-01 00:05:00")
    300000000
    """
    try:
        return round(datetime.fromisoformat(text.strip()).replace(tzinfo=UTC).timestamp() * 1e6)
    except ValueError:
        return None


def _numbers(text: str) -> list[float | None]:
    return [float(cell) if re.fullmatch(r"\s*\d+(\.\d+)?\s*", cell) else None for cell in text.split(",")]


def _largest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
