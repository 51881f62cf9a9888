"""Builds items of FlashArray REST 1 responses from an ArrayState. `output`: hosts read; `input`: hosts write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from sanpath_lab.flasharray.array_state import ArrayState, DirectionSample, Sample
from sanpath_lab.flasharray.inventory import interface_name, target
from sanpath_lab.flasharray.performance import array_usec, rounded

Item = dict[str, Any]
Version = tuple[int, int]

_ALWAYS: Version = (1, 0)
_SAN_TIME_SINCE, _QOS_LIMIT_SINCE, _LATENCY_SINCE, _IOPS_LIMIT_SINCE = (1, 11), (1, 14), (1, 16), (1, 17)
_PORT_TRAFFIC_SINCE: Version = (1, 17)


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _total(sample: DirectionSample, state: ArrayState, version: Version) -> int | None:
    """Before 1.11 from arrival to completion; before 1.16 the array's part, which nothing splits further."""
    if version >= _LATENCY_SINCE or sample.service_usec is None:
        return array_usec(sample, state.identity.version)
    array = sample.service_usec + (sample.queue_usec or 0.0)
    transfer = 0.0 if version >= _SAN_TIME_SINCE else (sample.san_usec or 0.0) + (sample.qos_rate_limit_usec or 0.0)
    return round(array + transfer)


def _monitor(sample: Sample, state: ArrayState, version: Version) -> Item:
    read, write = sample.read, sample.write
    item = {
        "time": _time(sample.time_ms),
        "reads_per_sec": round(read.ops_per_second),
        "writes_per_sec": round(write.ops_per_second),
        "output_per_sec": round(read.bytes_per_second),
        "input_per_sec": round(write.bytes_per_second),
        "usec_per_read_op": _total(read, state, version),
        "usec_per_write_op": _total(write, state, version),
    }
    if version >= _SAN_TIME_SINCE:
        item |= {"san_usec_per_read_op": rounded(read.san_usec), "san_usec_per_write_op": rounded(write.san_usec)}
    return item


def _latency(sample: Sample) -> Item:
    item: Item = {"time": _time(sample.time_ms)}
    for direction, statistics in (("read", sample.read), ("write", sample.write)):
        item |= {
            f"san_usec_per_{direction}_op": rounded(statistics.san_usec),
            f"queue_usec_per_{direction}_op": rounded(statistics.queue_usec),
            f"qos_rate_limit_usec_per_{direction}_op": rounded(statistics.qos_rate_limit_usec),
        }
    return item


def _array(state: ArrayState, _: Version) -> Item:
    array = state.identity
    return {"array_name": array.name, "id": array.id, "revision": "sanpath-lab", "version": array.version}


def _array_monitor(state: ArrayState, version: Version) -> list[Item]:
    samples = state.array_samples(None, None)
    return [{**_monitor(sample, state, version), "queue_depth": _in_flight(sample)} for sample in samples[-1:]]


def _in_flight(sample: Sample) -> int:
    """Return the I/Os that wait in the array, by Little's law."""
    return round(
        sum(
            statistics.ops_per_second * (statistics.queue_usec or 0.0) / 1e6
            for statistics in (sample.read, sample.write)
        )
    )


def _array_latency(state: ArrayState, _: Version) -> list[Item]:
    return [_latency(sample) for sample in state.array_samples(None, None)[-1:]]


def _array_space(state: ArrayState, _: Version) -> list[Item]:
    used = sum(volume.provisioned_bytes for volume in state.volumes)
    array = state.identity
    return [{"hostname": array.name, "capacity": array.capacity_bytes, "total": used, "data_reduction": 1.0}]


def _controllers(state: ArrayState, _: Version) -> list[Item]:
    array = state.identity
    return [
        {"name": each.name, "mode": each.mode, "status": each.status, "model": array.model, "version": array.version}
        for each in state.controllers
    ]


def _hardware(state: ArrayState, _: Version) -> list[Item]:
    components: list[tuple[str, int | None]] = [(each.name, None) for each in state.controllers]
    components += [(port.name, port.speed_bits_per_second) for port in state.ports]
    return [{"name": name, "status": "ok", "details": None, "speed": speed} for name, speed in components]


def _ports(state: ArrayState, _: Version) -> list[Item]:
    """World wide names have no colons in REST 1, and there is no NVMe."""
    named = [target(port) for port in state.ports]
    columns = ("name", "iqn", "portal", "failover")
    return [
        {key: port[key] for key in columns} | {"wwn": port["wwn"] and port["wwn"].replace(":", "")} for port in named
    ]


def _network(state: ArrayState, _: Version) -> list[Item]:
    return [
        {
            "name": interface_name(port),
            "address": port.address,
            "hwaddr": port.mac_address,
            "enabled": port.enabled,
            "services": list(port.services),
            "speed": port.speed_bits_per_second,
            "mtu": 9000,
        }
        for port in state.ports
        if port.interface_type == "eth"
    ]


