"""Documents that were changed after they were written are used as they are, and it is said."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.recording.reading.recording import Recording
from sanpath.recording.redaction.redact import redact
from sanpath.recording.writing.writer import Writer
from tests.support.recording import START_US
from tests.support.stories import STORIES, recorded

MANIFEST, HEADER, ENDING = "manifest.json", "writers/test.1.json", "writers/test.1.end.json"
CHANGES: dict[str, tuple[str, Callable[[str], str]]] = {
    "a time": (HEADER, lambda text: re.sub(r'"started_us": \d', '"started_us": 2', text)),
    "a scale": (HEADER, lambda text: text.replace('"scale": 1.0', '"scale": 1000.0', 1)),
    "a source": (HEADER, lambda text: text.replace('"name": "sw1"', '"name": "sw9"', 1)),
    "white space": (HEADER, lambda text: json.dumps(json.loads(text))),
    "the digest": (HEADER, lambda text: re.sub('("sha256": ".{63}).', r"\1x", text)),
    "an exit code": (ENDING, lambda text: re.sub(r'"load_exit_code": \w+', '"load_exit_code": 7', text)),
    "the count of flushes": (ENDING, lambda text: re.sub(r'"written": {[^}]*}', '"written": {}', text)),
    "the run": (MANIFEST, lambda text: re.sub('"run_id": ".{8}', '"run_id": "01234567', text)),
    "no digest in the header": (HEADER, lambda text: re.sub('.*"sha256.*\n', "", text)),
    "no digest in the ending": (ENDING, lambda text: re.sub('.*"sha256.*\n', "", text)),
    "no digest in the manifest": (MANIFEST, lambda text: re.sub('.*"sha256.*\n', "", text)),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(Path(recorded("published").folder), tmp_path / "r.sanpath"))


def change(folder: Path, what: str) -> str:
    """Change a document. Returns its name."""
    name, changed = CHANGES[what]
    before = (folder / name).read_text()
    (folder / name).write_text(changed(before))
    assert (folder / name).read_text() != before
    return name


def without_digests(folder: Path) -> None:
    """As earlier versions wrote it."""
    for path in folder.rglob("*.json"):
        path.write_text(re.sub('.*"sha256.*\n', "", path.read_text()))


@pytest.mark.parametrize("what", CHANGES)
def test_a_document_that_was_changed_is_named(folder: Path, what: str) -> None:
    name = change(folder, what)
    recording = Recording(folder)
    assert recording.altered == {name}
    assert recording.unreadable == set()


def test_what_a_person_corrects_is_used_as_it_is_now(folder: Path) -> None:
    change(folder, "a source")
    assert "sw9" in {source.name for source in Recording(folder).declarations}


@pytest.mark.parametrize("command", ["diagnose", "report"])
def test_everybody_who_reads_the_diagnosis_is_told(folder: Path, command: str) -> None:
    name = change(folder, "an exit code")
    diagnosis = CliRunner().invoke(app, [command, str(folder)])
    assert f"{name}: was changed after it was written" in re.sub(r"\s+", " ", diagnosis.stdout).replace("`", "")


def test_programs_are_told(folder: Path) -> None:
    name = change(folder, "a scale")
    diagnosis = json.loads(CliRunner().invoke(app, ["diagnose", str(folder), "--format", "json"]).stdout)
    result = [entry["why"] for entry in diagnosis["unobserved"] if entry["what"] == name]
    assert result == ["was changed after it was written"]


@pytest.mark.parametrize("story", sorted(STORIES))
def test_what_is_as_it_was_written_is_not_suspected(story: str) -> None:
    assert recorded(story).altered == set()


def test_a_recording_of_an_earlier_version_is_not_suspected(folder: Path) -> None:
    without_digests(folder)
    assert Recording(folder).altered == set()


def test_what_a_later_version_adds_to_an_old_recording_makes_nobody_suspect(folder: Path) -> None:
    without_digests(folder)
    writer = Writer(folder, "later.1")
    writer.header({"started_us": START_US})
    writer.end({"ended_us": START_US, "load_exit_code": None, "recorder_cpu_seconds": 0.0})
    recording = Recording(folder)
    assert len(recording.starts) == 2
    assert recording.altered == set()


def test_an_ending_without_a_header_says_that_one_is_gone(folder: Path) -> None:
    (folder / HEADER).unlink()
    assert Recording(folder).unreadable == {HEADER}


@pytest.mark.parametrize("what", ["a scale", "an exit code", "the run"])
def test_the_copy_to_send_says_what_the_original_says(folder: Path, tmp_path: Path, what: str) -> None:
    assert redact(folder, tmp_path / "whole.sanpath").altered == []
    assert Recording(tmp_path / "whole.sanpath").altered == set()
    name = change(folder, what)
    assert redact(folder, tmp_path / "altered.sanpath").altered == [name]
    assert Recording(tmp_path / "altered.sanpath").altered == {name.replace("test.1", "writer.001")}


@pytest.mark.parametrize("overwritten_bytes", [14, 16, 64, 90])
def test_a_checksum_that_is_overwritten_with_its_key_is_missed(folder: Path, overwritten_bytes: int) -> None:
    """The header has a digest, so the writer leaves a place for a checksum in every segment as well."""
    segment = next((folder / "events").glob("*.parquet"))
    content = segment.read_bytes()
    begin = content.index(b"sanpath_sha256")
    segment.write_bytes(content[:begin] + bytes(overwritten_bytes) + content[begin + overwritten_bytes :])
    recording = Recording(folder)
    recording.events()
    assert recording.unreadable == {f"events/{segment.name}"}
    assert redact(folder, folder.with_name("copy.sanpath")).left_out == [f"events/{segment.name}"]
