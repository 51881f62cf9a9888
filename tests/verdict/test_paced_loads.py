"""A load whose settings nobody reports: a closed loop holds a whole number of I/Os, a paced load any number."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.diagnosis.model import Diagnosis
from sanpath.verdict.places.submission import closed_loop_ratio
from tests.support.san import AtArray, Flow, San

LATENCY_SECONDS = 320e-6


def diagnosed(folder: Path, *in_flight: float) -> Diagnosis:
    """A test with so many I/Os outstanding in its steps, each of which takes equally long."""
    san = San(folder)
    for each in in_flight:
        read = Flow(each / LATENCY_SECONDS, LATENCY_SECONDS)
        ports = dict.fromkeys(("fc1/7", "fc1/1"), (read.ops * 4096 * 1.02, 0.0))
        array = {"read": AtArray(LATENCY_SECONDS - 100e-6, san=10e-6)}
        san.step(f"s{each:g}", 0, read=read, block=4096, ports=ports, array=array)
    return diagnose(san.write())


@pytest.mark.parametrize("slots", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("error", [0.0, 0.02])
def test_a_number_just_below_a_whole_one_is_that_of_a_closed_loop(slots: int, error: float) -> None:
    assert closed_loop_ratio(0.98 * slots, error) > 1
    assert closed_loop_ratio(slots + 0.5, error) < closed_loop_ratio(0.98 * slots, error)


@pytest.mark.parametrize("in_flight", [40.0, 100.5, 1000.3])
def test_of_many_ios_no_number_tells(in_flight: float) -> None:
    assert closed_loop_ratio(in_flight, 0.0) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("in_flight", [[1.5], [2.5], [0.4, 2.6, 13.0], [2.4, 9.3]])
def test_a_broken_number_is_never_taken_for_too_few_ios(tmp_path: Path, in_flight: list[float]) -> None:
    assert diagnosed(tmp_path, *in_flight).verdict.kind in ("demand_limited", "cannot_tell")


@pytest.mark.parametrize("in_flight", [[0.98], [1.96], [3.93], [1.96, 3.93, 15.7]])
def test_a_whole_number_is_that_of_too_few_ios(tmp_path: Path, in_flight: list[float]) -> None:
    assert diagnosed(tmp_path, *in_flight).verdict.suspects[0].verdict == "concurrency_limited"


@pytest.mark.parametrize("last", [12.7, 13.0, 31.4])
def test_more_steps_with_broken_numbers_speak_against_a_closed_loop_in_all(tmp_path: Path, last: float) -> None:
    def odds(*before: float) -> float:
        suspects = diagnosed(tmp_path / str(len(before)), *before, last).verdict.suspects
        closed, paced = (
            next((each.probability for each in suspects if each.verdict == verdict), 0.001)
            for verdict in ("concurrency_limited", "demand_limited")
        )
        return closed / paced

    assert odds() > odds(2.6) > odds(2.6, 0.4)
