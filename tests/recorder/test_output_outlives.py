"""The load and its output outlive the recording's disk and the recorder."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sanpath.cli.sessions.child_process import environment
from sanpath.recorder.loads.output import LoadOutput
from tests.faults.test_disk_full import DISK_KILOBYTES, FILL, folder
from tests.recorder.processes import PATIENCE_SECONDS, Run, command, is_alive, wait_for

__all__ = ["folder"]
SECONDS = 6
LINES = "import sys, time\nfor n in range(40):\n    print(n, flush=True)\n    time.sleep(0.1)\n"


TMPFS = f"mount -t tmpfs -o size={DISK_KILOBYTES}k tmpfs $DISK"
EXT4 = "truncate -s 8M $DISK.img && mkfs.ext4 -q $DISK.img && mount -o loop $DISK.img $DISK"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mount", "trouble", "why"),
    [
        (TMPFS, FILL, "No space left on device"),
        # What an ext4 does of itself after an error of its disk.
        (EXT4, "mount -o remount,abort $DISK", "Read-only file system"),
    ],
    ids=["full", "read-only"],
)
def test_fio_runs_to_its_end_whatever_becomes_of_the_disk(
    folder: Path, fio: str, mount: str, trouble: str, why: str
) -> None:
    disk, kept, local = folder / "disk", folder / "kept", folder / "temporary"
    disk.mkdir()
    local.mkdir()
    job = (
        f"{fio} --name=a --ioengine=null --size=1g --rate_iops=500 --bs=4k --time_based --runtime={SECONDS} "
        "--output-format=json --status-interval=500ms"
    )
    load = f"(sleep 2; {trouble}) >/dev/null 2>&1 & exec {job}"
    run = shlex.join(command("run", "--into", disk / "r.sanpath", "--load", "fio", "--", "sh", "-c", load))
    script = f"{{ {mount}; }} >/dev/null 2>&1 || exit 99; {run}; code=$?; cat $DISK/r.sanpath/load/*/output >{kept}"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f"{script}; exit $code"],
        cwd=folder,
        env=environment() | {"DISK": str(disk), "TMPDIR": str(local)},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    if done.returncode == 99:
        pytest.skip("this system mounts no such disk")
    assert "Traceback" not in done.stderr
    assert f"the output of the load cannot be kept and waits in memory: {why}\n" in done.stderr
    assert "is incomplete, because its disk was full" in done.stderr
    (rest,) = re.findall(r"the output of the load from byte [0-9,]+ on is in (\S+):", done.stderr)
    output = kept.read_text() + Path(rest).read_text()
    # fio's own last document tells that it ran for all of its time, and ended without an error.
    runtimes = [int(n) for n in re.findall(r'"job_runtime" : (\d+)', output)]
    assert runtimes[-1] >= SECONDS * 1000 - 100
    assert output.count('"fio version"') >= 2 * SECONDS - 2
    assert re.findall(r'"error" : (\d+)', output) == ["0"] * len(runtimes)


def test_the_output_is_whole_when_the_recorder_is_killed(start: Callable[..., Run]) -> None:
    run = start("--", sys.executable, "-c", LINES)
    (output,) = wait_for(lambda: [f for f in run.recording.glob("load/*/output") if f.stat().st_size])
    os.kill(run.recorder(), signal.SIGKILL)
    assert "39" not in output.read_text()
    wait_for(lambda: output.read_text().endswith("39\n"))
    assert output.read_text().split() == [str(n) for n in range(40)]


def test_a_stopped_recorder_does_not_stop_the_load(start: Callable[..., Run]) -> None:
    run = start("--", sys.executable, "-c", LINES)
    (output,) = wait_for(lambda: [f for f in run.recording.glob("load/*/output") if f.stat().st_size])
    (load,) = wait_for(run.load)
    recorder = run.recorder()
    os.kill(recorder, signal.SIGSTOP)
    try:
        wait_for(lambda: not is_alive(load))
        assert "39" not in output.read_text()
    finally:
        os.kill(recorder, signal.SIGCONT)
    assert run.end() == 0
    assert output.read_text().split() == [str(n) for n in range(40)]


def test_a_disk_that_hangs_holds_neither_the_load_nor_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe that nobody reads is a disk that has stopped answering."""
    monkeypatch.setattr("sanpath.recorder.loads.output.END_SECONDS", 0.5)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result: list[str] = []
    os.mkfifo(tmp_path / "output")
    reader = os.open(tmp_path / "output", os.O_RDONLY | os.O_NONBLOCK)
    kept = LoadOutput(tmp_path, lambda text, _: result.append(text))
    reported = bytes(range(256)) * 4096
    began = time.monotonic()
    kept.output.write(reported)
    assert kept.output.take() == reported
    kept.close()
    assert time.monotonic() - began < 5
    (place,) = re.findall(r"is in (\S+): its disk is too slow", result[-1])
    begin = int(re.findall(r"from byte ([0-9,]+)", result[-1])[0].replace(",", ""))
    assert Path(place).read_bytes() == reported[begin:]
    os.close(reader)


def test_what_is_read_and_copied_takes_no_memory(tmp_path: Path) -> None:
    kept = LoadOutput(tmp_path, lambda *_: None)
    part = b"x" * (1 << 20)
    for _ in range(64):
        kept.output.write(part)
        while kept.output.take():
            pass
    wait_for(lambda: (tmp_path / "output").stat().st_size == 64 << 20)
    wait_for(lambda: os.fstat(kept.output.descriptor).st_blocks * 512 < 2 << 20)
    kept.close()
