"""A file that no collector reads does not keep the others of one command from being imported."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.errors import UsageError
from sanpath.recording.reading.recording import Recording
from tests.support.fio_text import fio_text


def test_the_files_beside_one_that_nothing_reads_are_imported(tmp_path: Path) -> None:
    (unread := tmp_path / "vmstat.txt").write_text("procs -----memory----\n r  b   swpd\n 1  0      0\n")
    (result := tmp_path / "fio.txt").write_text(fio_text())
    folder = tmp_path / "r.sanpath"
    command = ["import", "file", str(unread), str(result), "--into", str(folder)]
    with pytest.raises(UsageError, match=r"^vmstat\.txt: "):
        CliRunner().invoke(app, command, catch_exceptions=False)
    assert [each.collector for each in Recording(folder).declarations] == ["fio"]


def test_a_command_that_imports_nothing_names_each_file(tmp_path: Path) -> None:
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for file in files:
        file.write_text("nothing that anybody reads\n")
    ran = CliRunner().invoke(app, ["import", "file", *map(str, files), "--into", str(tmp_path / "r.sanpath")])
    assert str(ran.exception).startswith("a.txt: ")
    assert "not imported: b.txt: " in ran.stderr
    assert "sanpath diagnose" not in ran.stderr


@pytest.mark.parametrize("pack", ["gz", "bz2", "xz", ""])
def test_a_tar_archive_is_not_imported_by_half(tmp_path: Path, pack: str) -> None:
    (result := tmp_path / "fio.txt").write_text(fio_text())
    (counters := tmp_path / "iostat.txt").write_text("Linux 5.14.0 (db7)\n")
    with tarfile.open(archive := tmp_path / f"b.tar.{pack}".rstrip("."), f"w:{pack}") as members:  # type: ignore[call-overload]
        for file in (result, counters):
            members.add(file, file.name)
    folder = tmp_path / "r.sanpath"
    with pytest.raises(UsageError, match=r"^b\.tar.* is a tar archive; unpack it and import the files you want$"):
        CliRunner().invoke(app, ["import", "file", str(archive), "--into", str(folder)], catch_exceptions=False)
    assert not folder.exists()
