"""What a user would notice of Iometer results: figures that fit together, tests and targets that are kept apart."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from sanpath.plugin import Event, Item, Rows, SourceEntity
from sanpath_collectors.iometer.reader import IometerReader

CASES = Path(__file__).parent
OLD = "old-layout/results.csv"
NEW = "three-tests-two-managers/results.csv"
SPREADSHEET = "saved-by-a-spreadsheet/results.csv"
WORKERS = "no-rows-of-targets/results.csv"


def read(content: bytes) -> list[Item]:
    reader = IometerReader("load")
    return [*reader.feed(content), *reader.finish()]


def content(name: str) -> bytes:
    return (CASES / name).read_bytes()


def events(items: list[Item], name: str) -> list[Event]:
    return [item for item in items if isinstance(item, Event) and item.name == name]


def ends(items: list[Item]) -> list[dict[str, dict[str, float | None]]]:
    """Test by test, load by load: what each metric was at the end, and how many `seconds` had passed."""
    tests: list[dict[str, dict[str, float | None]]] = []
    began: dict[str, int] = {}
    for item in items:
        if isinstance(item, Event) and item.name == "step-begin":
            tests.append({})
        elif isinstance(item, Rows):
            for number, entity in enumerate(item.entity):
                if entity not in tests[-1]:
                    began[entity] = item.seen[number]
                values = {metric: values[number] for metric, values in item.values.items()}
                tests[-1][entity] = values | {"seconds": (item.seen[number] - began[entity]) / 1e6}
    return tests


def total(test: dict[str, dict[str, float | None]], metric: str) -> float:
    return sum(values[metric] or 0 for values in test.values())


def without(text: bytes, *kinds: bytes) -> bytes:
    return b"".join(line for line in text.splitlines(keepends=True) if line.split(b",")[0] not in kinds)


@pytest.mark.parametrize("name", [OLD, NEW, SPREADSHEET, WORKERS])
def test_throughput_times_latency_is_the_number_in_flight(name: str) -> None:
    """Little's law, target by target: figures of a worker in the row of its target would show here."""
    tests = ends(read(content(name)))
    assert tests
    for test in tests:
        for load, end in test.items():
            waited = sum(end[f"latency_seconds_{d}_total"] or 0 for d in ("read", "write")) * 1e-9
            assert waited / (end["seconds"] or 1) == pytest.approx(end["in_flight_configured"], rel=0.005), load


def test_all_targets_together_are_what_iometer_says_of_all() -> None:
    reported = [line.split(b",") for line in content(NEW).splitlines() if line.startswith(b"ALL,")]
    header = next(line.split(b",") for line in content(NEW).splitlines() if line.startswith(b"'Target Type"))
    tests = ends(read(content(NEW)))
    assert len(tests) == len(reported) == 3
    for test, row in zip(tests, reported, strict=True):
        assert total(test, "ops_read_total") == int(row[header.index(b"Read I/Os")])
        assert total(test, "bytes_write_total") == int(row[header.index(b"Bytes Written")])


def test_a_step_lasts_as_long_as_iometer_has_counted() -> None:
    """Not from the time stamp before it, which the ramp and the preparation of disks lie behind."""
    items = read(content(NEW))
    for begin, end in zip(events(items, "step-begin"), events(items, "step-end"), strict=True):
        assert (end.seen - begin.seen) / 1e6 == pytest.approx(60.0047, abs=1e-4)


def ending(text: bytes, earlier_seconds: float) -> bytes:
    """Results whose second test has ended earlier by its time stamp."""
    *_, begin, first, second, third = re.findall(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}", text)
    assert begin < first < second < third
    moved = datetime.strptime(second.decode(), "%Y-%m-%d %H:%M:%S:%f") - timedelta(seconds=earlier_seconds)
    return text.replace(second, moved.strftime("%Y-%m-%d %H:%M:%S:%f")[:-3].encode())


@pytest.mark.parametrize("seconds", [0, 10, 12.25, 13, 30, 70])
def test_when_a_test_ended_changes_no_figure_and_mixes_no_tests(seconds: float) -> None:
    """The begin of a test is known from its end and its duration alone, which may reach into the test before it."""
    text = content(NEW)
    items = read(ending(text, seconds))
    assert ends(items) == ends(read(text))
    begins, stops = events(items, "step-begin"), events(items, "step-end")
    assert all(before.seen < after.seen for before, after in zip(stops, begins[1:], strict=False))
    rows = [item for item in items if isinstance(item, Rows)]
    assert [min(row.seen) for row in rows] == sorted(min(row.seen) for row in rows)


