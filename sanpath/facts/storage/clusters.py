"""Facts of hyper-converged clusters: share of local reads, cache hits, and the load of a rebuild."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from sanpath.facts.host.tested_machines import UnderTest, as_number, as_text, gauge, rate
from sanpath.facts.samples.step_samples import StepSamples, complete_sum
from sanpath.facts.table import FactRow, FactValue
from sanpath.topology.topology import Topology

_REMOTE = ("bytes_remote_read_total", "bytes_remote_write_total")
_RDMA = tuple(
    f"smb_direct_bytes_{operation}_total" for operation in ("sent", "received", "rdma_read", "rdma_written")
)


def node_rows(topology: Topology, steps: Sequence[UnderTest]) -> Iterator[FactRow]:
    """Yield one row for each node with I/O or with a rebuild, and each step."""
    for step, node, samples in _sampled(topology, steps, "cluster_node"):
        resync = gauge(samples, "resync_bytes_per_second_read")
        resync = rate(samples, "resync_bytes_read_total") if resync is None else resync
        congestion = gauge(samples, "congestion")
        attributes = topology.entities[node].attributes
        yield {
            "entity": node,
            "step": step.load.step,
            "direction": step.load.direction,
            "windows": min(sample.windows for sample in samples),
            "cache_devices": as_number(attributes.get("cache_devices")),
            "capacity_devices": as_number(attributes.get("capacity_devices")),
            "cache_mode": as_text(attributes.get("cache_mode")),
            "local_read_share": _local_read_share(samples),
            "local_read_seconds": _mean(samples, "local_read"),
            "remote_read_seconds": _mean(samples, "remote_read"),
            "resync_bytes_per_second": resync,
            "resync_ratio": resync / step.load.bytes_per_second
            if resync is not None and step.load.bytes_per_second
            else None,
            "congestion": congestion,
            "remote_bytes_per_second": complete_sum(rate(samples, counter) for counter in _REMOTE),
            "rdma_bytes_per_second": complete_sum(rate(samples, counter) for counter in _RDMA),
        }


def local_read_shares(topology: Topology, samples: Iterable[StepSamples]) -> dict[tuple[str, str], float]:
    """Return (step, node) → the share of its reads that its local disks serve. A node that did not read, or whose
    counters are not reported, is left out."""
    by_node = defaultdict(list)
    for sample in samples:
        if (node := topology.known_as.get((sample.source, "cluster_node", sample.entity))) is not None:
            by_node[sample.step, node].append(sample)
    shares = {node: _local_read_share(node_samples) for node, node_samples in by_node.items()}
    return {node: share for node, share in shares.items() if share is not None}


def media_rows(topology: Topology, steps: Sequence[UnderTest]) -> Iterator[FactRow]:
    """Yield one row for each disk group, cache or device of a cluster whose cache a source reads, and each step."""
    for step, media, samples in _sampled(topology, steps, "media"):
        hits, misses = (rate(samples, f"cache_{outcome}_ops_read_total") for outcome in ("hit", "miss"))
        pages, dirty = gauge(samples, "cache_pages"), gauge(samples, "cache_dirty_pages")
        hit_ratio = gauge(samples, "read_cache_hit_ratio")
        values: dict[str, FactValue] = {
            "read_cache_hit_ratio": _share(hits, misses) if hit_ratio is None else hit_ratio,
            "write_buffer_free_ratio": gauge(samples, "write_buffer_free_ratio"),
            "dirty_ratio": dirty / pages if dirty is not None and pages else None,
            "congestion": gauge(samples, "congestion"),
        }
        if all(value is None for value in values.values()):
            continue
        yield {
            "entity": media,
            "step": step.load.step,
            "direction": step.load.direction,
            "windows": min(sample.windows for sample in samples),
            "type": as_text(topology.entities[media].attributes.get("type")) or "storage-spaces",
            **values,
        }


def _sampled(
    topology: Topology, steps: Sequence[UnderTest], kind: str
) -> Iterator[tuple[UnderTest, str, Sequence[StepSamples]]]:
    for step in steps:
        for entity in topology.of_kind(kind):
            if samples := step.samples_of(entity.id):
                yield step, entity.id, samples


def _local_read_share(samples: Sequence[StepSamples]) -> float | None:
    return _share(rate(samples, "ops_local_read_total"), rate(samples, "ops_remote_read_total"))


def _share(numerator: float | None, complement: float | None) -> float | None:
    return (
        numerator / (numerator + complement)
        if numerator is not None and complement is not None and numerator + complement
        else None
    )


def _mean(samples: Sequence[StepSamples], operation: str) -> float | None:
    operations, wait = rate(samples, f"ops_{operation}_total"), rate(samples, f"latency_seconds_{operation}_total")
    return wait / operations if operations and wait is not None else None
