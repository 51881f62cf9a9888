"""What a person meets with iostat's output beside the files of the cases: time stamps, units, lone reports."""

from __future__ import annotations

import json

import pytest

from sanpath.model import Event, Rows
from sanpath.plugin import CollectorError, Failure, Item
from sanpath_collectors.iostat.ports import estimate_link_speed, is_port
from sanpath_collectors.iostat.reader import IostatResult
from sanpath_collectors.iostat.times import parse_stamp

TITLE = "Linux 6.1.0-13-amd64 (web1) \t03/01/2024 \t_x86_64_\t(2 CPU)\n\n"
TABLE = "Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util\nsda 100.00 800.00 0.50 0.00 0.00 0.00 0.05 5.00\n\n"


def report(time: str = "", table: str = TABLE) -> str:
    return f"{time}\n{table}" if time else table


def read(text: str) -> tuple[IostatResult, list[Item]]:
    reader = IostatResult("hosts")
    return reader, [*reader.feed(text.encode()), *reader.finish()]


def rows(items: list[Item]) -> list[Rows]:
    return [item for item in items if isinstance(item, Rows)]


def codes(items: list[Item]) -> list[object]:
    return [item.detail["code"] for item in items if isinstance(item, Event)]


@pytest.mark.parametrize(
    ("line", "clock", "second"),
    [
        ("2024-03-01T08:00:01+0000", "utc", 1_709_280_001),
        ("2024-03-01T10:00:01+0200", "utc", 1_709_280_001),
        ("2024-03-01T08:00:01", "local", 1_709_280_001),
        ("03/01/2024 08:00:01 AM", "local", 1_709_280_001),
        ("03/01/2024 08:00:01 PM", "local", 1_709_323_201),
        ("03/01/2024 12:00:01 AM", "local", 1_709_251_201),
        ("03/01/24 08:00:01", "local", 1_709_280_001),
        ("01.03.2024 08:00:01", "local", 1_709_280_001),
        ("01-03-24 08:00:01", "local", 1_709_280_001),
        ("31/03/24 08:00:01", "local", 1_711_872_001),
        ("31/03/24 08:00:01 AM IST", "local", 1_711_872_001),
        ("31/03/2567 08:00:01", "local", 1_711_872_001),
        ("2024年03月01日 08時00分01秒", "local", 1_709_280_001),
    ],
)
def test_time_stamps_of_many_locales(line: str, clock: str, second: int) -> None:
    found = parse_stamp(line)
    assert found is not None
    assert (found.us, found.has_zone) == (second * 1_000_000, clock == "utc")


@pytest.mark.parametrize(("half", "is_shown"), [("", False), (" AM", True), (" AM IST", False)])
def test_half_days_without_a_zone_show_that_the_month_comes_first(half: str, is_shown: bool) -> None:
    found = parse_stamp(f"03/01/24 08:00:01{half}")
    assert found is not None
    assert (found.day_first_us is None) is is_shown


@pytest.mark.parametrize("line", ["", "sda 1.00 2.00", "2024-13-01T08:00:01", "41/41/24 08:00:01", "1 2 3 4 5 6"])
def test_what_is_no_time_stamp(line: str) -> None:
    assert parse_stamp(line) is None


@pytest.mark.parametrize(
    ("column", "factor"),
    [("rkB/s", 1024), ("rMB/s", 1024**2), ("rsec/s", 512), ("kB_read/s", 1024), ("Blk_read/s", 512)],
)
def test_units_are_told_by_the_name_of_the_column(column: str, factor: int) -> None:
    _, items = read(TITLE + 2 * report(table=TABLE.replace("rkB/s", column)))
    assert rows(items)[-1].values["bytes_read_total"] == [800 * factor]


def test_the_interval_is_the_time_between_two_stamps() -> None:
    times = ("08:00:00", "08:00:10", "08:00:20")
    reader, items = read(TITLE + "".join(report(f"2024-03-01T{time}+0000") for time in times))
    assert reader.clock == "utc"
    assert [item.seen for item in rows(items)] == [[(1_709_280_000 + s) * 1_000_000] for s in (0, 10, 20)]
    assert [item.values["ops_read_total"] for item in rows(items)] == [[0], [1000], [2000]]
    assert codes(items) == ["since-boot"]


