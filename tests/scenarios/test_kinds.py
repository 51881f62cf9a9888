"""Every kind of verdict is reached on purpose; what binds is never called healthy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from sanpath.diagnosis.experiment import VerdictKind
from sanpath.diagnosis.model import Diagnosis
from tests.support.recording import Number
from tests.support.san import AtArray, Flow, Port, San
from tests.support.stories import STORIES, calm, diagnosed, judged

ASKED = {"requested_ops_per_second": 2000}


def paced(folder: Path, **changes: float) -> San:
    """2,000 IOPS were asked for and reached, with 1 of 32 I/Os in flight: links at 8 %, 0.3 ms in the array."""
    return calm(San(folder, about=dict(ASKED)), in_flight=32, rate_limited=True, **changes)


def test_every_kind_is_reached(tmp_path: Path) -> None:
    stories = ("published", "one_in_flight", "rate_limited", "cpu_bound", "quality_of_service", "switch_not_observed")
    found = [diagnosed(name) for name in stories] + [judged(paced(tmp_path).write())]
    assert {d.verdict.kind for d in found} == set(get_args(VerdictKind))


def test_a_rate_that_is_met_with_room_to_spare_is_healthy(tmp_path: Path) -> None:
    found = judged(paced(tmp_path).write())
    assert (found.verdict.kind, found.verdict.grade, found.verdict.bottlenecks) == ("healthy", "A", ())
    assert "2,000 IOPS were requested and 2,000 IOPS reached, with 1 of 32 I/Os" in found.verdict.headline
    assert found.steps[0].verdict.kind == "healthy"


def cause(found: Diagnosis) -> str:
    return "; ".join(found.steps[0].verdict.because)


def test_a_rate_that_is_not_met_is_not_healthy(tmp_path: Path) -> None:
    san = calm(San(tmp_path, about={"requested_ops_per_second": 4000}), in_flight=32, rate_limited=True)
    assert judged(san.write()).verdict.kind == "demand_limited"


def test_a_load_that_misses_its_rate_is_less_likely_to_ask_for_no_more(tmp_path: Path) -> None:
    """31 of 32 I/Os are outstanding; 2,000 IOPS are what was asked for, or half of it."""

    def of_demand(asked: float) -> float:
        san = San(tmp_path / str(asked), about={"requested_ops_per_second": asked})
        verdict = judged(calm(san, in_flight=32, ops=2000, latency=0.0155, rate_limited=True).write()).verdict
        return sum(s.probability for s in verdict.suspects if s.verdict == "demand_limited")

    assert of_demand(4000) < of_demand(2000) - 0.05


def test_more_ios_that_bring_no_more_throughput_show_that_there_were_enough(tmp_path: Path) -> None:
    """8 I/Os are outstanding with 8, with 16 and with 32 configured: the load asks for no more."""
    san = San(tmp_path)
    for configured in (8, 16, 32):
        calm(san, in_flight=configured, ops=4000, latency=0.002, rate_limited=True)
        in_array = {"read": AtArray(0.0018, san=4e-5)}
        san.steps[-1] = replace(san.steps[-1], name=f"q{configured}", array=in_array)
    found = judged(san.write())
    assert [step.verdict.kind == "concurrency_limited" for step in found.steps] == [False, False, False]
    assert (found.verdict.kind, found.verdict.grade) == ("demand_limited", "A")


def test_a_load_that_thinks_without_a_rate_is_not_healthy(tmp_path: Path) -> None:
    assert judged(calm(San(tmp_path), in_flight=32, rate_limited=True).write()).verdict.kind == "demand_limited"


@pytest.mark.parametrize(
    ("ops", "why"),
    [
        (22_000.0, "link:esx7/vmhba2--sw1/fc1/7 is at 86.0 % in its busiest windows"),
        (2000.0, "a process of the load uses 85.0 % of a core"),
    ],
)
def test_what_is_near_its_limit_is_not_healthy(tmp_path: Path, ops: float, why: str) -> None:
    san = calm(San(tmp_path, about={"requested_ops_per_second": ops}), 32, ops, 1 / ops, 0.85, rate_limited=True)
    found = judged(san.write())
    assert found.verdict.kind == "demand_limited"
    assert why in cause(found)


class Bursts(San):
    """`port`: it moves 85 % of its 1,700 MB/s for two seconds, also what is not the test's."""

    def _port(self, port: Port, at: float) -> dict[str, Number]:
        values = super()._port(port, at)
        counter = "bytes_tx_total" if port.host else "bytes_rx_total"
        return values | {counter: (values[counter] or 0) + round(0.85 * 1.7e9 * min(2.0, max(0.0, at - 9)))}


def test_a_link_that_others_fill_for_a_moment_is_not_healthy(tmp_path: Path) -> None:
    san = calm(Bursts(tmp_path, about=dict(ASKED)), in_flight=32, rate_limited=True)
    found = judged(san.write())
    assert found.verdict.kind == "demand_limited"
    assert "in its busiest windows" in cause(found)


@pytest.mark.parametrize("story", ["one_in_flight", "full_before_it_began", "array_not_observed"])
def test_either_outcome_of_an_experiment_leaves_one_of_the_suspects(story: str) -> None:
    for experiment in diagnosed(story).verdict.experiments:
        for outcome in ("if_seen", "if_not"):
            together = sum(getattr(meaning, outcome) for meaning in experiment.meanings)
            assert together in (pytest.approx(1), 0), "or no suspect allows this outcome"


def test_an_array_in_which_ios_wait_is_not_healthy(tmp_path: Path) -> None:
    san = paced(tmp_path)
    san.steps[0] = replace(san.steps[0], array={"read": AtArray(0.0002, san=0.00005, queue=0.00015)})
    found = judged(san.write())
    assert found.verdict.kind == "demand_limited", "0.15 of 0.5 ms are waiting"
    assert "of the latency is waiting or not accounted for; the largest part: the array's own clock" in cause(found)
    assert found.verdict.suspects[0].verdict == "demand_limited"


