"""Times of a file brought to the recorder's clock."""

from __future__ import annotations

from array import array
from datetime import UTC, datetime

import pytest

from sanpath.errors import UsageError
from sanpath.model import Column, Event, Rows, Table
from sanpath.plugin import ResultClock
from sanpath.recorder.importing.placement.placement import Placement, parse_zone, step_limits


def us(text: str) -> int:
    """A time in microseconds since the epoch, as if it were UTC."""
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1e6)


@pytest.mark.parametrize(
    ("where", "utc"),
    [
        ("+02:00", "2026-07-01T08:00:00"),
        ("-0530", "2026-07-01T15:30:00"),
        ("Europe/Berlin", "2026-07-01T08:00:00"),
        ("America/New_York", "2026-07-01T14:00:00"),
        ("utc", "2026-07-01T10:00:00"),
    ],
)
def test_local_times_are_brought_to_utc(where: str, utc: str) -> None:
    placement = Placement(zone=parse_zone(where))
    placed = placement.item(Event(us("2026-07-01T10:00:00"), "x"), "local")
    assert isinstance(placed, Event)
    assert placed.seen == us(utc)


def test_daylight_saving_that_ends_during_a_test_is_seen() -> None:
    placement = Placement(zone=parse_zone("Europe/Berlin"))
    before, after = (
        placement.item(Event(us(text), "x"), "local") for text in ("2026-10-25T01:30:00", "2026-10-25T03:30:00")
    )
    assert isinstance(before, Event)
    assert isinstance(after, Event)
    assert (after.seen - before.seen) / 3.6e9 == 3.0


@pytest.mark.parametrize("where", ["Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe"])
@pytest.mark.parametrize("clock", ["local", "utc", "elapsed", "none"])
@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25", "2010-11-07", "2026-04-05", "2026-06-01"])
def test_many_times_are_placed_as_each_of_them(where: str, clock: ResultClock, day: str) -> None:
    times = [us(f"{day}T00:00:00") + second * 1_000_000 for second in range(0, 86_400, 13)]
    table, entity = Table("lun", (Column("in_flight"),)), ["disk"] * len(times)
    placements = [Placement(zone=parse_zone(where), behind_us=5, begins=77) for _ in range(2)]
    placed = [
        placement.item(Rows(table, entity, seen, {}), clock)
        for placement, seen in zip(placements, (array("q", times), times), strict=True)
    ]
    assert isinstance(placed[0], Rows)
    assert isinstance(placed[1], Rows)
    assert list(placed[0].seen) == list(placed[1].seen)
    assert placements[0] == placements[1]


def test_a_clock_that_was_behind_is_brought_forward() -> None:
    placed = Placement(behind_us=90_000_000).item(Event(us("2026-07-01T10:00:00"), "x"), "utc")
    assert isinstance(placed, Event)
    assert placed.seen == us("2026-07-01T10:01:30")


def test_each_load_of_a_file_goes_to_its_mark() -> None:
    placement = Placement(marks=(1_000_000, 9_000_000))
    moments = []
    for seen, name in ((0, "step-begin"), (5, "step-end"), (5, "step-begin"), (12, "step-end")):
        placed = placement.item(Event(seen * 100_000, name), "elapsed")
        assert isinstance(placed, Event)
        moments.append(placed.seen / 1e6)
    assert moments == [1.0, 1.5, 9.0, 9.7]


def test_a_mark_counts_more_than_the_time_in_the_file() -> None:
    """DiskSpd tells when its process began, not when it began to measure."""
    placed = Placement(marks=(9_000_000,)).item(Event(us("2026-07-01T10:00:00"), "step-begin"), "utc")
    assert isinstance(placed, Event)
    assert placed.seen == 9_000_000


@pytest.mark.parametrize("text", ["", "+99:00", "../etc/passwd", "Nowhere/City", "+1:2:3", "+05:99"])
def test_what_is_no_zone_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a time zone"):
        parse_zone(text)


def test_marks_by_hand_last_until_the_next_and_steps_of_a_load_until_their_end() -> None:
    events = [
        ("hand", Event(1, "mark", {"name": "MRU"})),
        ("fio", Event(2, "step-begin", {"step": "a", "group": 0})),
        ("fio", Event(4, "step-end", {"step": "a", "group": 0})),
        ("hand", Event(5, "mark", {"name": "RR"})),
        ("fio", Event(6, "step-begin", {"step": "a", "group": 1})),
    ]
    assert step_limits(events) == {"MRU": (1, 5), "a": (2, 4), "RR": (5, None), "a (2)": (6, None)}
