"""Counters and gauges → rates and means of a step."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Literal

import pytest
from duckdb import connect
from hypothesis import given, settings
from hypothesis import strategies as st

from sanpath.facts.samples import step_samples as sampling
from sanpath.facts.samples.clock_offsets import clock_offsets
from sanpath.facts.samples.step_samples import StepSamples, step_samples
from sanpath.model import Column, Step, Table
from sanpath.recording.reading.recording import Recording
from tests.support.recording import Number, RecordingBuilder, microseconds

WIDE = Table("switch_port", (Column("bytes_rx_total", 64), Column("bytes_tx_total", 64), Column("link_up")))
COUNTED = Table("switch_port", (Column("bytes_rx_total", 64),))
NARROW = Table("switch_port", (Column("bytes_rx_total", 32),))
Series = Sequence[tuple[float, Number]]


def step(begin: float, end: float, name: str = "s") -> Step:
    return Step(name, microseconds(begin), microseconds(end), "marks", (), None)


def sampled(recording: Recording, *steps: Step, kind: str = "switch_port") -> list[StepSamples]:
    connection = connect()
    try:
        return step_samples(recording, connection, kind, steps)
    finally:
        connection.close()


def counted(folder: Path, series: Series, table: Table = WIDE, whole: Step | None = None) -> StepSamples:
    """One counter of one port, polled as the series says, in one step."""
    out = RecordingBuilder(folder)
    out.source("sw1", "test", table)
    out.counter("sw1", table, "1", "bytes_rx_total", series)
    (found,) = sampled(out.write(), whole or step(-1, 1000))
    return found


def test_mean_rate_is_sum_of_differences_over_sum_of_times(tmp_path: Path) -> None:
    # 100 B/s for 1 s, then 400 B/s for 3 s: (100 + 1200) / 4 = 325, not the mean of the two rates.
    found = counted(tmp_path, [(0, 0), (1, 100), (4, 1300)])
    assert found.rates["bytes_rx_total"] == pytest.approx([100, 400])
    assert found.rate("bytes_rx_total") == pytest.approx(325)
    assert found.windows == 2


def test_a_64_bit_counter_that_falls_was_reset_and_its_window_is_left_out(tmp_path: Path) -> None:
    found = counted(tmp_path, [(0, 4_000_000_000), (1, 4_000_000_100), (2, 7), (3, 107)])
    assert found.rates["bytes_rx_total"] == [pytest.approx(100), None, pytest.approx(100)]
    assert found.rate("bytes_rx_total") == pytest.approx(100)


def test_a_32_bit_counter_may_wrap_once(tmp_path: Path) -> None:
    found = counted(tmp_path, [(0, 2**32 - 300), (1, 700)], NARROW)
    assert found.rate("bytes_rx_total") == pytest.approx(1000)


@pytest.mark.parametrize(("bits", "megabits"), [(32, 10_000), (32, 4_000), (32, None), (64, 10_000)])
def test_a_counter_that_may_have_wrapped_more_than_once_tells_nothing(
    tmp_path: Path, bits: Literal[32, 64], megabits: int | None
) -> None:
    """2^32 bytes are 3.4 s at 10 Gb/s and 8.6 s at 4: a window of 5 s is ambiguous at 10, one of 2 s is not. A
    counter of 64 bits that falls was reset."""
    ports = Table("switch_port", (Column("bytes_rx_total", bits), Column("link_speed_bits_per_second", scale=1e6)))
    out = RecordingBuilder(tmp_path)
    out.source("sw1", "test", ports)
    for at, received in ((0, 2**32 - 1500), (2, 2**32 - 500), (7, 4500), (9, 6500)):
        out.samples("sw1", ports, at, {"1": {"bytes_rx_total": received, "link_speed_bits_per_second": megabits}})
    (found,) = sampled(out.write(), step(-1, 10))
    is_known = bits == 32 and megabits != 10_000
    assert found.rates["bytes_rx_total"] == [500, 1000 if is_known else None, 1000]
    assert found.rate("bytes_rx_total") == pytest.approx(8000 / 9 if is_known else 750)


@pytest.mark.parametrize(
    ("frames_per_second", "seconds", "is_known"),
    [(20, 5, True), (1_000_000, 5, False), (20, 100, False), (0, 5, False)],
    ids=["few", "as many as hold 2^32 bytes", "so long that frames may wrap too", "not counted"],
)
def test_a_counter_of_bytes_does_not_wrap_more_often_than_its_frames_allow(
    tmp_path: Path, frames_per_second: int, seconds: int, is_known: bool
) -> None:
    """At 32 Gb/s 2^32 bytes are 1.1 s, 2^32 frames of 36 bytes 39 s, and at least 2,000,000 frames."""
    columns = (Column("bytes_rx_total", 32), Column("frames_rx_total", 32))
    ports = Table("switch_port", (*columns, Column("link_speed_bits_per_second", scale=1e6)))
    out = RecordingBuilder(tmp_path)
    out.source("sw1", "test", ports)
    for n in range(3):
        received, frames = (2**32 - 1500 + 1000 * n) % 2**32, n * seconds * frames_per_second
        about = {"bytes_rx_total": received, "frames_rx_total": frames, "link_speed_bits_per_second": 32_000}
        out.samples("sw1", ports, n * seconds, {"1": about})
    (found,) = sampled(out.write(), step(-1, 3 * seconds))
    assert found.rates["bytes_rx_total"] == [1000 / seconds if is_known else None] * 2


def test_a_32_bit_counter_that_falls_by_less_than_half_its_range_was_reset(tmp_path: Path) -> None:
    found = counted(tmp_path, [(0, 2**31), (1, 5), (2, 1005)], NARROW)
    assert found.rates["bytes_rx_total"] == [None, pytest.approx(1000)]


def test_values_beyond_what_a_double_holds_are_subtracted_exactly(tmp_path: Path) -> None:
    # A double has 53 bits: at 2^63 it knows multiples of 1,024 only, and 2^63 + 1 would not differ from 2^63.
    found = counted(tmp_path, [(0, 2**63), (1, 2**63 + 1), (2, 2**64 - 1)])
    assert found.rates["bytes_rx_total"] == [1.0, pytest.approx(2**63 - 2)]


def test_a_window_that_reaches_over_the_edge_of_a_step_is_left_out(tmp_path: Path) -> None:
    # 10 B/s before the step, 1,000 B/s in it; the window from 4 to 6 holds both.
    series = [(0, 0), (2, 20), (4, 40), (6, 1050), (8, 3050), (10, 5050), (12, 5060)]
    found = counted(tmp_path, series, whole=step(5, 11))
    assert found.rates["bytes_rx_total"] == pytest.approx([1000, 1000])


def test_a_poll_without_an_answer_makes_a_longer_window(tmp_path: Path) -> None:
    found = counted(tmp_path, [(0, 0), (1, 100), (2, None), (3, 500), (4, 600)])
    assert found.seconds == pytest.approx([1, 2, 1])
    assert found.rate("bytes_rx_total") == pytest.approx(150)


def test_a_single_value_that_was_not_answered_makes_its_windows_unknown(tmp_path: Path) -> None:
    out = RecordingBuilder(tmp_path)
    out.source("sw1", "test", WIDE)
    for at, received in enumerate([0, 100, None, 300, 400]):
        out.samples("sw1", WIDE, at, {"1": {"bytes_rx_total": received, "bytes_tx_total": 10 * at}})
    (found,) = sampled(out.write(), step(-1, 9))
    assert found.rates["bytes_rx_total"] == [pytest.approx(100), None, None, pytest.approx(100)]
    assert found.rate("bytes_rx_total") == pytest.approx(100)
    assert found.rate("bytes_tx_total") == pytest.approx(10)


def test_a_counter_that_was_never_answered_is_unknown_and_not_zero(tmp_path: Path) -> None:
    out = RecordingBuilder(tmp_path)
    out.source("sw1", "test", WIDE)
    for at in range(5):
        out.samples("sw1", WIDE, at, {"1": {"bytes_rx_total": 100 * at, "bytes_tx_total": None}})
    (found,) = sampled(out.write(), step(-1, 9))
    assert found.rate("bytes_rx_total") == pytest.approx(100)
    assert found.rate("bytes_tx_total") is None
    assert found.rate("errors_rx_total") is None


def test_scales_are_applied_to_counters_and_gauges(tmp_path: Path) -> None:
    table = Table(
        "load", (Column("latency_seconds_read_total", 64, 1e-9), Column("latency_seconds_max_read", 0, 1e-6))
    )
    out = RecordingBuilder(tmp_path)
    out.source("fio", "test", table)
    for at in range(3):
        values = {"latency_seconds_read_total": 5 * 10**8 * at, "latency_seconds_max_read": 2500}
        out.samples("fio", table, at, {"job": values})
    (found,) = sampled(out.write(), step(-1, 9), kind="load")
    assert found.rate("latency_seconds_read_total") == pytest.approx(0.5)
    assert found.last_values["latency_seconds_max_read"] == pytest.approx(0.0025)


@pytest.mark.parametrize("refresh", [2.0, 3.0, 3.3])
def test_a_cached_agent_reads_the_same_mean_as_an_uncached_one(tmp_path: Path, refresh: float) -> None:
    rate = 415.2e6
    uncached = [(at + 0.4, round(rate * (at + 0.4))) for at in range(120)]
    cached = [(at, round(rate * (at // refresh * refresh))) for at, _ in uncached]
    means = [counted(tmp_path / n, s).rate("bytes_rx_total") for n, s in (("plain", uncached), ("cache", cached))]
    assert means[0] == pytest.approx(rate, rel=1e-6)
    assert means[1] == pytest.approx(rate, rel=0.005 if refresh < 3.3 else 0.02)


def test_a_cached_agent_has_one_window_a_refresh(tmp_path: Path) -> None:
    found = counted(tmp_path, [(at + 0.4, 1000 * (at // 3 * 3)) for at in range(31)])
    assert found.seconds == pytest.approx([3.0] * 10)
    assert found.rates["bytes_rx_total"] == pytest.approx([1000] * 10)


@pytest.mark.slow
@settings(max_examples=60)
@given(poll=st.integers(1, 10), refresh=st.integers(12, 90))
def test_a_slow_cache_hides_no_traffic_and_makes_none_up(poll: int, refresh: int) -> None:
    """A window begins and ends with news, each up to one poll late."""
    series = [(at, 1000 * (at // refresh * refresh)) for at in range(0, 8 * refresh, poll)]
    with TemporaryDirectory() as folder:
        rates = counted(Path(folder, "r"), series).rates["bytes_rx_total"]
    late = poll / (refresh - poll)
    assert len(rates) >= 5
    assert all(1000 / (1 + late) <= rate <= 1000 * (1 + late) for rate in rates if rate is not None)


def test_an_idle_port_of_a_busy_switch_reads_zero(tmp_path: Path) -> None:
    out = RecordingBuilder(tmp_path)
    out.source("sw1", "test", WIDE)
    for at in range(6):
        out.samples("sw1", WIDE, at, {"1": {"bytes_rx_total": 100 * at}, "2": {"bytes_rx_total": 4711}})
    found = {s.entity: s for s in sampled(out.write(), step(-1, 9))}
    assert found["2"].rate("bytes_rx_total") == 0.0
    assert found["2"].windows == 5


def test_a_switch_without_any_traffic_reads_zero_and_not_unknown(tmp_path: Path) -> None:
    found = counted(tmp_path, [(at, 4711) for at in range(60)], whole=step(20, 50))
    assert found.rate("bytes_rx_total") == 0.0
    assert found.windows >= 4


def test_traffic_after_a_long_pause_is_counted_in_full(tmp_path: Path) -> None:
    # Idle for 40 s, then 1,000 B/s from 40 to 60: 20,000 bytes over the 60 s.
    found = counted(tmp_path, [(at, max(0, at - 40) * 1000) for at in range(61)])
    assert found.rate("bytes_rx_total") == pytest.approx(20_000 / 60)


@pytest.mark.parametrize("shift", [0.0, 37.0, -90.0])
def test_a_wrong_device_clock_changes_nothing(tmp_path: Path, shift: float) -> None:
    """The device's clock tells when a value was true; its offset is found and taken off."""
    table = Table("load", (Column("ops_read_total", 64),))
    out = RecordingBuilder(tmp_path)
    out.source("fio", "test", table)
    # Answers are seen 0 to 0.3 s late: only the device's own clock has the true spacing of one second.
    for at in range(20):
        out.samples("fio", table, at + 0.1 * (at % 4), {"job": {"ops_read_total": 500 * at}}, device_at=at + shift)
    recording = out.write()
    (found,) = sampled(recording, step(4.5, 15.5), kind="load")
    assert found.rates["ops_read_total"] == pytest.approx([500] * 10)
    connection = connect()
    assert {s: o.seconds for s, o in clock_offsets(recording, connection).items()} == {"fio": pytest.approx(shift)}
    connection.close()


