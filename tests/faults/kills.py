"""A recorder, a screen or the parent of a load that is killed at a random moment, and what is left of the run.

`python -m tests.faults.kills 0 100` does it a hundred times, `2 100 3` only for the load.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from sanpath.errors import SanpathError
from sanpath.recording.reading.recording import Recording
from tests.recorder.processes import Run, command_line, is_alive, sanpath, wait_for
from tests.recorder.test_misbehaving_sources import PLUGIN, installed

VICTIMS = ("recorder", "screen", "load")
SECONDS = 7
"""How long the load takes: the first flush is after five."""
CONFIG = "sources: [{name: good, collector: healthy, every_seconds: 0.2}]\n"
JOB = (
    "fio --name=a --ioengine=null --size=1g --rate_iops=500 --bs=4k --time_based --runtime={} --output-format=json "
    "--status-interval=500ms --eta=never"
)
_UNFINISHED_BYTES = 1 << 16
"""What a pipe holds: as much may be in one of two copies when who writes both is killed between them."""


def killed(folder: Path, random: Random, victim: str) -> list[str] | None:
    """Run, kill, wait for the end. Returns what is wrong with what is left; []: nothing; None: it had ended."""
    (folder / "sanpath.yaml").write_text(CONFIG)
    copy = folder / "copy"
    load = f"{JOB.format(SECONDS)} | tee {shlex.quote(str(copy))}; true"
    run = Run(folder, "--load", "fio", "--format", "json", "--", "sh", "-c", load, env=installed(PLUGIN))
    try:
        recorder = run.recorder()
        processes = wait_for(run.load)
        time.sleep(random.uniform(0, SECONDS))
        before = _rows(run.recording)
        target = {"recorder": recorder, "screen": run.screen.pid, "load": _parent(run.load())}[victim]
        if target is None or not is_alive(target):
            return None
        os.kill(target, signal.SIGKILL)
        wait_for(lambda: not any(map(is_alive, {*processes, *run.load()})))
        if victim != "recorder":
            wait_for(lambda: not is_alive(recorder))
        run.end()
        # Who copies the output of a load without a recorder ends a moment after the load.
        wait_for(lambda: not _missing(run.recording, copy, cut=victim == "load"))
        return _wrong(run, before, victim)
    except (AssertionError, subprocess.TimeoutExpired):
        return [_missing(run.recording, copy, cut=victim == "load") or "what was started did not end"]
    finally:
        run.kill()


def _parent(processes: list[int]) -> int | None:
    return next((p for p in processes if command_line(p).startswith("sh -c")), None)


def _wrong(run: Run, before: list[str], victim: str) -> list[str]:
    found = []
    recording = Recording(run.recording)
    if lost := set(before) - set(_rows(run.recording)):
        found.append(f"{len(lost)} rows that had been flushed are lost")
    done = sanpath("diagnose", run.recording, "--format", "json", cwd=run.folder)
    # 4: the load command has failed.
    if done.returncode != (4 if victim == "load" else 0):
        return [*found, f"diagnose ends with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"]
    reported = json.loads(done.stdout)
    if damaged := recording.unreadable | recording.altered:
        found.append(f"damaged: {sorted(damaged)}")
    if reported["run"]["complete"] != (victim != "recorder"):
        found.append(f"complete: {reported['run']['complete']}")
    if "Traceback" in (text := run.err.read_text() + done.stderr):
        found.append(text[text.index("Traceback") :])
    return found


def _rows(folder: Path) -> list[str]:
    """Every row that has been flushed, but for samples; [] before there is a recording."""
    try:
        recording = Recording(folder)
    except SanpathError:
        return []
    return [*map(repr, recording.polls()), *map(repr, recording.events()), *map(repr, recording.inventory())]


def _missing(recording: Path, copy: Path, cut: bool) -> str:
    """What of a load's output is not in its recording. `cut`: who wrote it was killed."""
    kept = b"".join(path.read_bytes() for path in recording.glob("load/*/output"))
    reported = copy.read_bytes() if copy.exists() else b""
    if cut and abs(len(kept) - len(reported)) <= _UNFINISHED_BYTES:
        shorter = min(len(kept), len(reported))
        kept, reported = kept[:shorter], reported[:shorter]
    return "" if kept == reported else f"of {len(reported)} bytes of output {len(kept)} are in the recording"


def tried(numbers: range) -> tuple[Counter[str], dict[str, list[str]]]:
    """Victim → how often it was killed; and what was wrong, by number and victim."""
    counts: Counter[str] = Counter()
    defects: dict[str, list[str]] = {}
    for number in numbers:
        random, victim = Random(number), VICTIMS[number % len(VICTIMS)]
        with TemporaryDirectory() as folder:
            wrong = killed(Path(folder), random, victim)
        counts[victim if wrong is not None else "had ended before"] += 1
        if wrong:
            defects[f"{number} {victim}"] = wrong
    return counts, defects


if __name__ == "__main__":
    print(json.dumps(tried(range(*map(int, sys.argv[1:]))), indent=1))
