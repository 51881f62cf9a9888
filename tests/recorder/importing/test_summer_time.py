"""Local times at the end of summer time, when an hour comes twice."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from tests.support.fio_text import fio_text

TWICE = "came twice that day, as summer time ended: the first is taken; --utc-offset"


def iostat(folder: Path, *begins: str, network: bool = False) -> Path:
    """Two minutes from each local time on, one after the other, as iostat or sar writes them."""
    times = [datetime.fromisoformat(begin) + timedelta(seconds=second) for begin in begins for second in range(120)]
    (path := folder / "counters.txt").write_text(sar(times) if network else text(times))
    return path


def text(times: list[datetime]) -> str:
    header = "Device            r/s     rkB/s   r_await     w/s     wkB/s   w_await  aqu-sz  %util\n"
    row = "sdb            100.00    400.00      5.00    0.00      0.00      0.00    0.50  50.00\n\n"
    return "Linux 5.14.0 (db7) \t_x86_64_\t(8 CPU)\n\n" + "".join(f"{at:%m/%d/%Y %r}\n{header}{row}" for at in times)


def sar(times: list[datetime]) -> str:
    """Each table has all times, one table after the other."""
    devices = "{}          DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     %util\n"
    ports = "{}        IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  rxmcst/s   %ifutil\n"
    rows = {
        devices: "{}          sdb    100.00    400.00      0.00      4.00      0.50      5.00     50.00\n",
        ports: "{}         eth0    100.00    100.00    500.00    500.00      0.00      0.00      0.00      4.00\n",
    }
    tables = (
        header.format(f"{times[0]:%T}") + "".join(row.format(f"{at:%T}") for at in times[1:]) + "\n"
        for header, row in rows.items()
    )
    return f"Linux 5.14.0 (db7) \t{times[0]:%F} \t_x86_64_\t(8 CPU)\n\n" + "".join(tables)


def imported(path: Path, zone: str) -> str:
    command = ["import", str(path), "--into", str(path.parent / "r.sanpath"), "--utc-offset", zone]
    return CliRunner().invoke(app, command, catch_exceptions=False).output


@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize(
    ("zone", "day", "before", "after", "utc"),
    [
        ("Europe/Berlin", "2026-10-25", "02:58:00", "02:00:00", "2026-10-25 00:5#:00 to 2026-10-25 01:01:59 UTC"),
        ("Australia/Lord_Howe", "2026-04-05", "01:58:00", "01:30:00", "2026-04-04 14:5#:00 to 2026-04-04 15:01:59"),
    ],
)
def test_a_test_goes_on_over_the_end_of_summer_time(
    tmp_path: Path, network: bool, zone: str, day: str, before: str, after: str, utc: str
) -> None:
    output = imported(iostat(tmp_path, f"{day} {before}", f"{day} {after}", network=network), zone)
    assert utc.replace("#", "8") in output
    assert "set back" not in output
    assert TWICE not in output


def test_a_clock_that_was_set_back_otherwise_is_said(tmp_path: Path) -> None:
    output = imported(iostat(tmp_path, "2026-10-26 02:58:00", "2026-10-26 02:00:00"), "Europe/Berlin")
    assert "the clock was set back: reports are left out" in output


@pytest.mark.parametrize(
    ("when", "zone", "second"),
    [
        ("Sun Oct 25 02:30:00 2026", "Europe/Berlin", "+01:00"),
        ("Sun Nov  1 01:30:00 2026", "America/New_York", "-05:00"),
        ("Sun Oct 25 03:30:00 2026", "Europe/Berlin", ""),
        ("Sun Oct 25 02:30:00 2026", "+02:00", ""),
    ],
)
def test_a_time_that_came_twice_is_said(tmp_path: Path, when: str, zone: str, second: str) -> None:
    printed = fio_text()
    ended = next(line for line in printed.splitlines() if "(groupid=" in line)
    (path := tmp_path / "r.txt").write_text(printed.replace(ended, f"a: (groupid=0, jobs=1): err= 0: pid=9: {when}"))
    output = imported(path, zone)
    assert (TWICE in output) is bool(second)
    assert f"{TWICE} {second} names the second" in output or not second