def test_gauges_are_averaged_over_time_and_need_to_lie_in_the_step_as_a_whole(tmp_path: Path) -> None:
    table = Table("array", (Column("service_seconds_read", 0, 1e-6),), rollup="average")
    out = RecordingBuilder(tmp_path)
    out.source("fa1", "test", table)
    for at, covers, value in ((10, 10, 9000), (12, 2, 100), (16, 4, 400), (30, 20, 9000)):
        out.samples("fa1", table, at, {"fa1": {"service_seconds_read": value}}, covers=covers)
    (found,) = sampled(out.write(), step(9, 17), kind="array")
    # Only the values over 10..12 and 12..16 lie in 9..17: (2 x 100 + 4 x 400) / 6 = 300 microseconds.
    assert found.means["service_seconds_read"] == pytest.approx(300e-6)
    assert found.windows == 2


def test_sources_that_call_an_entity_alike_are_kept_apart(tmp_path: Path) -> None:
    out = RecordingBuilder(tmp_path)
    for name, rate in (("sw1", 100), ("sw2", 200)):
        out.source(name, "test", WIDE)
        out.counter(name, WIDE, "1", "bytes_rx_total", [(at, rate * at) for at in range(5)])
    found = {s.source: s.rate("bytes_rx_total") for s in sampled(out.write(), step(-1, 9))}
    assert found == {"sw1": pytest.approx(100), "sw2": pytest.approx(200)}


