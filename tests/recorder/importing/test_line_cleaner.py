"""Results that people copy from a mail, a log or a terminal: what is around their lines is removed, and said."""

from __future__ import annotations

import gzip
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sanpath.recorder.importing.files.imported_file import ImportedFile
from sanpath.recorder.importing.files.line_cleaner import LineCleaner
from sanpath.recorder.importing.files.unread_files import describe_unread_file

REPORT = b"""Linux 5.14.0 (db1) \t01/31/26 \t_x86_64_\t(4 CPU)

01/31/26 14:30:05
Device            r/s     w/s  %util

sda              1.00    2.00   3.00
sdb              1.00    2.00   3.00
sdc              1.00    2.00   3.00
"""
"""A line may be empty, and begin with a time of its own."""


def in_front(mark: bytes, text: bytes = REPORT) -> bytes:
    return b"".join((mark + line).rstrip() + b"\n" for line in text.splitlines())


def log(text: bytes = REPORT) -> bytes:
    lines = text.splitlines()
    return b"".join(b"20:22:%02d DEBUG| [stdout] %s\n" % (second, line) for second, line in enumerate(lines))


def in_code() -> bytes:
    """As a page's author who makes each line code, and a figure bold."""
    lines = [b"`%s`" % line if line else b"" for line in REPORT.replace(b"2.00", b"`**`2.00`**`").splitlines()]
    return b"\n".join(lines) + b"\n"


def timed(mark: bytes) -> bytes:
    lines = enumerate(REPORT.splitlines())
    return b"".join((mark % second + line).rstrip() + b"\n" for second, line in lines)


def numbered(mark: bytes) -> bytes:
    return b"".join(mark % number + line + b"\n" for number, line in enumerate(REPORT.splitlines(), 1))


