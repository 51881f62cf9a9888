"""No input raises a foreign exception or takes longer than its size accounts for: known bad ones, and changed ones.

`make fuzz` tries others, for as long as one likes.
"""

from __future__ import annotations

import tracemalloc
from random import Random

import pytest

from tests.fuzz.corpus import CORPUS, broken
from tests.fuzz.target import Target, fuzz
from tests.fuzz.targets import TARGETS

SECONDS = 1.5
"""For each target: about a minute for all."""
TIMES_AS_MUCH, FLOOR_BYTES = 20, 4 << 20
"""Memory that an input may take, as a multiple of its size; what a short one may take all the same."""

each_target = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name.replace(" ", "-"))


@each_target
def test_what_once_broke_it_is_taken(target: Target) -> None:
    assert {path.name: found for path in broken(target.name) if (found := target.failure(path.read_bytes()))} == {}


def test_every_folder_of_the_corpus_is_of_a_target() -> None:
    assert {path.name for path in CORPUS.iterdir()} <= {target.name.replace(" ", "-") for target in TARGETS}


@each_target
def test_no_changed_input_breaks_it(target: Target) -> None:
    outcome = fuzz(target, 0, seconds=SECONDS)
    assert outcome.inputs > 10
    assert outcome.found == {}, dict(outcome.counts)


@each_target
def test_memory_is_in_proportion(target: Target) -> None:
    target.failure(target.seeds[0])  # What is loaded at the first call is not the input's.
    found = []
    for number in range(5):
        given = target.drawn(Random(f"memory {number}"), target.seeds)
        tracemalloc.start()
        target.failure(given)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        if most > FLOOR_BYTES + TIMES_AS_MUCH * len(given):
            found.append((number, len(given), most))
    assert found == []


def test_a_defect_is_found() -> None:
    """The fuzzing itself: a parser that takes a comma for a number is caught, with a short input that shows it."""

    def parser(given: bytes) -> None:
        float(given.partition(b"=")[2] or 0)

    outcome = fuzz(Target("defect", lambda: [b"a=1.5", b"b=2"], parser), 0, inputs=200)
    assert any(kind.startswith("ValueError") for kind in outcome.found)
    assert outcome.inputs == 200


def test_the_same_number_is_the_same_input() -> None:
    target = TARGETS[0]
    first, second = (target.drawn(Random("7"), target.seeds) for _ in range(2))
    assert first == second
