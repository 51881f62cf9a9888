"""Several recorders, one recording: what one recorder would have said, whatever their clocks say; and where one of
them was not there, less of it, and never something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnose import judge_recording
from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.time.recorder_coverage import absences
from tests.support.sites import Life, Site, split
from tests.support.stories import diagnosed, judged, recorded

LOAD = Site("db1", ("config", "fio"), load=True)
FABRIC, ARRAY = ("sw1", "sw2"), ("fa1",)
STORIES = ("published", "mixed", "saturated_array", "off_the_path")
GRADES = "ABC"


def three(folder: Path, name: str, *others: Site, load: Site = LOAD) -> Diagnosis:
    return judged(split(recorded(name), folder / "r.sanpath", load, *others))


def what(found: Diagnosis) -> tuple[object, ...]:
    return found.verdict.kind, [(b.entity, b.kind, b.direction) for b in found.verdict.bottlenecks]


def never_something_else(found: Diagnosis, whole: Diagnosis) -> None:
    """The same, or less: a lower grade, or that it cannot be told."""
    if found.verdict.kind != "cannot_tell":
        assert what(found) == what(whole)
        assert GRADES.index(found.verdict.grade) >= GRADES.index(whole.verdict.grade)


@pytest.mark.parametrize("name", STORIES)
def test_a_clock_that_is_off_changes_nothing(name: str, tmp_path: Path) -> None:
    found = three(tmp_path, name, Site("switches", FABRIC, 37.0), Site("array", ARRAY, -18.5))
    whole = diagnosed(name)
    assert found.steps == whole.steps
    assert (found.verdict.headline, found.verdict.grade) == (whole.verdict.headline, whole.verdict.grade)
    clocks = {who.name: who.clock_offset_seconds for who in found.recorders}
    assert clocks == pytest.approx({"db1": 0.0, "switches": 37.0, "array": -18.5})


@pytest.mark.parametrize("name", STORIES)
def test_what_nobody_can_place_in_time_is_left_out_and_named(name: str, tmp_path: Path) -> None:
    """The load and its array run at one rate from end to end: a plateau has no edges to lay beside each other."""
    strange = Site("switches", FABRIC, 37.0, compares=False)
    found = three(tmp_path, name, strange, Site("array", ARRAY))
    never_something_else(found, diagnosed(name))
    assert not [use for use in found.elements if use.bytes_per_second] or not any(
        u.what == "the clock of sw1" for u in found.unobserved
    )
    assert {who.name: who.clock_offset_seconds for who in found.recorders}["switches"] is None


GONE = {
    "from the middle on": (Life(until=20.0, ended=False),),
    "at first": (Life(since=20.0),),
    "for a while": (Life(until=18.0, ended=False), Life(since=33.0)),
}


@pytest.mark.parametrize("name", ["published", "neighbour"])
@pytest.mark.parametrize("when", GONE)
@pytest.mark.parametrize("who", ["switches", "array"])
def test_a_site_that_is_not_there_never_makes_it_something_else(
    name: str, when: str, who: str, tmp_path: Path
) -> None:
    sites = [
        Site(site, sources, 37.0, GONE[when] if site == who else (Life(),))
        for site, sources in (("switches", FABRIC), ("array", ARRAY))
    ]
    found = three(tmp_path, name, *sites)
    never_something_else(found, diagnosed(name))
    (gap,) = next(r for r in found.recorders if r.name == who).absences
    way = {"from the middle on": "stopped", "at first": "joined", "for a while": "restarted"}[when]
    assert (gap.way, gap.until is None) == (way, way == "stopped")
    assert any(u.what.startswith(f"{gap.sources[0]}") and who in u.why for u in found.unobserved)


@pytest.mark.parametrize("who", ["switches", "array"])
def test_a_gap_in_the_step_that_decides_leaves_what_the_rest_suffices_for(who: str, tmp_path: Path) -> None:
    """The step with 800 I/Os in flight runs from 53 to 65 s; two and a half seconds of that are missing."""
    lives = (Life(until=57.0, ended=False), Life(since=59.5))
    sites = [
        Site(site, sources, 37.0, lives if site == who else (Life(),))
        for site, sources in (("switches", FABRIC), ("array", ARRAY))
    ]
    found, whole = three(tmp_path, "published", *sites), diagnosed("published")
    assert (what(found), found.verdict.grade) == (what(whole), whole.verdict.grade)
    assert found.verdict.from_step == whole.verdict.from_step == "t800"
    assert [gap.way for r in found.recorders for gap in r.absences] == ["restarted"]


def test_a_load_that_nobody_reads_any_more_ends_its_step(tmp_path: Path) -> None:
    """The others go on for half a minute in which nothing runs: a mean over it would be half of what was carried."""
    whole = recorded("published")
    begun = diagnosed("published").steps[1]
    killed = Site("db1", ("config", "fio"), load=True, lives=(Life(until=27.0, ended=False),))
    recording = split(whole, tmp_path / "r.sanpath", killed, Site("switches", FABRIC), Site("array", ARRAY))
    found = judged(recording)
    assert [step.name for step in found.steps] == [diagnosed("published").steps[0].name, begun.name]
    assert found.steps[1].end < begun.end
    assert what(found) == what(diagnosed("published"))
    used = [u.utilisation for u in found.elements if u.step == begun.name and u.direction == "read" and u.utilisation]
    assert max(used) == pytest.approx(0.977, abs=0.005)
    (gap,) = next(r for r in found.recorders if r.name == "db1").absences
    assert (gap.way, list(gap.sources)) == ("stopped", ["fio"])


def test_who_takes_part_cleanly_leaves_no_gap(tmp_path: Path) -> None:
    found = three(tmp_path, "published", Site("switches", FABRIC), Site("array", ARRAY))
    assert [r.absences for r in found.recorders] == [(), (), ()]
    assert {s.name: s.recorder for s in found.sources} == {"fio": "db1", "sw1": "switches", "fa1": "array"}
    assert found.run.complete


@pytest.mark.parametrize("until", [20.0, 27.0, 40.0])
def test_a_recorder_without_others_is_not_known_to_have_stopped(tmp_path: Path, until: float) -> None:
    """Its marks of steps are written before its polls: what it has not written yet, nobody else tells of."""
    whole = recorded("published")
    alone = Site("db1", ("config", "fio", *FABRIC, *ARRAY), load=True, lives=(Life(until=until, ended=False),))
    recording = split(whole, tmp_path / "r.sanpath", alone)
    assert absences(recording, judge_recording(whole)[0].steps) == []
