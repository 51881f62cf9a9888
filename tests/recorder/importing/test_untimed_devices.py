"""Devices whose reports hold no times: files that were copied together are of several runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.diagnose import diagnose
from sanpath.recording.reading.recording import Recording

_TABLE = """Device:  rrqm/s wrqm/s  r/s   w/s  rkB/s  wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util
sdb 0.00 0.00 0.00 {ops}.00 0.00 {kib}.00 16.00 2.00 1.00 1.00 1.00 0.10 90.00

"""


def reports_without_times(ops: int, host: str = "db1") -> str:
    title = f"Linux 5.14.0 ({host}) \t01/31/26 \t_x86_64_\t(4 CPU)\n\n"
    return title + _TABLE.format(ops=1, kib=8) + _TABLE.format(ops=ops, kib=8 * ops) * 30


@pytest.mark.parametrize(("hosts", "steps"), [(("db1", "db1"), 2), (("db1", "db2"), 1)])
def test_files_without_times_that_have_the_same_devices_follow_each_other(
    tmp_path: Path, hosts: tuple[str, str], steps: int
) -> None:
    """They were copied together, so their modification times are equal."""
    files = []
    for number, (host, ops) in enumerate(zip(hosts, (2000, 4000), strict=True)):
        files.append(tmp_path / f"{number}.txt")
        files[-1].write_text(reports_without_times(ops, host))
        os.utime(files[-1], (1_800_000_000, 1_800_000_000))
    folder = tmp_path / "r.sanpath"
    ran = CliRunner().invoke(app, ["import", "file", *map(str, files), "--into", str(folder)], catch_exceptions=False)
    assert ("it is placed after iostat, as a run of its own" in ran.output) == (steps == 2)
    found = diagnose(Recording(folder))
    assert [round(step.ops_per_second) for step in found.steps] == ([2000, 4000] if steps == 2 else [6000])
    repeated = [each for each in found.unobserved if "the first report is left out" in each.why]
    assert len(repeated) <= 1
