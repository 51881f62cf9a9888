"""Facts of what a test is good for: trends worked out by hand, and what several jobs were told."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.facts.compute import compute
from sanpath.facts.load.validity import change_in_words, trend
from sanpath.facts.table import FactRow
from sanpath.model import Scalar
from sanpath_collectors.fio.tables import LOAD
from tests.support.recording import RecordingBuilder
from tests.support.san import San
from tests.support.stories import calm

FOUR = (100.0,) * 4
"""The first half of eight windows, which does not count."""


def seconds(*values: float, each: float = 1.0) -> list[tuple[float, float]]:
    return [(value, each) for value in values]


def test_what_does_not_change_has_no_trend() -> None:
    assert trend(seconds(*FOUR, *FOUR)) == 0.0


def test_noise_without_a_direction_is_chance() -> None:
    """103, 97, 104, 98: the line falls by 0.8 a second, 3.2 % over the 4 s; its standard error is 1.8."""
    assert trend(seconds(*FOUR, 103, 97, 104, 98)) == 0.0


def test_a_rise_in_the_noise_is_chance_as_long_as_the_noise_is_as_large() -> None:
    """96, 104, 98, 106: the line rises by 2.4 a second, 9.5 % over the 4 s; its standard error is 2.0, and three of
    them would be 6."""
    assert trend(seconds(*FOUR, 96, 104, 98, 106)) == 0.0


def test_a_rise_of_a_tenth_over_the_second_half() -> None:
    """2.5 more each second, from 95 to 105 in 4 s."""
    assert trend(seconds(*FOUR, 96.25, 98.75, 101.25, 103.75)) == pytest.approx(105 / 95 - 1)


def test_a_fall_is_negative_and_small_noise_does_not_hide_it() -> None:
    """The line of 115.2, 104.8, 95.2, 84.8 falls by (1.5 x 30.4 + 0.5 x 9.6) / 5 = 10.08 a second, from 120.16 to
    79.84."""
    assert trend(seconds(*FOUR, 115.2, 104.8, 95.2, 84.8)) == pytest.approx(79.84 / 120.16 - 1)


def test_a_jump_is_told_by_what_is_before_and_after_it() -> None:
    """3,000 for 3 s, then 300 for 6 s: a line through them would end below nothing."""
    assert trend(seconds(*FOUR, *FOUR, 100.0, *[3000.0] * 3, *[300.0] * 6)) == pytest.approx(-0.9)


def test_a_small_jump_is_no_steeper_than_it_is() -> None:
    """From 100 to 60: a line would fall from 111 to 50, by 55 %."""
    assert trend(seconds(*[100.0] * 13, *[60.0] * 5)) == pytest.approx(-0.4)


def test_throughput_and_latency_of_a_closed_loop_change_by_the_same_factor() -> None:
    """16 outstanding I/Os all the time: half the throughput is twice the latency, whether at once or bit by bit."""
    at_once = [8000.0] * 15 + [4000.0] * 5
    bit_by_bit = [8000.0] * 30 + [8000.0 * 0.5 ** ((n + 0.5) / 30) for n in range(30)]
    for rates in (at_once, bit_by_bit):
        throughput, latency = trend(seconds(*rates)), trend(seconds(*(16 / rate for rate in rates)))
        assert throughput is not None
        assert latency is not None
        assert (1 + throughput) * (1 + latency) == pytest.approx(1, abs=0.05)


def test_a_change_is_told_once_and_what_may_be_chance_not_at_all() -> None:
    half = "over the second half of the step throughput falls by 49.0 % and mean latency rises by 96.0 %"
    held = "the last quarter of the step has 58.0 % of the throughput of the first"
    assert change_in_words(-0.49, 0.96, 0.58) == f"{half}; {held}"
    assert change_in_words(0.0, 0.0, 0.58) == held
    assert change_in_words(0.0, 0.07, 1.01) == "over the second half of the step mean latency rises by 7.0 %"
    assert change_in_words(0.0, None, None) is None


def test_what_rose_in_the_first_half_only_has_settled() -> None:
    assert trend(seconds(10, 40, 70, 90, *FOUR)) == 0.0


def test_windows_of_any_length_give_the_same_trend() -> None:
    assert trend(seconds(*FOUR, 96.25, 98.75, 101.25, 103.75, each=5.0)) == pytest.approx(105 / 95 - 1)


def test_a_window_counts_from_its_middle() -> None:
    """Windows of 1, 1, 2 and 2 s have their middles at 0.5, 1.5, 3 and 5 s, where a rise of 4 a second from 97 on
    reads 99, 103, 109 and 117: 24 more after 6 s."""
    series = [*seconds(*FOUR), (99.0, 1.0), (103.0, 1.0), (109.0, 2.0), (117.0, 2.0)]
    assert trend(series) == pytest.approx(24 / 97)


@pytest.mark.parametrize("series", [[], seconds(96, 98, 101, 104, 106, 109, 111)])
def test_seven_windows_are_too_few(series: list[tuple[float, float]]) -> None:
    assert trend(series) is None


def row(san: San) -> FactRow:
    """The row of the load of a recording with one step and one direction."""
    (found,) = compute(san.write()).tables["load"]
    return found


def test_what_a_load_was_told_is_in_its_row(tmp_path: Path) -> None:
    about: dict[str, Scalar] = {"working_set_bytes": 1e9, "direct": False, "threads": 4, "fill": "zeros"}
    found = row(calm(San(tmp_path, about=about, cache_bytes=6.4e10, memory_bytes=8e9)))
    assert {name: found[name] for name in about} == about
    assert (found["cache_bytes"], found["memory_bytes"], found["rate_limited"]) == (6.4e10, 8e9, False)
    assert (found["synchronous"], found["files"], found["preconditioned"]) == (None, None, None)


def test_a_text_is_no_truth(tmp_path: Path) -> None:
    """An option as a load printed it: "0" would count as yes."""
    assert row(calm(San(tmp_path, about={"direct": "0"})))["direct"] is None


def two_jobs(folder: Path, first: dict[str, Scalar], second: dict[str, Scalar]) -> FactRow:
    """Two jobs with 8 in flight each, 1,000 IOPS each, in one step of 12 s."""
    out = RecordingBuilder(folder)
    out.source("fio", "fio", LOAD)
    out.entity("fio", "load", "fio")
    for job, about in (("fio/a", first), ("fio/b", second)):
        out.entity("fio", "load", job, attributes=about)
        out.link("fio", "member_of", (("load", job), ("load", "fio")))
    mark: dict[str, Scalar] = {"step": "s", "group": 0, "loads": "fio/a,fio/b", "offered": 16.0}
    out.event("fio", 5.0, "step-begin", **mark)
    for at in range(5, 18):
        done = 1000 * (at - 5)
        counters = {"ops_read_total": done, "bytes_read_total": 4096 * done}
        counters["latency_seconds_read_total"] = 8_000_000 * done
        out.poll("fio", at)
        out.samples("fio", LOAD, at, {"fio/a": counters, "fio/b": counters})
    out.event("fio", 17.0, "step-end", **mark)
    (found,) = compute(out.write()).tables["load"]
    return found


def test_several_jobs_are_one_test(tmp_path: Path) -> None:
    """Sizes and threads add up, past the file cache are only all of them, a rate holds back any."""
    found = two_jobs(
        tmp_path,
        {"working_set_bytes": 1e9, "threads": 2, "direct": True, "rate_limited": False, "fill": "zeros"},
        {"working_set_bytes": 2e9, "threads": 3, "direct": False, "rate_limited": True, "fill": "random"},
    )
    assert (found["working_set_bytes"], found["threads"]) == (3e9, 5)
    assert (found["direct"], found["rate_limited"], found["fill"]) == (False, True, None)


def test_what_one_of_several_jobs_does_not_tell_is_not_known(tmp_path: Path) -> None:
    found = two_jobs(tmp_path, {"working_set_bytes": 1e9, "direct": True}, {})
    assert (found["working_set_bytes"], found["direct"]) == (None, None)


def test_the_windows_of_several_jobs_are_those_of_their_sum(tmp_path: Path) -> None:
    found = two_jobs(tmp_path, {"seconds": 12.0}, {"seconds": 10.0})
    assert found["step_seconds"] == pytest.approx(10)
    assert (found["throughput_trend"], found["latency_trend"]) == (0.0, 0.0)


@pytest.mark.parametrize(("described", "direct"), [(8.0, False), (1.0, None)], ids=["its own", "of another run"])
def test_what_a_file_says_of_another_run_is_not_said_of_this_one(
    tmp_path: Path, described: float, direct: bool | None
) -> None:
    """A page with two results: the command of the first is above them, that of the second was not copied."""
    out = RecordingBuilder(tmp_path)
    out.source("fio", "fio", LOAD)
    out.entity("fio", "load", "fio", attributes={"direct": False, "in_flight_configured": described})
    out.entity("fio", "load", "fio/b", attributes={"in_flight_configured": 8.0})
    out.link("fio", "member_of", (("load", "fio/b"), ("load", "fio")))
    mark: dict[str, Scalar] = {"step": "s", "group": 0, "loads": "fio/b", "offered": 8.0}
    out.event("fio", 5.0, "step-begin", **mark)
    for at in range(5, 18):
        done = 1000 * (at - 5)
        out.poll("fio", at)
        counters = {"ops_read_total": done, "bytes_read_total": 4096 * done}
        out.samples("fio", LOAD, at, {"fio/b": counters | {"latency_seconds_read_total": 8_000_000 * done}})
    out.event("fio", 17.0, "step-end", **mark)
    (found,) = compute(out.write()).tables["load"]
    assert found["direct"] is direct
