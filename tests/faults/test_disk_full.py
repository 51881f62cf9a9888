"""The disk that the recording lies on is full: for the rest of the run, for a while, and before it begins."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sanpath.cli.sessions.child_process import environment
from sanpath.model import Poll
from sanpath.recording.reading.recording import Recording
from tests.recorder.processes import PATIENCE_SECONDS, command
from tests.recorder.test_misbehaving_sources import PLUGIN, installed

DISK_KILOBYTES = 400
CONFIG = "sources: [{name: good, collector: healthy, every_seconds: 0.2}]\n"
MOUNT = f"mount -t tmpfs -o size={DISK_KILOBYTES}k tmpfs $DISK"
FILL = "dd if=/dev/zero of=$DISK/ballast bs=1k 2>/dev/null"
MESSAGE = "sanpath: cannot write the recording"
WRITTEN = "the recording could not be written for a while, but is complete: "
PAGE_KILOBYTES = 4
"""A file of tmpfs takes a page at least."""

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Outcome:
    """A run that has ended. `recording`: what was left on the disk, copied from it; `ticks`: what the load did."""

    code: int
    out: str
    err: str
    recording: Path
    ticks: list[int]

    def reported(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    def output(self) -> list[str]:
        """What the load said: what is in the recording, and what sanpath had to put elsewhere."""
        (kept,) = self.recording.glob("load/*/output")
        elsewhere = re.search(r"the output of the load from byte [0-9,]+ on is in (\S+):", self.err)
        rest = Path(elsewhere[1]).read_text() if elsewhere else ""
        if elsewhere:
            Path(elsewhere[1]).unlink()
        return (kept.read_text() + rest).split()

    def warnings(self) -> list[str]:
        """What the recording says of its data."""
        return [str(e.detail["text"]) for _, e in Recording(self.recording).events() if e.name == "data-warning"]

    def polls(self) -> list[Poll]:
        """Of the one source."""
        return [poll for poll in Recording(self.recording).polls() if poll.source == "good"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The small disks lie in mount namespaces of their own: nothing is left to be cleared away."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("only root can mount a small file system")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system allows no mount namespace")
    return tmp_path


def run_on_small_disk(folder: Path, load: str, before: str = ":", mount: str = MOUNT, after: str = ":") -> Outcome:
    """`load`, `before`, `mount`, `after`: shell scripts; $DISK is where the disk is."""
    disk, copy, ticks = folder / "disk", folder / "copy.sanpath", folder / "ticks"
    disk.mkdir()
    ticks.touch()
    (folder / "sanpath.yaml").write_text(CONFIG)
    run = command("run", "--into", disk / "r.sanpath", "--format", "json", "--", "sh", "-c", load)
    script = (
        f"{mount} || exit 99; {before}\n"
        f"{shlex.join(run)}; code=$?; {after}; cp -r $DISK/r.sanpath {copy} 2>/dev/null\n"
        "umount -l $DISK; exit $code"  # Who serves a disk lives in its namespace, which would not end before it does.
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script],
        cwd=folder,
        env=environment() | installed(PLUGIN) | {"DISK": str(disk), "TICKS": str(ticks)},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    return Outcome(done.returncode, done.stdout, done.stderr, copy, [int(word) for word in ticks.read_text().split()])


def ticking(events: dict[int, str], seconds: int) -> str:
    """A load that notes each second on another disk, talks, and does something in some of them."""
    return "; ".join(f"{events.get(n, ':')}; echo {n} >>$TICKS; echo {n}; sleep 1" for n in range(seconds))


def test_a_disk_that_fills_does_not_disturb_the_load_and_what_fitted_is_readable(folder: Path) -> None:
    ended = run_on_small_disk(folder, ticking({7: FILL}, seconds=12))
    assert ended.ticks == list(range(12))
    assert ended.code == 1
    assert ended.err.count(MESSAGE) == 1
    assert "Traceback" not in ended.err
    assert "rows could not be written: " in ended.err
    last = ended.err.splitlines()[-1]
    assert "r.sanpath is incomplete, because its disk was full: free space there" in last
    assert last.endswith(f"sanpath diagnose {folder}/disk/r.sanpath")
    assert '"exception_message"' not in ended.err
    assert ended.reported()["run"]["complete"] is False
    assert ended.output() == [f"{n}" for n in range(12)]
    polls = ended.polls()
    # The first flush is after five seconds.
    assert len(polls) >= 15
    assert {poll.outcome for poll in polls} == {"ok"}


def test_a_disk_that_is_full_for_a_while_costs_no_row(folder: Path) -> None:
    ended = run_on_small_disk(folder, ticking({3: FILL, 9: "rm $DISK/ballast"}, seconds=11))
    assert ended.code == 0, ended.err
    assert ended.ticks == list(range(11))
    assert ended.err.count(MESSAGE) == 1
    assert ended.reported()["run"]["complete"] is True
    assert ended.output() == [f"{n}" for n in range(11)]
    assert [text for text in ended.warnings() if text.startswith(WRITTEN) and "No space left" in text]
    polls = ended.polls()
    assert len(polls) >= 55
    assert [poll.due - polls[0].due for poll in polls] == [200_000 * number for number in range(len(polls))]


@pytest.mark.parametrize(
    "pages",
    [0, 1],
    ids=["nothing fits", "the manifest fits"],
)
def test_a_disk_that_is_full_before_it_begins_is_one_line_and_starts_no_load(folder: Path, pages: int) -> None:
    left = f"{FILL}; truncate -s {DISK_KILOBYTES - pages * PAGE_KILOBYTES}k $DISK/ballast"
    ended = run_on_small_disk(folder, ticking({}, seconds=2), before=left)
    assert ended.code == 2
    assert ended.err.count("\n") == 1
    assert "No space left" in ended.err
    assert ended.ticks == []