def test_a_lone_report_may_be_of_the_time_since_boot() -> None:
    reader, items = read(TITLE + report())
    assert reader.clock == "elapsed"
    assert [item.values["ops_read_total"] for item in rows(items)] == [[0], [100]]
    assert codes(items) == ["interval-unknown", "since-boot"]


def test_each_iostat_in_a_file_begins_with_a_report_that_is_left_out() -> None:
    _, items = read(2 * (TITLE + 3 * report()))
    assert [item.values["ops_read_total"] for item in rows(items)] == [[0], [100], [200], [0], [100], [200]]


@pytest.mark.parametrize("mean", ["Average:", "Durchschn.:", "Moyenne :", "平均值："])
def test_the_means_of_sar_are_used_if_nothing_else_was_copied(mean: str) -> None:
    text = f"""a benchmark:
{mean}  DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     await     svctm     %util
{mean}  sda     80.00      0.00  16000.00    200.00      1.00     12.50      9.95     82.64
"""
    assert IostatResult.recognises(text.encode(), "a.txt")
    _, items = read(text)
    assert {"only-means", "interval-unknown"} <= {*codes(items)}
    last = rows(items)[-1].values
    assert (last["ops_write_total"], last["bytes_write_total"]) == ([80], [16000 * 512])
    timed = "14:30:01  DEV tps rd_sec/s wr_sec/s await\n14:30:02  sda 10.00 0.00 800.00 1.00\n\n" + text
    assert [item.values["ops_write_total"] for item in rows(read(timed)[1])] == [[0], [10]]


@pytest.mark.parametrize("has_header", [True, False])
@pytest.mark.parametrize("names", [("sda", "sdc"), ("dev8-0", "dev8-16"), ("all", "0")])
def test_means_of_two_runs_are_no_intervals_of_one(has_header: bool, names: tuple[str, str]) -> None:
    """Those of the first are used. Another table of the same run is no second run."""
    first, second = (
        "".join(f"Average: {name} {figures}\n" for name in names)
        for figures in ("10.00 40.00 0.00 1.00 2.00", "30.00 120.00 0.00 3.00 6.00")
    )
    of_cpu = "all" in names
    header = f"Average: {'CPU %user %nice %system %iowait %idle' if of_cpu else 'DEV tps rkB/s wkB/s await %util'}\n"
    ports = "Average: IFACE rxpck/s txpck/s rxkB/s txkB/s\nAverage: eth0 1.00 1.00 1.00 1.00\n"
    once, again = header + first + ports, header + first + ports + header * has_header + second
    if not has_header:
        once, again = ports + header + first, ports + header + first + second
    expected, found = read(TITLE + once)[1], read(TITLE + again)[1]
    assert rows(found) == rows(expected)
    assert ("several-means" in codes(expected), "several-means" in codes(found)) == (False, True)


def test_counters_that_a_driver_got_wrong_are_no_rates() -> None:
    """A driver under development made iostat print 9.7e12 operations in a second."""
    wrong = "sda " + " ".join(["9683204258164.84", "2420801064541.21"]) + "\n"
    text = TITLE + "Device tps kB_read/s\n" + wrong + "sdb 100.00 800.00\n\n"
    _, items = read(text)
    assert "impossible" in codes(items)
    assert [item.values["bytes_read_total"] for item in rows(items) if "sdb" in item.entity][-1][-1] == 800 * 1024
    assert max(value or 0 for item in rows(items) for value in item.values["bytes_read_total"]) == 800 * 1024


@pytest.mark.parametrize(
    ("column", "value", "is_left_out"),
    [
        ("r/s", 2e9, True),
        ("r/s", 5e8, False),
        ("rkB/s", 2e9, True),
        ("rMB/s", 2e6, True),
        ("rMB/s", 5e5, False),
        ("rsec/s", 1.5e9, False),
        ("rsec/s", 3e9, True),
    ],
)
def test_no_device_does_a_billion_operations_or_kib_in_a_second(column: str, value: float, is_left_out: bool) -> None:
    other = "w/s" if column == "r/s" else "r/s"
    as_text = f"{TITLE}Device {column} {other} %util\nsda {value:.2f} 1.00 5.00\n\n"
    disk = {"disk_device": "sda", column: value, other: 1.0, "util": 5.0}
    as_json = json.dumps({"sysstat": {"hosts": [{"nodename": "a", "statistics": [{"disk": [disk]}]}]}})
    huge = as_json.replace(f"{value}", f"1{309 * '0'}") if is_left_out else as_json
    for text in (as_text, as_json, huge):
        assert ("impossible" in codes(read(text)[1])) == is_left_out, text


