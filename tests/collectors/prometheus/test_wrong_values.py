"""What exporters report wrongly, whatever their make: held values, impossible ones, and counters that go back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest

from sanpath.plugin import Event
from sanpath_collectors.prometheus.devices import Devices
from sanpath_collectors.prometheus.parse import Series
from sanpath_collectors.prometheus.profile import Profile
from sanpath_collectors.prometheus.samples import Samples
from sanpath_collectors.prometheus.warnings import Remarks

SECOND_US = 1_000_000
PROFILE = Profile.model_validate(
    {
        "title": "some exporter",
        "device": {"kind": "array", "name": "array"},
        "parts": [
            {
                "kind": "volume",
                "plane": "array",
                "per": "volume",
                "relation": "member_of",
                "averaged_seconds": 0,
                "metrics": {
                    "ops_per_second_read": {"series": "reads"},
                    "service_seconds_read": {"series": "read_ms", "unit": 1e-3},
                },
            },
            {"kind": "lun", "plane": "guest_block", "per": "disk", "metrics": {"ops_read_total": {"series": "done"}}},
        ],
    }
)
Points = Sequence[tuple[float, float]]
Row = Mapping[str, float | None]


class Reader:
    """Reads answers of a server as the collector does. `texts`: its remarks by their codes."""

    def __init__(self, step_seconds: float = 60.0) -> None:
        self._remarks = Remarks(PROFILE.title)
        self._samples = Samples(PROFILE, Devices(PROFILE, self._remarks), self._remarks, step_seconds)
        self.texts: dict[str, str] = {}

    def read(self, series: Mapping[str, Points], **labels: str) -> list[Row]:
        answer = [
            Series(
                {"__name__": name, "array": "a1", "instance": "i:1", **(labels or {"volume": "v1"})},
                [(round(at * SECOND_US), value) for at, value in points],
            )
            for name, points in series.items()
        ]
        found: list[Row] = []
        for _, rows in self._samples.rows(answer, 0):
            for n, at in enumerate(rows.seen):
                covers = None if rows.covers_seconds is None else rows.covers_seconds[n]
                values = {metric: column[n] for metric, column in rows.values.items()}
                found.append({"at": at / SECOND_US, "covers": covers, **values})
        events: list[Event] = list(self._remarks.events(0))
        self.texts |= {str(event.detail.get("code")): str(event.detail.get("text")) for event in events}
        return found


def every(seconds: float, last: float, value_at: Mapping[float, float]) -> Points:
    """Scrapes of an exporter that has a new value at each of the given times, and repeats it until the next."""
    times = [seconds * n for n in range(1, int(last / seconds) + 1)]
    return [
        (at, next(value for since, value in sorted(value_at.items(), reverse=True) if since <= at)) for at in times
    ]


def test_a_value_that_is_repeated_for_a_minute_is_one_measurement_of_that_minute() -> None:
    reader = Reader()
    updates = {0: 900.0, 57: 1000.0, 117: 1100.0, 177: 1050.0, 237: 1020.0}
    rows = reader.read({"reads": every(15, 285, updates), "read_ms": every(15, 285, {**updates, 117: 900.0})})
    assert [(row["at"], row["ops_per_second_read"]) for row in rows] == [
        (15, 900), (60, 1000), (120, 1100), (180, 1050), (240, 1020),
    ]  # fmt: skip
    assert rows[2]["covers"] == 75  # the exporter's minute, which ended at most one scrape of 15 s before
    assert "every 60 s only" in reader.texts["values-held"]
    assert "has to last 300 s" in reader.texts["values-held"]


def test_a_value_that_stays_the_same_is_measured_again_as_often_as_the_exporter_asks() -> None:
    updates = {0: 900.0, 57: 1000.0, 117: 1100.0, 177: 1050.0, 237: 1000.0}
    rows = Reader().read({"reads": every(15, 495, updates)})
    assert [row["at"] for row in rows if (row["at"] or 0) >= 240] == [240, 300, 360, 420, 480]


def test_it_is_found_out_by_a_live_source_too_which_sees_a_scrape_at_a_time() -> None:
    reader = Reader()
    points = every(15, 420, {0: 900.0, 57: 1000.0, 117: 1100.0, 177: 1050.0, 237: 1020.0, 297: 1010.0, 357: 1000.0})
    rows = [row for point in points for row in reader.read({"reads": [point]})]
    assert [row["at"] for row in rows if (row["at"] or 0) >= 180] == [180, 240, 300, 360, 420]


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([1000.0, 1003.0, 1003.0, 998.0, 1001.0, 1001.0, 1002.0, 1000.0], id="twice the same by chance"),
        pytest.param([0.0] * 8, id="nothing happens"),
        pytest.param([1000.0] * 8, id="the same from the first scrape on"),
    ],
)
def test_values_that_are_new_with_each_scrape_all_count(values: list[float]) -> None:
    reader = Reader()
    rows = reader.read({"reads": [(15.0 * n, value) for n, value in enumerate(values, 1)]})
    assert len(rows) == len(values)
    assert {row["covers"] for row in rows} == {None}
    assert "values-held" not in reader.texts


@pytest.mark.parametrize(
    ("ops", "milliseconds", "is_known"),
    [
        pytest.param(5.0, 600_000_000.0, False, id="a latency of a week"),
        pytest.param(2e5, 30_000.0, False, id="six million in flight"),
        pytest.param(5.0, -3.0, False, id="negative"),
        pytest.param(2.0, 29_000.0, True, id="a command that nearly timed out"),
        pytest.param(2e5, 0.5, True, id="an ordinary one"),
    ],
)
def test_what_cannot_be_is_not_known_and_reported(ops: float, milliseconds: float, is_known: bool) -> None:
    reader = Reader()
    (row,) = reader.read({"reads": [(15.0, ops)], "read_ms": [(15.0, milliseconds)]})
    assert row["ops_per_second_read"] == ops
    assert (row["service_seconds_read"] is not None) == is_known
    assert ("which is impossible" in reader.texts.get("impossible-value", "")) != is_known


def test_a_rate_beyond_all_arrays_is_not_known() -> None:
    (row,) = Reader().read({"reads": [(15.0, 1.8e19)]})
    assert row["ops_per_second_read"] is None


def test_the_return_of_a_counter_that_went_back_for_a_scrape_is_no_growth() -> None:
    reader = Reader()
    counted = [(15, 1_000_000), (30, 1_010_000), (45, 4_000), (60, 1_030_000), (75, 1_040_000)]
    rows = reader.read({"done": counted}, disk="sda")
    assert [row["ops_read_total"] for row in rows] == [1_000_000, 1_010_000, 4_000, None, 1_040_000]
    assert "fell and came back" in reader.texts["counter-went-back"]


def test_a_counter_that_starts_again_from_zero_goes_on_counting() -> None:
    reader = Reader()
    counted = [(15 * n, value) for n, value in enumerate([1e6, 1.01e6, 4e3, 1.4e4, 2.4e4, 3.4e4, 4.4e4, 5.4e4], 1)]
    rows = [row for point in counted for row in reader.read({"done": [point]}, disk="sda")]
    assert [row["ops_read_total"] for row in rows] == [value for _, value in counted]
    assert "counter-went-back" not in reader.texts


def test_a_value_that_is_no_number_stays_not_known() -> None:
    (row,) = Reader().read({"reads": [(15.0, 10.0)], "read_ms": [(15.0, math.nan)]})
    assert row["service_seconds_read"] is None
