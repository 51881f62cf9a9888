"""What a user would notice of the updates of a running test, of a configuration, and of which file is which."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from sanpath.plugin import CollectorError, Event, Item, Rows, SourceEntity
from sanpath_collectors.iometer.reader import IometerReader, UpdatesReader

CASES = Path(__file__).parent
UPDATES = "updates/instresults.csv"
FORMAT = "%Y-%m-%d %H:%M:%S:%f"
CONFIGURATION = "configuration/six-luns.icf"


def read(content: bytes) -> list[Item]:
    reader = IometerReader("load")
    return [*reader.feed(content), *reader.finish()]


def content(name: str) -> bytes:
    return (CASES / name).read_bytes()


def series(items: list[Item], load: str, metric: str) -> list[tuple[int, float]]:
    found = []
    for item in items:
        if isinstance(item, Rows) and item.entity == [load]:
            value = item.values[metric][0]
            if value is not None:
                found.append((item.seen[0], value))
    return found


@pytest.mark.parametrize("pause", [0.002, 0.5, 0.999, 1.001, 5])
def test_a_test_that_follows_at_once_does_not_begin_in_the_one_before_it(pause: float) -> None:
    text = content(UPDATES).decode()
    second = (
        text.index("'Test Type", 1) if "'Test Type" in text[1:] else text.index("'Access spec", text.index(",ALL,"))
    )
    ended, begun = (events[number].seen for events, number in zip(marks(read(text.encode())), (0, 1), strict=True))
    first_row = next(row.seen[0] for row in load_rows(read(text.encode())) if row.seen[0] > begun)
    earlier = timedelta(microseconds=first_row - ended) - timedelta(seconds=pause)

    def moved(found: re.Match[str]) -> str:
        return (datetime.strptime(found[0], FORMAT) - earlier).strftime(FORMAT)[:-3]

    items = read((text[:second] + re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}", moved, text[second:])).encode())
    ends, begins = marks(items)
    assert ends[0].seen < begins[1].seen < ends[1].seen
    last_us: dict[str, int] = {}
    for row in load_rows(items):
        assert row.seen[0] > last_us.get(row.entity[0], 0)
        last_us[row.entity[0]] = row.seen[0]


def marks(items: list[Item]) -> tuple[list[Event], list[Event]]:
    """The ends of steps, and their begins."""
    found = [item for item in items if isinstance(item, Event)]
    return [e for e in found if e.name == "step-end"], [e for e in found if e.name == "step-begin"]


def load_rows(items: list[Item]) -> list[Rows]:
    return [item for item in items if isinstance(item, Rows)]


def first_test() -> list[Item]:
    text = content(UPDATES)
    return read(text[: text.index(b"'Access specifications", text.index(b",ALL,"))])


def test_updates_add_up_to_what_iometer_says_of_the_whole_test() -> None:
    """The rows of means at its end are not counted again."""
    whole = next(line for line in content(UPDATES).splitlines() if b",ALL,All," in line).split(b",")
    header = next(line for line in content(UPDATES).splitlines() if line.startswith(b"TimeStamp,")).split(b",")
    items = first_test()
    loads = [item.local_id for item in items if isinstance(item, SourceEntity) and item.local_id != "load"]
    assert sorted(set(loads)) == ["load/Worker 1", "load/Worker 1#2", "load/Worker 2"]
    done = sum(series(items, load, "ops_read_total")[-1][1] for load in set(loads))
    assert done == int(whole[header.index(b"Read I/Os")])


def test_an_update_without_an_io_stands_still() -> None:
    values = [value for _, value in series(first_test(), "load/Worker 1#2", "ops_read_total")]
    assert values[1] == values[2] < values[3]


def test_each_update_tells_of_the_time_since_the_one_before() -> None:
    """Little's law in every interval; I/Os that cross its edge leave a tenth."""
    items = first_test()
    done = series(items, "load/Worker 2", "latency_seconds_read_total")
    for (began, before), (ended, after) in pairwise(done):
        assert (after - before) * 1e-9 / ((ended - began) / 1e6) == pytest.approx(16, rel=0.1)


def test_a_step_is_announced_with_all_of_its_targets() -> None:
    items = read(content(UPDATES))
    marks = [item for item in items if isinstance(item, Event) and item.name in ("step-begin", "step-end")]
    assert [(mark.name, mark.detail["offered"]) for mark in marks] == [
        ("step-begin", 48),
        ("step-end", 48),
        ("step-begin", 4),
        ("step-end", 4),
    ]
    samples = [item.seen[0] for item in items if isinstance(item, Rows)]
    assert marks[0].seen == min(samples)


def test_the_slowest_io_of_a_test_stays_the_slowest() -> None:
    slowest = [value for _, value in series(first_test(), "load/Worker 1", "latency_seconds_max_read")]
    assert slowest[0] == slowest[1] < slowest[2]


def without_default_settings(text: str) -> str:
    kept, skipping = [], False
    for line in text.splitlines(keepends=True):
        skipping = skipping or line.startswith("'Default target settings")
        if not skipping:
            kept.append(line)
        skipping = skipping and not line.startswith("'End default target settings")
    return "".join(kept)


def whole_of(text: str) -> SourceEntity:
    return [item for item in read(text.encode()) if isinstance(item, SourceEntity) and item.local_id == "load"][-1]


def test_a_worker_without_settings_keeps_one_io_a_target_in_flight() -> None:
    text = content(CONFIGURATION).decode()
    assert whole_of(text).attributes["in_flight_configured"] == 16 * 3 + 4
    assert whole_of(without_default_settings(text)).attributes["in_flight_configured"] == 4


def test_a_cycled_queue_depth_is_no_number_in_flight() -> None:
    text = content(CONFIGURATION).decode().replace("NORMAL", "CYCLE_OUTSTANDING_IOS")
    assert not [
        item
        for item in read(text.encode())
        if isinstance(item, SourceEntity) and "in_flight_configured" in item.attributes
    ]


def test_a_configuration_names_its_loads_as_the_results_do() -> None:
    planned = {item.local_id for item in read(content(CONFIGURATION)) if isinstance(item, SourceEntity)}
    results = read(content("three-tests-two-managers/results.csv"))
    run = {item.local_id for item in results if isinstance(item, SourceEntity)}
    assert 'load/ESX-A-VM1/Worker 1/1: "PURE FlashArray 1"' in planned & run


@pytest.mark.parametrize("name", [UPDATES, CONFIGURATION, "old-layout/results.csv", "never-ended/results.csv"])
def test_every_kind_of_file_is_recognised(name: str) -> None:
    assert IometerReader.recognises(content(name), Path(name).name)


@pytest.mark.parametrize(
    "text",
    ["Version 1.1.0\r\nof some other program\r\n", '{"fio version": "fio-3.33"}', "'Results\n'of something\n", ""],
)
def test_other_files_are_left_to_others(text: str) -> None:
    assert not IometerReader.recognises(text.encode(), "results.csv")


def test_only_updates_can_be_followed() -> None:
    assert UpdatesReader.recognises(content(UPDATES), "renamed.csv")
    assert UpdatesReader.recognises(content(UPDATES)[:60], "instresults.csv")
    assert not UpdatesReader.recognises(content("old-layout/results.csv"), "results.csv")


def test_a_file_of_the_wrong_kind_is_one_clear_error() -> None:
    with pytest.raises(CollectorError, match="no complete test of Iometer"):
        read(b"something else\n")
