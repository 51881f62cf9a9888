"""Results of one tool at the same time: which of them may be of one run."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from tests.collectors.fio.printed import document, job

_TWICE = "it is now counted twice"


def result(folder: Path, name: str, disk: str, ended: float, seconds: float = 60) -> Path:
    """A result of fio on a disk, "": the result does not tell which."""
    disks = [{"name": disk, "read_ios": 9, "write_ios": 0, "read_ticks": 9, "write_ticks": 0, "in_queue": 9}]
    one = job("a", 0, 1000 + len(name) + ord(name[0]), round(1000 * seconds), ioengine="libaio", iodepth="8")
    file = folder / name
    file.write_bytes(document(ended, one, **({"disk_util": disks} if disk else {})))
    return file


@pytest.mark.parametrize(
    ("disk", "ended", "twice"),
    [
        ("sda", 60.0, True),
        ("", 60.0, True),
        ("sdb", 60.0, False),
        ("sda", 119.0, False),
        ("sda", 1.0, False),
        ("sda", 90.0, True),
    ],
    ids=["same disk", "disk not known", "another disk", "edges of whole seconds", "before", "half of it"],
)
def test_results_are_of_one_run_only_if_they_may_address_the_same_at_the_same_time(
    tmp_path: Path, disk: str, ended: float, twice: bool
) -> None:
    files = result(tmp_path, "a.json", "sda", 60.0), result(tmp_path, "b.json", disk, ended)
    words = ["import", *map(str, files), "--into", str(tmp_path / "r")]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert (_TWICE in done.output) is twice