def by_hand(series: Sequence[tuple[int, int]], inside: Step) -> tuple[int, float, float]:
    """Windows of a series in a step, their length together, and the rate in those without a reset."""
    windows = [
        (now, then) for then, now in pairwise(sorted(series)) if inside.start <= then[0] and now[0] <= inside.end
    ]
    seconds = sum(now[0] - then[0] for now, then in windows) / 1e6
    result = [(now, then) for now, then in windows if now[1] >= then[1]]
    counted = sum(now[1] - then[1] for now, then in result) / (sum(now[0] - then[0] for now, then in result) / 1e6)
    return len(windows), seconds, counted


@pytest.mark.parametrize("closely", [None, {}], ids=["window by window", "in parts"])
def test_segments_without_any_order_give_what_counting_by_hand_does(
    tmp_path: Path, closely: dict[str, list[str]] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "_MAX_DETAILED_DIFFERENCES", 1_000)
    random = Random(7)
    ports = {f"fc1/{number}": list[tuple[int, int]]() for number in range(40)}
    for series in ports.values():
        counter = 0
        for poll in range(300):
            counter = 0 if random.random() < 0.02 else counter + random.randrange(10**9)
            series.append((microseconds(poll + random.random()), counter))
    rows = [(name, *sample) for name, series in ports.items() for sample in series]
    random.shuffle(rows)
    out = RecordingBuilder(tmp_path)
    out.source("sw1", "test", COUNTED)
    out.samples("sw1", COUNTED, 0, {"fc2/1": {"bytes_rx_total": 0}})
    recording = out.write()
    for number in range(3):
        own = rows[number::3]
        result = {"entity": [r[0] for r in own], "seen": [r[1] for r in own], "counted": [r[2] for r in own]}
        file = tmp_path / "samples" / "switch_port" / f"other-{number:08d}-{number:08d}.parquet"
        with closing(connect()) as connection:
            connection.execute(
                "COPY (SELECT 'sw1' AS source, unnest($entity) AS entity, unnest($seen) AS seen, NULL::BIGINT AS "
                "device_time, NULL::DOUBLE AS covers_seconds, unnest($counted)::UBIGINT AS bytes_rx_total) "
                f"TO '{file}' (FORMAT parquet)",
                result,
            )
    # Two loads may mark steps that overlap.
    steps = [step(10, 100.5, "a"), step(50, 200, "b"), step(250, 290, "c")]
    with closing(connect()) as connection:
        found = step_samples(recording, connection, "switch_port", steps, closely)
    assert len(found) == len(ports) * len(steps)
    for sample in found:
        assert bool(sample.overall) is (closely is not None)
        (inside,) = (one for one in steps if one.name == sample.step)
        windows, seconds, rate = by_hand(ports[sample.entity], inside)
        assert sample.windows == windows
        assert sample.length_seconds == pytest.approx(seconds)
        assert sample.rate("bytes_rx_total") == pytest.approx(rate)


