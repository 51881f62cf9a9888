"""The profiles are data: that data fits the catalogue and the tables, and what it says is honest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sanpath.catalogue.catalogue import metrics, planes
from sanpath.plugin import SourceEntity, SourceLink
from sanpath_collectors.prometheus import parse
from sanpath_collectors.prometheus.devices import Devices
from sanpath_collectors.prometheus.parse import Series
from sanpath_collectors.prometheus.profile import Profile, profiles
from sanpath_collectors.prometheus.samples import Samples
from sanpath_collectors.prometheus.tables import TABLES
from sanpath_collectors.prometheus.warnings import Remarks

FOLDER = Path(parse.__file__).parent
each_profile = pytest.mark.parametrize("key", profiles())


@each_profile
def test_every_metric_is_one_that_is_declared(key: str) -> None:
    declared = {(table.kind, column.metric) for table in TABLES for column in table.columns}
    for part in profiles()[key].entities:
        assert part.kind in metrics()
        assert part.plane is None or part.plane in planes()
        for metric, source in part.sources.items():
            assert (part.kind, metric) in declared
            assert source.series
            assert source.wraps_at is None or metric.endswith("_total")


@each_profile
def test_its_tables_are_those_of_the_collector(key: str) -> None:
    for table in profiles()[key].tables:
        alike = [t for t in TABLES if (t.kind, t.plane, t.columns) == (table.kind, table.plane, table.columns)]
        assert alike, f"{table.kind} on the plane {table.plane}"


@each_profile
def test_latencies_have_a_plane(key: str) -> None:
    for part in profiles()[key].entities:
        if any("latency" in metric or "service" in metric or "_mean" in metric for metric in part.sources):
            assert part.plane is not None


def test_the_readme_says_which_profiles_there_are_and_which_were_never_tried() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    rows = {m[1]: m[2] for m in re.finditer(r"^\| `(\w+)` (?:\| [^|]+ ){2}\| ([^|]+) \|$", readme, re.M)}
    for key, profile in profiles().items():
        assert rows[key].startswith("not verified on a live one") == (profile.verified == ""), key
        assert profile.mocked in rows[key]


@each_profile
def test_what_shows_an_exporter_is_asked_for(key: str) -> None:
    assert {*profiles()[key].present} <= {*profiles()[key].series, *profiles()[key].metadata_series}


def read(profile: Profile, *polls: list[Series]) -> list[dict[str, object]]:
    """Rows of the polls, as mappings."""
    remarks = Remarks(profile.title)
    devices = Devices(profile, remarks)
    samples = Samples(profile, devices, remarks, 60.0)
    found = []
    for series in polls:
        for _, rows in samples.rows(series, 0):
            found += [
                {"at": at, **{m: values[n] for m, values in rows.values.items()}} for n, at in enumerate(rows.seen)
            ]
    return found


def counter(value_at: dict[int, float], name: str = "node_disk_read_time_seconds_total") -> list[Series]:
    labels = {"__name__": name, "instance": "db7:9100", "device": "sda"}
    return [Series(labels, [(at * 1_000_000, value) for at, value in value_at.items()])]


def test_a_counter_of_32_bits_goes_on_where_it_wraps_and_a_restart_is_left_to_be_seen() -> None:
    wraps = 2**32 / 1000
    polls = [counter({15: wraps - 3.0, 30: wraps - 1.0}), counter({30: wraps - 1.0, 45: 1.0}), counter({60: 0.25})]
    result = [row["latency_seconds_read_total"] for row in read(profiles()["node_exporter"], *polls)]
    assert result[1] - result[0] == pytest.approx(2e9)
    assert result[2] - result[1] == pytest.approx(2e9)
    assert result[3] == 250_000_000  # from 1 s to 0.25 s: the host has started again


def test_each_scrape_is_told_once_though_polls_overlap() -> None:
    polls = [counter({15: 1.0, 30: 2.0}), counter({15: 1.0, 30: 2.0, 45: 3.0}), counter({30: 2.0, 45: 3.0})]
    assert [row["at"] for row in read(profiles()["node_exporter"], *polls)] == [15_000_000, 30_000_000, 45_000_000]


def test_a_sum_is_not_known_where_a_part_of_it_is_missing() -> None:
    def core(number: str, points: list[tuple[int, float]]) -> Series:
        labels = {"__name__": "node_cpu_seconds_total", "instance": "db7:9100", "cpu": number, "mode": "user"}
        return Series(labels, [(at * 1_000_000, value) for at, value in points])

    rows = read(profiles()["node_exporter"], [core("0", [(15, 1.0), (30, 2.0)]), core("1", [(15, 5.0)])])
    assert [row["cpu_busy_seconds_total"] for row in rows] == [6_000_000_000, None]


def osds(offsets: dict[str, int], first: int, last: int) -> list[Series]:
    """Reads of OSDs, ten a second, one OSD on each host. `offsets`: when in an interval of 15 s it is scraped."""
    return [
        Series(
            {"__name__": "ceph_osd_op_r", "instance": f"{host}:9926", "job": "ceph-exporter", "ceph_daemon": host},
            [(at * 1_000_000, 10.0 * at) for at in range(offset, last, 15) if at >= first],
        )
        for host, offset in offsets.items()
    ]


def test_the_sum_of_targets_that_are_scraped_one_after_the_other_is_of_the_last_sample_of_each() -> None:
    offsets = {"osd.0": 4, "osd.1": 1, "osd.2": 13}
    polls = [osds(offsets, 0, 50), osds(offsets, 50, 70), osds(offsets, 50, 95)]
    sums = {row["at"]: row["ops_read_total"] for row in read(profiles()["ceph"], *polls)}
    assert sums[4_000_000] is None  # osd.2 has no sample yet
    assert [sums[at * 1_000_000] for at in (19, 34, 49, 64, 79, 94)] == [
        10 * (at + (at - 3) + (at - 6)) for at in (19, 34, 49, 64, 79, 94)
    ]


def test_a_host_that_is_not_scraped_leaves_the_sum_of_the_cluster_unknown() -> None:
    series = osds({"osd.0": 4, "osd.1": 1}, 0, 95)
    series[1].points[:] = [point for point in series[1].points if point[0] != 46_000_000]
    sums = {row["at"]: row["ops_read_total"] for row in read(profiles()["ceph"], series)}
    assert [at for at, value in sums.items() if value is None] == [49_000_000]


def inventory_of(profile: Profile, metadata: list[Series], samples: list[Series]) -> dict[str, SourceEntity]:
    """The entities of a server, by their kind and id."""
    found = [item for item in items_of(profile, metadata, samples) if isinstance(item, SourceEntity)]
    return {f"{item.kind} {item.local_id}": item for item in found}


def items_of(profile: Profile, metadata: list[Series], samples: list[Series]) -> list[SourceEntity | SourceLink]:
    remarks = Remarks(profile.title)
    devices = Devices(profile, remarks)
    devices.learn(metadata, samples)
    Samples(profile, devices, remarks, 60.0).discover(samples)
    return [item for _, item in devices.inventory()]


def of_node(name: str, device: str, instance: str = "pve1:9100", **labels: str) -> Series:
    return Series({"__name__": name, "instance": instance, "device": device, **labels}, [(0, 1.0)])


def test_interfaces_with_the_address_of_a_bond_stay_apart() -> None:
    addresses = dict.fromkeys(("bond0", "eno1", "eno2", "bond0.100", "vmbr0"), "bc:24:11:00:00:01")
    addresses |= dict.fromkeys(("eno3", "eno3.20", "vmbr1", "tap100i0"), "bc:24:11:00:00:03")
    metadata = [of_node("node_network_info", device, address=address) for device, address in addresses.items()]
    metadata.append(of_node("node_network_info", "eno1", "pve2:9100", address="bc:24:11:00:00:03"))
    samples = [of_node("node_network_receive_bytes_total", device) for device in addresses]
    samples.append(of_node("node_network_receive_bytes_total", "eno1", "pve2:9100"))
    found = inventory_of(profiles()["node_exporter"], metadata, samples)
    ports = {key.removeprefix("hba "): item.ids for key, item in found.items() if item.kind == "hba"}
    assert ports == {
        **{f"pve1/{device}": {} for device in ("bond0", "eno1", "eno2")},
        "pve1/eno3": {"mac": ("bc:24:11:00:00:03",)},  # what is on top of it is left out
        "pve2/eno1": {"mac": ("bc:24:11:00:00:03",)},  # another host
    }


def test_the_paths_of_native_nvme_multipath_belong_to_their_device() -> None:
    names = ("nvme0n1", "nvme0c0n1", "nvme1n1", "nvme1n1p1", "nvme0c0n1p1", "nvme2c0n1")
    samples = [of_node("node_disk_reads_completed_total", device) for device in names]
    items = items_of(profiles()["node_exporter"], [], samples)
    luns = [item.local_id for item in items if isinstance(item, SourceEntity) and item.kind == "lun"]
    links = [item for item in items if isinstance(item, SourceLink) and item.relation == "member_of"]
    assert luns == ["pve1/nvme0n1", "pve1/nvme0c0n1", "pve1/nvme1n1", "pve1/nvme2c0n1"]
    assert [(link.from_end[1], link.to_end[1]) for link in links] == [("pve1/nvme0c0n1", "pve1/nvme0n1")]


def test_osds_and_images_of_two_jobs_are_one_cluster_where_the_label_says_so() -> None:
    osd = {"__name__": "ceph_osd_op_r", "job": "ceph-exporter", "cluster": "c1", "ceph_daemon": "osd.0"}
    image = {"__name__": "ceph_rbd_read_ops", "job": "ceph", "cluster": "c1", "pool": "rbd", "image": "vol1"}
    samples = [Series(labels, [(0, 1.0)]) for labels in (osd, image)]
    assert [*inventory_of(profiles()["ceph"], [], samples)] == ["array c1", "volume c1/rbd/vol1"]