@pytest.mark.parametrize(
    ("columns", "value", "is_left_out"),
    [("DEV tps rkB/s", 2e9, True), ("IFACE rxpck/s rxbyt/s", 2e10, False), ("IFACE rxpck/s rxkB/s", 2e10, True)],
)
def test_of_sar_as_well(columns: str, value: float, is_left_out: bool) -> None:
    """A port of 200 Gbit/s moves 25 billion bytes."""
    row = f"14:30:02  eth0 1.00 {value:.2f} 0.00\n"
    other = columns.split()[-1].replace("r", "w" if "DEV" in columns else "t", 1)
    items = read(f"{TITLE}14:30:01  {columns} {other}\n{row}")[1]
    assert ("impossible" in codes(items)) == is_left_out


def test_what_is_said_of_the_first_report_is_not_said_in_1970() -> None:
    """The first report is left out, so its end is not known while it is read."""
    reports = "".join(
        f"03/01/2024 02:30:0{n} PM\nDevice r/s w/s %util\nsda {rate} 0.00 5.00\n\n"
        for n, rate in enumerate((2e9, 10, 10))
    )
    _, items = read(TITLE + reports)
    assert "impossible" in codes(items)
    assert min(item.seen for item in items if isinstance(item, Event)) > 1_700_000_000_000_000


def test_a_clock_that_was_set_back() -> None:
    times = ("01:59:58", "01:59:59", "01:00:00", "01:59:59", "02:00:00")
    _, items = read(TITLE + "".join(report(f"01.03.2024 {time}") for time in times))
    assert [item.values["ops_read_total"] for item in rows(items)] == [[0], [100], [200]]
    assert "clock-moved" in codes(items)


def test_a_day_without_reports_is_no_interval() -> None:
    days = ("01", "02", "05")
    _, items = read(TITLE + "".join(report(f"2024-03-{day}T08:00:00+0000") for day in days))
    assert [item.values["ops_read_total"] for item in rows(items)] == [[0], [86_400 * 100], [0], [100]]
    assert "reports-missing" in codes(items)


def test_the_first_report_is_kept_for_its_devices_while_the_file_grows() -> None:
    reader = IostatResult("hosts")
    first = list(reader.feed((TITLE + report("2024-03-01T08:00:00+0000")).encode()))
    assert [type(item).__name__ for item in first] == ["SourceEntity", "SourceEntity", "SourceLink"]
    then = list(reader.feed(report("2024-03-01T08:00:01+0000").encode()))
    assert rows(then)[-1].values["ops_read_total"] == [100]


def test_partitions_and_virtual_devices_would_be_counted_twice() -> None:
    table = TABLE.rstrip("\n") + "".join(
        f"\n{name} 1 1 1 1 1 1 1 1"
        for name in ("sda1", "nvme0n1", "nvme0n1p2", "zram3", "sr0", "dm-0", "dm-10", "md1")
    )
    _, items = read(TITLE + 2 * report(table=table + "\n\n"))
    assert rows(items)[-1].entity == ["sda", "nvme0n1", "dm-0", "dm-10", "md1"]


def test_a_logical_volume_is_no_partition_of_the_one_whose_name_it_continues() -> None:
    wwid = "3600a0980383041524c3f4f565a6b374f"
    names = ("vg-db1", "vg-db11", "vg-db1p2", "mpatha", "mpatha1", "mpathap2", "mpatha-part3", wwid, f"{wwid}1")
    table = TABLE.rstrip("\n") + "".join(f"\n{name} 1 1 1 1 1 1 1 1" for name in names)
    _, items = read(TITLE + 2 * report(table=table + "\n\n"))
    assert rows(items)[-1].entity == ["sda", "vg-db1", "vg-db11", "vg-db1p2", "mpatha", wwid]


def test_no_report_of_a_device() -> None:
    with pytest.raises(CollectorError) as caught:
        read(TITLE + "avg-cpu:  %user   %nice\n 1.00 2.00\n\n")
    assert caught.value.failure is Failure.UNREADABLE


