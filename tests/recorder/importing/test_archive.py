"""Archives of several results: what is imported of them, and what one that was made to do harm cannot do."""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.errors import UsageError
from sanpath.recorder.importing.files import archive, recognition
from sanpath.recorder.importing.files.archive import unpack_archives
from sanpath.recording.reading.recording import Recording
from tests.scenarios.test_result_with_iostat import DEPTH, SECONDS, iostat_text
from tests.support.fio_text import fio_text
from tests.support.stories import judged

RESULTS = {
    "night/fio.txt": fio_text(ops=4000, latency_us=2000.0, depth=DEPTH).encode(),
    "night/host/iostat.txt": iostat_text([4000.0] * SECONDS).encode(),
    "night/README.md": b"# What was tested\n\nThe new array.\n",
}


def zipped(path: Path, files: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def tarred(path: Path, files: Mapping[str, bytes], *others: tarfile.TarInfo) -> Path:
    with tarfile.open(path, f"w:{path.suffix.removeprefix('.').removeprefix('tar')}") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for other in others:
            archive.addfile(other)
    return path


def unpacked(path: Path, folder: Path) -> list[Path]:
    folder.mkdir()
    return unpack_archives([path], folder)[0]


@pytest.mark.parametrize("name", ["night.zip", "night.tar", "night.tar.gz", "night.tar.xz"])
def test_the_results_in_an_archive_are_imported_and_what_is_none_is_named(tmp_path: Path, name: str) -> None:
    path = (zipped if name.endswith("zip") else tarred)(tmp_path / name, RESULTS)
    command = ["import", "file", str(path), "--into", str(tmp_path / "r.sanpath")]
    said = CliRunner().invoke(app, command, catch_exceptions=False)
    assert said.exit_code == 0
    assert f"{name}: not imported: README.md: " in said.output
    found = judged(Recording(tmp_path / "r.sanpath"))
    assert [element.name for element in found.summary.path] == ["fio", "db1"]


def test_files_of_an_archive_that_are_no_results_for_the_same_reason_are_one_line(tmp_path: Path) -> None:
    others = {f"night/{number:03}.html": b"<b>a chart</b>\n" for number in range(200)}
    path = zipped(tmp_path / "night.zip", RESULTS | others | {"night/vmstat.txt": b"procs ---memory---\n"})
    command = ["import", "file", str(path), "--into", str(tmp_path / "r.sanpath")]
    said = CliRunner().invoke(app, command, catch_exceptions=False).output
    assert [re.split(": (?:each )?is ", line)[0] for line in said.splitlines() if "not imported" in line] == [
        "night.zip: not imported: 000.html, 001.html, 002.html, 003.html, 004.html and 196 more",
        "night.zip: not imported: vmstat.txt",
    ]


def test_a_file_of_an_archive_is_recognised_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its content is asked for by what finds twins, settings and the order of files."""
    seen: list[str] = []

    def asked(*arguments: object) -> None:
        seen.append(str(arguments[1]))

    monkeypatch.setattr(recognition.registry, "result_reader", asked)
    path = zipped(tmp_path / "night.zip", {f"{number}.html": b"<b>a chart</b>\n" for number in range(9)})
    with pytest.raises(UsageError):
        CliRunner().invoke(
            app, ["import", "file", str(path), "--into", str(tmp_path / "r.sanpath")], catch_exceptions=False
        )
    assert sorted(seen) == [f"{number}.html" for number in range(9)]


def test_what_is_wrong_with_the_command_is_no_fault_of_a_file_in_the_archive(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"night/fio.txt": RESULTS["night/fio.txt"]})
    ran = CliRunner().invoke(app, ["import", "file", str(path), "--into", str(tmp_path / "r"), "--mark", "x"])
    assert str(ran.exception).startswith("--mark names a step of a recording")
    assert str(ran.exception).count("--mark names") == 1


def test_an_archive_without_a_result_is_refused(tmp_path: Path) -> None:
    files = {f"{number}.md": b"# A\n" for number in range(9)}
    path = zipped(tmp_path / "a.zip", files | {"vmstat.txt": b"procs ---memory---\n"})
    command = ["import", "file", str(path), "--into", str(tmp_path / "r.sanpath")]
    ran = CliRunner().invoke(app, command)
    assert str(ran.exception).startswith("0.md, 1.md, 2.md, 3.md, 4.md and 4 more: each is not a result")
    assert [line.partition(": sanpath")[0] for line in ran.stderr.splitlines()] == [
        "not imported: vmstat.txt: is what vmstat prints"
    ]


def test_a_workbook_is_no_archive_of_results(tmp_path: Path) -> None:
    path = zipped(tmp_path / "esxtop.xlsx", {"[Content_Types].xml": b"<a/>", "xl/workbook.xml": b"<a/>"})
    with pytest.raises(UsageError, match=r"^esxtop\.xlsx: is a document of an office program: "):
        unpacked(path, tmp_path / "scratch")


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_a_time_in_a_name_leads_nowhere(tmp_path: Path, pack: object) -> None:
    names = ["run_2026-01-31_14:30:05/fio.txt", "irq_usb:3.csv"]
    path = (zipped if pack is zipped else tarred)(tmp_path / "a.tar", dict.fromkeys(names, b"x"))
    assert [file.name for file in unpacked(path, tmp_path / "scratch")] == ["irq_usb_3.csv", "fio.txt"]


def test_names_that_differ_in_a_colon_are_two_files_and_of_one_name_the_last_counts(tmp_path: Path) -> None:
    path = tarred(tmp_path / "a.tar", {"14:30.log": b"1", "14_30.log": b"2", "fio.txt": b"old"})
    with tarfile.open(path, "a") as archive:
        member = tarfile.TarInfo("fio.txt")
        member.size = 3
        archive.addfile(member, io.BytesIO(b"new"))
    files = unpacked(path, tmp_path / "scratch")
    assert {file.name: file.read_bytes() for file in files} == {
        "14_30.log": b"1",
        "14_30-2.log": b"2",
        "fio.txt": b"new",
    }


@pytest.mark.parametrize("pack", [zipped, tarred])
@pytest.mark.parametrize(
    "name", ["../evil.txt", "a/../../evil.txt", "a\\..\\evil.txt", "C:evil.txt", "a\x1b[31m.txt"]
)
def test_no_file_of_an_archive_is_written_elsewhere(tmp_path: Path, pack: object, name: str) -> None:
    path = (zipped if pack is zipped else tarred)(tmp_path / "a.tar", {"fine.txt": b"x", name: b"x"})
    with pytest.raises(UsageError, match="which leads elsewhere"):
        unpacked(path, tmp_path / "scratch")
    assert not list(tmp_path.rglob("evil*"))


def test_an_absolute_name_leads_nowhere(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="which leads elsewhere"):
        unpacked(tarred(tmp_path / "a.tar", {f"{tmp_path}/evil.txt": b"x", "b": b"x"}), tmp_path / "scratch")
    assert not list(tmp_path.rglob("evil*"))


def test_links_and_devices_are_left_out(tmp_path: Path) -> None:
    others = []
    for number, kind in enumerate((tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE)):
        other = tarfile.TarInfo(f"other{number}")
        other.type, other.linkname = kind, "/etc/passwd"
        others.append(other)
    files = unpacked(tarred(tmp_path / "a.tar", {"a.txt": b"x"}, *others), tmp_path / "scratch")
    assert [path.name for path in files] == ["a.txt"]
    assert all(path.is_file() and not path.is_symlink() for path in files)


@pytest.mark.parametrize("pack", [zipped, tarred])
@pytest.mark.parametrize(
    ("limit", "message"), [("_MAX_UNPACKED_BYTES", "unpacks to too much"), ("_MAX_FILES", "holds more than 2 files")]
)
def test_an_archive_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: object, limit: str, message: str
) -> None:
    monkeypatch.setattr(archive, limit, {"_MAX_UNPACKED_BYTES": 20_000, "_MAX_FILES": 2}[limit])
    path = (zipped if pack is zipped else tarred)(tmp_path / "a.tar", {f"{n}.txt": b"x" * 3000 for n in range(9)})
    with pytest.raises(UsageError, match=message):
        unpacked(path, tmp_path / "scratch")


def test_a_header_that_would_fill_the_memory_is_not_read(tmp_path: Path) -> None:
    path = tarred(tmp_path / "a.tar.gz", {"a.txt": b"x", "n" * (3 << 20): b"x"})
    with pytest.raises(UsageError, match="a header is too long"):
        unpacked(path, tmp_path / "scratch")


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    content = tarred(tmp_path / "a.tar.gz", {"a.bin": Random(1).randbytes(400_000)}).read_bytes()
    (tmp_path / "a.tar.gz").write_bytes(content[: len(content) // 2])
    with pytest.raises(UsageError, match=r"^a\.tar\.gz: "):
        unpacked(tmp_path / "a.tar.gz", tmp_path / "scratch")
