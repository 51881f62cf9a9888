"""What no recorder writes: left out and named, or one line; no traceback, no hang."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.errors import SanpathError, UsageError
from sanpath.model import SourceEntity
from sanpath.recorder.importing.files.imported_file import ImportedFile
from sanpath.recording.format import rows
from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage.checksum import OPTION, seal
from tests.support.stories import recorded

DEEP = "[" * 100_000 + "]" * 100_000
NOW = 1_800_000_030_000_000
DETAILS = {
    "a list": "[]",
    "a number": "7",
    "null": "null",
    "nothing": "",
    "nested": '{"step": {"a": 1}}',
    "deep": f'{{"step": {DEEP}}}',
    "a group that is a list": '{"step": "x", "group": []}',
    "offered infinity": '{"step": "x", "offered": 1e999}',
    "offered nan": '{"step": "x", "offered": NaN}',
    "offered huge": f'{{"step": "x", "offered": {"9" * 400}}}',
    "offered longer than Python reads": f'{{"step": "x", "offered": {"9" * 5000}}}',
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(Path(recorded("published").folder), tmp_path / "r.sanpath"))


def add(folder: Path, table: str, **changed: Any) -> None:
    """One more segment: a row of the table with some columns otherwise."""
    connection = duckdb.connect()
    some = next((folder / table).glob("*.parquet"))
    columns = ", ".join(f"${name} AS {name}" for name in changed)
    target = folder / table / "evil.1-00000001-00000001.parquet"
    where = "WHERE kind IS NOT NULL" if table == "inventory" else ""
    query = f"SELECT * REPLACE ({columns}) FROM read_parquet('{some}') {where} LIMIT 1"
    connection.execute(f"COPY ({query}) TO '{target}' (FORMAT parquet)", changed)
    connection.close()


def diagnosed(folder: Path) -> Any:
    """What diagnose says, or None where it refuses with a line of its own."""
    result = CliRunner().invoke(app, ["diagnose", str(folder), "--format", "json", "--fail-on", "never"])
    if isinstance(result.exception, SanpathError):
        assert result.exception.exit_code == 2
        return None
    assert result.exit_code == 0, result.exception
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def verdict(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The verdict on the recording as it was written."""
    folder = tmp_path_factory.mktemp("unchanged") / "r.sanpath"
    return diagnosed(Path(shutil.copytree(Path(recorded("published").folder), folder)))["verdict"]


@pytest.mark.parametrize("name", ["step-begin", "load-ended", "figure"])
@pytest.mark.parametrize("detail", DETAILS)
def test_an_event_of_another_form_is_left_out_and_named(folder: Path, name: str, detail: str) -> None:
    expected = Recording(folder).events()
    add(folder, "events", name=name, detail=DETAILS[detail], seen=NOW)
    recording = Recording(folder)
    assert recording.events() == expected
    assert recording.unreadable == {"events (some of its rows)"}


def test_a_diagnosis_survives_such_an_event(folder: Path, verdict: Any) -> None:
    add(folder, "events", name="step-begin", detail=DETAILS["a group that is a list"], seen=NOW)
    assert diagnosed(folder)["verdict"] == verdict


@pytest.mark.parametrize("seen", [2**63 - 1, 10**18, -(10**18), -(2**63)])
@pytest.mark.parametrize("table", ["events", "inventory", "samples/load", "samples/switch_port"])
def test_a_time_that_no_calendar_has_is_left_out(folder: Path, verdict: Any, table: str, seen: int) -> None:
    add(folder, table, seen=seen)
    assert diagnosed(folder)["verdict"] == verdict


@pytest.mark.parametrize("ids", ["[]", "7", '{"wwpn": "21"}', '{"wwpn": [7]}', '{"wwpn": [[]]}', DEEP, "{"])
def test_identifiers_of_another_form_are_left_out_and_named(folder: Path, ids: str) -> None:
    expected = Recording(folder).inventory()
    add(folder, "inventory", ids=ids, local_id="another")
    recording = Recording(folder)
    assert recording.inventory() == expected
    assert recording.unreadable == {"inventory (some of its rows)"}


@pytest.mark.parametrize("started", [2**63 - 1, 10**18, 10**30])
def test_a_writer_that_began_at_no_time_is_left_out_and_named(folder: Path, started: int) -> None:
    (folder / "writers/evil.1.json").write_text(json.dumps({"started_us": started}))
    assert Recording(folder).unreadable == {"writers/evil.1.json"}