def _network_monitor(state: ArrayState, _: Version) -> list[Item]:
    return [
        {
            "name": interface_name(port),
            "time": _time(sample.time_ms),
            "received_bytes_per_sec": round(sample.received_bytes_per_second),
            "transmitted_bytes_per_sec": round(sample.transmitted_bytes_per_second),
            "received_packets_per_sec": round(sample.received_frames_per_second),
            "transmitted_packets_per_sec": round(sample.transmitted_frames_per_second),
            "total_errors_per_sec": round(sample.errors_per_second),
        }
        for port in state.ports
        if port.interface_type == "eth"
        for sample in [state.port_sample(port.name)]
    ]


def _hosts(state: ArrayState, _: Version) -> list[Item]:
    return [{"name": h.name, "wwn": list(h.wwns), "iqn": list(h.iqns), "hgroup": None} for h in state.hosts]


def _hosts_monitor(state: ArrayState, version: Version) -> list[Item]:
    return [{"name": h.name, **_monitor(state.host_sample(h.name), state, version)} for h in state.hosts]


def _hosts_latency(state: ArrayState, _: Version) -> list[Item]:
    return [{"name": host.name, **_latency(state.host_sample(host.name))} for host in state.hosts]


def _volumes(state: ArrayState, _: Version) -> list[Item]:
    return [{"name": v.name, "serial": v.serial, "size": v.provisioned_bytes, "source": None} for v in state.volumes]


def _volumes_space(state: ArrayState, _: Version) -> list[Item]:
    full = {"data_reduction": 1.0, "thin_provisioning": 0.0}
    sizes = {volume.name: volume.provisioned_bytes for volume in state.volumes}
    return [{"name": name, "size": size, "total": size, **full} for name, size in sizes.items()]


def _volumes_qos(state: ArrayState, version: Version) -> list[Item]:
    return [
        {"name": v.name, "bandwidth_limit": v.bandwidth_limit}
        | ({"iops_limit": v.iops_limit} if version >= _IOPS_LIMIT_SINCE else {})
        for v in state.volumes
    ]


def _volumes_connected(state: ArrayState, _: Version) -> list[Item]:
    return [{"name": c.volume, "host": c.host, "hgroup": None, "lun": c.lun} for c in state.connections]


def _volumes_monitor(state: ArrayState, version: Version) -> list[Item]:
    return [{"name": v.name, **_monitor(state.volume_sample(v.name), state, version)} for v in state.volumes]


def _volumes_latency(state: ArrayState, _: Version) -> list[Item]:
    return [{"name": volume.name, **_latency(state.volume_sample(volume.name))} for volume in state.volumes]


def _messages(_state: ArrayState, _: Version) -> list[Item]:
    return []


_MONITOR_QUERY, _LATENCY_QUERY = frozenset({"action=monitor"}), frozenset({"action=monitor", "latency"})
_PLAIN: frozenset[str] = frozenset()

ANSWERS: Mapping[tuple[str, frozenset[str]], tuple[Version, Callable[[ArrayState, Version], Item | list[Item]]]] = {
    ("array", _PLAIN): (_ALWAYS, _array),
    ("array", frozenset({"controllers"})): (_ALWAYS, _controllers),
    ("array", frozenset({"space"})): (_ALWAYS, _array_space),
    ("array", _MONITOR_QUERY): (_ALWAYS, _array_monitor),
    ("array", _LATENCY_QUERY): (_LATENCY_SINCE, _array_latency),
    ("hardware", _PLAIN): (_ALWAYS, _hardware),
    ("port", _PLAIN): (_ALWAYS, _ports),
    ("network", _PLAIN): (_ALWAYS, _network),
    ("network", _MONITOR_QUERY): (_PORT_TRAFFIC_SINCE, _network_monitor),
    ("host", _PLAIN): (_ALWAYS, _hosts),
    ("host", _MONITOR_QUERY): (_ALWAYS, _hosts_monitor),
    ("host", _LATENCY_QUERY): (_LATENCY_SINCE, _hosts_latency),
    ("volume", _PLAIN): (_ALWAYS, _volumes),
    ("volume", frozenset({"space"})): (_ALWAYS, _volumes_space),
    ("volume", frozenset({"qos"})): (_QOS_LIMIT_SINCE, _volumes_qos),
    ("volume", frozenset({"connect"})): (_ALWAYS, _volumes_connected),
    ("volume", _MONITOR_QUERY): (_ALWAYS, _volumes_monitor),
    ("volume", _LATENCY_QUERY): (_LATENCY_SINCE, _volumes_latency),
    ("message", frozenset({"open"})): (_ALWAYS, _messages),
}
"""Resource and parameters → first version that supports them, and the function that builds the response."""
