"""Numbers as people say them."""

from __future__ import annotations

import pytest

from sanpath.units import bandwidth, count, duration, first_of, iops, long_duration, percent, percent_change


@pytest.mark.parametrize(
    ("seconds", "reported"),
    [
        (0.128, "128 ms"),
        (1.5, "1,500 ms"),
        (0.0819, "81.9 ms"),
        (0.00256, "2.56 ms"),
        (0.00035, "0.35 ms"),
        (0.00007, "70 µs"),
        (0, "0.00 ms"),
        (-0.0006, "-0.60 ms"),
    ],
)
def test_durations(seconds: float, reported: str) -> None:
    assert duration(seconds) == reported


def test_bandwidth_is_decimal() -> None:
    # 390.6 MiB/s, as some tools say MB/s, are 409.6 MB/s.
    assert bandwidth(390.625 * 2**20) == "409.6 MB/s"
    assert bandwidth(1.6384e9) == "1.64 GB/s"


def test_a_small_bandwidth_is_not_shown_as_none() -> None:
    assert [bandwidth(rate) for rate in (0.0, 368.6, 4178.0, 50_000.0)] == [
        "0.0 MB/s",
        "0.4 kB/s",
        "4.2 kB/s",
        "0.1 MB/s",
    ]


def test_the_rest() -> None:
    assert iops(6250) == "6,250 IOPS"
    assert percent(0.9769) == "97.7 %"
    assert (count(800.4), count(31.8), count(1.0)) == ("800", "31.8", "1")
    assert (count(0.0), count(0.012)) == ("0", "0.012"), "a light load is no idle one"


@pytest.mark.parametrize(
    ("ratio", "reported"),
    [(0.024, "+2.4 %"), (-0.003, "-0.3 %"), (0.9994, "+99.9 %"), (0.99951, "+100 %"), (3.0, "+300 %"), (0, "+0.0 %")],
)
def test_changes_from_a_hundred_percent_on_are_whole_percents(ratio: float, reported: str) -> None:
    assert percent_change(ratio) == reported


@pytest.mark.parametrize(
    ("seconds", "reported"),
    [
        (45, "45 s"),
        (130, "2 min 10 s"),
        (11_100, "3 h 5 min"),
        (4_035_871, "46 days 17 h"),
        (10**9, "11,574 days 1 h"),
    ],
)
def test_long_durations(seconds: float, reported: str) -> None:
    assert long_duration(seconds) == reported


def test_a_rounding_error_is_no_negative_time() -> None:
    assert (duration(-1e-17), duration(-4e-7), duration(-2e-6)) == ("0.00 ms", "0 µs", "-2 µs")


def test_a_long_list_has_its_first_names_and_the_number_of_the_others() -> None:
    assert [first_of(["a", "b", "c"], most) for most in (1, 2, 3)] == ["a and 2 more", "a, b and 1 more", "a, b, c"]