@pytest.mark.parametrize(
    "content",
    [
        "",
        TITLE + "10:00:01 AM  CPU    %usr   %nice\n10:00:02 AM  all    1.00    0.00\n",
        TITLE
        + "10:00:01 AM   tps   rtps   wtps   bread/s   bwrtn/s\n10:00:02 AM   1.00   1.00   0.00   8.00   0.00\n",
        TITLE
        + "10:00:01     IFACE   rxerr/s   txerr/s    coll/s\n10:00:02      eth0      0.00      0.00      0.00\n",
        "# hostname of the server; interval of its backups\n",
        '{"hosts": [{"statistics": []}]}',
    ],
)
def test_what_other_programs_write_is_not_recognised(content: str) -> None:
    assert not IostatResult.recognises(content.encode(), "iostat.log")


def test_a_device_that_repeats_without_a_header_begins_a_report() -> None:
    """`iostat -x 1 | grep -E "Device|sda|sdb"`, and its header only once."""
    header_line, row = TABLE.strip().splitlines()
    lines = [line for ops in ("10.00", "100.00", "300.00") for line in (row.replace("100.00", ops), f"sdb{row[3:]}")]
    _, items = read("\n".join((header_line, *lines)) + "\n")
    assert [item.entity for item in rows(items)] == 3 * [["sda", "sdb"]]
    assert [item.values["ops_read_total"] for item in rows(items)] == [[0, 0], [100, 100], [400, 200]]


@pytest.mark.parametrize("cut", [0, 5, 25])
def test_json_after_other_text(cut: int) -> None:
    disk = '{"disk_device": "sda", "r/s": 100.00, "r_await": 0.5, "w/s": 0.00, "aqu-sz": 0.05}'
    report = f'{{"disk": [{disk}]}}'
    text = (
        f'iostat of web1:\n\n{{"sysstat": {{"hosts": [{{"nodename": "web1", "statistics": [{report}, {report}]}}]}}}}'
    )
    assert IostatResult.recognises(text.encode(), "iostat.log")
    reader = IostatResult("hosts")
    items = [*reader.feed(text[:cut].encode()), *reader.feed(text[cut:].encode()), *reader.finish()]
    assert [item.values["ops_read_total"] for item in rows(items)] == [[0], [100]]


@pytest.mark.parametrize(
    ("received", "sent", "share", "speed"),
    [
        (1_169_377.42, 5_859.38, 95.80, 10e9),
        (196_851.46, 66.43, 16.13, 10e9),
        (61_035.16, 60_424.81, 99.51, 1e9),  # Half-duplex: both together.
        (1_525_878.91, 1_525_878.91, 50.0, 25e9),
        (97.66, 97.66, 0.01, None),  # Too little to tell.
        (488_281.25, 0.0, 100.0, None),  # 4 Gb/s is no usual speed.
        (0.0, 0.0, 50.0, None),
        (1e14, 1e14, 50.0, None),
    ],
)
def test_the_speed_of_a_link_is_its_bytes_over_their_share(
    received: float, sent: float, share: float, speed: float | None
) -> None:
    assert estimate_link_speed({"rxkB/s": received, "txkB/s": sent, "%ifutil": share}) == speed
    assert estimate_link_speed({"rxkB/s": received, "txkB/s": sent}) is None


def test_interfaces_that_are_no_ports() -> None:
    ports, vlan = ["eth0", "ens1f0.5", "enp3s0f1np1"], "eth0.100"
    names = [
        *ports,
        vlan,
        "lo",
        "bond0",
        "team0",
        "bond0.7",
        "veth12",
        "docker0",
        "virbr0",
        "br-1",
        "tun0",
        "cali1",
        "ib0",
    ]
    assert [name for name in names if is_port(name, names)] == ports


def test_old_sysstat_has_bytes_of_interfaces() -> None:
    """sysstat 7, as in Red Hat Enterprise Linux 5."""
    text = (
        "01:11:13 PM     IFACE   rxpck/s   txpck/s   rxbyt/s   txbyt/s   rxcmp/s   txcmp/s  rxmcst/s\n"
        "01:11:14 PM        lo      0.00      0.00      0.00      0.00      0.00      0.00      0.00\n"
        "01:11:14 PM      eth0    342.57    342.57  93923.76 141773.27      0.00      0.00      0.00\n"
    )
    assert IostatResult.recognises(text.encode(), "sar.log")
    _, items = read("Linux 2.6.18-194.el5PAE (dev-db)        03/26/2011\n\n" + text)
    last = rows(items)[-1]
    assert (last.entity, last.values) == (["eth0"], {"bytes_rx_total": [93_924], "bytes_tx_total": [141_773]})


