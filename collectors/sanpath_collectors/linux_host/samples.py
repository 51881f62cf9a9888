"""Turns the files of one poll into rows. No I/O.

`seen_us`: time of the poll on the recorder's clock; `device_time_us`: on the host's clock, None: the same clock."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sanpath.plugin import Rows, rows_of
from sanpath_collectors.linux_host import parse
from sanpath_collectors.linux_host.paths import HostPath, nvme_head, usable
from sanpath_collectors.linux_host.snapshot import Snapshot
from sanpath_collectors.linux_host.tables import DISKSTATS, FC_PAYLOAD, FC_STATISTICS, HBA, HOST, LUN, NET_DEV, PATH

_WORD_BYTES = 4
_MEGABYTE = 2**20
_MIN_MEGABYTES = 16
"""Minimum payload for recognising the unit of word counters: the files are read one after the other."""
_SAME_PAYLOAD = 0.1
"""Relative difference up to which both counters mean the same payload."""
Row = Mapping[str, int | float | None]


def luns(
    stats: Mapping[str, Sequence[int]], devices: Sequence[str], seen_us: int, device_time_us: int | None
) -> Rows:
    """One row for each block device. Fields that this kernel lacks are left out."""
    fields = min((len(stats[device]) for device in devices), default=0)
    available = {metric: field for metric, field in DISKSTATS.items() if field <= fields}
    paths: dict[str, list[Sequence[int]]] = {}
    for name in stats:
        if head := nvme_head(name):
            paths.setdefault(head, []).append(stats[name])
    counted = {device: _combine_paths(stats[device], paths.get(device, ())) for device in devices}
    by_device = {
        device: {metric: counters[field - 1] for metric, field in available.items()}
        for device, counters in counted.items()
    }
    return rows_of(LUN, by_device, seen_us, device_time_us)


def _combine_paths(own: Sequence[int], paths: Sequence[Sequence[int]]) -> Sequence[int]:
    """Return the counters of a block device. `paths`: the counters of the paths to it, for an NVMe device only.

    Before Linux 6.2 an NVMe device with several paths counts nothing itself: it has done what its paths have done
    together, and was busy for at least as long as the busiest of them."""
    if not paths or any(own):
        return own
    together = [sum(counters) for counters in zip(*paths, strict=False)]
    busy = DISKSTATS["busy_seconds_total"] - 1
    together[busy] = max(counters[busy] for counters in paths)
    return together


def host(
    snapshot: Snapshot, name: str, ratios: Mapping[str, float | None], seen_us: int, device_time_us: int | None
) -> Rows | None:
    """One row for all processors together; None: /proc/stat cannot be read. `ratios`: metrics computed from two
    polls."""
    values = processors(snapshot, ratios)
    return None if values is None else rows_of(HOST, {name: values}, seen_us, device_time_us)


def processors(snapshot: Snapshot, ratios: Mapping[str, float | None]) -> dict[str, int | float | None] | None:
    """Times of all processors together, `ratios`, and TCP's segments; None: /proc/stat cannot be read."""
    times = parse.processor_times(snapshot.content("/proc/stat"))
    if times is None:
        return None
    segments = parse.tcp_segments(snapshot.content("/proc/net/snmp"))
    return {**times, **ratios, **segments}


def fibre_channel(
    snapshot: Snapshot, ports: Collection[str], seen_us: int, device_time_us: int | None
) -> Rows | None:
    """One row for each Fibre Channel port that exists; None: there is none."""
    by_port = {port: _fc_port(snapshot, port) for port in ports if snapshot.has(f"/sys/class/fc_host/{port}")}
    return rows_of(HBA, by_port, seen_us, device_time_us) if by_port else None


def fc_counters(snapshot: Snapshot, fc_host: str, files: Mapping[str, str]) -> dict[str, int | None]:
    """Counters of a Fibre Channel port. `files`: metric → file below `statistics`. Words become bytes."""

    def values(named_files: Mapping[str, str]) -> dict[str, int | None]:
        folder = f"/sys/class/fc_host/{fc_host}/statistics"
        return {metric: parse.statistic(snapshot.text(f"{folder}/{file}")) for metric, file in named_files.items()}

    counters, megabytes = values(files), values(FC_PAYLOAD)
    unit = 1 if _counts_bytes(counters, megabytes) else _WORD_BYTES
    for metric in FC_PAYLOAD:
        words = counters[metric]
        counters[metric] = None if words is None else words * unit
    return counters


def _counts_bytes(words: Mapping[str, int | None], megabytes: Mapping[str, int | None]) -> bool:
    """Whether a port's counters of words hold bytes, as those of qla2xxx do on kernels before 5.12 (drivers/scsi/
    qla2xxx/qla_attr.c, qla2x00_get_fc_host_stats): in both directions they are as large as the payload in bytes."""
    pairs = [(words[metric], megabytes[metric]) for metric in FC_PAYLOAD]
    known = [(count, size * _MEGABYTE) for count, size in pairs if count is not None and size]
    is_enough = sum(size for _, size in known) >= _MIN_MEGABYTES * _MEGABYTE
    return is_enough and all(abs(count - size) <= max(_MEGABYTE, _SAME_PAYLOAD * size) for count, size in known)


def _fc_port(snapshot: Snapshot, fc_host: str) -> Row:
    folder = f"/sys/class/fc_host/{fc_host}"
    speeds = parse.speeds(snapshot.text(f"{folder}/speed"))
    link_up = snapshot.text(f"{folder}/port_state") == "Online"
    return fc_counters(snapshot, fc_host, FC_STATISTICS) | {
        "link_up": int(link_up),
        "link_speed_bits_per_second": speeds[0] if link_up and len(speeds) == 1 else None,
    }


def network(
    snapshot: Snapshot,
    interfaces: Collection[str],
    rdma_interfaces: Collection[str],
    seen_us: int,
    device_time_us: int | None,
) -> Rows | None:
    """One row for each network interface that exists; None: there is none. `rdma_interfaces`: their storage traffic
    bypasses the kernel, which does not count its bytes."""
    values = parse.net_dev(snapshot.content("/proc/net/dev"))
    by_interface = {
        name: {
            metric: None if name in rdma_interfaces and metric.startswith("bytes_") else values[name][field]
            for metric, field in NET_DEV.items()
        }
        | {"link_up": int(snapshot.text(f"/sys/class/net/{name}/carrier") == "1")}
        for name in interfaces
        if name in values
    }
    return rows_of(HBA, by_interface, seen_us, device_time_us) if by_interface else None


def paths(states: Mapping[HostPath, str], seen_us: int, device_time_us: int | None) -> Rows:
    """One row for each path, including paths that no longer exist."""
    is_usable = {path.id: usable(state) for path, state in states.items()}
    by_path = {path: {"path_usable": None if flag is None else int(flag)} for path, flag in is_usable.items()}
    return rows_of(PATH, by_path, seen_us, device_time_us)