@pytest.mark.parametrize("left_out", [(b"DISK",), (b"DISK", b"WORKER"), (b"DISK", b"WORKER", b"MANAGER")])
def test_whatever_rows_were_recorded_the_sums_stay_the_same(left_out: tuple[bytes, ...]) -> None:
    whole, less = ends(read(content(NEW))), ends(read(without(content(NEW), *left_out)))
    for one, other in zip(whole, less, strict=True):
        assert len(other) < len(one)
        for metric in ("ops_read_total", "bytes_write_total", "in_flight_configured"):
            assert total(one, metric) == total(other, metric)


def test_two_managers_of_one_name_are_two() -> None:
    same = content(NEW).replace(b"ESX-B-VM1", b"ESX-A-VM1")
    first = ends(read(same))[0]
    assert len(first) == 6
    assert {load.split("/")[1] for load in first} == {"ESX-A-VM1", "ESX-A-VM1#2"}


def test_a_spreadsheet_changes_no_figure() -> None:
    """The second test of the old layout is the one that was saved again."""
    original = next(iter(ends(read(content(OLD)))[1].values()))
    again = next(iter(ends(read(content(SPREADSHEET)))[0].values()))
    assert {k: v for k, v in again.items() if v is not None} == pytest.approx(
        {k: v for k, v in original.items() if v is not None}, rel=1e-5
    )


@pytest.mark.parametrize("comma", [b"PURE, FlashArray", b"a,1,2,3"])
def test_a_comma_in_a_name_moves_no_figure(comma: bytes) -> None:
    plain, moved = ends(read(content(NEW))), ends(read(content(NEW).replace(b"PURE FlashArray", comma)))
    for one, other in zip(plain, moved, strict=True):
        assert list(one.values()) == list(other.values())
        assert all("," not in load for load in other)


@pytest.mark.parametrize("between", [b"\r\n", b""])
def test_what_is_appended_to_a_cut_file_is_read(between: bytes) -> None:
    """Iometer appends to whatever is there, in the middle of a line too."""
    items = read(content("cut-in-a-row/results.csv") + between + content(NEW))
    assert [warning.detail["code"] for warning in events(items, "data-warning")] == ["row-unreadable", "not-finished"]
    assert len(events(items, "step-end")) == 2 + 3
    groups = [event.detail["group"] for event in events(items, "step-begin")]
    assert len(set(groups)) == len(groups)


def test_rows_that_do_not_add_up_are_said() -> None:
    lines = content(NEW).splitlines(keepends=True)
    lost = next(number for number, line in enumerate(lines) if line.startswith(b"DISK,"))
    items = read(b"".join(lines[:lost] + lines[lost + 1 :]))
    assert [warning.detail["code"] for warning in events(items, "data-warning")] == ["sums-differ"]


def test_latency_bins_are_of_all_targets_and_of_one_direction() -> None:
    """Iometer counts reads and writes into the same bins: a mix tells neither."""
    found = events(read(content(NEW)), "latency-histogram")
    assert [(event.detail["load"], event.detail["direction"]) for event in found] == [
        ("load", "read"),
        ("load", "write"),
    ]
    for event in found:
        shares = [float(bucket.partition(":")[2]) for bucket in str(event.detail["buckets"]).split()]
        assert len(shares) == 21
        assert sum(shares) == pytest.approx(1, abs=1e-4)


def test_network_targets_are_left_out_and_said() -> None:
    lines = content(OLD).splitlines(keepends=True)
    disk = next(line for line in lines if line.startswith(b"DISK,"))
    network = disk.replace(b'DISK,8: "ARRAY VLUN 0008"', b"NETWORK,A:192.0.2.1 >> B:192.0.2.2", 1)
    items = read(content(OLD).replace(disk, disk + network, 1))
    assert [warning.detail["code"] for warning in events(items, "data-warning")] == ["network-left-out"]
    assert len(ends(items)[0]) == 1


def test_mixed_sizes_have_ratios_but_no_size() -> None:
    items = read(content(NEW))
    begins = events(items, "step-begin")
    assert [begin.detail["block_bytes"] for begin in begins] == [65536, None, 65536]
    assert [begin.detail["rate_limited"] for begin in begins] == [False, False, True]
    mail = content("configuration/six-luns.icf")
    result = {item.local_id: item.attributes for item in read(mail) if isinstance(item, SourceEntity)}
    second_host = next(attributes for load, attributes in result.items() if "ESX-B-VM1" in load)
    assert second_host["read_ratio"] == pytest.approx(0.8 * 0.7 + 0.2)
    assert second_host["random_ratio"] == pytest.approx(0.8)
    assert "block_bytes" not in second_host
