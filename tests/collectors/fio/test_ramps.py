"""What fio did before and after the end of a ramp, where its counters begin anew."""

from __future__ import annotations

import pytest

from tests.collectors.fio.printed import START, Reported, client_document, direction, document, job, on


def test_counters_begin_anew_after_the_ramp_and_the_series_says_where() -> None:
    def at(moment: float, ops: int, runtime_ms: int, ramp: bool) -> bytes:
        one = job("a", 0, 0, 0, ramp_time="2", iodepth="5", ioengine="libaio")
        return document(moment, one | {"read": direction(ops, runtime_ms, mean=5e6, ramp=ramp)})

    # The counters after the ramp have overtaken those in it.
    reported = Reported.of_report(
        at(1, 100, 1000, True), at(2, 200, 1900, True), at(4, 2000, 2000, False), at(5, 3000, 3000, False)
    )
    assert reported.steps == [("step-begin", "a", 0.0), ("ramp-end", "a", 2.0), ("step-end", "a", 5.0)]
    assert reported.moments["f/a"] == [0.0, 1.0, 1.9, 2.0, 4.0, 5.0]
    assert reported.column("f/a", "ops_read_total") == [0, 100, 200, 0, 2000, 3000]
    # No latency is counted during the ramp: it is not zero.
    assert reported.column("f/a", "latency_seconds_read_total") == pytest.approx([0, None, None, 0, 10.0, 15.0])
    assert reported.in_flight("f/a") == pytest.approx(5.0)


def test_a_status_before_the_first_io_after_the_ramp_ends_it_all_the_same() -> None:
    """A busy machine may give the job no time for a second."""
    one = job("a", 0, 0, 0, ramp_time="2", iodepth="5", ioengine="libaio")
    statuses = ((1, 100, 1000, True), (2, 0, 0, False), (4, 2000, 2000, False), (5, 3000, 3000, False))
    documents = [
        document(moment, one | {"read": direction(ops, runtime_ms, mean=5e6, ramp=ramp)})
        for moment, ops, runtime_ms, ramp in statuses
    ]
    reported = Reported.of_report(*documents)
    assert [name for name, _, _ in reported.steps] == ["step-begin", "ramp-end", "step-end"]
    assert reported.column("f/a", "ops_read_total")[-2:] == [2000, 3000]


def test_what_a_client_did_in_its_ramp_is_left_out() -> None:
    entries = [on("h1", ops, ms) for ops, ms in ((900, 900), (1000, 1000), (100, 500), (600, 3000))]
    reported = Reported.of_report(client_document(*entries))
    assert reported.column("f/a", "ops_read_total") == [0, 100, 600]
    assert reported.moments["f/a"] == [1.0, 1.5, 4.0]


@pytest.mark.parametrize("without", [{"gtod_reduce": "1"}, {"disable_lat": "1"}])
def test_a_job_without_latencies_that_has_ended_is_not_in_its_ramp(without: dict[str, str]) -> None:
    """It runs for no longer than its ramp: only the time that is left (eta) tells which one the figures are of."""

    def at(moment: float, runtime_ms: int, eta: int) -> bytes:
        one = job("a", 0, 0, 0, ramp_time="4", runtime="2", time_based="1", **without)
        one |= {"read": direction(runtime_ms, runtime_ms, ramp=True), "job_start": START // 1000 + 500}
        return document(moment, one | {"eta": eta, "elapsed": 7})

    ended = at(6.6, 2000, 0)
    assert Reported.of_report(ended).steps == [("step-begin", "a", 4.5), ("step-end", "a", 6.5)]
    series = Reported.of_report(at(1.5, 1000, 5), at(3.5, 3000, 3), at(5, 500, 0), ended)
    assert series.steps == [("step-begin", "a", 0.5), ("ramp-end", "a", 4.5), ("step-end", "a", 6.5)]
    again = at(16.6, 2001, 0).replace(b"1800000000500", b"1800000010500")
    assert [name for name, _, _ in Reported.of_report(ended, again).steps] == ["step-begin", "step-end"] * 2
