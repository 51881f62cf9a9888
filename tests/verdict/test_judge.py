"""What the verdict states of an element with several explanations, and what it counts as waiting."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from sanpath.facts.load.loads import LoadFacts
from sanpath.verdict.hypotheses import claim
from sanpath.verdict.hypotheses.claim import Claim, Evidence
from sanpath.verdict.judgement.judge import _grouped, _surely_waiting_seconds, _suspect
from sanpath.verdict.places.latency_segment import LatencySegment

LUN = "lun:esx7/naa.1"


def test_what_is_said_of_an_element_is_its_most_probable_explanation() -> None:
    """A full queue above paths that are used in turn: a deeper queue would change nothing, another policy does. The
    policy's evidence has a doubt in it, the queue's has none."""
    in_turn = (Evidence("two links carry what one can", 6.0), Evidence("their bytes were not measured", -1.0))
    policy = Claim("path_policy", LUN, frozenset({3}), in_turn, probability=0.95)
    in_use = (Evidence("32 of 32 slots are in use", 5.0),)
    queue = Claim("lun", LUN, frozenset({2}), in_use, probability=0.04)
    (group,) = _grouped([policy, queue])
    load = LoadFacts(("load:fio",), "q64", "read", 9, 6400.0, 4.2e8, 0.01, 64.0, 64.0, None)
    table: Any = SimpleNamespace(load=load, wait_words=lambda _: "9 of 10 ms")
    suspect = _suspect(table, group)
    assert suspect.kind == "path_policy"
    assert suspect.probability == 0.99
    assert suspect.because == ("two links carry what one can",)
    assert suspect.against == ("their bytes were not measured",)


def test_an_array_that_only_its_port_stands_for_is_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bottleneck and suspect are of one kind."""
    monkeypatch.setattr(claim, "wait_at", lambda *_: "")
    load = LoadFacts(("load:fio",), "q64", "read", 9, 6400.0, 4.2e8, 0.01, 64.0, 64.0, None)
    suspected = Claim("array", "array_port:524a937000000001", frozenset(), ())
    table: Any = SimpleNamespace(facts=None, load=load)
    (bottleneck,) = claim.conclusion_of(table, "array_back", (), ())([suspected]).bottlenecks
    assert (bottleneck.kind, bottleneck.entity) == (suspected.kind, suspected.entity)


def test_a_clock_of_whole_milliseconds_proves_no_wait() -> None:
    """0.3 ms between two clocks are a wait where both are exact; where 0 to 0.3 ms are possible, none is sure."""
    wait = (2e-4, 3e-4, 3e-4)
    exact = LatencySegment("host_queue", LUN, (3e-4, 3e-4), "test", wait=wait, own_wait=wait)
    coarse = replace(exact, seconds=(0.0, 3e-4), wait=(0.0, 1e-4, 3e-4), own_wait=(0.0, 1e-4, 3e-4))
    assert _surely_waiting_seconds(exact) == 3e-4
    assert _surely_waiting_seconds(coarse) == 0.0
