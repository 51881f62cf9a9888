"""A recording that somebody else has made: its names are no SQL, its files reach nothing outside of it, its path says
nothing."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner, Result

from sanpath.catalogue.catalogue import metrics
from sanpath.cli import app
from sanpath.recording.reading.recording import Recording
from sanpath.recording.redaction.redact import redact
from sanpath.recording.storage.checksum import OPTION, UNSEALED, seal, sealed_document
from tests.support.recording import RecordingBuilder
from tests.support.stories import recorded

KINDS = ("switch_port", "load", "vdisk", "volume")

# What a metric is called ends the query it would stand in, for the means of gauges and for the rates of counters.
COPIED = "COPY (SELECT 'x') TO '{file}' (FORMAT csv); --"
EXPLOITS = {
    "gauge": f'q" -- */, 1)] FROM (VALUES(1,1,1)) v(step,entity,q) GROUP BY ALL; {COPIED}',
    "counter": f'q" FROM (SELECT 1)); {COPIED}',
    "quote": f"'; {COPIED}",
}


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A recording with a verdict."""
    return Path(shutil.copytree(Path(recorded("published").folder), tmp_path / "plain.sanpath"))


def with_column(folder: Path, name: str, of: str, bits: int = 0) -> None:
    """Declare a column of every sample, and write it into every segment. `of`: SQL of its values. Whoever makes a
    recording knows how its digests are made."""
    for header in (folder / "writers").glob("*.json"):
        outcome = json.loads(header.read_text())
        for source in outcome.get("sources", ()):
            for table in source["tables"]:
                table["columns"].append({"metric": name, "bits": bits, "scale": 1.0})
        unsealed = json.dumps(outcome | {"sha256": UNSEALED})
        header.write_bytes(sealed_document(unsealed.encode()))
    connection = duckdb.connect()
    quoted = '"' + name.replace('"', '""') + '"'
    for segment in (folder / "samples").rglob("*.parquet"):
        other = segment.with_suffix(".other")
        connection.execute(
            f"COPY (SELECT *, {of} AS {quoted} FROM read_parquet('{segment}')) "
            f"TO '{other}' (FORMAT parquet, {OPTION})"
        )
        seal(other)
        other.replace(segment)
    connection.close()


