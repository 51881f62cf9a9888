"""Every folder with an import.yaml below this one is a case: a result file in, everything its reader makes of it out.

import.yaml names the `file` and what the `load` is called. expected.json is all that was yielded, expected.err the
failure. SANPATH_UPDATE_CASES=1 writes what is yielded now; read the difference before it is committed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sanpath import registry
from sanpath.plugin import CollectorError, Event, Item, ResultReader, Rows
from sanpath.recorder.importing.files.imported_file import ImportedFile
from tests.collectors.test_cases import as_data, as_text

CASES = sorted(path.parent for path in Path(__file__).parent.glob("*/*/import.yaml"))
UPDATE = os.environ.get("SANPATH_UPDATE_CASES") == "1"

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")


def reader_of(case: Path) -> tuple[ResultReader, Path]:
    """The reader that recognises the case's file; the collector's folder says which it has to be."""
    reported = yaml.safe_load((case / "import.yaml").read_text(encoding="utf-8"))
    file = case / reported["file"]
    head = ImportedFile(file).head()
    found = registry.result_reader(head, file.name, reported.get("reader"))
    assert found is not None, f"nobody recognises {file.name}"
    assert found[0].name == case.parent.name
    return found[1](reported["load"]), file


def as_lines(items: Iterator[Item], reader: ResultReader) -> str:
    reported: dict[str, Any] = {"items": [as_data(item) for item in items]}
    return as_text({"clock": reader.clock, **reported})


@each_case
def test_yields_what_is_expected(case: Path) -> None:
    reader, file = reader_of(case)
    try:
        name, text = "expected.json", as_lines(reader.read(ImportedFile(file)), reader)
    except CollectorError as error:
        name, text = "expected.err", f"{error.failure.value}: {error}"
    expected = case / name
    if UPDATE:
        (case / "expected.json").unlink(missing_ok=True)
        (case / "expected.err").unlink(missing_ok=True)
        expected.write_text(text + "\n", encoding="utf-8")
    assert expected.exists(), f"ended with {text[:300]!r}, expected something else"
    assert text.splitlines() == expected.read_text(encoding="utf-8").splitlines()


@each_case
@pytest.mark.parametrize("name", ["result", "RESULT.DAT", "result.csv", "result.log"])
def test_an_unusual_ending_of_the_name_changes_nothing(case: Path, name: str) -> None:
    reader, file = reader_of(case)
    head = ImportedFile(file).head()
    if not reader.recognises(head, name):
        pytest.skip("recognised by its whole name")
    found = registry.result_reader(head, name)
    assert found is not None
    assert found[0].name == case.parent.name


@each_case
def test_runs_of_one_load_never_overlap(case: Path) -> None:
    """A step that begins before the one in front of it has ended would get the I/Os of both."""
    reader, file = reader_of(case)
    last_us: dict[str, int] = {}
    running: dict[object, tuple[int, set[str]]] = {}
    ended_us: dict[str, int] = {}
    try:
        for item in reader.read(ImportedFile(file)):
            if isinstance(item, Rows) and item.table.kind == "load":
                for entity, seen in zip(item.entity, item.seen, strict=True):
                    assert seen >= last_us.get(entity, seen), f"{entity}: a sample lies before the one in front of it"
                    last_us[entity] = seen
            elif isinstance(item, Event) and item.name == "step-begin":
                loads = {load for load in str(item.detail.get("loads") or "").split(",") if load}
                for load in loads:
                    assert item.seen >= ended_us.get(load, item.seen), f"{load}: a step begins in the one before it"
                running[item.detail.get("group")] = item.seen, loads
            elif isinstance(item, Event) and item.name == "step-end" and item.detail.get("group") in running:
                begin_us, loads = running.pop(item.detail.get("group"))
                assert item.seen >= begin_us
                ended_us |= dict.fromkeys(loads, item.seen)
    except CollectorError:
        pass  # Cases of files that are refused.


def fed(reader: ResultReader, parts: Iterator[bytes]) -> str:
    """What a reader yields of parts, or the one error it may raise."""
    items: list[Any] = []
    try:
        for part in parts:
            items += [as_data(item) for item in reader.feed(part)]
        items += [as_data(item) for item in reader.finish()]
    except CollectorError as error:
        return f"{error.failure.value}: {error}"
    return json.dumps(items)


def in_parts(content: bytes, size: int) -> Iterator[bytes]:
    return (content[at : at + size] for at in range(0, len(content), size))


@each_case
def test_where_a_part_ends_does_not_matter(case: Path) -> None:
    reader, file = reader_of(case)
    content = file.read_bytes()
    if len(content) > 200_000:
        content = content[:200_000]
    whole = fed(reader, in_parts(content, len(content) or 1))
    for size in (7, 1013):
        assert fed(type(reader)(reader.load), in_parts(content, size)) == whole
