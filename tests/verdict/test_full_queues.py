"""That a queue is full counts as much for a place below it as for the queue itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.compute import compute
from sanpath.facts.facts import Facts
from sanpath.recording.reading.recording import Recording
from sanpath.verdict.hypotheses import queues
from sanpath.verdict.judgement.posterior import _slots_score
from sanpath.verdict.places.table import place_tables
from tests.scenarios.test_hypervisor_queues import host_queue, link_below
from tests.support.stories import STORIES, computed


def slots_in_use(facts: Facts) -> list[tuple[float, float]]:
    """The weight of the slots in use of every full queue: for the queue itself, and for what is below it if that is
    sure to fill the queue."""
    weights = []
    for table in place_tables(facts, facts.loads):
        for claim in queues.claims(table):
            segment = table.segments[max(claim.explains)]
            own = sum(evidence.weight for evidence in claim.evidence if evidence.about_slots)
            # The slots of one of several devices say less of the queue, because I/Os may wait for another device.
            if own > 0 and segment.queue is not None and segment.queue.in_slots is None:
                weights.append((own, _slots_score(table, segment, 1.0)))
    return weights


def test_a_full_queue_counts_alike_for_itself_and_for_what_is_below_it() -> None:
    weights = [pair for story in STORIES for pair in slots_in_use(computed(story))]
    assert weights
    assert all(own == below for own, below in weights)


@pytest.mark.parametrize("recorded_into", [host_queue, link_below])
def test_so_it_does_by_clocks_of_whole_milliseconds(
    tmp_path: Path, recorded_into: Callable[[Path], Diagnosis]
) -> None:
    """Their error makes the number of slots in use uncertain, for the one as for the other."""
    recorded_into(tmp_path / "r.sanpath")
    weights = slots_in_use(compute(Recording(tmp_path / "r.sanpath")))
    assert weights
    assert all(own == below for own, below in weights)
