"""One model of an array in the terms of each maker's Prometheus exporter.

Names, labels and units are those of the exporters' own sources and answers: pure-fa-openmetrics-exporter 1.0.26,
Harvest of August 2026, powerstore-metrics-exporter 1.0.1, pstore_exporter 2.3.1, powermax_exporter,
spectrum-virtualize-exporter 0.11.4, and the documented metrics of HPE Storage Array Exporter 1.0.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

Series = tuple[Mapping[str, str], float]
"""Labels with the name of the metric as `__name__`, and the value."""
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Figures:
    """One direction of a volume's I/O. `qos_limit_seconds`: a wait apart from the service time."""

    ops_per_second: float = 0.0
    bytes_per_second: float = 0.0
    service_seconds: float = 0.0
    queue_seconds: float = 0.0
    qos_limit_seconds: float = 0.0

    @property
    def total_seconds(self) -> float:
        """The latency of an array that reports no parts of it."""
        return self.service_seconds + self.queue_seconds + self.qos_limit_seconds


@dataclass(frozen=True, slots=True)
class ArrayFigures:
    """An array with one volume, two controllers of which the first serves it, and one Fibre Channel port.

    Limits: operations and bytes a second; None: no limit. `*_ratio`: of the first controller.
    """

    name: str
    volume: str = "vol01"
    naa: str = ""
    wwpn: str = ""
    port_bits_per_second: float = 16e9
    read: Figures = field(default_factory=Figures)
    write: Figures = field(default_factory=Figures)
    ops_limit: float | None = None
    bytes_limit: float | None = None
    controller_busy_ratio: float = 0.1
    media_busy_ratio: float = 0.1
    write_cache_used_ratio: float = 0.1

    @property
    def directions(self) -> tuple[tuple[str, Figures], tuple[str, Figures]]:
        """Reads and writes, by name."""
        return ("read", self.read), ("write", self.write)


def pure_openmetrics(array: ArrayFigures) -> Iterator[Series]:
    """pure-fa-openmetrics-exporter: array, volume and port, in microseconds."""
    host = {"instance": "pure-exporter:9490"}
    yield {"__name__": "purefa_info", "array_name": array.name, "os": "Purity//FA", "version": "6.6.3", **host}, 1
    volume = {"name": array.volume, "naa_id": array.naa.upper().replace("NAA.", "naa."), **host}
    for kind, labels in (("array", host), ("volume", volume)):
        for direction, figures in array.directions:
            times = {
                f"service_usec_per_{direction}_op": figures.service_seconds,
                f"queue_usec_per_{direction}_op": figures.queue_seconds,
                f"qos_rate_limit_usec_per_{direction}_op": figures.qos_limit_seconds,
                f"san_usec_per_{direction}_op": 4e-5 if figures.ops_per_second else 0.0,
            }
            for dimension, seconds in times.items():
                name = f"purefa_{kind}_performance_latency_usec"
                yield {"__name__": name, "dimension": dimension, **labels}, round(seconds * 1e6)
            name, dimension = f"purefa_{kind}_performance_throughput_iops", f"{direction}s_per_sec"
            yield {"__name__": name, "dimension": dimension, **labels}, round(figures.ops_per_second)
            name, dimension = f"purefa_{kind}_performance_bandwidth_bytes", f"{direction}_bytes_per_sec"
            yield {"__name__": name, "dimension": dimension, **labels}, round(figures.bytes_per_second)
    limits = {"qos_bandwidth_bytes_per_sec_limit": array.bytes_limit, "qos_iops_limit": array.ops_limit}
    for name, limit in limits.items():
        if limit is not None:
            yield {"__name__": f"purefa_volume_{name}", **volume}, limit
    port = {"name": "CT0.FC0", **host}
    wwn = ":".join(array.wwpn[n : n + 2] for n in range(0, 16, 2)).upper()
    yield {"__name__": "purefa_network_port_info", "wwn": wwn, **port}, 1
    speed = {"type": "fc", "services": "scsi-fc", "enabled": "true"}
    yield {"__name__": "purefa_network_interface_speed_bandwidth_bytes", **port, **speed}, array.port_bits_per_second
    for dimension, figures in (
        ("transmitted_bytes_per_sec", array.read),
        ("received_bytes_per_sec", array.write),
    ):
        labels = {"dimension": dimension, "type": "fc", **port}
        value = figures.bytes_per_second
        yield {"__name__": "purefa_network_interface_performance_bandwidth_bytes", **labels}, value