@pytest.mark.parametrize(("times", "kind"), [(4.0, "healthy"), (8.0, "demand_limited")])
def test_bursts_that_the_mean_hides_are_not_healthy(tmp_path: Path, times: float, kind: str) -> None:
    """The mean of a step may look idle while a hundredth of the I/Os wait in bursts."""
    found = judged(replace(paced(tmp_path), p99_times=times).write())
    assert found.verdict.kind == kind
    assert ("the mean hides bursts" in cause(found)) == (kind != "healthy")


@pytest.mark.parametrize("unseen", ["switch", "array"])
def test_what_was_not_seen_is_not_healthy(tmp_path: Path, unseen: str) -> None:
    san = replace(paced(tmp_path), leave_out={unseen})
    found = judged(san.write())
    assert found.verdict.kind == "demand_limited"
    assert "not measured" in cause(found)


@pytest.mark.parametrize("story", ["published", "guest_queue", "saturated_array", "quality_of_service", "cpu_bound"])
def test_what_binds_is_never_healthy_whatever_rate_it_meets(tmp_path: Path, story: str) -> None:
    """The rate that was asked for is just what the bottleneck gives."""
    plain = diagnosed(story)
    top = next(s for s in plain.steps if s.name == plain.verdict.from_step)
    reached = sum(d.ops_per_second for d in top.directions.values())
    san = STORIES[story](San(tmp_path, about={"requested_ops_per_second": reached}))
    san.steps = [replace(step, rate_limited=True) for step in san.steps]
    found = judged(san.write())
    assert found.verdict.kind == plain.verdict.kind
    assert all(s.verdict.kind != "healthy" for s in found.steps if s.name == top.name)


def test_a_generator_whose_processes_nobody_reads_is_a_suspect_of_the_time_above_the_disk(tmp_path: Path) -> None:
    """Fifteen sixteenths of the time pass above the clock of the disk: the more I/Os they start, the more likely."""

    def of_generator(ops: float) -> float:
        san = calm(San(tmp_path / str(ops)), in_flight=32, ops=ops, latency=32 / ops, cpu=None)
        san.steps[0] = replace(san.steps[0], disk={"read": Flow(ops, 2 / ops)})
        suspects = {suspect.verdict: suspect.probability for suspect in judged(san.write()).verdict.suspects}
        return suspects["generator_limited"]

    assert of_generator(40_000) > 0.1 > of_generator(4_000) > 0.05


def test_too_little_in_flight_is_no_cause_beside_a_generator_at_the_end_of_its_core() -> None:
    found = diagnosed("cpu_bound")
    assert found.verdict.kind == "generator_limited"
    assert [f.rule for f in found.findings if f.role == "cause" and f.outcome == "hit"] == ["generator-cpu"]


def test_too_little_in_flight_is_the_cause_where_it_is_the_verdict() -> None:
    found = diagnosed("one_in_flight")
    assert [f.rule for f in found.findings if f.role == "cause" and f.outcome == "hit"] == ["concurrency-too-low"]


def test_a_mix_is_not_told_by_one_of_its_directions(tmp_path: Path) -> None:
    """1,400 reads and 600 writes a second: neither is what the load asked for."""
    san = calm(San(tmp_path), in_flight=32)
    flows = {"read": Flow(1400, 0.0005), "write": Flow(600, 0.0004)}
    ports = {p.name: (1400 * 32 * 2076.0, 600 * 32 * 2076.0) for p in san.ports}
    arrays = {d: AtArray(0.0003) for d in flows}
    san.steps[0] = replace(san.steps[0], flows=flows, ports=ports, disk=flows, array=arrays)
    headline = judged(san.write()).verdict.headline
    assert "1,400 reads a second of 2,000 IOPS" in headline
    assert "no more than 1,400 IOPS" not in headline


def test_the_law_of_a_mix_names_the_direction_of_both_numbers() -> None:
    headline = diagnosed("mixed").verdict.headline
    assert "82.6 ms = 512 outstanding reads / 6,200 reads a second" in headline


def test_a_rest_below_nothing_names_its_likely_cause(tmp_path: Path) -> None:
    """0.4 ms service and 0.3 ms transfer of an I/O that took 0.5 ms: 0.1 ms would be left without the latter."""
    san = calm(San(tmp_path))
    san.steps[0] = replace(san.steps[0], array={"read": AtArray(0.0004, san=0.0003)})
    found = judged(san.write())
    (budget,) = found.latency_budget
    assert budget.unexplained_seconds[1] == pytest.approx(-0.0002, abs=1e-6)
    (finding,) = [f for f in found.findings if f.role == "data-quality" and f.outcome == "hit"]
    assert finding.rule == "parts-longer-than-whole"
    assert "most likely the array counts the transfer" in finding.summary


@pytest.mark.parametrize(("in_flight", "limited"), [(2, False), (32, True)])
def test_a_load_that_holds_its_ios_back_is_repeated_without_what_holds_it_back(
    tmp_path: Path, in_flight: int, limited: bool
) -> None:
    """2 I/Os are outstanding, of 2 or of 32 that may be: 4 may be already, so more of them change nothing."""
    san = calm(San(tmp_path / "r.sanpath"), in_flight=in_flight, ops=2000, latency=0.001, rate_limited=limited)
    experiments = {each.action: each for each in judged(san.write()).verdict.experiments}
    assert ("no rate limit" in experiments["more_in_flight"].text) == limited
    assert experiments["fewer_in_flight"].text == "repeat the step with 1 outstanding I/O"
