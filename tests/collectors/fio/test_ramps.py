"""What fio did before and after the end of a ramp, where its counters begin anew."""

from __future__ import annotations

import pytest

from tests.collectors.fio.printed import Reported, client_document, direction, document, job, on


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
