"""Throughput that falls from one step to the next: something began in between, or more I/Os made it slower."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnose import judge_recording
from sanpath.verdict.model import Judgement
from sanpath.verdict.run_verdict import judgement_of_run
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, AtArray, Flow, San
from tests.support.stories import NOTHING, fast


def judged_steps(folder: Path, steps: tuple[tuple[int, float, float], ...]) -> tuple[list[Judgement], Judgement]:
    """The judgements of the steps, and the one that decides. 8 KiB reads; a step is I/Os in flight, IOPS, and the
    queue time of the array, which serves each in 3 ms; 0.1 ms pass elsewhere."""
    san = San(folder, ports=[fast(port) for port in San(folder / "other").ports])
    for number, (n, ops, queue) in enumerate(steps):
        flow, counted = Flow(ops, n / ops), ops * (4 * 2076 + 52)
        ports = {port.name: (counted, NOTHING) for port in san.ports}
        array = {"read": AtArray(0.003, san=2e-5, queue=queue)}
        san.step(f"{number}", n, block=8 * KIB, read=flow, ports=ports, disk={"read": flow}, array=array, seconds=20)
    facts, judgements = judge_recording(san.write())
    return judgements, judgement_of_run(facts, judgements)


RISES = ((4, 1290.0, 0.0), (8, 2580.0, 0.0))
"""4 and 8 outstanding I/Os, each of which takes 3.1 ms."""
SLOW = (16, 1800.0, 0.0058)
"""16 / 1,800 = 8.9 ms, 5.8 of them in the array's queue."""


@pytest.mark.parametrize(
    "before", [RISES, RISES[1:]], ids=["throughput grew until then", "nothing is known of fewer"]
)
def test_what_begins_in_a_later_step_says_nothing_of_the_step_before(
    tmp_path: Path, before: tuple[tuple[int, float, float], ...]
) -> None:
    judgements, run = judged_steps(tmp_path, (*before, SLOW))
    faster, slower = judgements[-2:]
    assert faster.kind == "concurrency_limited"
    assert [bottleneck.entity for bottleneck in slower.bottlenecks] == ["array:fa1"]
    assert run is slower, "its verdict is surer"


def test_throughput_that_more_ios_lower_each_time_shows_a_limit_before(tmp_path: Path) -> None:
    """With 8 outstanding as many are reached after the slow step as before it."""
    changed, _ = judged_steps(tmp_path / "changed", (RISES[1], SLOW))
    retraced, _ = judged_steps(tmp_path / "retraced", (RISES[1], SLOW, RISES[1]))
    limits = [judgements[0].limit_probability for judgements in (changed, retraced)]
    assert limits[0] < 0.2
    assert limits[1] > 0.5


def test_an_array_that_has_done_more_is_not_saturated_at_less(tmp_path: Path) -> None:
    """1, 2 and 4 reads take 0.5 ms each. With 8 the array takes 2.2 ms of its own: 3.6 of 8,000 IOPS are no capacity,
    and the run lacked I/Os before."""
    san = San(tmp_path, ports=[fast(port, 32) for port in (HOST_PORT, ARRAY_PORT)])
    for n in (1, 2, 4, 8):
        ops, service = (n / 0.0005, 0.0003) if n < 8 else (3600.0, 0.0020)
        flow, counted = Flow(ops, n / ops), (ops * 65536 * 1.02, NOTHING)
        ports = {HOST_PORT.name: counted, ARRAY_PORT.name: counted}
        san.step(f"t{n}", n, read=flow, ports=ports, disk={"read": flow}, array={"read": AtArray(service)})
    facts, judgements = judge_recording(san.write())
    found = judgement_of_run(facts, judgements)
    assert (found.load.step, found.kind) == ("t4", "concurrency_limited")
