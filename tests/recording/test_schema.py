"""docs/recording.schema.json is right: what is written, by a real run too, is as it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from sanpath.recording.format import layout
from sanpath.recording.format.documents import Ending, Header
from sanpath.recording.writing.writer import Writer
from tests.recording.support import ROOT


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = json.loads((ROOT / "docs/recording.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def documents(folder: Path) -> dict[str, Any]:
    return {path.relative_to(folder).as_posix(): json.loads(path.read_text()) for path in folder.rglob("*.json")}


@pytest.mark.slow
def test_a_run_writes_what_the_schema_says(validator: Draft202012Validator, tmp_path: Path) -> None:
    load = [sys.executable, "-c", "print('said')"]
    command = [sys.executable, "-m", "sanpath", "run", "--into", "r.sanpath", "--load", "fio", "--", *load]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    found = documents(tmp_path / "r.sanpath")
    assert len(found) == 3, done.stderr
    validator.validate(found)
    (header,) = [Header.model_validate(d) for name, d in found.items() if "end" not in name and "writers" in name]
    assert header.load_command == load
    assert [source.collector for source in header.sources] == ["fio"]
    assert header.sources[0].tables[0].columns


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("manifest.json", {"run_id": None}),
        ("manifest.json", {"format": "one"}),
        ("writers/host.1.json", {"started_us": "soon"}),
        ("writers/host.1.json", {"sources": [{"name": "s"}]}),
        ("writers/host.1.end.json", {"load_exit_code": "none"}),
        ("writers/host.2.end.json", {}),
        ("writers/other.txt", {}),
    ],
)
def test_what_is_wrong_is_refused(
    validator: Draft202012Validator, tmp_path: Path, name: str, change: dict[str, Any]
) -> None:
    layout.create(tmp_path)
    writer = Writer(tmp_path, "host.1")
    writer.header(Header(started_us=1))
    writer.end(Ending(ended_us=2, load_exit_code=None, recorder_cpu_seconds=0.1))
    found = documents(tmp_path)
    validator.validate(found)
    with pytest.raises(ValidationError):
        validator.validate(found | {name: found.get(name, {}) | change})
