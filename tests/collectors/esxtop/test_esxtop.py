"""Batches of esxtop: what the founding story looks like from the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sanpath import registry
from sanpath.plugin import CollectorError, Item, Rows, SourceEntity, SourceLink
from sanpath.topology.resolve import resolve
from sanpath_collectors.esxtop import parse
from sanpath_collectors.esxtop.reader import EsxtopLog
from sanpath_collectors.perfmon.reader import PerfMonLog

CASES = Path(__file__).parent
FULL_QUEUE = (CASES / "full-queue/esx7.csv").read_bytes()
LUN = "esx7/naa.624a93706c1b16ce1c034d1c000aab1a"


def read(content: bytes, host: str | None = None) -> list[Item]:
    reader = EsxtopLog("esxtop", host)
    return [*reader.feed(content), *reader.finish()]


def samples(items: list[Item], kind: str, entity: str) -> list[dict[str, Any]]:
    """Metric → value in base units, row by row; what is not told is left out."""
    found = []
    for rows in items:
        if isinstance(rows, Rows) and rows.table.kind == kind and entity in rows.entity:
            at = rows.entity.index(entity)
            scales = {column.metric: column.scale for column in rows.table.columns}
            result = {metric: values[at] for metric, values in rows.values.items()}
            found.append({"seen": rows.seen[at]} | {m: v * scales[m] for m, v in result.items() if v is not None})
    return found


def rate(found: list[dict[str, Any]], counter: str) -> float:
    return float((found[-1][counter] - found[0][counter]) / ((found[-1]["seen"] - found[0]["seen"]) / 1e6))


def test_littles_law_holds_at_each_plane() -> None:
    """512 in flight at the guest are 32 at the device, the rest waits in its queue."""
    items = read(FULL_QUEUE)
    device, guest = samples(items, "lun", LUN), samples(items, "vdisk", "sqlvm1/scsi0:1")
    assert rate(device, "ops_read_total") == pytest.approx(6250)
    assert rate(device, "latency_seconds_read_total") == pytest.approx(device[-1]["in_flight"], rel=0.01)
    assert device[-1]["queue_depth"] == 32
    assert rate(guest, "latency_seconds_read_total") == pytest.approx(512, rel=0.01)
    assert device[-1]["queued"] + device[-1]["in_flight"] == pytest.approx(512)
    assert rate(device, "bytes_read_total") == pytest.approx(6250 * 65536, rel=1e-4)


def test_kernel_and_device_make_up_what_the_guest_sees() -> None:
    lun = samples(read(FULL_QUEUE), "lun", LUN)[-1]
    assert lun["device_seconds_mean"] == pytest.approx(0.00512)
    assert lun["queue_seconds_mean"] <= lun["kernel_seconds_mean"]
    assert lun["device_seconds_mean"] + lun["kernel_seconds_mean"] == pytest.approx(lun["guest_seconds_mean"])
    assert lun["device_seconds_mean_read"] == lun["device_seconds_mean"]


def test_a_mean_of_nothing_is_left_out() -> None:
    items = read(FULL_QUEUE)
    assert "device_seconds_mean_write" not in samples(items, "lun", LUN)[-1]
    idle = samples(items, "lun", "esx7/mpx.vmhba0:C0:T0:L0")[-1]
    assert not [metric for metric in idle if metric.endswith("_mean")]
    assert idle["ops_read_total"] == 0


def test_the_first_row_counts_for_nothing() -> None:
    """Its values are averages since the host started."""
    lun = samples(read(FULL_QUEUE), "lun", LUN)
    assert len(lun) == 4
    assert lun[0]["ops_read_total"] == 0
    assert "device_seconds_mean" not in lun[0]


def test_sums_and_worlds_are_not_counted_again() -> None:
    items = read(FULL_QUEUE)
    entities = {(rows.table.kind, entity) for rows in items if isinstance(rows, Rows) for entity in rows.entity}
    assert entities == {
        ("lun", LUN),
        ("lun", "esx7/mpx.vmhba0:C0:T0:L0"),
        ("hba", "esx7/vmhba2"),
        ("path", "esx7/vmhba2:C0:T1:L5"),
        ("vdisk", "sqlvm1/scsi0:1"),
        ("host", "esx7"),
    }


def test_the_busiest_core_is_told_beside_the_mean() -> None:
    host = samples(read(FULL_QUEUE), "host", "esx7")[-1]
    assert (host["cpu_busy_ratio"], host["cpu_busiest_core_ratio"]) == (pytest.approx(0.12), pytest.approx(0.2))


def test_a_device_is_backed_by_the_volume_with_its_identifier() -> None:
    items = [("esxtop", 0, item) for item in read(FULL_QUEUE) if isinstance(item, SourceEntity | SourceLink)]
    volume = SourceEntity("volume", "vol01", "vol01", {"naa": ("624A93706C1B16CE1C034D1C000AAB1A",)})
    topology = resolve([*items, ("fa1", 0, volume)])
    assert topology.related(f"lun:{LUN}", "backed_by") == ["volume:fa1/vol01"]
    assert topology.related("vm:sqlvm1", "runs_on") == ["host:esx7"]


def test_columns_of_no_use_cost_nothing() -> None:
    names = [rf"\\esx7\Group Cpu({n}:vm)\% Ready" for n in range(10_000)]
    names.append(rf"\\esx7\Physical Disk SCSI Device({LUN[5:]})\Reads/sec")
    made = parse.build_plan(["", *names], "esx7")
    assert [series.entities for series in made.series] == [[LUN]]
    cells = [b"08", *[b"junk"] * 10_000, b"5"]
    rows = [rows for seen in (1, 2) for rows in made.rows(seen * 10**6, (seen - 1) * 10**6 or None, cells)]
    assert rows[-1].values["ops_read_total"] == [5]


def test_it_is_told_from_performance_monitor() -> None:
    windows = (
        b'"(PDH-CSV 4.0) (UTC)(0)","\\\\A\\Memory\\Available MBytes","\\\\A\\PhysicalDisk(0)\\Disk Reads/sec"\r\n'
    )
    assert EsxtopLog.recognises(FULL_QUEUE[:65536], "esx7.csv")
    assert not EsxtopLog.recognises(windows, "log.csv")
    found = registry.result_reader(FULL_QUEUE[:65536], "esx7.csv")
    assert found is not None
    assert found[1] is EsxtopLog
    found = registry.result_reader(windows, "log.csv")
    assert found is not None
    assert found[1] is PerfMonLog


def test_the_configuration_renames_the_host() -> None:
    assert samples(read(FULL_QUEUE, "esx-7"), "host", "esx-7")


def test_a_batch_without_anything_of_use_is_refused_with_what_to_do() -> None:
    content = (
        b'"(PDH-CSV 4.0) (UTC)(0)","\\\\esx7\\Memory\\Memory Overcommit (1 Minute Avg)"\n"11/20/2026 08:00:00","0"\n'
    )
    with pytest.raises(CollectorError, match="esxtop -b -a"):
        read(content)
