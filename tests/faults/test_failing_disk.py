"""The disk of the recording gives errors, turns read-only or has no inodes left: the load goes on and it is said."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.recording.reading.recording import Recording
from tests.faults.test_disk_full import MESSAGE, Outcome, folder, run_on_small_disk, ticking

__all__ = ["folder"]
PYTHON = "/usr/bin/python3"
"""Debian's own, which has its fusepy."""
SCRIPT = Path(__file__).parent / "failing_disk.py"
NO_INODES = "n=0; while touch $DISK/n$n 2>/dev/null; do n=$((n+1)); done"
FEW_INODES = "mount -t tmpfs -o nr_inodes=60 tmpfs $DISK"

pytestmark = pytest.mark.slow


@pytest.fixture
def failing(folder: Path) -> str:
    """What mounts a disk that fails as $DISK/../fault says."""
    try:
        probe = subprocess.run([PYTHON, "-c", "import fusepy"], capture_output=True, check=False)
    except OSError:
        pytest.skip(f"there is no {PYTHON}")
    if probe.returncode or not Path("/dev/fuse").exists():
        pytest.skip("python3-fusepy or /dev/fuse is not there")
    (folder / "content").mkdir()
    (folder / "fault").touch()
    serve = shlex.join([PYTHON, str(SCRIPT), str(folder / "content"), str(folder / "disk"), str(folder / "fault")])
    waiting = "for n in $(seq 100); do mountpoint -q $DISK && break; sleep 0.1; done; mountpoint -q $DISK"
    return f"{{ {serve} >/dev/null 2>&1 & }}; {waiting}"


def fail(how: str) -> str:
    return f"echo {how} >$DISK/../fault"


def unharmed(ended: Outcome, seconds: int) -> None:
    """The load did all of its work, and all that it said is there."""
    assert "Traceback" not in ended.err
    assert ended.ticks == list(range(seconds))
    assert ended.output() == [f"{n}" for n in range(seconds)]


@pytest.mark.parametrize(
    ("how", "why", "code", "last"),
    [
        ("EIO write", "Input/output error", 1, "r.sanpath is incomplete, because its disk was full"),
        ("EIO all", "Input/output error", 2, "manifest.json cannot be read"),
        ("EROFS write", "Read-only file system", 1, "r.sanpath is incomplete, because its disk was full"),
    ],
    ids=["writes fail", "everything fails", "read-only"],
)
def test_a_disk_that_fails_does_not_disturb_the_load_and_it_is_said(
    folder: Path, failing: str, how: str, why: str, code: int, last: str
) -> None:
    ended = run_on_small_disk(folder, ticking({7: fail(how)}, seconds=12), mount=failing, after=fail(""))
    unharmed(ended, 12)
    assert ended.code == code
    assert ended.err.count(MESSAGE) == 1
    assert why in ended.err
    assert last in ended.err.splitlines()[-1]
    assert not diagnose(Recording(ended.recording)).run.complete
    # The first flush is after five seconds.
    polls = ended.polls()
    assert len(polls) >= 15
    assert {poll.outcome for poll in polls} == {"ok"}


def test_a_disk_that_fails_for_a_while_costs_no_row(folder: Path, failing: str) -> None:
    ended = run_on_small_disk(folder, ticking({3: fail("EIO write"), 9: fail("")}, seconds=11), mount=failing)
    unharmed(ended, 11)
    assert ended.code == 0, ended.err
    assert ended.err.count(MESSAGE) == 1
    assert ended.reported()["run"]["complete"] is True
    polls = ended.polls()
    assert len(polls) >= 50
    assert [poll.due - polls[0].due for poll in polls] == [200_000 * number for number in range(len(polls))]


def test_a_disk_without_inodes_does_not_disturb_the_load_and_it_is_said(folder: Path) -> None:
    ended = run_on_small_disk(folder, ticking({7: NO_INODES}, seconds=12), mount=FEW_INODES)
    unharmed(ended, 12)
    assert ended.code == 1
    assert re.search(f"{MESSAGE}.*No space left", ended.err)
    assert ended.reported()["run"]["complete"] is False
    assert len(ended.polls()) >= 15
