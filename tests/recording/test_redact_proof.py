"""Every text and every number of a recording and of its redacted copy are compared: what both have links neither.

Times and figures stay, and so does a digest of a document in which nothing else is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sanpath.model import Column, Table
from sanpath.recording.format import layout
from sanpath.recording.reading.recording import Recording
from sanpath.recording.redaction.pseudonyms import vocabulary
from sanpath.recording.redaction.redact import redact
from sanpath.recording.writing.writer import Writer
from tests.recording.test_redact import HARDWARE
from tests.support.recording import START_US, RecordingBuilder
from tests.support.stories import STORIES, recorded

RUN_ID = re.compile("[0-9a-f]{32}")
NUMBERS = frozenset(
    (
        # When, by whose clock, how long and how often.
        *("seen", "device_time", "covers_seconds", "due", "started", "ended", "requests", "rows", "bytes_in"),
        *("started_us", "ended_us", "recorder_cpu_seconds", "load_exit_code", "every_seconds", "keep_seconds"),
        # The format.
        *("format", "bits", "scale", "resolution", "written"),
    )
)
TEXTS = frozenset({"manifest.json", "sha256"})
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")
UNITS = (
    "seconds",
    "bytes",
    "ratio",
    "total",
    "second",
    "count",
    "depth",
    "exit_code",
    "percent",
    "before",
    "celsius",
)
HEADS = ("samples/",)


def everything(folder: Path) -> Iterator[tuple[str, str, Any]]:
    """(file, what it is called, value) of each text and number, and of the names of files and keys; each once."""
    with duckdb.connect() as connection:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            yield name, "name of a file", name
            if path.suffix == ".json":
                for key, value in parts("", json.loads(path.read_text())):
                    yield name, key, value
            elif path.suffix == ".parquet":
                table = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
                columns = [column for column, *_ in table.description or []]
                for column, values in zip(columns, zip(*table.fetchall(), strict=True), strict=True):
                    yield name, "name of a column", column
                    for value in dict.fromkeys(values):
                        nested = column in ("ids", "attributes", "detail") and value is not None
                        for key, part in parts(column, json.loads(value) if nested else value):
                            yield name, key, part
                for (value,) in connection.execute(
                    "SELECT value FROM parquet_kv_metadata(?)", [str(path)]
                ).fetchall():
                    yield name, "metadata", value.decode()
            elif path.is_file():
                yield name, "content", path.read_text(errors="replace")


def parts(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """(last key, text or number) of a JSON value."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield "name of a key", name
            yield from parts(name, part)
    elif isinstance(value, list):
        for part in value:
            yield from parts(key, part)
    elif value is not None and not isinstance(value, bool):
        yield key, value


def public(text: str) -> bool:
    """Made of sanpath's own words, of what parts of hardware are called, versions and times."""
    words = [word for word in re.split(r"[^\w.]+|_", text) if word]
    # One in fifty random ids looks like the name of a part.
    return not RUN_ID.fullmatch(text) and all(
        word.strip(".").lower() in vocabulary() or HARDWARE.fullmatch(word) for word in words
    )


def linking(original: Path, copy: Path) -> set[tuple[str, str, Any]]:
    """What the copy has of the original that may link them: (file of the copy, key, value)."""
    before = {(type(value) is str, value) for _, _, value in everything(original)}
    found = set()
    for file, key, value in everything(copy):
        if (type(value) is str, value) not in before:
            continue
        if isinstance(value, str):
            fine = value in TEXTS or public(value) or bool(TIME.fullmatch(value)) or key == "sha256"
        else:
            short = abs(value) < 100_000
            fine = short or key in NUMBERS or key.endswith(UNITS) or file.startswith(HEADS)
        if not fine:
            found.add((file, key, value))
    return found


@pytest.mark.parametrize("story", sorted(STORIES))
def test_a_copy_has_no_text_and_no_number_that_links_it(story: str, tmp_path: Path) -> None:
    original = Path(recorded(story).folder)
    redact(original, tmp_path / "copy.sanpath")
    assert len(list(everything(tmp_path / "copy.sanpath"))) > 200
    assert Recording(tmp_path / "copy.sanpath").altered == set(), "its digests are of what it holds"
    assert linking(original, tmp_path / "copy.sanpath") == set()


def test_the_comparison_finds_what_links() -> None:
    original = Path(recorded("published").folder)
    found = {value for _, _, value in linking(original, original)}
    assert {"esx7/vmhba2", "fa1", "sw1"} & found
    assert any(isinstance(value, str) and RUN_ID.fullmatch(value) for value in found), "the id of the run"


def test_what_nobody_thought_of_is_not_in_the_copy(tmp_path: Path) -> None:
    """Long numbers as names, versions, digests of plans, metrics and planes of somebody's own, output of loads."""
    folder = tmp_path / "contoso.sanpath"
    made = RecordingBuilder(folder)
    made.source("sw1", "snmp_switch", Table("switch_port", ()))
    numbers = {"serial_number": 84_021_177, "contoso_asset": 31_337_042, "chassis_id": 999_888_777, "slot": 4}
    made.entity("sw1", "switch_port", "1", attributes=numbers | {"speed_bits_per_second": 8_500_000_000})
    made.event("sw1", 1.0, "data-warning", text="of martin", serial=84_021_177)
    made.write()
    writer = Writer(folder, "contoso-7.1")
    table = Table("switch_port", (Column("contoso_widgets"), Column("link_up")), plane="contoso-plane")
    declared = {"name": "contoso", "collector": "contoso_collector", "every_seconds": 1.0, "tables": [table]}
    header = {"host": "hydra", "recorder": "martin", "plan": "9a1f77c0ffee4242", "tool_version": "of Contoso"}
    writer.header(
        header | {"started_us": START_US, "sources": [declared], "load_command": ["fio", "--hostname=hydra"]}
    )
    writer.end({"ended_us": START_US, "load_exit_code": 0, "recorder_cpu_seconds": 0.1})
    (folder / "load" / "fio.1").mkdir(parents=True)
    (folder / "load" / "fio.1" / "output").write_text("hostname=hydra 84021177")
    redact(folder, tmp_path / "copy.sanpath")
    assert linking(folder, tmp_path / "copy.sanpath") == set()
    text = "\n".join(f"{key} {value}" for _, key, value in everything(tmp_path / "copy.sanpath")).lower()
    for word in ("contoso", "martin", "hydra", "84021177", "31337042", "999888777", "9a1f77c0ffee4242"):
        assert word not in text, word
    assert "8500000000" in text
    assert layout.read_manifest(tmp_path / "copy.sanpath").tool_version == "0.1.0"
