"""The wall clock of the machine is set while the test runs (libfaketime): no rate follows it, and it is said."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from sanpath.recording.reading.recording import Recording
from tests.faults.kills import CONFIG, JOB
from tests.recorder.conftest import fio
from tests.recorder.processes import Run, wait_for
from tests.recorder.test_misbehaving_sources import PLUGIN, installed

__all__ = ["fio"]
SECONDS = 13
IOPS = 500

pytestmark = pytest.mark.slow


@pytest.fixture
def clock(tmp_path: Path) -> dict[str, str]:
    """The environment in which the file "clock" sets the wall clock of the recorder, and only that one.

    Not that of the screen and of fio: an absolute sleep by the monotonic clock fails under libfaketime 0.9.10.
    """
    if shutil.which("faketime") is None or not sys.platform.startswith("linux"):
        pytest.skip("faketime is not installed")
    (tmp_path / "clock").write_text("+0\n")
    show = [sys.executable, "-c", "import os; print(os.environ['LD_PRELOAD'])"]
    done = subprocess.run(["faketime", "-f", "+0", *show], capture_output=True, text=True, check=True)
    site = tmp_path / "site"
    site.mkdir()
    # What the screen starts has it.
    (site / "sitecustomize.py").write_text(f"import os\nos.environ['LD_PRELOAD'] = {done.stdout.strip()!r}\n")
    return {
        "PYTHONPATH": os.pathsep.join([str(site), installed(PLUGIN)["PYTHONPATH"]]),
        "FAKETIME_TIMESTAMP_FILE": str(tmp_path / "clock"),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        # The file system has its own clock, as a share has.
        "NO_FAKE_STAT": "1",
    }


@pytest.mark.usefixtures("fio")
@pytest.mark.parametrize(
    "leaps", [["+3600"], ["-3600"], ["+3600", "-86400"]], ids=["an hour on", "an hour back", "leaps"]
)
def test_no_rate_follows_the_wall_clock_and_it_is_said(
    tmp_path: Path, clock: dict[str, str], leaps: list[str]
) -> None:
    (tmp_path / "sanpath.yaml").write_text(CONFIG)
    load = ["env", "-u", "LD_PRELOAD", *JOB.format(SECONDS).split()]
    run = Run(tmp_path, "--load", "fio", "--format", "json", "--", *load, env=clock)
    try:
        for number, leap in enumerate(leaps, 1):
            wait_for(lambda: len(list((run.recording / "polls").glob("*.parquet"))) >= number)  # noqa: B023
            (tmp_path / "clock").write_text(f"{leap}\n")
        assert run.end() == 0
    finally:
        run.kill()
    diagnosis = json.loads(run.out.read_text())
    assert "Traceback" not in run.err.read_text()
    assert diagnosis["run"]["complete"] is True
    (result,) = [
        entry for entry in diagnosis["unobserved"] if entry["what"].startswith("the wall clock of the recorder")
    ]
    assert "was stepped by" in result["why"]
    (step,) = diagnosis["steps"]
    assert step["directions"]["read"]["ops_per_second"] == pytest.approx(IOPS, rel=0.1)
    polls = [poll for poll in Recording(run.recording).polls() if poll.source == "good"]
    assert {poll.outcome for poll in polls} <= {"ok", "skipped"}
    assert all(0 < later.due - earlier.due < 5_000_000 for earlier, later in pairwise(polls))
    assert 0 < polls[-1].ended - polls[0].due < 3 * SECONDS * 1e6
