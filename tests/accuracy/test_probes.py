"""Draws that one step cannot tell are probed: from what is read, or after the reading that the probe asks for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sanpath_lab.generator import FAMILY
from sanpath_testbed import corpus, draws
from sanpath_testbed.outcome import KNEES, PROBES, Outcome
from sanpath_testbed.probes import MAX_STEPS

MEDIA, DRAIN = 30062, 30205
"""Media of an array behind unread switches, with 70 % reads; a port that drains slowly, which only switches show."""


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
    text = draws.probes(list(probed.values()))
    assert "Of 2 draws, 2 were probed." in text
    assert "| all | 2 | 0.500 | 0 | 1 | 1 of 1 |" in text
    knee = replace(probed[MEDIA], relation=KNEES, knee=(10.0, 10.5, 5))
    assert "| 2% | 0 |\n| 5% | 1 |" in draws.knees([knee, replace(knee, knee=None)])