def ontap_harvest(array: ArrayFigures) -> Iterator[Series]:
    """Harvest: a LUN, its QoS policy, two nodes and a port. Latencies hold the wait for the policy."""
    cluster = {"datacenter": "lab", "cluster": array.name, "instance": "harvest:12990"}
    lun = {"svm": "svm_san", "volume": "sqlvol", "lun": array.volume, **cluster}
    serial = array.naa.removeprefix("naa.600a0980")
    yield {"__name__": "lun_labels", "serial_hex": serial, "state": "online", **lun, "node": f"{array.name}-01"}, 1
    for direction, figures in array.directions:
        yield {"__name__": f"lun_{direction}_ops", **lun}, figures.ops_per_second
        yield {"__name__": f"lun_{direction}_data", **lun}, figures.bytes_per_second
        if figures.ops_per_second:
            yield {"__name__": f"lun_avg_{direction}_latency", **lun}, figures.total_seconds * 1e6
        port = {"node": f"{array.name}-01", "port": "0e", **cluster}
        yield {"__name__": f"fcp_{direction}_data", **port}, figures.bytes_per_second
    yield {"__name__": "fcp_max_speed", "node": f"{array.name}-01", "port": "0e", **cluster}, 32
    if array.ops_limit is not None or array.bytes_limit is not None:
        workload = {"policy_group": "gold", "wid": "12001", "workload": "lun1-wid12001", **lun}
        yield {"__name__": "qos_ops", **workload}, array.read.ops_per_second + array.write.ops_per_second
        policy = {"name": "gold", "class": "user_defined", "svm": "svm_san", **cluster}
        limits = {"iops": array.ops_limit, "mbps": array.bytes_limit and array.bytes_limit / 1e6}
        for unit, limit in limits.items():
            if limit is not None:
                yield {"__name__": f"qos_policy_fixed_max_throughput_{unit}", **policy}, limit
    for number, share in ((1, 1.0), (2, 0.1)):
        node = {"node": f"{array.name}-0{number}", **cluster}
        yield {"__name__": "node_cpu_busy", **node}, 100 * share * array.controller_busy_ratio
        yield {"__name__": "node_disk_max_busy", **node}, 100 * share * array.media_busy_ratio


def powerstore_exporter(array: ArrayFigures) -> Iterator[Series]:
    """powerstore-metrics-exporter of Dell: the volume by its name, the appliance's processors as a ratio."""
    labels = {"IP": "192.0.2.9", "instance": "pst-exporter:9010"}
    cluster = {"name": array.name, "global_id": "PS00d01e1bb312", **labels}
    yield {"__name__": "powerstore_cluster", **cluster}, 1
    volume = {"volume_id": array.volume, "appliance_id": "A1", **labels}
    for direction, figures in array.directions:
        prefix = f"powerstore_metricVolume_avg_{direction}"
        yield {"__name__": f"{prefix}_iops", **volume}, figures.ops_per_second
        yield {"__name__": f"{prefix}_bandwidth", **volume}, figures.bytes_per_second
        yield {"__name__": f"{prefix}_latency", **volume}, figures.total_seconds * 1e6
    appliance = {"appliance_name": "Appliance-1", "appliance_id": "A1", **labels}
    yield {"__name__": "powerstore_perf_avg_io_workload_cpu_utilization", **appliance}, array.controller_busy_ratio


def pstore_exporter(array: ArrayFigures) -> Iterator[Series]:
    """pstore_exporter: the volume and the appliance's processors."""
    labels = {"array": array.name, "cluster_id": "0", "appliance_name": "Appliance-1", "instance": "pstore:9446"}
    volume = {"volume_name": array.volume, "volume_id": "v-1", **labels}
    for direction, figures in array.directions:
        prefix = f"powerstore_volume_{direction}"
        yield {"__name__": f"{prefix}_iops", **volume}, figures.ops_per_second
        yield {"__name__": f"{prefix}_bandwidth_bytes_per_second", **volume}, figures.bytes_per_second
        yield {"__name__": f"{prefix}_latency_microseconds", **volume}, figures.total_seconds * 1e6
    yield {"__name__": "powerstore_appliance_io_workload_cpu_utilization", **labels}, array.controller_busy_ratio


