"""What sadf exports of sar's daily files, and intervals that do not follow each other, as after a restart."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sanpath.plugin import CollectorError, Event, Item, Rows
from sanpath_collectors.iostat.reader import IostatResult

BEGIN = 1_795_828_690
"""2026-11-28 01:18:10 UTC."""
DATABASE = """\
# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle
db1;10;2026-11-28 01:18:20 UTC;-1;20.00;0.00;5.00;5.00;0.00;70.00
db1;10;2026-11-28 01:18:30 UTC;-1;40.00;0.00;5.00;5.00;0.00;50.00
# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;dkB/s;areq-sz;aqu-sz;await;%util
db1;10;2026-11-28 01:18:20 UTC;dev8-16;100.00;800.00;0.00;0.00;8.00;0.05;0.50;5.00
db1;10;2026-11-28 01:18:20 UTC;dev8-17;100.00;800.00;0.00;0.00;8.00;0.05;0.50;5.00
db1;10;2026-11-28 01:18:30 UTC;dev8-16;200.00;1600.00;0.00;0.00;8.00;0.10;0.50;10.00
# hostname;interval;timestamp;IFACE;rxpck/s;txpck/s;rxkB/s;txkB/s;rxcmp/s;txcmp/s;rxmcst/s;%ifutil
db1;10;2026-11-28 01:18:20 UTC;lo;1.00;1.00;1.00;1.00;0.00;0.00;0.00;0.00
db1;10;2026-11-28 01:18:20 UTC;eth0;98000.00;12000.00;144531.25;800.00;0.00;0.00;0.00;11.84
"""


def element(second: int, interval: int, tps: float) -> dict[str, Any]:
    """An interval of sadf -j with sectors beside kB, as it is."""
    disk = {
        "disk-device": "sdb",
        "tps": tps,
        "rd_sec": 16 * tps,
        "wr_sec": 0.0,
        "rkB": 8 * tps,
        "wkB": 0.0,
        "dkB": 0.0,
    }
    disk |= {"avgqu-sz": 0.05, "aqu-sz": 0.05, "await": 0.5, "util-percent": 5.0}
    return {
        "timestamp": {"date": "2026-11-28", "time": f"01:18:{second}", "tz": "UTC", "interval": interval},
        "cpu-load": [
            {"cpu": "all", "user": 20.0, "nice": 0.0, "system": 5.0, "iowait": 5.0, "steal": 0.0, "idle": 70.0}
        ],
        "disk": [disk],
        "network": {
            "net-dev": [{"iface": "eth0", "rxpck": 1.0, "rxkB": 144531.25, "txkB": 0.0, "ifutil-percent": 11.84}]
        },
    }


def document(*statistics: dict[str, Any]) -> str:
    host = {"nodename": "db1", "number-of-cpus": 2, "file-date": "2026-11-28", "file-utc-time": "01:18:10"}
    return json.dumps({"sysstat": {"hosts": [host | {"statistics": statistics}]}})


def read(text: str) -> tuple[IostatResult, list[Item]]:
    assert IostatResult.recognises(text.encode(), "out.txt")
    reader = IostatResult("hosts")
    return reader, [*reader.feed(text.encode()), *reader.finish()]


def samples(items: list[Item], metric: str) -> list[tuple[str, int, Any]]:
    """Entity, seconds since the begin, and value."""
    return [
        (entity, seen // 1_000_000 - BEGIN, value)
        for rows in items
        if isinstance(rows, Rows) and metric in rows.values
        for entity, seen, value in zip(rows.entity, rows.seen, rows.values[metric], strict=True)
    ]


def test_the_database_form() -> None:
    reader, items = read(DATABASE)
    assert reader.clock == "utc"
    reads = [("sdb", 0, 0), ("sdb", 10, 1000), ("sdb", 20, 3000)]
    assert [sample for sample in samples(items, "ops_read_total") if sample[0] == "sdb"] == reads
    assert {name for name, *_ in samples(items, "bytes_read_total")} == {"sdb"}  # and no partition
    assert samples(items, "bytes_rx_total") == [("eth0", 0, 0), ("eth0", 10, 1_480_000_000)]
    busy = [(name, second, round(ratio, 3)) for name, second, ratio in samples(items, "cpu_busy_ratio")]
    assert busy == [("db1", 10, 0.25), ("db1", 20, 0.45)]


def test_local_times_and_seconds_since_the_epoch() -> None:
    local, _ = read(DATABASE.replace(" UTC", " CET"))
    seconds, items = read(DATABASE.replace("2026-11-28 01:18:20 UTC", str(BEGIN + 10)))
    assert (local.clock, seconds.clock) == ("local", "utc")
    assert samples(items, "bytes_rx_total")[-1][:2] == ("eth0", 10)


def test_json() -> None:
    reader, items = read(document(element(20, 10, 100.0), element(30, 10, 200.0)))
    assert reader.clock == "utc"
    assert samples(items, "ops_read_total") == [("sdb", 0, 0), ("sdb", 10, 1000), ("sdb", 20, 3000)]
    assert samples(items, "bytes_read_total")[-1] == ("sdb", 20, 3000 * 8192)
    assert samples(items, "busy_seconds_total")[1] == ("sdb", 10, 500_000_000)
    assert samples(items, "bytes_rx_total")[1] == ("eth0", 10, 1_480_000_000)
    assert [round(ratio, 3) for _, _, ratio in samples(items, "cpu_busy_ratio")] == [0.25, 0.25]


def test_an_interval_after_a_gap_has_its_own_length() -> None:
    """Ten seconds at 100 reads/s after twenty of nothing: the machine was restarted, and 1,000 reads were done."""
    _, items = read(document(element(20, 10, 100.0), element(50, 10, 100.0)))
    counters = [("sdb", 0, 0), ("sdb", 10, 1000), ("sdb", 30, 0), ("sdb", 40, 1000)]
    assert samples(items, "ops_read_total") == counters
    text = """\
Linux 6.1.0-13-amd64 (db1) \t2026-11-28 \t_x86_64_\t(2 CPU)

01:18:10          DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
01:18:20          sdb    100.00    800.00      0.00      0.00      8.00      0.05      0.50      5.00

01:18:35     LINUX RESTART\t(2 CPU)

01:18:40          DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
01:18:50          sdb    100.00    800.00      0.00      0.00      8.00      0.05      0.50      5.00
"""
    assert samples(read(text)[1], "ops_read_total") == counters


def test_what_cannot_be_used_is_said() -> None:
    reader = IostatResult("hosts")
    horizontal = "# hostname;interval;timestamp;DEV;tps;rkB/s;%util[...]\ndb1;10;2026-11-28 01:18:20 UTC;sda;1;2;3\n"
    with pytest.raises(CollectorError, match="run sadf without -h"):
        assert [*reader.feed(horizontal.encode()), *reader.finish()]
    cut = DATABASE.replace(";lo;1.00;1.00", ";lo;1.00")
    assert "damaged-line" in [item.detail["code"] for item in read(cut)[1] if isinstance(item, Event)]


def test_a_report_since_boot_is_said_to_be_one() -> None:
    """As of `sar 0`, or of mpstat without an interval: its interval begins and ends at once."""
    text = "Linux 6.1.0-13-amd64 (db1) \t2026-11-28 \t_x86_64_\t(2 CPU)\n\n"
    text += "12:53:20  CPU  %user  %nice  %system  %iowait  %steal  %idle\n"
    text += "12:53:20  all  1.00  0.00  1.00  1.00  0.00  97.00\n"
    with pytest.raises(CollectorError, match="covers the time since the host was booted, as that of sar 0"):
        read(text)
