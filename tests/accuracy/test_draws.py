"""Draws of the generator, scored: what is counted as what, and that what changes nothing is confirmed to."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.cli.sessions.child_process import environment
from sanpath.model import Column, Rows, Table
from sanpath_lab.generator import Drawn, drafts, draw
from sanpath_lab.generator.confirm import throughput
from sanpath_lab.generator.relief import relieved
from sanpath_testbed import draws
from sanpath_testbed.corpus import Job, outcome
from sanpath_testbed.defects import Defects
from sanpath_testbed.outcome import Outcome, not_applicable
from sanpath_testbed.relations import RELATIONS, Variant, renamed, variant

PORT = "switch_port:sw1/0/1"
SWITCH_PORTS = Table("switch_port", (Column("bytes_tx_total", 64), Column("frames_tx_total", 64)))


def drawn(fault: str, threads: int = 1) -> Drawn:
    """A draw of a fault of which everything is read, with several steps of a number of threads that this divides."""
    drafted = ((seed, next(drafts(seed))) for seed in range(21, 1000))
    likely = (
        seed
        for seed, (found, reading, scenario) in drafted
        if found == fault and not reading.unread and len(scenario.load.threads) > 1
        if not any(count % threads for count in scenario.load.threads)
    )
    return next(d for d in map(draw, likely) if d.fault == fault and d.tries == 1)


@pytest.fixture(scope="module")
def link() -> Drawn:
    return drawn("host-link", threads=2)


@pytest.fixture(scope="module")
def blank(link: Drawn) -> Outcome:
    """An outcome of a case in which a link limits, to be filled in."""
    return replace(not_applicable("draw", 1, None, link.scenario.truth), applies=True, fault="host-link")


def test_a_link_that_limits_may_be_found_acquitted_missed_or_an_innocent_convicted(blank: Outcome) -> None:
    right = replace(blank, kind="bottleneck", kind_is_right=True, rank=1, accused=(PORT,))
    acquitted = replace(blank, kind="concurrency_limited")
    convicted = replace(blank, kind="bottleneck", kind_is_right=True, accused=("array:fa1",))
    result = [(o.is_right, o.acquitted, o.convicted, o.undecided) for o in (right, acquitted, convicted, blank)]
    assert result == [
        (True, False, False, False),
        (False, True, False, False),
        (False, False, True, False),
        (False, False, False, True),
    ]
    assert not replace(blank, diagnosable=False).undecided


def test_a_suspect_counts_among_the_first_three(blank: Outcome) -> None:
    assert replace(blank, suspect_rank=3).in_top_three
    assert not replace(blank, suspect_rank=4).in_top_three
    assert replace(blank, kind_is_right=True, rank=1).in_top_three
    assert not replace(blank, kind_is_right=True, rank=2).in_top_three


def test_the_brier_score_is_that_of_the_verdict(blank: Outcome) -> None:
    assert replace(blank, probability=0.9, lead_is_right=True).brier == pytest.approx(0.01)
    assert replace(blank, probability=0.9).brier == pytest.approx(0.81)
    assert blank.brier is None


def test_the_tables_tell_shares_reliability_and_what_stayed(blank: Outcome) -> None:
    found = replace(blank, kind="bottleneck", kind_is_right=True, rank=1, suspect_rank=1, grade="B")
    right = replace(found, probability=0.9, lead_is_right=True)
    wrong = replace(blank, seed=2, kind="concurrency_limited", probability=0.6)
    paper = draws.report([right, wrong])
    assert "| host-link | 2 | 0.500 | 0.500 | 1 | 0 | 0 | 0.185 |" in paper
    assert "| grade B | 1 | 0.900 | 1.000 |" in paper
    assert "| draw:2 | host-link | concurrency_limited (C) |" in paper
    kept, lost = replace(right, relation="split"), replace(wrong, seed=1, relation="one-step")
    result = draws.relations([right, kept, lost, replace(blank, relation="mixed", applies=False)])
    assert "split in two, each doing half of it | 1 | 1.000 | 1.000 | 1.000 |" in result
    assert "The last step alone | 1 | 0.000 | 1.000 | 0.000 |" in result
    assert "have the other direction" not in result


def test_names_are_replaced_where_they_are_words() -> None:
    names = {"sw1": "a", "esx1": "b"}
    assert renamed("link:esx1/vmhba2--sw1/0/1 sw11 esx12", names) == "link:b/vmhba2--a/0/1 sw11 esx12"


def test_other_names_change_nothing_but_names(link: Drawn) -> None:
    other = variant("other-names", link)
    assert other is not None
    assert not {s.name for s in other.scenario.switches} & {s.name for s in link.scenario.switches}
    named = tuple(map(other.old_name, other.scenario.truth.bottlenecks))
    assert named == link.scenario.truth.bottlenecks
    assert throughput(other.scenario, 0.5) == pytest.approx(throughput(link.scenario, 0.5), rel=1e-3)


def test_half_the_rate_is_half_the_rate() -> None:
    slow = drawn("media")
    halved = RELATIONS["half-the-rate"](slow)
    assert halved is not None
    assert throughput(halved.scenario, 2.0)[0] == pytest.approx(throughput(slow.scenario, 2.0)[0] / 2, rel=0.05)


def test_a_split_job_keeps_as_many_in_flight(link: Drawn) -> None:
    split = RELATIONS["split"](link)
    assert split is not None
    for load in (link.scenario.load, split.scenario.load):
        assert load.jobs * load.outstanding_per_thread * load.threads[-1] == (
            link.scenario.load.jobs * link.scenario.load.outstanding_per_thread * link.scenario.load.threads[-1]
        )


def test_one_step_is_the_last_and_another_one_is_added(link: Drawn) -> None:
    one, twice = RELATIONS["one-step"](link), RELATIONS["step-twice"](link)
    assert one is not None
    assert twice is not None
    threads = link.scenario.load.threads
    assert one.scenario.load.threads == threads[-1:]
    assert twice.scenario.load.threads == (*threads, threads[-1])


def test_a_variant_whose_truth_the_simulation_denies_is_none(monkeypatch: pytest.MonkeyPatch, link: Drawn) -> None:
    """More room is made than the fault leaves: what limited before does not."""

    def without_its_limit(drawn: Drawn) -> Variant:
        return Variant(relieved(drawn.scenario, ("host links",) * 5), drawn.reading)

    monkeypatch.setitem(RELATIONS, "split", without_its_limit)
    assert variant("split", link) is None


def test_a_switch_that_counts_low_counts_three_percent_less_and_no_other_does(link: Drawn) -> None:
    low = variant("counted-low", link)
    assert low is not None
    assert low.miscount is not None
    defects = Defects(link.scenario, None, link.reading, low.miscount)
    rows = Rows(SWITCH_PORTS, ["0/1"], [0], {"bytes_tx_total": [1000], "frames_tx_total": [10]})
    (result,) = defects.distorted(low.miscount.switch, rows)
    assert isinstance(result, Rows)
    assert (result.values["bytes_tx_total"], result.values["frames_tx_total"]) == ([970], [10])
    assert list(defects.distorted("another", rows)) == [rows]


@pytest.mark.slow
def test_a_draw_is_judged_and_compared() -> None:
    found = outcome(Job("draw", drawn("media").seed, None))
    assert (found.fault, found.defect, found.relation) == ("media", None, None)
    assert found.suspects
    assert found.probability is not None


@pytest.mark.slow
def test_draws_are_scored_from_the_command_line(tmp_path: Path, link: Drawn) -> None:
    words = ("--draws", "1", "--first-seed", str(link.seed), "--relations", "one-step", "--into", "paper.md")
    command = [sys.executable, "-m", "sanpath", "lab", "score", *words]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    paper = (tmp_path / "paper.md").read_text()
    assert "| host-link | 1 |" in paper
    assert "one-step: The last step alone | 1 |" in paper
    assert "## Families" not in paper
