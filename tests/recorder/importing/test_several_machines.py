"""Results of several machines at one time are no run counted twice; those of one machine may be."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.diagnose import diagnose
from sanpath.recording.reading.recording import Recording
from sanpath.views import first_screen
from tests.support.simulated_diskspd import result

_TWICE = "if both files are of one run, it is now counted twice"


def diskspd(folder: Path, name: str, node: str, depth: int) -> Path:
    """A result of DiskSpd on a node, which began at eight."""
    text = result(["diskspd", "-b65536", "-d60", "-F2", f"-O{depth}", "-w0", "D:\\test.dat"], node)
    file = folder / name
    file.write_text(text.replace("</Tool>", "</Tool><RunTime>2026/11/20 08:00:00 UTC</RunTime>"))
    return file


def imported(*words: object) -> str:
    done = CliRunner().invoke(app, ["import", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize(("second", "twice"), [("SQL2", False), ("SQL1", True), ("sql1.example.com", True)])
def test_only_results_of_one_machine_may_be_of_one_run(tmp_path: Path, second: str, twice: bool) -> None:
    files = diskspd(tmp_path, "a.xml", "SQL1", 4), diskspd(tmp_path, "b.xml", second, 8)
    assert (_TWICE in imported(*files, "--into", tmp_path / "r")) is twice


def test_the_machine_that_a_person_names_is_that_of_the_file(tmp_path: Path) -> None:
    into = ("--into", tmp_path / "r")
    imported(diskspd(tmp_path, "a.xml", "SQL1", 4), *into)
    assert _TWICE in imported(diskspd(tmp_path, "b.xml", "WIN-TEMPLATE", 8), *into, "--host", "sql1")


def test_a_second_machine_that_a_person_names_is_added_as_the_first_was(tmp_path: Path) -> None:
    into = tmp_path / "r"
    imported(diskspd(tmp_path, "a.xml", "SQL1", 4), "--into", into, "--host", "h1")
    second = imported(diskspd(tmp_path, "b.xml", "SQL1", 8), "--into", into, "--host", "h2", "--name", "other")
    assert "h2 is another machine from now on" in second
    assert "joined to nothing" not in second
    assert first_screen.test_name(diagnose(Recording(into))).partition(", ")[0] == "diskspd on h1 and 1 more"
