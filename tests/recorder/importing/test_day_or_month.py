"""Dates that may have the day or the month first are read so that the file lies beside what else was recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from tests.collectors.fio.printed import document, job


def iostat(folder: Path, date: str) -> Path:
    """A minute of iostat from 10:00 on."""
    blocks = [
        f"{date} 10:{second // 60:02}:{second % 60:02}\n"
        "Device            r/s     rkB/s   r_await     w/s     wkB/s   w_await  aqu-sz  %util\n"
        "sdb            100.00    400.00      5.00    0.00      0.00      0.00    0.50  50.00\n\n"
        for second in range(61)
    ]
    (path := folder / "iostat.txt").write_text(
        f"Linux 5.14.0 (db7) \t{date} \t_x86_64_\t(8 CPU)\n\n" + "".join(blocks)
    )
    return path


def fio(folder: Path) -> Path:
    """A minute of fio until 10:01 on 2 March 2026."""
    text = document(0, job("a", 0, 6000, 60_000)).replace(
        b'"timestamp_ms": 1800000000000', b'"timestamp": 1772445660'
    )
    (path := folder / "r.json").write_bytes(text)
    return path


def imported(*files: Path) -> str:
    command = ["import", *map(str, files), "--into", str(files[0].parent / "r.sanpath"), "--utc-offset", "UTC"]
    return CliRunner().invoke(app, command, catch_exceptions=False).output


@pytest.mark.parametrize("is_first", [True, False])
def test_the_day_comes_first_where_only_so_the_file_lies_beside_the_others(tmp_path: Path, is_first: bool) -> None:
    files = [fio(tmp_path), iostat(tmp_path, "02/03/26")]
    output = imported(*(files[::-1] if is_first else files))
    assert output.count("2026-03-02 10:00:00 to 2026-03-02 10:01:00 UTC") == len(files)
    assert "the day is taken, as only so others were at work that day" in output
    assert "is not sure" not in output
    assert "may be wrong by" not in output


@pytest.mark.parametrize(("date", "day"), [("03/02/26", "2026-03-02"), ("04/05/26", "2026-04-05")])
def test_the_month_comes_first_as_long_as_the_other_order_explains_nothing(
    tmp_path: Path, date: str, day: str
) -> None:
    output = imported(fio(tmp_path), iostat(tmp_path, date))
    assert f"{day} 10:00:00 to {day} 10:01:00 UTC" in output
    assert "the day is taken" not in output


def test_without_anything_beside_it_a_file_has_the_month_first(tmp_path: Path) -> None:
    assert "2026-02-03 10:00:00 to" in imported(iostat(tmp_path, "02/03/26"))
