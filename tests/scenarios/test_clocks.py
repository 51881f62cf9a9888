"""Clocks that disagree: the verdict is that of clocks that agree, or the report says that it cannot tell."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from sanpath.diagnose import judge_recording
from sanpath.diagnosis.model import Diagnosis
from sanpath.diagnosis.sources import SourceAccount
from sanpath.model import Column, Table
from sanpath.recording.reading.recording import Recording
from sanpath.views import json, markdown, terminal_report
from sanpath_collectors.fio.tables import LOAD
from tests.support.recording import RecordingBuilder
from tests.support.san import AtArray, Flow, San
from tests.support.stories import STORIES, calm, diagnosed, judged


def source(found: Diagnosis, name: str) -> SourceAccount:
    return next(account for account in found.sources if account.name == name)


def shown(found: Diagnosis) -> tuple[object, ...]:
    """What a person would sign: verdicts, their grades, and where each step ran hot."""
    verdicts = [
        (s.name, s.verdict.kind, s.verdict.grade, [b.entity for b in s.verdict.bottlenecks]) for s in found.steps
    ]
    use = {(u.entity, u.step, u.direction): u.utilisation for u in found.elements if u.utilisation}
    return (
        found.verdict.kind,
        found.verdict.grade,
        verdicts,
        {key: pytest.approx(u, rel=0.02) for key, u in use.items()},
    )


@pytest.mark.parametrize(
    "late", [{"sw1": 90.0}, {"sw1": -90.0}, {"sw1": 37.0, "fa1": -53.0}, {"fio": 90.0}, {"fio": -45.0, "sw1": 45.0}]
)
@pytest.mark.parametrize("story", ["published", "saturated_array"])
def test_a_file_that_was_placed_90_seconds_off_gives_the_verdict_of_one_that_was_not(
    tmp_path: Path, late: Mapping[str, float], story: str
) -> None:
    """Steps of 12 s with pauses of 4 s: 90 s off the switch is beside the test, 37 s off it is in another step."""
    late = {name: by for name, by in late.items() if name != "fa1" or story == "published"}
    found = judged(STORIES[story](San(tmp_path, imported=late)).write())
    assert shown(diagnosed(story)) == shown(found)
    for name, by in late.items():
        account = source(found, name)
        if account.clock_told_by == "load_edges":
            assert account.clock_offset_seconds == pytest.approx(by, abs=account.clock_uncertainty_seconds or 0)


@pytest.mark.parametrize("late", [0.0, 0.4])
def test_a_file_that_lies_where_it_belongs_is_left_there(tmp_path: Path, late: float) -> None:
    found = judged(STORIES["published"](San(tmp_path, imported={"sw1": late})).write())
    account = source(found, "sw1")
    assert (account.clock_told_by, account.clock_uncertainty_seconds) == ("load_edges", pytest.approx(0.5, abs=0.5))
    assert account.clock_offset_seconds == pytest.approx(late, abs=0.2)
    unmoved = judged(STORIES["published"](San(tmp_path / "asked")).write())
    assert found.verdict.headline == unmoved.verdict.headline


def test_what_was_asked_for_has_its_place() -> None:
    """Only files are laid beside the load."""
    account = source(diagnosed("published"), "sw1")
    assert (account.clock_offset_seconds, account.clock_told_by) == (None, None)


def plateau(folder: Path, lead: float, late: float) -> Diagnosis:
    """One step of a load that is running when the file of the switch begins, and still when it ends."""
    port, load = Table("switch_port", (Column("bytes_tx_total", 64),)), LOAD
    out = RecordingBuilder(folder, imported={"sw1": late})
    out.source("fio", "fio", load)
    out.source("sw1", "snmp_switch", port)
    out.entity("fio", "load", "job")
    out.event("fio", 0.0, "step-begin", step="s", group=0, loads="job", offered=8)
    out.event("fio", 300.0, "step-end", step="s", group=0)
    for at in range(301):
        out.samples(
            "fio", load, at, {"job": {"ops_read_total": 100 * at, "latency_seconds_read_total": 8 * 10**9 * at}}
        )
        if lead <= at <= 300 - lead:
            # Five in a thousand of noise: no edge.
            out.samples("sw1", port, at, {"1": {"bytes_tx_total": 1_000_000 * at + 5000 * (at * 7 % 13)}})
    return judged(out.write())


def test_a_plateau_without_edges_says_that_it_cannot_tell(tmp_path: Path) -> None:
    found = plateau(tmp_path, 60, 40.0)
    assert source(found, "sw1").clock_offset_seconds is None
    (unseen,) = [u for u in found.unobserved if u.what == "the clock of sw1"]
    assert "is constant, so it fits the load's at any offset" in unseen.why
    assert unseen.what in terminal_report.render(found, 100)


def test_pauses_that_repeat_say_that_they_cannot_tell(tmp_path: Path) -> None:
    """Steps and pauses alike, and a file with neither the first nor the last: it fits one step further on."""
    port = Table("switch_port", (Column("bytes_tx_total", 64),))
    out = RecordingBuilder(tmp_path, imported={"sw1": 20.0})
    out.source("fio", "fio", LOAD)
    out.source("sw1", "snmp_switch", port)
    out.entity("fio", "load", "job")
    for at in range(401):
        done = 100 * sum(min(max(at - 20 * n, 0), 15) for n in range(20))
        out.samples("fio", LOAD, at, {"job": {"ops_read_total": done, "latency_seconds_read_total": 10**9 * done}})
        if 105 <= at <= 250:
            out.samples("sw1", port, at, {"1": {"bytes_tx_total": 66_000 * done}})
    found = judged(out.write())
    (unseen,) = [u for u in found.unobserved if u.what == "the clock of sw1"]
    assert "fits the load's at several offsets" in unseen.why


def late_array(folder: Path, compared: tuple[float, float] | None) -> Recording:
    """An array 90 s ahead that dates its averages, and hands them out eight seconds later: 0.3 ms in the first step,
    2 ms in the second. `compared`: the offset by its protocol, and how far off that may be."""
    san = calm(San(folder, clock={"fa1": 90.0}), in_flight=1)
    san.step("more", 2, read=Flow(800, 2 / 800), array={"read": AtArray(0.002, san=0.0001)})
    return san.write(delay={"fa1": 8.0}, compared={"fa1": compared} if compared else {})


def test_clocks_that_were_compared_place_samples_that_come_late(tmp_path: Path) -> None:
    """By its newest sample the array would be 82 s ahead, and the first step's averages would lie in the second."""
    found = judged(late_array(tmp_path / "compared", (90.0, 0.2)))
    guessed = judged(late_array(tmp_path / "guessed", None))
    exact, rough = source(found, "fa1"), source(guessed, "fa1")
    assert (exact.clock_offset_seconds, exact.clock_told_by) == (90.0, "protocol")
    assert exact.clock_uncertainty_seconds == pytest.approx(0.2)
    assert rough.clock_told_by == "newest_sample"
    assert rough.clock_offset_seconds == pytest.approx(82, abs=0.5)
    served = [b.parts[-1].seconds[0] for d in (found, guessed) for b in d.latency_budget if b.step == "more"]
    assert served[0] == pytest.approx(0.002)
    assert served[1] < 0.0015


@pytest.mark.parametrize("offset", [89.4, 90.6])
def test_averages_that_may_lie_beside_a_step_do_not_count_in_it(tmp_path: Path, offset: float) -> None:
    """With the clock 0.6 s off, the average of a pause's second would lie in the step."""
    exact, rough = (
        judge_recording(late_array(tmp_path / name, clock), None)[0].tables["array"].select()
        for name, clock in (("exact", (90.0, 0.0)), ("rough", (offset, 0.7)))
    )
    assert len(exact) == 2
    assert [row["ops_per_second"] for row in rough] == pytest.approx([row["ops_per_second"] for row in exact])
    assert all(a["windows"] - 2 <= b["windows"] < a["windows"] for a, b in zip(exact, rough, strict=True))


def test_clock_and_uncertainty_are_in_every_report(tmp_path: Path) -> None:
    found = judged(late_array(tmp_path, (90.0, 0.2)))
    assert "+90.0 ± 0.2 s, clocks compared" in " ".join(terminal_report.render(found, 200).split())
    assert "+90.0 ± 0.2 s, clocks compared" in markdown.render(found)
    assert '"clock_told_by": "protocol"' in json.render(found)
