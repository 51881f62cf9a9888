"""A program without sanpath writes a recording as docs/recording-format.md describes it, and sanpath judges it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.recording.reading.recording import Recording
from sanpath.rulebook.rule_files import load_rulebook
from tests.support.declared import undeclared

SCRIPT = Path(__file__).parents[2] / "examples" / "own-recorder" / "record.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("own") / "own.sanpath"
    subprocess.run([sys.executable, str(SCRIPT), str(path)], check=True)
    return path


def test_the_saturated_link_is_found_with_certainty(folder: Path) -> None:
    diagnosis = diagnose(Recording(folder), load_rulebook())
    assert (diagnosis.verdict.kind, diagnosis.verdict.grade) == ("bottleneck", "A")
    assert diagnosis.verdict.bottlenecks[0].entity == "link:esx7/vmhba2--sw1/fc1/1"
    assert not [gap for gap in diagnosis.unobserved if "damaged" in gap.why or "no poll" in gap.why]


def test_it_uses_only_declared_names(folder: Path) -> None:
    recording = Recording(folder)
    events = [event for _, event in recording.events()]
    assert len(events) == 3
    assert not undeclared([*(item for _, _, item in recording.inventory()), *events])