@pytest.mark.parametrize(
    ("content", "removed"),
    [
        (in_front(b"> "), ""),
        (in_front(b"db1: "), "db1:"),
        (log(), "DEBUG| [stdout]"),
        (in_front(b"2026-01-31 14:30:05,123 iostat[4711]: "), "iostat[4711]:"),
        (REPORT.replace(b"sda", b"\x1b[32;22msda\x1b[0m").replace(b"   3.00", b"   \x1b[31;1m3.00\x1b[0m"), ""),
        (in_front(b"db1: \x1b[1m"), "db1:"),
        (in_code(), ""),
        (timed(b"2026-01-31T14:30:%02d.731408215Z "), ""),
        (timed(b"2026-01-31T14:30:%02d+01:00 "), ""),
        (timed(b"[2026-01-31T14:30:%02d.731Z] "), ""),
        (in_front(b"[pod/test-7xk2p/fio] "), "[pod/test-7xk2p/fio]"),
        (b"Attaching to db_1\n" + in_front(b"db_1  | ", REPORT * 4), "db_1  |"),
        (in_front(b"# "), "#"),
        (in_front(b"| "), "|"),
        (in_front(b"out/iostat.txt:"), "out/iostat.txt:"),
        (numbered(b"%6d\t"), ""),
        (numbered(b"%d:"), ""),
        (timed(b"Jan 31 14:30:%02d "), ""),
    ],
    ids=[
        *(
            "mail",
            "pdsh",
            "log",
            "syslog",
            "colours",
            "both",
            "code",
            "kubectl",
            "zone",
            "pipeline",
            "pod",
            "compose",
        ),
        *("comment", "bar", "grep -H", "cat -n", "grep -n", "ts"),
    ],
)
@pytest.mark.parametrize("packed", [bytes, gzip.compress], ids=["plain", "packed"])
def test_what_is_in_front_of_lines_is_removed(
    content: bytes, removed: str, packed: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "iostat.txt"
    path.write_bytes(packed(content))
    file = ImportedFile(path)
    lines = [line.rstrip() for line in REPORT.splitlines()]
    assert b"".join(file.chunks()).splitlines()[-len(lines) :] == lines
    assert file.head() == b"".join(ImportedFile(path).chunks())
    assert file.removed_prefix == removed


@pytest.mark.parametrize(
    "content",
    [
        REPORT,
        b"".join(b"14:30:%02d        all   1.00   2.00\n" % second for second in range(20)),
        b"".join(b"14:30:%02d AM  dev8-0   1.00   2.00\n" % second for second in range(20)),
        b"".join(b"2026-01-31T14:30:%02d.170-0500,,READ,1000\n" % second for second in range(20)),
        b"".join(b"db%d: sda 1.00\n" % (number % 2) for number in range(20)),
        b"fio: pid=%d, err=5/file\n" * 20,
        b"db1: sda\n" * 3,
    ],
    ids=["report", "sar", "sar of half days", "cells", "two hosts", "errors of fio", "a few lines"],
)
def test_what_belongs_to_a_line_is_left(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "iostat.txt"
    path.write_bytes(content)
    file = ImportedFile(path)
    assert (b"".join(file.chunks()), file.removed_prefix) == (content, "")


@pytest.mark.parametrize(
    ("added", "removed"), [(b"stdout F ", ""), (b"stderr P ", ""), (b"DEBUG| [stdout] ", "DEBUG| [stdout]")]
)
def test_a_report_without_times_keeps_those_in_front_of_its_lines(added: bytes, removed: str, tmp_path: Path) -> None:
    report = re.sub(rb"01/31/26 14:30:05\n", b"", REPORT)
    path = tmp_path / "iostat.txt"
    path.write_bytes(in_front(b"2026-01-31T14:30:05.731408215Z " + added, report))
    file = ImportedFile(path)
    assert b"".join(file.chunks()) == in_front(b"2026-01-31T14:30:05.731408215Z ", report).replace(b"Z\n", b"Z \n")
    assert file.removed_prefix == removed


@pytest.mark.parametrize("content", [REPORT, in_front(b"> "), in_front(b"db1: ")], ids=["plain", "mail", "pdsh"])
@pytest.mark.parametrize("packed", [bytes, gzip.compress], ids=["plain", "packed"])
def test_any_text_may_end_its_lines_in_cr(content: bytes, packed: Callable[[bytes], bytes], tmp_path: Path) -> None:
    texts = []
    for end in (b"\n", b"\r"):
        path = tmp_path / f"{end.hex()}.txt"
        path.write_bytes(packed(content.replace(b"\n", end)))
        file = ImportedFile(path)
        texts.append((b"".join(file.chunks()), file.head(), file.removed_prefix))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("size", [1, (1 << 16) - 1, 1 << 16])
def test_the_end_of_what_is_looked_at_in_the_middle_of_a_crlf_changes_nothing(size: int, tmp_path: Path) -> None:
    path = tmp_path / "one-long-line.txt"
    path.write_bytes(content := b"x" * size + b"\r\nnext line\r\n")
    assert b"".join(ImportedFile(path).chunks()) == content


def test_lines_of_several_hosts_are_to_be_told_apart_first() -> None:
    report = b"".join(in_front(host, REPORT * 2) for host in (b"db1: ", b"db2: "))
    assert describe_unread_file(report, "iostat.txt") == (
        "has lines of 2 hosts: write those of each into a file (grep '^db1: ' iostat.txt)"
    )


def test_times_in_front_of_lines_are_no_hosts() -> None:
    lines = [b"%d: cpu0 1.00\n" % (1_795_150_709_122 + 5_000 * (number // 8)) for number in range(40)]
    assert describe_unread_file(b"".join(lines), "turbostat.txt") is None


def test_a_single_line_of_code_loses_its_marks(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_bytes(b"what `fio` printed:\n\n`3;fio-3.33;a;0;0;9`\n")
    assert b"".join(ImportedFile(path).chunks()) == b"what `fio` printed:\n\n3;fio-3.33;a;0;0;9\n"


def test_code_in_other_lines_keeps_its_marks(tmp_path: Path) -> None:
    """A name, or an expression, is part of a line that is no code as a whole."""
    other = b"job `date`: (g=0): rw=read\n2 **`x`** 3\nend of `code\n"
    path = tmp_path / "iostat.txt"
    path.write_bytes(in_code() + other)
    assert b"".join(ImportedFile(path).chunks()) == REPORT + other


@pytest.mark.parametrize("size", [150, 64 << 10, 1 << 20])
@pytest.mark.parametrize("part", [b"`a`***", b"`a` ", b"`a`** ", b"*", b"`", b"`a`\n", b"`a`x\n"])
def test_any_number_of_marks_takes_time_in_proportion(size: int, part: bytes) -> None:
    text = part * (size // len(part)) + b"x\n"
    began = time.process_time()
    LineCleaner(text)
    LineCleaner(b"`a`\n" * 5).clean(text)
    assert time.process_time() - began < 5


def test_times_in_front_of_iostat_without_its_own_stay() -> None:
    table = REPORT.replace(b"01/31/26 14:30:05\n", b"")
    assert LineCleaner(in_front(b"2026-01-31T14:30:05.731408215Z ", table)).changes_nothing
    other = table.replace(b"Device", b"Volume")
    assert not LineCleaner(in_front(b"2026-01-31T14:30:05.731408215Z ", other)).changes_nothing


def test_a_line_about_a_device_makes_no_log_a_table_of_iostat(tmp_path: Path) -> None:
    lines = [b"Device under test: /dev/sdb", *(b"job: (g=0): rw=read, line %d" % number for number in range(19))]
    path = tmp_path / "log.txt"
    path.write_bytes(b"".join(b"2026-01-31T14:30:%02d.170Z %s\n" % each for each in enumerate(lines)))
    assert b"".join(ImportedFile(path).chunks()).splitlines() == lines
