"""No input raises a foreign exception or takes longer than its size accounts for: known bad ones, and changed ones.

`make fuzz` tries others, for as long as one likes.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from sanpath import registry
from sanpath.plugin import FollowedFile
from sanpath.recording.format import documents
from tests.fuzz import functions
from tests.fuzz.corpus import CORPUS, broken
from tests.fuzz.seeds import FOLDER, place, small
from tests.fuzz.target import Target, fuzz
from tests.fuzz.targets import DOCUMENTS, TARGETS

INPUTS, SECONDS = 500, 1.5
"""For each target, whichever is reached first. They are always the same inputs: more of them find only once what is
new."""

each_target = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name.replace(" ", "-"))


@each_target
def test_what_once_broke_it_is_taken(target: Target) -> None:
    assert {path.name: found for path in broken(target.name) if (found := target.failure(path.read_bytes()))} == {}


@pytest.mark.slow
@each_target
def test_no_changed_input_breaks_it(target: Target) -> None:
    target.failure(target.seeds[0])  # What is loaded at the first call is not the input's.
    outcome = fuzz(target, 0, INPUTS, SECONDS)
    assert outcome.inputs > 0
    assert outcome.found == {}, dict(outcome.counts)


def test_every_folder_of_the_corpus_and_every_file_of_seeds_is_of_a_target() -> None:
    names = {target.name.replace(" ", "-") for target in TARGETS}
    assert {path.name for path in CORPUS.iterdir()} <= names
    assert {path.stem for path in FOLDER.iterdir()} == {t.name.replace(" ", "-") for t in TARGETS if t.reducible}


@pytest.mark.parametrize("collector", registry.names())
def test_every_parser_of_a_collector_has_a_target(collector: str) -> None:
    """One that is new fails here until it has one, with seeds (`python -m tests.fuzz.reduction`)."""
    found, wanted = registry.spec(collector), set()
    if found.result is not None:
        wanted.add(collector)
    if found.load is not None:
        wanted.add(f"{collector} output")
    if found.collector is not None and not issubclass(registry.collector_class(found), FollowedFile):
        wanted.add(f"{collector} answers")
    seeded = {target.name for target in TARGETS if target.seeds}
    assert wanted
    assert wanted <= seeded


def test_every_document_of_a_recording_is_tried() -> None:
    declared = {
        kind for _, kind in inspect.getmembers(documents, inspect.isclass) if kind.__module__ == documents.__name__
    }
    assert declared - {documents.Document, documents.Declaration, documents.File} == set(DOCUMENTS)


def test_small_seeds_are_small() -> None:
    assert sum(place(target.name).stat().st_size for target in TARGETS if target.reducible) < 201_000


def test_a_defect_is_found() -> None:
    """The fuzzing itself: a parser that takes a comma for a number is caught, with a short input that shows it."""

    def parser(given: bytes) -> None:
        float(given.partition(b"=")[2] or 0)

    outcome = fuzz(Target("defect", lambda: [b"a=1.5", b"b=2"], parser), 0, inputs=200)
    assert any(kind.startswith("ValueError") for kind in outcome.found)
    assert outcome.inputs == 200


def test_the_same_number_is_the_same_input() -> None:
    assert TARGETS[0].given(7) == TARGETS[0].given(7)


def test_devices_and_files_are_read_into_json_in_one_place() -> None:
    """json.loads raises a RecursionError for what is nested deep, and fills the memory with small objects."""
    collectors = Path(registry.sanpath_collectors.__path__[0])
    assert [path for path in collectors.rglob("*.py") if "json.loads" in path.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*-functions.jsonl")), ids=lambda path: path.stem)
def test_every_seed_names_a_function(path: Path) -> None:
    collector = path.stem.removesuffix("-functions")
    called = {seed.partition(b"\n")[0].decode() for seed in small(f"{collector} functions")}
    assert called <= functions.of(collector).keys()
