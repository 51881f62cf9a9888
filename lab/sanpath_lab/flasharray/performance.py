"""The items of FlashArray REST 2 performance answers, made from an ArrayState: integers, as arrays give them."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Literal

from sanpath_lab.flasharray.array_state import ArrayPort, ArrayState, BalanceRow, DirectionSample, Sample
from sanpath_lab.flasharray.inventory import Item, interface_name, target
from sanpath_lab.flasharray.versions import total_includes_queue

_WWN = re.compile(r"([0-9A-F]{2}:){7}[0-9A-F]{2}", re.IGNORECASE)

_MIRRORED_WRITE = {
    "mirrored_write_bytes_per_sec": 0,
    "mirrored_writes_per_sec": 0,
    "usec_per_mirrored_write_op": 0,
    "san_usec_per_mirrored_write_op": 0,
    "queue_usec_per_mirrored_write_op": 0,
    "qos_rate_limit_usec_per_mirrored_write_op": 0,
    "service_usec_per_mirrored_write_op": 0,
    "bytes_per_mirrored_write": 0,
}


def rounded(value: float | None) -> int | None:
    """Return an integer, as arrays report all values; None for None."""
    return None if value is None else round(value)


def array_usec(sample: DirectionSample, release: str) -> int | None:
    """Return the array's total latency, whose components depend on the Purity release."""
    if sample.service_usec is None:
        return None
    return round(sample.service_usec + (sample.queue_usec or 0.0 if total_includes_queue(release) else 0.0))


def _bytes_per_op(ops_per_second: float, bytes_per_second: float) -> int:
    return round(bytes_per_second / ops_per_second) if ops_per_second else 0


def _direction(
    sample: DirectionSample, singular: Literal["read", "write"], plural: Literal["reads", "writes"], release: str
) -> Item:
    return {
        f"{singular}_bytes_per_sec": round(sample.bytes_per_second),
        f"{plural}_per_sec": round(sample.ops_per_second),
        f"usec_per_{singular}_op": array_usec(sample, release),
        f"queue_usec_per_{singular}_op": rounded(sample.queue_usec),
        f"qos_rate_limit_usec_per_{singular}_op": rounded(sample.qos_rate_limit_usec),
        f"san_usec_per_{singular}_op": rounded(sample.san_usec),
        f"service_usec_per_{singular}_op": rounded(sample.service_usec),
        f"bytes_per_{singular}": _bytes_per_op(sample.ops_per_second, sample.bytes_per_second),
    }


def _performance(sample: Sample, name: str, release: str) -> Item:
    read, write = sample.read, sample.write
    return {
        **_MIRRORED_WRITE,
        "time": sample.time_ms,
        "name": name,
        **_direction(read, "read", "reads", release),
        **_direction(write, "write", "writes", release),
        "bytes_per_op": _bytes_per_op(
            read.ops_per_second + write.ops_per_second, read.bytes_per_second + write.bytes_per_second
        ),
        "service_usec_per_read_op_cache_reduction": None,
    }


def arrays_performance(state: ArrayState, since_ms: int | None, until_ms: int | None) -> list[Item]:
    """GET /arrays/performance."""
    array = state.identity
    return [
        {
            "usec_per_other_op": 0,
            "others_per_sec": 0,
            "queue_depth": None,
            "local_queue_usec_per_op": 0,
            **_performance(sample, array.name, array.version),
            "id": array.id,
        }
        for sample in state.array_samples(since_ms, until_ms)
    ]


def volumes_performance(state: ArrayState) -> list[Item]:
    """GET /volumes/performance."""
    release = state.identity.version
    return [
        {**_performance(state.volume_sample(volume.name), volume.name, release), "id": volume.id}
        for volume in state.volumes
    ]


def hosts_performance(state: ArrayState) -> list[Item]:
    """GET /hosts/performance: no `id`, as on real arrays."""
    release = state.identity.version
    return [_performance(state.host_sample(host.name), host.name, release) for host in state.hosts]


def _initiator(initiator: str | None) -> Item:
    names: Item = {"wwn": None, "nqn": None, "iqn": None, "portal": None}
    if initiator is not None:
        kind = "wwn" if _WWN.fullmatch(initiator) else "iqn" if initiator.startswith("iqn.") else "portal"
        names[kind] = initiator
    return names


def hosts_performance_balance(state: ArrayState) -> list[Item]:
    """GET /hosts/performance/balance."""
    ports = {port.name: port for port in state.ports}
    rows_by_host: dict[str, list[BalanceRow]] = defaultdict(list)
    for row in state.balance():
        rows_by_host[row.host].append(row)
    return [
        {
            "name": host,
            "time": row.time_ms,
            "target": target(ports[row.target] if row.target else None),
            "initiator": _initiator(row.initiator),
            "op_count": row.op_count,
            "fraction_relative_to_max": _fraction(row, rows),
        }
        for host, rows in rows_by_host.items()
        for row in rows
    ]


def _fraction(row: BalanceRow, rows: list[BalanceRow]) -> float | None:
    if row.op_count is None:
        return None
    return row.op_count / max(1, *(peer.op_count or 0 for peer in rows))


def network_interfaces_performance(state: ArrayState) -> list[Item]:
    """GET /network-interfaces/performance: the block of the other interface type is all null."""
    return [_port_performance(state, port) for port in state.ports]


def _port_performance(state: ArrayState, port: ArrayPort) -> Item:
    sample = state.port_sample(port.name)
    common = {
        "received_bytes_per_sec": round(sample.received_bytes_per_second),
        "transmitted_bytes_per_sec": round(sample.transmitted_bytes_per_second),
        "received_crc_errors_per_sec": 0,
        "total_errors_per_sec": round(sample.errors_per_second),
    }
    received, transmitted = (
        round(sample.received_frames_per_second),
        round(sample.transmitted_frames_per_second),
    )
    eth = {
        **common,
        "received_packets_per_sec": received,
        "transmitted_packets_per_sec": transmitted,
        "other_errors_per_sec": 0,
        "received_frame_errors_per_sec": 0,
        "transmitted_carrier_errors_per_sec": None,
        "transmitted_dropped_errors_per_sec": 0,
        "flow_control_received_discarded_packets_per_sec": 0,
        "flow_control_received_pause_frames_per_sec": 0,
        "flow_control_transmitted_discarded_packets_per_sec": 0,
        "flow_control_transmitted_pause_frames_per_sec": 0,
    }
    fc = {
        **common,
        "received_frames_per_sec": received,
        "transmitted_frames_per_sec": transmitted,
        "received_link_failures_per_sec": 0,
        "received_loss_of_signal_per_sec": 0,
        "received_loss_of_sync_per_sec": 0,
        "transmitted_invalid_words_per_sec": 0,
    }
    is_fc = port.interface_type == "fc"
    return {
        "eth": dict.fromkeys(eth) if is_fc else eth,
        "fc": fc if is_fc else dict.fromkeys(fc),
        "time": sample.time_ms,
        "name": interface_name(port),
        "interface_type": port.interface_type,
    }