def test_a_table_of_interfaces_with_damage_is_read_as_far_as_it_goes() -> None:
    names = "IFACE rxpck/s txpck/s rxkB/s txkB/s rxcmp/s txcmp/s rxmcst/s %ifutil"
    lines = [
        f"10:00:00 {names}",
        "10:00:01 eth0 1 1 nan 1e300 0 0 0 inf",
        "10:00:01 eth1 1 1",
        f"10:00:01 {'x' * 70_000} 1 1 1 1 1 1 1 1",
        "10:00:02 eth0 1 1 -5 2.00 0 0 0 99999",
        "10:00:02 IFACE 1 1 1 1 1 1 1 1",
    ]
    reader, items = read(TITLE + "\n".join(lines) + "\n")
    ports = [item for item in rows(items) if item.entity[0] == "eth0"]
    assert ports[-1].values["bytes_rx_total"][0] is None
    assert ports[-1].values["bytes_tx_total"][0] == 2048
    assert "damaged-line" in codes(items)
    assert reader.clock == "local"


def test_a_loop_device_counts_from_its_first_io_on() -> None:
    """loop1 is that of a package, which was read at some time since boot. loop0 has the file that is tested."""
    header = "Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util\n"
    sda = "sda 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00\n"
    boot = header + sda + "loop0 1.00 4.00 0.50 1.00 4.00 0.50 0.00 0.01\nloop1 1.00 4.00 0.50 0 0 0 0 0.01\n\n"
    idle = header + sda + "loop0 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00\nloop1 0 0 0 0 0 0 0 0\n\n"
    busy = header + sda + "loop0 100.00 800.00 0.50 0.00 0.00 0.00 0.05 5.00\nloop1 0 0 0 0 0 0 0 0\n\n"
    _, items = read(TITLE + boot + idle + busy + busy)
    counted = [(item.entity, item.values["ops_read_total"]) for item in rows(items)]
    assert counted[:2] == [(["sda"], [0]), (["sda"], [0])]
    assert counted[-1] == (["sda", "loop0"], [0, 200])
    assert not any("loop1" in str(item) for item in items)


def test_sar_names_loop_devices_by_their_number() -> None:
    columns = "DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util"
    text = f"01:00:00 {columns}\n01:00:01 dev7-0 100.00 800.00 0.00 0.00 8.00 0.05 0.50 5.00\n"
    _, items = read(TITLE + text + "01:00:01 dev7-1 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00\n")
    assert {name for item in rows(items) for name in item.entity} == {"loop0"}


HEAD, TAIL = "Device: rrqm/s wrqm/s r/s w/s rMB/s", "wMB/s avgrq-sz avgqu-sz await r_await w_await svctm %util"
LINES = {
    "sda": ("sda 0.00 0.20 1.00 163.40 0.00", "81.09 1010.19 142.74 866.47 97.60 871.17 6.08 100.00"),
    "sdb": ("sdb 0.00 0.00 2.00 0.00 0.01", "0.00 8.00 0.02 9.00 9.00 0.00 4.50 0.90"),
}


@pytest.mark.parametrize(
    "lines",
    [
        [HEAD, TAIL, *LINES["sda"], *LINES["sdb"]],
        [HEAD, LINES["sda"][0], LINES["sdb"][0], TAIL, LINES["sda"][1], LINES["sdb"][1]],
    ],
    ids=["by a terminal", "by a page"],
)
def test_wrapped_lines_say_what_whole_lines_say(lines: list[str]) -> None:
    whole = [f"{HEAD} {TAIL}", *(" ".join(halves) for halves in LINES.values())]
    assert rows(read("\n".join([*lines, ""]))[1]) == rows(read("\n".join([*whole, ""]))[1])


@pytest.mark.parametrize("by_page", [False, True], ids=["by a terminal", "by a page"])
def test_a_lost_second_half_is_not_that_of_another_device(by_page: bool) -> None:
    """Of a page nobody knows which half is lost. A terminal writes each behind its first half."""
    first, second = LINES["sda"][0], LINES["sdb"]
    lines = [HEAD, first, second[0], TAIL, second[1]] if by_page else [HEAD, TAIL, first, *second]
    _, items = read("\n".join([*lines, ""]))
    assert "wrapped-lines" in codes(items)
    waits = {
        name: wait
        for row in rows(items)
        for name, wait in zip(row.entity, row.values.get("latency_seconds_read_total", []), strict=False)
    }
    assert not waits.get("sda")
    assert bool(waits.get("sdb")) is not by_page


