"""What a fall of throughput from one step to another says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sanpath.facts.load.loads import LoadFacts
from sanpath.verdict.places.scaling import slopes, throughput_in_words


def step(name: str, ops: float, in_flight: float, configured: float | None) -> LoadFacts:
    return LoadFacts(("load:fio",), name, "read", 9, ops, 4096 * ops, in_flight / ops, configured, in_flight, None)


@pytest.mark.parametrize(
    ("configured", "measured", "words"),
    [
        ((64, 128), (60, 55), "it collapses under load"),
        ((128, 128), (120, 127), None),
        ((None, None), (32, 64), "it collapses under load"),
        ((None, None), (64, 62), "or the loads differ"),
        ((None, None), (64, 32), None),
    ],
    ids=["more given", "as many given", "more measured", "as many measured", "fewer measured"],
)
def test_only_more_load_makes_throughput_collapse(
    configured: tuple[float | None, float | None], measured: tuple[float, float], words: str | None
) -> None:
    loads = [step("a", 1000, measured[0], configured[0]), step("b", 400, measured[1], configured[1])]
    said = list(throughput_in_words(loads, loads[0]))
    assert [words in text for text in said] == [True] if words else said == []


def test_a_load_that_waits_for_flushes_has_as_many_more_outstanding_as_writers() -> None:
    """1 and 16 writers of 132 IOPS, each of which waits for its flush: 16 times as many bring nothing."""
    few, many = (
        replace(step(f"w{n}", 132, 0.0132, n), direction="write", flushes_in_flight=n - 0.0132) for n in (1, 16)
    )
    towards_fewer, _ = slopes(many, [few])
    assert towards_fewer is not None
    assert towards_fewer.elasticity == pytest.approx(0, abs=0.01)
