"""Samples over SOAP: rates by hand, every sample once, gaps, units, and answers that are not what was asked for."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from pyVmomi import vmodl

from sanpath.plugin import CollectorError, Failure
from sanpath_collectors.vsphere.parse import sample_times
from sanpath_collectors.vsphere.tables import HBA, LUN, PATH, VDISK
from tests.collectors.vsphere.asking import Ask
from tests.collectors.vsphere.site import NAA, measured, site
from tests.collectors.vsphere.vcenter import STARTED, Vcenter

STARTED_US = round(STARTED.timestamp() * 1e6)
LUN_ID = f"esx7/{NAA}"


def grown(rows: list[dict[str, Any]], counter: str) -> list[float]:
    """Differences of a counter from row to row."""
    values = [row[counter] for row in rows if row.get(counter) is not None]
    return [after - before for before, after in pairwise(values)]


def at(rows: list[dict[str, Any]]) -> list[float]:
    return [(row["device_time"] - STARTED_US) / 1e6 for row in rows]


def advancing(vcenter: Vcenter, steps: list[tuple[list[int], dict[str, list[object]]]]) -> Callable[[int], None]:
    """Before each poll other samples, the clock at the newest of them."""

    def change(number: int) -> None:
        offsets, values = steps[min(number, len(steps)) - 1]
        vcenter.seconds = max(offsets, default=0) + 5.0
        measured(vcenter, offsets, **values)

    return change


def test_a_lun_counts_what_it_did_and_tells_where_its_io_waited(ask: Ask) -> None:
    vcenter = site()
    values: dict[str, list[object]] = {
        "disk_numberRead": [125_000],
        "disk_read": [400_000],
        "disk_deviceLatency": [5],
        "disk_kernelLatency": [77],
        "disk_queueLatency": [76],
        "disk_totalLatency": [82],
        "disk_maxQueueDepth": [32],
        "disk_commandsAborted": [2],
        "datastore_datastoreVMObservedLatency": [81_920],
        "datastore_siocActiveTimePercentage": [2500],
    }
    reported = ask(vcenter, change=advancing(vcenter, [([20], values)]))
    first, row = reported.rows("lun", LUN_ID)
    assert at([first, row]) == [0, 20]
    assert (first["ops_read_total"], row["ops_read_total"]) == (0, 125_000)  # 6,250 a second
    assert row["bytes_read_total"] == 20 * 400_000 * 1024
    assert row["device_seconds_mean"] == pytest.approx(0.005)
    assert row["kernel_seconds_mean"] == pytest.approx(0.077)
    assert row["queue_seconds_mean"] == pytest.approx(0.076)
    assert row["guest_seconds_mean"] == pytest.approx(0.082)
    assert (row["queue_depth"], row["aborts_total"], row["covers"]) == (32, 2, 20.0)
    assert row["vm_seconds_mean"] == pytest.approx(0.08192)
    assert row["sioc_active_ratio"] == pytest.approx(0.25)


@pytest.mark.parametrize(("second", "known"), [(1000, [980, 1000, 0, 20, 40]), (160, [140, 160])])
def test_a_clock_that_is_set_back_loses_no_later_samples(ask: Ask, second: int, known: list[float]) -> None:
    """From 1,000 s to 20 s; a host that was ahead of its time was set right. A reply that is 140 s old is only late:
    its samples were read before."""
    values: dict[str, list[object]] = {"disk_numberRead": [1000]}
    steps: list[tuple[list[int], dict[str, list[object]]]] = [([at], values) for at in (second, 20, 40)]
    vcenter = site()
    rows = ask(vcenter, polls=3, change=advancing(vcenter, steps)).rows("lun", LUN_ID)
    assert at(rows) == known
    assert grown(rows, "ops_read_total")[-1] == 1000


def test_an_adapter_a_path_a_disk_and_the_processors_are_told_of(ask: Ask) -> None:
    vcenter = site()
    values: dict[str, list[object]] = {
        "storageAdapter_numberReadAveraged": [6250],
        "storageAdapter_outstandingIOs": [32],
        "storageAdapter_queued": [480],
        "storageAdapter_queueDepth": [4096],
        "storagePath_numberWriteAveraged": [100],
        "storagePath_write": [6400],
        "storagePath_totalWriteLatency": [3],
        "virtualDisk_numberReadAveraged": [6250],
        "virtualDisk_readLatencyUS": [81_920],
        "virtualDisk_totalReadLatency": [81],
        "virtualDisk_readOIO": [512],
        "cpu_usage": [1234],
    }
    reported = ask(vcenter, change=advancing(vcenter, [([20], values)]))
    adapter = reported.rows("hba", "esx7/vmhba2")[-1]
    assert (adapter["ops_read_total"], adapter["in_flight"], adapter["queued"]) == (125_000, 32, 480)
    path = next(row for row in reported.rows("path", "esx7/vmhba2:C0:T0:L1") if row.get("ops_write_total"))
    assert (path["ops_write_total"], path["bytes_write_total"]) == (2000, 6400 * 1024 * 20)
    assert path["guest_seconds_mean_write"] == pytest.approx(0.003)
    disk = reported.rows("vdisk", "sqlvm1/scsi1:0")[-1]
    assert disk["latency_seconds_read_total"] / disk["ops_read_total"] == pytest.approx(0.08192)  # microseconds
    assert disk["latency_seconds_mean_read"] == pytest.approx(0.081)
    assert disk["in_flight_read"] == 512
    assert reported.rows("host", "esx7")[-1]["cpu_busy_ratio"] == pytest.approx(0.1234)


@pytest.mark.parametrize("table", [LUN, HBA, PATH, VDISK], ids=lambda table: table.kind)
def test_means_in_whole_milliseconds_are_marked_so(table: Any) -> None:
    coarse = {c.metric: c.resolution for c in table.columns if c.scale == 1e-3}
    assert coarse
    assert set(coarse.values()) == {1e-3}
    fine = {column.metric: column.resolution for column in table.columns if column.scale in (1e-6, 1e-9)}
    assert set(fine.values()) <= {0.0}


def test_every_sample_is_taken_once_whatever_their_order(ask: Ask) -> None:
    """vCenter answers oldest first, its simulator newest first; samples come late, and several at once."""
    vcenter = site()
    steps: list[tuple[list[int], dict[str, list[object]]]] = [
        ([20, 40, 60], {"disk_numberRead": [1, 2, 3]}),
        ([40, 60], {"disk_numberRead": [2, 3]}),
        ([120, 100, 80, 60], {"disk_numberRead": [6, 5, 4, 3]}),
    ]
    rows = ask(vcenter, polls=3, change=advancing(vcenter, steps)).rows("lun", LUN_ID)
    assert at(rows) == [40, 60, 80, 100, 120]  # 40 is the begin of the first interval
    assert grown(rows, "ops_read_total") == [3, 4, 5, 6]


def test_a_gap_is_told_and_counters_begin_again(ask: Ask) -> None:
    vcenter = site()
    steps: list[tuple[list[int], dict[str, list[object]]]] = [
        ([20], {"disk_numberRead": [100]}),
        ([100], {"disk_numberRead": [50]}),
    ]
    reported = ask(vcenter, polls=2, change=advancing(vcenter, steps))
    gaps = [gap for gap in reported.events("samples-missing") if gap["entity"] == "esx7"]
    assert [(gap["samples"], gap["to_us"] - gap["from_us"]) for gap in gaps] == [(3, 80_000_000)]
    rows = reported.rows("lun", LUN_ID)
    assert [(when, row["ops_read_total"]) for when, row in zip(at(rows), rows, strict=True)] == [
        (0, 0),
        (20, 100),
        (80, 0),
        (100, 50),
    ]


def test_a_gap_inside_an_answer_is_one_too(ask: Ask) -> None:
    vcenter = site()
    steps: list[tuple[list[int], dict[str, list[object]]]] = [
        ([20], {"disk_numberRead": [100]}),
        ([40, 60, 120, 140], {"disk_numberRead": [10, 20, 30, 40]}),
    ]
    reported = ask(vcenter, polls=2, change=advancing(vcenter, steps))
    gaps = [gap for gap in reported.events("samples-missing") if gap["entity"] == "esx7"]
    assert [(gap["samples"], gap["to_us"] - gap["from_us"]) for gap in gaps] == [(2, 60_000_000)]
    rows = reported.rows("lun", LUN_ID)
    assert [(when, row["ops_read_total"]) for when, row in zip(at(rows), rows, strict=True)] == [
        (0, 0),
        (20, 100),
        (40, 110),
        (60, 130),
        (100, 0),
        (120, 30),
        (140, 70),
    ]


def test_intervals_of_which_nothing_is_known_are_left_blank(ask: Ask) -> None:
    vcenter = site()
    steps: list[tuple[list[int], dict[str, list[object]]]] = [
        ([20], {"disk_numberRead": [5], "disk_deviceLatency": [4]}),
        ([20, 40, 60, 80], {"disk_numberRead": [5, None, -1, 7], "disk_deviceLatency": [4, None, -1, 6]}),
    ]
    rows = ask(vcenter, polls=2, change=advancing(vcenter, steps)).rows("lun", LUN_ID)
    result = {
        when: (row["ops_read_total"], row["device_seconds_mean"]) for when, row in zip(at(rows), rows, strict=True)
    }
    assert result[40] == (None, None)
    assert result[80] == (7, pytest.approx(0.006))
    begins = [when for when, row in zip(at(rows), rows, strict=True) if row["ops_read_total"] == 0]
    assert begins == [0, 60]


def test_a_counter_that_the_server_lacks_is_named_with_what_stays_unknown(ask: Ask) -> None:
    vcenter = site()
    del vcenter.counters["virtualDisk.readLatencyUS.latest"]
    for name in [name for name in vcenter.counters if name.startswith("storagePath.")]:
        del vcenter.counters[name]
    reported = ask(vcenter, change=advancing(vcenter, [([20], {"virtualDisk_totalReadLatency": [7]})]))
    assert reported.check is not None
    lines = "\n".join(reported.check.unreadable)
    assert "readLatencyUS.latest" in lines
    assert "counters storagePath" in lines
    assert "whether all paths are used is unknown" in lines
    assert len(reported.events("counters-missing")) == 2
    disk = reported.rows("vdisk", "sqlvm1/scsi1:0")[-1]
    assert "latency_seconds_read_total" not in disk  # never asked
    assert disk["latency_seconds_mean_read"] == pytest.approx(0.007)


def test_samples_that_a_host_does_not_have_are_named_at_the_check(ask: Ask) -> None:
    vcenter = site()
    measured(vcenter, [20])
    offsets, series = vcenter.samples["host-1"]
    vcenter.samples["host-1"] = (
        offsets,
        {key: v for key, v in series.items() if not key[0].startswith("storagePath")},
    )
    check = ask(vcenter).check
    assert check is not None
    assert [line for line in check.unreadable if line.startswith("samples of ")] == [
        "samples of storagePath on esx7: whether all paths are used is unknown"
    ]


def test_ids_and_instances_that_nobody_asked_for_are_left_out(ask: Ask) -> None:
    vcenter = site()
    vcenter.extra_counters = [10042]

    def change(number: int) -> None:
        measured(vcenter, [20 * number])
        _, series = vcenter.samples["host-1"]
        series["disk.numberRead.summation", "datastore-59"] = "4"
        series["disk.numberRead.summation", ""] = "9"

    reported = ask(vcenter, polls=2, change=change)
    assert reported.rows("lun", LUN_ID)
    assert not reported.rows("lun", "esx7/datastore-59")
    assert not reported.rows("lun", "esx7/")


def test_a_series_with_fewer_values_than_samples_is_left_out_and_told(ask: Ask) -> None:
    """The normal form leaves zeros out; nobody could tell which."""
    vcenter = site()

    def change(_: int) -> None:
        measured(vcenter, [20, 40], disk_deviceLatency=[4, 5])
        _, series = vcenter.samples["host-1"]
        series["disk.numberRead.summation", NAA] = "7"

    reported = ask(vcenter, change=change)
    row = reported.rows("lun", LUN_ID)[-1]
    assert (row["ops_read_total"], row["device_seconds_mean"]) == (None, pytest.approx(0.005))
    (result,) = reported.events("values-missing")
    assert (result["entity"], result["series"]) == ("esx7", 1)


def test_a_counter_in_another_unit_is_brought_to_the_same(ask: Ask) -> None:
    """A release that gives microseconds where others give milliseconds."""
    vcenter = site()
    vcenter.units["disk.deviceLatency.average"] = "microsecond"
    reported = ask(vcenter, change=advancing(vcenter, [([20], {"disk_deviceLatency": [730]})]))
    assert reported.rows("lun", LUN_ID)[-1]["device_seconds_mean"] == pytest.approx(0.00073)


def test_a_counter_in_a_unit_that_nobody_knows_is_not_read(ask: Ask) -> None:
    vcenter = site()
    vcenter.units["disk.deviceLatency.average"] = "fortnight"
    reported = ask(vcenter, change=advancing(vcenter, [([20], {"disk_deviceLatency": [730]})]))
    assert "device_seconds_mean" not in reported.rows("lun", LUN_ID)[-1]
    assert any("deviceLatency.average" in event["text"] for event in reported.events("counters-missing"))


def test_more_hosts_than_the_administrator_allows_are_asked_in_smaller_calls(ask: Ask) -> None:
    vcenter = site()
    for number in range(2, 12):
        properties = dict(vcenter.objects["HostSystem", "host-1"], name=f"esx{number}0")
        vcenter.objects["HostSystem", f"host-{number}"] = properties
    vcenter.most_metrics = 4

    def change(_: int) -> None:
        measured(vcenter, [20])
        for host in range(2, 12):
            vcenter.samples[f"host-{host}"] = vcenter.samples["host-1"]

    reported = ask(vcenter, change=change)
    assert [row["ops_read_total"] for row in reported.rows("lun", f"esx110/{NAA}")] == [0, 0]
    assert not reported.events("no-samples")


def test_a_machine_that_has_gone_leaves_the_others(ask: Ask) -> None:
    vcenter = site()
    vcenter.objects["VirtualMachine", "vm-2"] = dict(vcenter.objects["VirtualMachine", "vm-1"], name="other")

    def change(number: int) -> None:
        measured(vcenter, [20 * number], virtualDisk_numberReadAveraged=[3])
        vcenter.samples["vm-2"] = vcenter.samples["vm-1"]
        if number == 2:
            del vcenter.objects["VirtualMachine", "vm-2"]

    reported = ask(vcenter, polls=2, change=change)
    assert [row["ops_read_total"] for row in reported.rows("vdisk", "sqlvm1/scsi1:0")] == [0, 60, 120]
    (result,) = reported.events("no-samples")
    assert result["entity"] == "other"
    assert "ManagedObjectNotFound" in result["why"]


def test_a_host_without_samples_is_told_once(ask: Ask) -> None:
    reported = ask(site(), polls=2)
    assert [event["entity"] for event in reported.events("no-samples")] == ["esx7", "sqlvm1"]


def test_samples_that_stop_are_late(ask: Ask) -> None:
    vcenter = site()

    def change(number: int) -> None:
        measured(vcenter, [20])
        vcenter.seconds = 30.0 + 100.0 * (number - 1)

    (late,) = ask(vcenter, polls=3, change=change).events("samples-late")
    assert late["seconds"] == 110.0


def test_the_clock_of_the_server_is_kept(ask: Ask) -> None:
    vcenter = site()
    vcenter.seconds = 7.0
    reported = ask(vcenter)
    assert reported.check is not None
    assert reported.check.device_time == STARTED_US + 7_000_000
    assert {row["device_time"] for row in reported.rows("path", "esx7/vmhba2:C0:T0:L1")} == {STARTED_US + 7_000_000}


def test_nonsense_in_place_of_times_is_told() -> None:
    with pytest.raises(CollectorError, match="times of the samples"):
        sample_times("20,yesterday")


def test_a_fault_of_the_server_names_the_call(ask: Ask) -> None:
    vcenter = site()
    vcenter.faults["RetrievePropertiesEx"] = [vmodl.fault.SystemError(msg="out of memory", reason="x")]
    with pytest.raises(CollectorError, match="RetrievePropertiesEx: SystemError: out of memory") as caught:
        ask(vcenter)
    assert caught.value.failure is Failure.UNREADABLE