@pytest.mark.parametrize("at", [4, 5, 8, 12, 13], ids=lambda at: f"{at} words")
@pytest.mark.parametrize("is_wrapped", [True, False], ids=["header too", "header not"])
@pytest.mark.parametrize("end", ["", "\n"], ids=["cut", "whole"])
def test_a_mail_breaks_rows_at_another_column_than_the_header(at: int, is_wrapped: bool, end: str) -> None:
    header = [HEAD, TAIL] if is_wrapped else [f"{HEAD} {TAIL}"]
    words = [" ".join(halves).split() for halves in LINES.values()]
    broken = [" ".join(part) for row in words for part in (row[:at], row[at:]) if part]
    _, items = read("\n".join([*header, *broken]) + end)
    whole = [f"{HEAD} {TAIL}", *(" ".join(row) for row in words)]
    assert rows(items) == rows(read("\n".join([*whole, ""]))[1])
    assert not {"wrapped-lines", "damaged-line", "cut-file"}.intersection(map(str, codes(items)))


def test_the_start_of_a_row_whose_end_is_lost_is_none_of_another_device() -> None:
    lines = [HEAD, TAIL, "sda 0.00 0.20 1.00", " ".join(LINES["sdb"]), "sdc 0.00 0.20 1.00", ""]
    _, items = read("\n".join(lines))
    assert {name for row in rows(items) for name in row.entity} == {"sdb"}
    assert "damaged-line" in codes(items)


def test_numbers_without_a_device_are_no_device() -> None:
    _, items = read(f"{HEAD}\n{LINES['sda'][0]}\n{LINES['sda'][1]}\n")
    assert {name for row in rows(items) for name in row.entity} == {"sda"}
    assert "wrapped-lines" in codes(items)


@pytest.mark.parametrize(
    ("cells", "hangs"),
    [
        ("0.00 0.00 0.00 0.00 0.00 0.00 128.00 100.00", True),
        ("0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00", False),
        ("0.00 0.00 0.00 1.00 4.00 900.00 128.00 100.00", False),
        ("0.00 0.00 0.00 0.00 0.00 0.00 0.40 40.00", False),
    ],
    ids=["none", "idle", "one", "for a part of the time"],
)
def test_a_device_that_completes_none_of_its_ios_does_not_answer(cells: str, hangs: bool) -> None:
    header = TABLE.partition("\n")[0]
    _, items = read(f"{header}\nsda {cells}\n")
    assert ("no-answer" in codes(items)) is hangs


def test_one_io_that_is_outstanding_is_singular() -> None:
    header = TABLE.partition("\n")[0]
    _, items = read(f"{header}\nsda 0.00 0.00 0.00 0.00 0.00 0.00 1.00 100.00\n")
    assert "sda had 1 I/O outstanding" in str(items)


def test_ports_of_sar_right_below_a_table_of_iostat_are_no_block_devices() -> None:
    sar = "01:00:00 IFACE rxpck/s txpck/s rxkB/s txkB/s rxcmp/s txcmp/s rxmcst/s %ifutil\n"
    sar += "01:00:01 eth0 314.00 321.00 70.87 163.28 0.00 0.00 0.00 0.00\n"
    table = f"{TITLE}{report()}".rstrip() + "\n"
    expected, items = rows(read(table)[1]), read(table + sar)[1]
    assert expected
    assert rows(items) == expected
    assert not {"wrapped-lines", "damaged-line"}.intersection(map(str, codes(items)))


def test_beside_mpstat_the_block_devices_are_those_of_iostat() -> None:
    mpstat = "01:00:00 CPU %usr %sys %idle\n01:00:01 all 6.48 1.18 92.34\n"
    _, items = read(f"{TITLE}{2 * report()}\n{mpstat}")
    assert "several-programs" in codes(items)
    assert rows(items)[-1].values["ops_read_total"] == [100]


@pytest.mark.parametrize("tables", ["", TABLE])
def test_tables_of_iostat_beside_those_of_sar_are_named(tables: str) -> None:
    columns = "DEV tps rkB/s wkB/s areq-sz aqu-sz await %util"
    sar = f"01:00:00 {columns}\n01:00:01 sda 100.00 800.00 0.00 8.00 0.05 0.50 5.00\n"
    _, items = read(f"{TITLE}{tables}{sar}")
    assert ("several-programs" in codes(items)) is bool(tables)