def fast_port(folder: Path, values: Sequence[int]) -> StepSamples:
    """A 16GFC port whose source declares 32 bits for its byte counters, polled every five seconds."""
    table = Table("switch_port", (Column("bytes_rx_total", 32), Column("link_speed_bits_per_second")))
    out = RecordingBuilder(folder)
    out.source("sw1", "test", table)
    for number, value in enumerate(values):
        sample = {"bytes_rx_total": value, "link_speed_bits_per_second": 14.025e9}
        out.samples("sw1", table, 5.0 * number, {"1": sample})
    (found,) = sampled(out.write(), step(-1, 1000))
    return found


def test_a_small_counter_that_never_falls_is_as_wide_as_it_needs_to_be(tmp_path: Path) -> None:
    """A source declares the narrowest width of its tables; a new switch has not counted 2^32 bytes yet."""
    found = fast_port(tmp_path, range(1_000_000, 13_000_000, 500_000))
    assert found.rate("bytes_rx_total") == pytest.approx(100_000)


def test_three_windows_do_not_tell_how_wide_a_counter_is(tmp_path: Path) -> None:
    """859 MB/s are 2^32 bytes in five seconds, and 100 kB more."""
    assert fast_port(tmp_path, [1_000_000, 1_500_000, 2_000_000]).rate("bytes_rx_total") is None


def test_a_port_that_moves_nothing_is_idle_whatever_its_width(tmp_path: Path) -> None:
    assert fast_port(tmp_path, [1_000_000] * 4).rate("bytes_rx_total") == 0


def test_a_counter_of_32_bits_that_falls_may_have_wrapped_more_than_once(tmp_path: Path) -> None:
    found = fast_port(tmp_path, [4_000_000_000, 1_000_000_000, 2_000_000_000])
    assert found.rate("bytes_rx_total") is None