@pytest.mark.parametrize("scale", ["Infinity", "NaN", '"inf"'])
def test_a_writer_whose_scale_is_no_number_is_left_out_and_named(folder: Path, scale: str) -> None:
    header = (folder / "writers/test.1.json").read_text()
    (folder / "writers/evil.1.json").write_text(header.replace('"scale": 1.0', f'"scale": {scale}'))
    assert Recording(folder).unreadable == {"writers/evil.1.json"}


@pytest.mark.parametrize("name", ["manifest.json", "writers/test.1.json", "events", "inventory", "samples", "polls"])
@pytest.mark.parametrize("other", ["folder", "file", "pipe", "endless"])
def test_what_is_of_another_kind_is_not_waited_for(folder: Path, name: str, other: str) -> None:
    path = folder / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    match other:
        case "folder":
            path.mkdir()
        case "file":
            path.write_text("x")
        case "pipe":
            os.mkfifo(path)
        case _:
            path.symlink_to("/dev/zero")
    diagnosed(folder)


@pytest.mark.parametrize("table", ["events", "samples/load"])
def test_a_segment_that_is_a_pipe_or_a_device_is_not_opened(folder: Path, verdict: Any, table: str) -> None:
    os.mkfifo(folder / table / "evil.1-00000001-00000001.parquet")
    (folder / table / "evil.2-00000001-00000001.parquet").symlink_to("/dev/zero")
    assert diagnosed(folder)["verdict"] == verdict


def test_a_pipe_or_a_device_is_not_imported(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(UsageError, match="is a pipe or a device"):
            ImportedFile(path).head()


@pytest.mark.slow
def test_more_rows_than_anybody_records_are_read_in_part_and_named(folder: Path) -> None:
    table = "events"
    some, target = next((folder / table).glob("*.parquet")), folder / table / "evil.1-00000001-00000001.parquet"
    one = f"SELECT * EXCLUDE (seen) FROM read_parquet('{some}') LIMIT 1"
    connection = duckdb.connect()
    connection.execute(
        f"COPY (SELECT one.*, {NOW} + (1e9 * random())::BIGINT AS seen "
        f"FROM ({one}) one, range({rows.MAX_ROWS[table] + 1})) TO '{target}' (FORMAT parquet)"
    )
    connection.close()
    recording = Recording(folder)
    assert len(recording.events()) <= rows.MAX_ROWS[table]
    assert recording.unreadable == {"events (more rows than 200,000)"}


VALUES = {
    "technology": ["infiniband", "fibre_channel\x1b[2J", 7, True, ""],
    "speed_bits_per_second": ["8e9", True],
}
"""Of a switch port: what the catalogue does not know, or of another type."""


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in VALUES.items() for value in values], ids=str
)
def test_an_attribute_that_no_entity_can_have_is_not_known_and_named(folder: Path, name: str, value: object) -> None:
    connection = duckdb.connect()
    for segment in (folder / "inventory").glob("*.parquet"):
        connection.execute(f"CREATE OR REPLACE TABLE items AS SELECT * FROM read_parquet('{segment}')")
        for (text,) in connection.execute("SELECT attributes FROM items WHERE kind = 'switch_port'").fetchall():
            changed = json.dumps(json.loads(text) | {name: value})
            connection.execute("UPDATE items SET attributes = ? WHERE attributes = ?", [changed, text])
        connection.execute(f"COPY items TO '{segment}' (FORMAT parquet, {OPTION})")
        seal(segment)
    connection.close()
    recording = Recording(folder)
    ports = [item for _, _, item in recording.inventory() if isinstance(item, SourceEntity)]
    assert {port.attributes[name] for port in ports if port.kind == "switch_port"} == {None}
    assert f"inventory (switch_port: {name} of some rows)" in recording.unreadable
    for command in ("diagnose", "topology", "report"):
        options = ["--fail-on", "never"] if command == "diagnose" else []
        options += ["-o", str(folder.parent / "report.md")] if command == "report" else []
        result = CliRunner().invoke(app, [command, str(folder), *options])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception


def test_a_plane_that_the_catalogue_does_not_have_counts_as_none(folder: Path) -> None:
    """None: what the host's clock says without a plane, which is a block device's own time."""
    writer = folder / "writers/test.1.json"
    writer.write_text(writer.read_text().replace('"guest_block"', '"guest_blockguest_block"'))
    assert Recording(folder).planes("lun") == {"fio": None}
    assert diagnosed(folder)["verdict"]["kind"] == "bottleneck"