def powermax_exporter(array: ArrayFigures) -> Iterator[Series]:
    """powermax_exporter: one process for the array, one for its storage groups, one for its ports."""
    whole = {"symmid": array.name, "type": "array", "instance": "pmax:9100"}
    group = {"symmid": array.name, "type": "storagegroup", "name": array.volume, "instance": "pmax:9101"}
    port = {"symmid": array.name, "type": "feport", "director": "FA-1D", "port": "4", "instance": "pmax:9102"}
    for direction, figures in array.directions:
        word, moved = ("Read", "Reads") if direction == "read" else ("Write", "Written")
        for labels in (whole, group):
            yield {"__name__": f"Host{word}s", **labels}, figures.ops_per_second
            yield {"__name__": f"HostMB{moved}", **labels}, figures.bytes_per_second / _MIB
            seconds = figures.service_seconds + figures.queue_seconds
            yield {"__name__": f"{word}ResponseTime", **labels}, seconds * 1e3
        yield {"__name__": f"MB{moved.removesuffix('s')}", **port}, figures.bytes_per_second / _MIB
    yield {"__name__": "AvgQOSDelayPerIO", **group}, _mean_wait(array) * 1e3
    yield {"__name__": "FEUtilization", **whole}, 100 * array.controller_busy_ratio
    yield {"__name__": "DiskUtilization", **whole}, 100 * array.media_busy_ratio
    yield {"__name__": "PercentCacheWP", **whole}, 100 * array.write_cache_used_ratio


def _mean_wait(array: ArrayFigures) -> float:
    """Mean wait for a limit over reads and writes, in seconds."""
    operations = sum(figures.ops_per_second for _, figures in array.directions)
    waited = sum(figures.ops_per_second * figures.qos_limit_seconds for _, figures in array.directions)
    return waited / operations if operations else 0.0


def hpe_array_exporter(array: ArrayFigures) -> Iterator[Series]:
    """HPE Storage Array Exporter of an Alletra 9000: volumes only."""
    labels = {"array": array.name, "instance": "hpe-exporter:8080", "cpg": "SSD_r6", "volume": array.volume}
    for direction, figures in array.directions:
        prefix = "hpealletra9000_volume_"
        yield {"__name__": f"{prefix}{direction}s_per_second_avg5m", **labels}, figures.ops_per_second
        yield {"__name__": f"{prefix}{direction}_bytes_per_second_avg5m", **labels}, figures.bytes_per_second
        yield {"__name__": f"{prefix}seconds_per_{direction}_avg5m", **labels}, figures.total_seconds


def spectrum_virtualize(array: ArrayFigures) -> Iterator[Series]:
    """spectrum-virtualize-exporter: whole numbers, of the system and of its two nodes."""
    labels = {"resource": array.name, "instance": "svc-exporter:9119"}
    for direction, figures in array.directions:
        prefix = f"spectrum_systemstats_vdisk_{direction[0]}"
        yield {"__name__": f"{prefix}_io", **labels}, float(int(figures.ops_per_second))
        yield {"__name__": f"{prefix}_mb", **labels}, float(int(figures.bytes_per_second / _MIB))
        yield {"__name__": f"{prefix}_ms", **labels}, float(int(figures.total_seconds * 1e3))
    for number, share in ((1, 1.0), (2, 0.1)):
        node = {"node": f"node{number}", **labels}
        busy, used = 100 * share * array.controller_busy_ratio, 100 * share * array.write_cache_used_ratio
        yield {"__name__": "spectrum_nodestats_cpu_pc", **node}, float(int(busy))
        yield {"__name__": "spectrum_nodestats_write_cache_pc", **node}, float(int(used))
    port = {"node_name": "node1", "port_id": "1", "wwpn": array.wwpn.upper(), **labels}
    yield {"__name__": "spectrum_portfc_status", **port}, 0


EXPORTERS: Mapping[str, Callable[[ArrayFigures], Iterator[Series]]] = {
    "flasharray_openmetrics": pure_openmetrics,
    "ontap_harvest": ontap_harvest,
    "powerstore_exporter": powerstore_exporter,
    "pstore_exporter": pstore_exporter,
    "powermax_exporter": powermax_exporter,
    "hpe_array_exporter": hpe_array_exporter,
    "spectrum_virtualize": spectrum_virtualize,
}
"""Exporter → the series that it has of an array."""
