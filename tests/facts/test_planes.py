"""Latencies at the clocks of a host: what a mean over both directions says of each of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sanpath.facts.host.plane_rows import plane_rows
from sanpath.facts.host.planes import of_direction
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.topology.identity import resolve

RATES = st.floats(1.0, 1e5)
SECONDS = st.floats(5e-5, 0.05)
LATENCY = "latency_seconds_read_total"


@given(reads=RATES, writes=RATES, read_seconds=SECONDS, ratio=st.floats(0.1, 10.0))
def test_a_mean_over_both_directions_bounds_each_of_them(
    reads: float, writes: float, read_seconds: float, ratio: float
) -> None:
    """esxtop and others give one latency of a LUN for reads and writes together."""
    latencies = {"read": read_seconds, "write": read_seconds * ratio}
    mean = (reads * latencies["read"] + writes * latencies["write"]) / (reads + writes)
    sample = StepSamples(
        "top",
        "esx1/naa.1",
        "step",
        seconds=[1.0],
        rates={"ops_read_total": [reads], "ops_write_total": [writes]},
        means={"device_seconds_mean": mean},
    )
    rows = {str(row["direction"]): row for row in plane_rows(resolve(()), {"lun": [sample]}, {"lun": {}})}
    for direction, seconds in latencies.items():
        row = rows[direction]
        latency, error = row["latency_seconds"], row["resolution_seconds"]
        assert isinstance(latency, float)
        assert isinstance(error, float)
        assert latency - error <= seconds * (1 + 1e-9)
        assert seconds <= (latency + error) * (1 + 1e-9)


@given(reads=RATES, seconds=SECONDS)
def test_a_mean_is_exact_where_all_ios_have_one_direction(reads: float, seconds: float) -> None:
    sample = StepSamples(
        "top",
        "esx1/naa.1",
        "step",
        seconds=[1.0],
        rates={"ops_read_total": [reads], "ops_write_total": [0.0]},
        means={"device_seconds_mean": seconds},
    )
    (row,) = plane_rows(resolve(()), {"lun": [sample]}, {"lun": {}})
    assert row["latency_seconds"] == seconds
    assert row["resolution_seconds"] == 0


@given(reads=RATES, writes=RATES, read_seconds=SECONDS, ratio=st.floats(0.1, 10.0), wait=st.floats(0.0, 0.1))
def test_queues_that_do_not_tell_reads_from_writes_narrow_it(
    reads: float, writes: float, read_seconds: float, ratio: float, wait: float
) -> None:
    """Above the device reads and writes wait equally long, and a clock up there tells them apart."""
    times = {"read": read_seconds, "write": read_seconds * ratio}
    rates = {"read": reads, "write": writes}
    mean = sum(rates[d] * times[d] for d in rates) / sum(rates.values())
    sample = StepSamples(
        "top",
        "esx1/naa.1",
        "step",
        seconds=[1.0],
        rates={f"ops_{d}_total": [rate] for d, rate in rates.items()},
        means={"device_seconds_mean": mean},
    )
    above = {d: {"ops_per_second": rates[d], "latency_seconds": times[d] + wait} for d in rates}
    for row in plane_rows(resolve(()), {"lun": [sample]}, {"lun": {}}):
        d = str(row["direction"])
        narrowed = of_direction(row, above[d], above["write" if d == "read" else "read"])
        latency, error = narrowed["latency_seconds"], narrowed["resolution_seconds"]
        assert isinstance(latency, float)
        assert isinstance(error, float)
        assert latency - error <= times[d] * (1 + 1e-9)
        assert times[d] <= (latency + error) * (1 + 1e-9)
        assert isinstance(row["resolution_seconds"], float)
        assert error <= row["resolution_seconds"] * (1 + 1e-9)


def test_a_counter_of_time_that_stands_still_is_no_clock() -> None:
    """md before Linux 5.9 counts I/Os and no time: they did not take 0 s."""
    sample = StepSamples("db1", "md0", "step", seconds=[1.0], rates={"ops_read_total": [1e3], LATENCY: [0.0]})
    assert not list(plane_rows(resolve(()), {"lun": [sample]}, {"lun": {}}))


def test_a_coarse_clock_that_ran_in_another_step_reads_0_s() -> None:
    still, moving = (
        StepSamples("db1", "sda", step, seconds=[1.0], rates={"ops_read_total": [1e3], LATENCY: [seconds]})
        for step, seconds in (("a", 0.0), ("b", 0.01))
    )
    rows = list(plane_rows(resolve(()), {"lun": [still, moving]}, {"lun": {}}))
    assert [(row["step"], row["latency_seconds"]) for row in rows] == [("a", 0.0), ("b", 1e-5)]
