"""What the diagnosis says of the test itself and of what it was read from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnose import _step, judge_recording
from sanpath.views.step_notes import step_notes
from sanpath.views.terminal_report import render as as_text
from sanpath_collectors.fio.tables import LOAD
from tests.support.recording import RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, San
from tests.support.stories import diagnosed, fast, judged


def test_more_in_flight_than_configured_asks_for_a_look_at_units_and_joins(tmp_path: Path) -> None:
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)])
    san.step("s", 8, read=Flow(2000, 0.008), array={"read": AtArray(0.001)})
    (step,) = judged(san.write()).steps
    assert any("more outstanding I/Os (16) than configured (8)" in note for note in step.valid)


@pytest.mark.parametrize("others", [0, 1, 3])
def test_a_step_whose_figures_contradict_each_other_decides_nothing(others: int, tmp_path: Path) -> None:
    """The run says what it would say without the step, if it has any other."""
    said = []
    for name, impossible in (("with", True), ("without", False)):
        san = San(tmp_path / name, ports=[fast(HOST_PORT), fast(ARRAY_PORT)])
        for number in range(others):
            in_flight = 4.0**number
            san.step(
                f"q{in_flight:g}", in_flight, read=Flow(1000 * in_flight, 0.001), array={"read": AtArray(0.0009)}
            )
        if impossible:
            san.step("impossible", 1, read=Flow(100_000, 0.08), array={"read": AtArray(0.001)})
        elif not others:
            continue
        found = judged(san.write())
        points = [point.step for curve in found.verdict.curves for point in curve.points]
        said.append((found.verdict.kind, found.verdict.grade, found.verdict.from_step, points))
        if impossible:
            (notes,) = (step.valid for step in found.steps if step.name == "impossible")
            assert any(note.endswith("its figures contradict each other, and it is not judged") for note in notes)
        if not others:
            assert "8,000 outstanding I/Os where 1 were configured" in found.verdict.headline
    assert len(set(map(str, said))) == 1


def test_a_remark_is_made_once_with_the_steps_that_it_holds_for() -> None:
    found = diagnosed("published")
    names = [step.name for step in found.steps]
    for number in range(1, len(names) + 1):
        steps = [replace(s, valid=("this", *(("that",) if s.name in names[:number] else ()))) for s in found.steps]
        notes = step_notes(replace(found, steps=steps))
        assert notes[0] == f"all {len(names)} steps: this"
        (that,) = (note for note in notes if note.endswith(": that"))
        assert len(notes) == 2
        assert that.startswith(names[0]) or (number == len(names) and that.startswith(f"all {number} steps"))
    assert as_text(found).count("Limits of the test") <= 1


def test_what_several_sources_say_of_their_data_is_one_remark() -> None:
    found = diagnosed("published")
    sources = [replace(found.sources[0], name=f"fio-{number}") for number in range(9)]
    steps = [
        replace(found.steps[0], name=f"s{number}", valid=(f"fio-{number}: it has no zone",)) for number in range(9)
    ]
    said = replace(found, sources=sources, steps=steps)
    assert step_notes(said) == ["all 9 steps: fio-0, fio-1, fio-2 and 6 more: it has no zone"]
    assert step_notes(replace(said, sources=sources[:1]))[0] == "s0: fio-0: it has no zone"
    one = replace(steps[0], valid=("fio-1: it has no zone", "fio-0: it has no zone", "of none: a remark"))
    notes = step_notes(replace(said, steps=[one]))
    assert notes == ["s0: fio-1 and fio-0: it has no zone", "s0: of none: a remark"]


def test_a_step_counts_the_windows_of_the_direction_that_its_verdict_rests_on(tmp_path: Path) -> None:
    """Of the other direction it is said that it has too few, and that nothing rests on them."""
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)])
    san.step("s", 64, read=Flow(500, 0.1), write=Flow(6250, 1e-3))
    facts, judgements = judge_recording(san.write())
    few = [replace(j, windows=6 if j.load.direction == "read" else 2) for j in judgements]
    step = _step(facts, facts.steps[0], few, [])
    assert step.windows_used == 6
    (note,) = (note for note in step.valid if "too short" in note)
    assert note.startswith("too short for its writes: 2 complete windows")
    assert note.endswith("the verdict does not rest on them")


def test_the_deciding_step_is_the_one_with_most_in_flight_among_equals() -> None:
    assert diagnosed("published").verdict.from_step == "t800"
    assert diagnosed("saturated_array").verdict.from_step == "q256"


def test_a_step_that_gave_more_decides_whatever_its_place(tmp_path: Path) -> None:
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)])
    for name, n, ops in (("a", 1, 2000), ("best", 4, 8000), ("c", 2, 4000)):
        san.step(name, n, read=Flow(ops, n / ops), array={"read": AtArray(0.0003)})
    found = judged(san.write())
    assert found.verdict.from_step == "best"
    assert found.verdict.r0.seconds == pytest.approx(0.0005)
    assert found.verdict.r0.from_step == "a"


def test_a_direction_with_hardly_any_io_is_not_judged_but_reported(tmp_path: Path) -> None:
    """A journal's 10 writes a second beside 2,000 reads."""
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)])
    flows = {"read": Flow(2000, 0.0005), "write": Flow(10, 0.001)}
    ports = {p.name: (135e6, 1e6) for p in san.ports}
    array = {d: AtArray(0.0004) for d in flows}
    san.step("s", 1, read=flows["read"], write=flows["write"], ports=ports, array=array)
    found = judged(san.write())
    (step,) = found.steps
    assert set(step.directions) == {"read", "write"}
    assert found.verdict.kind == "concurrency_limited"


def test_sources_are_accounted_for(tmp_path: Path) -> None:
    out = RecordingBuilder(tmp_path)
    out.source("sw1", "snmp_switch", LOAD)
    for at in range(6):
        out.poll(
            "sw1", at, "partial" if at == 3 else "skipped" if at == 4 else "ok", message="slow" if at == 3 else ""
        )
    (account,) = judged(out.write()).sources
    assert (account.name, account.kind) == ("sw1", "snmp_switch")
    assert (account.polls, account.failures, account.gaps, account.requests) == (5, 1, 1, 5)
    assert account.cost_seconds == pytest.approx(0.005)
    assert account.last_failure == "slow"
    assert account.clock_offset_seconds is None


def test_the_exit_code_of_the_load_is_kept(tmp_path: Path) -> None:
    out = RecordingBuilder(tmp_path)
    found = judged(out.write(exit_code=1))
    assert (found.run.load_exit_code, found.run.complete) == (1, True)
