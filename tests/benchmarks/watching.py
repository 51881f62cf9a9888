"""How soon the screen shows what happens, on two cores that two busy loops and fio fill.

`sanpath demo` on a terminal of its own, with its simulated SAN on the same cores. The bytes that it sends to the
terminal are read with their times: a clock is behind until the next one is drawn, a step is new until its name is,
and a key is answered with its page. Needs fio.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from sanpath.recording.reading.recording import Recording
from tests.benchmarks.rounds import busy_loops, percentile, spread
from tests.benchmarks.terminal import on_a_terminal

KEYS = {b"?": "leave the view", b"s": "up and down choose one", b"o": " sources "}
PAUSE_SECONDS = 1.7
_ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[ -/]*[@-~]|[()].|[=>])")
_CLOCK = re.compile(r"RUNNING\s+(\d+):(\d\d)")


def measure() -> str:
    """One line."""
    if shutil.which("fio") is None:
        return "skipped: fio is not installed"
    with tempfile.TemporaryDirectory() as name, _filled_cores(Path(name)):
        screen = Screen(Path(name))
        recording = Recording(Path(name) / "demo.sanpath")
        behind = list(_seconds_behind(screen, recording.started_us / 1e6))
        steps = list(_seconds_to_steps(screen, recording))
    return (
        f"the clock is behind by p50 {percentile(behind, 0.5):.2f} s, at most {max(behind):.2f} s (goal 2 s); "
        f"a new step shows after {spread(steps, 1, 's')} (goal 3 s); "
        f"a key is answered in {spread(screen.key_seconds, 1e3, 'ms')} (goal 50 ms); "
        f"the first screen is there {screen.first_seconds:.2f} s after the start (goal 1.5 s)"
    )


@contextmanager
def _filled_cores(folder: Path) -> Iterator[None]:
    job = ["fio", "--name=fill", f"--filename={folder}/fill", "--size=32M", "--rw=randread", "--time_based"]
    with busy_loops(2):
        load = subprocess.Popen([*job, "--runtime=600"], stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            yield
        finally:
            load.terminate()
            load.wait()


class Screen:
    """`sanpath demo` until its end. `drawn`: (epoch seconds, text) of everything that was sent to the terminal.

    `first_seconds`: from the start to the first line of the live view. `key_seconds`: of each key until its page."""

    def __init__(self, folder: Path) -> None:
        self.drawn: list[tuple[float, str]] = []
        self.key_seconds: list[float] = []
        began = time.time()
        command = [sys.executable, "-m", "sanpath", "demo"]
        with on_a_terminal(command, folder, os.environ, self._draw) as (demo, keys):
            self.first_seconds = (self._wait_for("NOT JUDGED YET", 0) or time.time()) - began
            self._press_keys(demo, keys)

    def _press_keys(self, demo: subprocess.Popen[bytes], keys: int) -> None:
        """Turn to one page after the other until the test has ended, then leave."""
        time.sleep(10)  # Until something was judged there is only one page.
        while demo.poll() is None and not any("ENDED" in text for _, text in self.drawn[-20:]):
            for key, shown in KEYS.items():
                number, pressed = len(self.drawn), time.time()
                os.write(keys, key)
                if (answered := self._wait_for(shown, number)) is not None:
                    self.key_seconds.append(answered - pressed)
                time.sleep(PAUSE_SECONDS)
                os.write(keys, b"\x1b")
                time.sleep(PAUSE_SECONDS)
        os.write(keys, b"q")
        demo.wait()

    def _wait_for(self, shown: str, number: int) -> float | None:
        """When a text was drawn, after so many others. None: it was not within ten seconds."""
        until = time.monotonic() + 10
        while time.monotonic() < until:
            for moment, text in self.drawn[number:]:
                if shown in text:
                    return moment
            time.sleep(0.005)
        return None

    def _draw(self, data: bytes) -> None:
        self.drawn.append((time.time(), _ESCAPES.sub("", data.decode(errors="replace"))))


def _seconds_behind(screen: Screen, started: float) -> Iterator[float]:
    """How far each clock was behind when the next one was drawn."""
    clocks = [
        (moment, 60 * int(match[1]) + int(match[2]))
        for moment, text in screen.drawn
        for match in _CLOCK.finditer(text)
    ]
    for (_, shown), (moment, later) in pairwise(clocks):
        if later != shown:
            yield moment - started - shown


def _seconds_to_steps(screen: Screen, recording: Recording) -> Iterator[float]:
    """How long after its beginning each step but the first was on the screen."""
    begun = [
        (event.seen / 1e6, event.detail["step"]) for _, event in recording.events() if event.name == "step-begin"
    ]
    for began, step in sorted(begun)[1:]:
        shown = [moment for moment, text in screen.drawn if moment >= began and f"step {step} " in text]
        yield (min(shown) if shown else screen.drawn[-1][0]) - began
