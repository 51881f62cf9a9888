"""Draws that one step cannot tell are probed: from what is read, or after the reading that the probe asks for."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from sanpath_lab.generator import FAMILY
from sanpath_testbed import corpus, probe_chapters
from sanpath_testbed.__main__ import main
from sanpath_testbed.outcome import KNEES, PROBES, Outcome
from sanpath_testbed.probes import MAX_STEPS

MEDIA, DRAIN = 20052, 30205
"""Media that one step takes for too few outstanding I/Os; a port that drains slowly, which only switches show."""


@pytest.fixture(scope="module")
def probed() -> dict[int, Outcome]:
    return {seed: corpus.outcome(corpus.Job(FAMILY, seed, None, PROBES)) for seed in (MEDIA, DRAIN)}


def test_what_is_read_tells_after_a_few_steps(probed: dict[int, Outcome]) -> None:
    media = probed[MEDIA]
    assert media.kind_at_first == "cannot_tell"
    assert media.experiments
    assert media.is_right
    assert len(media.right_after) <= MAX_STEPS


def test_what_nothing_shows_is_left_open_and_the_right_source_is_asked_for(probed: dict[int, Outcome]) -> None:
    """Half the block size has twice the IOPS, so it is in the fabric. No load can show where."""
    drain = probed[DRAIN]
    assert (drain.kind, drain.diagnosable) == ("cannot_tell", False)
    assert (drain.by_hand, drain.right_by_hand) == ("read_switches", True)


def test_the_tables_count_what_is_right_by_hand_apart(probed: dict[int, Outcome]) -> None:
    text = probe_chapters.probes(list(probed.values()))
    assert "Of 2 draws, 0 got a verdict from one step, 0 of them the right one. The other 2 were probed." in text
    assert "| the sources that are read can show the fault | 1 | 1 | 0 | 0 |  |" in text
    assert "| they cannot | 1 | 0 | 0 | 1 | 1 of 1 |" in text
    assert "| all | 2 | 1 | 0 | 1 | 1 of 1 |" in text
    knee = replace(probed[MEDIA], relation=KNEES, knee=(10.0, 10.5, 5))
    assert "| 2% | 0 |\n| 5% | 1 |" in probe_chapters.knees([knee, replace(knee, knee=None)])


def test_a_verdict_that_is_wrong_after_a_probe_is_counted_and_named(probed: dict[int, Outcome]) -> None:
    wrong = replace(probed[MEDIA], seed=1, rank=2, right_after=(False, False))
    text = probe_chapters.probes([probed[MEDIA], wrong, replace(wrong, seed=2, kind_at_first="bottleneck")])
    assert "Of 3 draws, 1 got a verdict from one step, 0 of them the right one." in text
    assert "| the sources that are read can show the fault | 2 | 1 | 1 | 0 |  |" in text
    assert "| draw:1 | media |" in text
    assert "| draw:2 |" not in text


def test_a_page_is_written_from_what_another_version_has_kept(probed: dict[int, Outcome], tmp_path: Path) -> None:
    older = {"code": "older", **asdict(replace(probed[MEDIA], seed=1))}
    lines = [older, *({"code": "newer", **asdict(o)} for o in probed.values())]
    (tmp_path / "kept.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    page = tmp_path / "probes.md"
    assert main(["render", str(tmp_path / "kept.jsonl"), "--into", str(page)]) == 0
    text = page.read_text()
    assert text.startswith("# How often a probe is right")
    assert f"Made by `sanpath lab score --probes 2 --first-seed {MEDIA}`" in text
    assert "| all | 2 | 1 | 0 | 1 | 1 of 1 |" in text
    assert main(["render", str(tmp_path / "none.jsonl"), "--into", str(page)]) == 2