def asked(*arguments: str | Path) -> Result:
    """A command that ends as it should, and by no exception of its own."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


def diagnosed(folder: Path) -> str:
    return asked("diagnose", folder, "--format", "json", "--fail-on", "never").stdout


@pytest.mark.slow
@pytest.mark.parametrize("exploit", EXPLOITS)
def test_a_name_of_a_recording_is_no_sql(plain: Path, tmp_path: Path, exploit: str) -> None:
    target = tmp_path / "written"
    hostile = Path(shutil.copytree(plain, tmp_path / "hostile.sanpath"))
    name = EXPLOITS[exploit].format(file=target)
    with_column(hostile, name, "1::UBIGINT" if exploit == "counter" else "1.0", 64 if exploit == "counter" else 0)
    before = set(tmp_path.rglob("*"))

    expected = diagnosed(plain)
    assert json.loads(expected)["verdict"]["kind"] != "cannot_tell"
    assert diagnosed(hostile) == expected
    asked("report", hostile, "-o", tmp_path / "report.html")
    asked("whatif", hostile, "--relieve")
    asked("compare", plain, hostile)
    asked("topology", hostile)
    asked("redact", hostile, tmp_path / "redacted.sanpath")

    made = set(tmp_path.rglob("*")) - before
    assert not target.exists()
    assert {path.relative_to(tmp_path).parts[0] for path in made} == {"report.html", "redacted.sanpath"}
    assert name not in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("form", ["junit", "markdown", "prometheus", "text"])
def test_every_form_of_a_diagnosis_survives_such_a_name(plain: Path, tmp_path: Path, form: str) -> None:
    target = tmp_path / "written"
    with_column(plain, EXPLOITS["gauge"].format(file=target), "1.0")
    asked("diagnose", plain, "--format", form, "--fail-on", "never")
    assert not target.exists()


OUTSIDE = {
    "read_text": "SELECT * FROM read_text('{outside}')",
    "read_csv": "SELECT * FROM read_csv('{outside}')",
    "a name as a file": "SELECT * FROM '{outside}'",
    "a neighbour": "SELECT * FROM read_text('{inside}/../secret.csv')",
    "a neighbour of the same beginning": "SELECT * FROM read_text('{inside}-other/secret.csv')",
    "glob": "SELECT * FROM glob('{parent}/*')",
    "copy to": "COPY (SELECT 1) TO '{parent}/written'",
    "attach": "ATTACH '{parent}/other.db'",
    "export": "EXPORT DATABASE '{parent}/exported'",
    "install": "INSTALL httpfs",
    "load": "LOAD '{parent}/own.duckdb_extension'",
    "set": "SET enable_external_access = true",
    "set directories": "SET allowed_directories = ['/']",
    "unlock": "SET lock_configuration = false",
    "reset": "RESET lock_configuration",
    "pragma": "PRAGMA enable_external_access = true",
}


@pytest.mark.parametrize("statement", OUTSIDE)
def test_a_connection_of_a_recording_reaches_nothing_outside_of_it(
    plain: Path, tmp_path: Path, statement: str
) -> None:
    (tmp_path / "secret.csv").write_text("secret\n")
    neighbour = tmp_path / f"{plain.name}-other"
    neighbour.mkdir()
    (neighbour / "secret.csv").write_text("secret\n")
    before = sorted(tmp_path.rglob("*"))
    connection = Recording(plain).connect()
    try:
        query = OUTSIDE[statement].format(outside=tmp_path / "secret.csv", inside=plain, parent=tmp_path)
        with pytest.raises(duckdb.Error):
            connection.execute(query).fetchall()
    finally:
        connection.close()
    assert sorted(tmp_path.rglob("*")) == before


def test_a_segment_that_links_to_a_file_elsewhere_is_read_as_a_segment_or_not_at_all(
    plain: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.csv").write_text("a secret\n")
    (plain / "events/test.9-00000001-00000001.parquet").symlink_to(tmp_path / "secret.csv")
    assert "a secret" not in diagnosed(plain)
    redact(plain, tmp_path / "redacted.sanpath")
    for path in (tmp_path / "redacted.sanpath").rglob("*"):
        assert path.is_dir() or b"a secret" not in path.read_bytes()


@pytest.mark.parametrize("place", ["source=evil/seen=1", "entity=1/name=x/kind=y", "year=2024"])
def test_the_path_of_a_recording_says_nothing(plain: Path, tmp_path: Path, place: str) -> None:
    placed = Path(shutil.copytree(plain, tmp_path / place / "plain.sanpath"))
    assert diagnosed(placed) == diagnosed(plain)


def test_the_path_of_a_recording_does_not_get_into_a_copy(plain: Path, tmp_path: Path) -> None:
    placed = Path(shutil.copytree(plain, tmp_path / "source=evil/seen=1/plain.sanpath"))
    redact(plain, tmp_path / "of_plain.sanpath")
    redact(placed, tmp_path / "seen=2/of_placed.sanpath")
    of_placed, of_plain = (
        json.loads(diagnosed(tmp_path / name)) for name in ("seen=2/of_placed.sanpath", "of_plain.sanpath")
    )
    # Every copy has a name of its own.
    assert of_placed["run"].pop("id") != of_plain["run"].pop("id")
    assert of_placed == of_plain


def test_text_under_the_name_of_a_metric_is_left_out(plain: Path) -> None:
    expected = diagnosed(plain)
    recording = Recording(plain)
    connection = recording.connect()
    there = {kind: set(recording.view(connection, kind)) for kind in KINDS}
    connection.close()
    unused = {kind: sorted(metrics()[kind].keys() - there[kind]) for kind in KINDS}
    for name in {names[0] for names in unused.values() if names}:
        with_column(plain, name, "'a text'")
    recording = Recording(plain)
    connection = recording.connect()
    assert {kind: set(recording.view(connection, kind)) for kind in KINDS} == there
    connection.close()
    assert diagnosed(plain) == expected


def test_a_copy_does_not_tell_which_run_it_is_of(plain: Path, tmp_path: Path) -> None:
    redact(plain, tmp_path / "redacted.sanpath")
    own, other = (Recording(folder).manifest.run_id for folder in (plain, tmp_path / "redacted.sanpath"))
    assert len(other) == len(own) == 32
    for path in (tmp_path / "redacted.sanpath").rglob("*.json"):
        assert own not in path.read_text()


@pytest.fixture
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("usual_umask")
def test_a_recording_is_its_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "r.sanpath"
    RecordingBuilder(folder).write()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert modes(folder) == {0o600}


@pytest.mark.usefixtures("usual_umask")
def test_a_folder_that_was_made_before_says_who_may_read(tmp_path: Path) -> None:
    folder = tmp_path / "shared.sanpath"
    folder.mkdir()
    RecordingBuilder(folder).write()
    assert modes(folder) == {0o644}
