"""Statistics of vSAN: five-minute means of clusters, hosts, disk groups and disks. Pure: data in, rows out.

Latencies are assumed to be microseconds, and ratios percents: its users document these units, the API does not.
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
_CONGESTIONS = tuple(f"{cause}Congestion" for cause in ("mem", "slab", "ssd", "iops", "log", "comp"))


@dataclass(frozen=True, slots=True)
class Kind:
    """An entity type of the service.

    `labels`: metric → label. `largest`: metric → labels; the metric is the largest of their values.
    """

    table: Table
    labels: Mapping[str, str]
    largest: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def all_labels(self) -> list[str]:
        """The labels of all metrics."""
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
"""Entity type → its metrics. The express storage architecture (ESA) has the first three types and the last two."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """The statistics of one entity. `values`: label → values in the order of `times`, separated by commas."""

    entity: str
    times: str
    values: Mapping[str, str]


def rows(
    statistics: Sequence[Statistics],
    name: str,
    cluster: str,
    nodes: Mapping[str, str],
    newest: dict[str, int],
    seen_us: int,
) -> Iterator[Rows]:
    """Yield the new samples, entity by entity.

    `name`: entity type. `nodes`: id of a vSAN node → host. `newest`: entity → time of its last sample; updated.
    """
    kind = KINDS[name]
    for entity_statistics in statistics:
        times = [_time(text) for text in entity_statistics.times.split(",")]
        columns = {metric: _numbers(entity_statistics.values.get(label, "")) for metric, label in kind.labels.items()}
        for metric, labels in kind.largest.items():
            series = [_numbers(entity_statistics.values.get(label, "")) for label in labels]
            columns[metric] = [
                _largest([values[index] for values in series if index < len(values)]) for index in range(len(times))
            ]
        last = newest.get(entity_statistics.entity, -1)
        new = [(time, index) for index, time in enumerate(times) if time is not None and time > last]
        new = sorted(new)[-1:] if last < 0 else sorted(new)
        if not new:
            continue
        newest[entity_statistics.entity] = new[-1][0]
        yield Rows(
            kind.table,
            [local_id(entity_statistics.entity, cluster, nodes)] * len(new),
            [seen_us] * len(new),
            {
                metric: [values[index] if index < len(values) else None for _, index in new]
                for metric, values in columns.items()
            },
            [time for time, _ in new],
            [float(VSAN_SECONDS)] * len(new),
        )


def items(entities: Sequence[str], cluster: str, nodes: Mapping[str, str]) -> Iterator[SourceEntity | SourceLink]:
    """Yield the entities of statistics, and their links, from the ids of the service."""
    for entity in entities:
        name = entity.partition(":")[0]
        kind = KINDS[name].table.kind
        label = local_id(entity, cluster, nodes)
        granularity = {"samples_cover_seconds": VSAN_SECONDS}
        if kind == "cluster_node":
            yield SourceEntity("cluster_node", label, label, {"name": (label,)}, granularity)
            yield SourceLink("runs_on", ("cluster_node", label), ("host", label), "vSAN node")
            yield SourceLink("member_of", ("cluster_node", label), ("media", cluster), "vSAN cluster")
        else:
            yield SourceEntity("media", label, label, {"name": (label,)}, {"type": name, **granularity})
            if label != cluster:
                yield SourceLink("member_of", ("media", label), ("media", cluster), "vSAN cluster")


def enabled(config: object) -> bool:
    """Whether a cluster with this configuration has vSAN."""
    vsan_config = config.get("vsanConfigInfo") if isinstance(config, dict) else None
    return isinstance(vsan_config, dict) and vsan_config.get("enabled") is True


def local_id(entity: str, cluster: str, nodes: Mapping[str, str]) -> str:
    """Return the local id of an entity of the service: a cluster, a host, or a disk group or disk of the cluster.

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
    """Convert a time in UTC to microseconds since the epoch; None: it is not a time.

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
