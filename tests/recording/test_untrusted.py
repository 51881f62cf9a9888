"""A recording that somebody else has written reaches no file but its own, whatever its names say."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from sanpath import diagnose
from sanpath.recording.read import Recording
from sanpath.views import json as as_json
from tests.support.stories import recorded


def exploit(file: Path) -> str:
    """A metric's name that ends the query it stands in and begins one of its own."""
    return (
        'q" -- */, 1)] FROM (VALUES(1,1,1)) v(step,entity,q) GROUP BY ALL; '
        f"COPY (SELECT 'x') TO '{file}' (FORMAT csv, HEADER false); SELECT (\""
    )


@pytest.fixture
def loot(tmp_path: Path) -> Path:
    return tmp_path / "loot.csv"


@pytest.fixture
def hostile(tmp_path: Path, loot: Path) -> Path:
    """A recording that declares such a metric, and has it as a column of its samples, a gauge and a counter each."""
    folder = tmp_path / "hostile.sanpath"
    shutil.copytree(recorded("published").folder, folder)
    name = exploit(loot)
    for header in (folder / "writers").glob("*.json"):
        told = json.loads(header.read_text(encoding="utf-8"))
        for source in told.get("sources", ()):
            for table in source["tables"]:
                table["columns"] += [{"metric": name}, {"metric": name + " ", "bits": 64}]
        header.write_text(json.dumps(told), encoding="utf-8")
    quoted = '"' + name.replace('"', '""') + '"'
    spaced = '"' + (name + " ").replace('"', '""') + '"'
    for segment in (folder / "samples").rglob("*.parquet"):
        rewritten = segment.with_suffix(".new")
        duckdb.execute(
            f"COPY (SELECT *, 1.0 AS {quoted}, 1::BIGINT AS {spaced} FROM read_parquet('{segment}')) "
            f"TO '{rewritten}' (FORMAT parquet)"
        )
        rewritten.replace(segment)
    return folder


def run(*words: str) -> int:
    """A command as a person types it: its exit code, and nobody sees a traceback."""
    done = subprocess.run([sys.executable, "-P", "-m", "sanpath", *words], capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode


COMMANDS: dict[str, Callable[[Path, Path], tuple[str, ...]]] = {
    "diagnose": lambda folder, _: ("diagnose", str(folder)),
    "report": lambda folder, out: ("report", str(folder), "--out", str(out / "r.md")),
    "compare": lambda folder, _: ("compare", str(folder), str(folder)),
    "whatif": lambda folder, _: ("whatif", str(folder), "--relieve"),
    "redact": lambda folder, out: ("redact", str(folder), str(out / "copy.sanpath")),
    "topology": lambda folder, _: ("topology", str(folder)),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_runs_what_a_metric_is_called(command: str, hostile: Path, loot: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    assert run(*COMMANDS[command](hostile, out)) in (0, 2)
    assert not loot.exists()


def test_the_verdict_is_that_of_the_recording_without_it(hostile: Path) -> None:
    found, plain = (diagnose.diagnose(Recording(folder)) for folder in (hostile, recorded("published").folder))
    assert (found.verdict.headline, found.verdict.probability) == (plain.verdict.headline, plain.verdict.probability)


@pytest.mark.parametrize(
    "query",
    [
        "COPY (SELECT 1) TO '{outside}/x.csv'",
        "SELECT * FROM read_text('{outside}/secret')",
        "SELECT * FROM read_csv('{outside}/secret')",
        "ATTACH '{outside}/x.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET allowed_directories = ['/']",
        "RESET lock_configuration",
    ],
)
def test_a_connection_reaches_nothing_but_its_recording(query: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    connection = Recording(recorded("published").folder).connect()
    try:
        with pytest.raises(duckdb.Error):
            connection.execute(query.format(outside=tmp_path))
    finally:
        connection.close()
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


def test_the_folder_s_path_is_no_data(tmp_path: Path) -> None:
    """DuckDB would read columns `source` and `seen` out of such a path."""
    place = tmp_path / "source=evil" / "seen=1" / "entity=x"
    place.mkdir(parents=True)
    folder = place / recorded("published").folder.name
    shutil.copytree(recorded("published").folder, folder)
    there, here = (
        json.loads(as_json.render(diagnose.diagnose(Recording(f)))) for f in (folder, recorded("published").folder)
    )
    assert there["verdict"] == here["verdict"]
    assert there["elements"] == here["elements"]


def test_a_text_where_a_number_should_be_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "text.sanpath"
    shutil.copytree(recorded("published").folder, folder)
    for segment in (folder / "samples" / "switch_port").glob("*.parquet"):
        rewritten = segment.with_suffix(".new")
        duckdb.execute(
            f"COPY (SELECT * REPLACE ('many' AS bytes_tx_total) FROM read_parquet('{segment}')) "
            f"TO '{rewritten}' (FORMAT parquet)"
        )
        rewritten.replace(segment)
    found = diagnose.diagnose(Recording(folder))
    used = {e.utilisation for e in found.elements if e.direction == "read" and "vmhba2" in e.entity}
    assert used == {None}
