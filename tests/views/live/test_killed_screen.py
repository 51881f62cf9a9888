"""A screen that is killed: the load test goes on, and so do the polls of all sources."""

from __future__ import annotations

import os
import shutil
import signal
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from sanpath.cli.sessions.lab_process import serve_lab
from sanpath.diagnose import diagnose
from sanpath.recording.reading.recording import Recording
from tests.support.failed_sources import failed_sources
from tests.views.live.terminal import PATIENCE_SECONDS, Open, readers_of

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


@pytest.mark.slow
def test_a_killed_screen_does_not_touch_the_run(terminal: Open, tmp_path: Path) -> None:
    folder = tmp_path / "r.sanpath"
    with serve_lab("four-gigabit-switch", tmp_path / "lab") as lab:
        screen = terminal(
            "run", "--config", lab.config, "--into", folder, "--load", "fio", "--for", "30", "--", *lab.load
        )
        screen.wait_for("RUNNING", "sw1", "fa1")
        screen.resize(160, 48)
        screen.resize(30, 5)
        screen.wait_for("BOTTLENECK")
        os.kill(screen.process(), signal.SIGKILL)
        until = time.monotonic() + PATIENCE_SECONDS
        while not list((folder / "writers").glob("*.end.json")):
            assert time.monotonic() < until, "the recorder has not ended"
            time.sleep(0.1)
    assert readers_of(folder) == []
    found = diagnose(Recording(folder))
    assert found.run.complete
    assert found.verdict.kind == "bottleneck"
    assert not failed_sources(map(asdict, found.sources))
    assert max(source.polls for source in found.sources) >= 12
