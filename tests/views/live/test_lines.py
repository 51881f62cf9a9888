"""A run of which plain lines tell: who writes them gives way to the load, and ends with who reads them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnosis.experiment import VerdictKind
from sanpath.model import Event
from sanpath.pulse.model import Freshness, Pulse
from sanpath.pulse.newest import Newest
from sanpath.pulse.pulses import Pulses
from sanpath.pulse.viewer import Viewer
from sanpath.rulebook.site.options import Choice
from sanpath.views.live.plain_lines import Lines, print_lines
from sanpath.views.live.reading.priority import Processors, processors
from sanpath.views.live.reading.snapshot import Snapshot
from sanpath.views.progress import pulse_line
from tests.views.live.made import diagnosis, snapshot, step
from tests.views.live.screen import Film
from tests.views.live.terminal import PATIENCE_SECONDS, READER, SANPATH, Terminal, readers_of
from tests.views.live.test_pulse import PULSE

READERS_NICE = 5


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Terminal]:
    """A run that has told how it goes. Its load ends when it is told to, whatever has become of the screen."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    load = f"until [ -e {tmp_path / 'end'} ]; do sleep 0.1; done"
    folder = str(tmp_path / "r.sanpath")
    screen = Terminal([*SANPATH, "run", "--plain", "--into", folder, "--", "sh", "-c", load], tmp_path, 120, 24)
    try:
        screen.wait_for("no figures of the load yet")
        yield screen
    finally:
        (tmp_path / "end").touch()
        screen.close()


def nice_of(pid: int) -> set[int]:
    """Of each of its threads: Linux counts them one by one."""
    return {os.getpriority(os.PRIO_PROCESS, int(thread.name)) for thread in Path(f"/proc/{pid}/task").iterdir()}


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_who_judges_is_the_last_to_get_a_processor_and_who_tells_is_not(running: Terminal, tmp_path: Path) -> None:
    folder = tmp_path / "r.sanpath"
    (pid,) = readers_of(folder, READER)
    (teller,) = set(readers_of(folder)) - {pid}
    assert READERS_NICE not in nice_of(teller)
    wait_until(lambda: nice_of(pid) == {READERS_NICE})  # It gets ready first.
    # Before it looks at threads, Linux shares the processors between sessions.
    if (session := Path(f"/proc/{pid}/autogroup")).exists():
        wait_until(lambda: session.read_text().split()[-2:] == ["nice", str(READERS_NICE)])
    assert READERS_NICE not in nice_of(running.process())


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "killed"])
def test_lines_end_with_who_reads_them(running: Terminal, tmp_path: Path, how: signal.Signals) -> None:
    os.kill(running.process(), how)
    wait_until(lambda: not readers_of(tmp_path / "r.sanpath"))


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sanpath.views.live.reading.snapshot.TICK_SECONDS", 0.01)


def pause_seconds(
    processors: int, idle_ratio: float | None, cost_seconds: float = 0.4, has_verdict: bool = True
) -> float:
    """Seconds until the next snapshot."""
    machine = Processors(processors, 0, 1)
    judged = diagnosis() if has_verdict else None
    return Snapshot(0.0, judged, cost_seconds=cost_seconds, machine=machine, idle_ratio=idle_ratio).pause_seconds


def test_looks_are_rarer_on_a_small_machine_that_is_busy() -> None:
    assert pause_seconds(2, idle_ratio=0.9) == pytest.approx(4.0)
    assert pause_seconds(2, idle_ratio=None) == pytest.approx(4.0)
    assert pause_seconds(2, idle_ratio=0.1) == pytest.approx(10.0)
    assert pause_seconds(2, idle_ratio=0.1, has_verdict=False) == pytest.approx(4.0)
    assert pause_seconds(64, idle_ratio=0.1) == pytest.approx(4.0)
    assert pause_seconds(64, idle_ratio=0.1, cost_seconds=0.00001) == 0.01


def test_a_busy_machine_is_told_from_an_idle_one() -> None:
    before = processors()
    assert before is not None
    assert before.idle_since(before) is None
    with contextlib.ExitStack() as busy:
        for _ in range(before.number):
            busy.enter_context(spinning())
        time.sleep(1.0)
        after = processors()
    assert after is not None
    idle = after.idle_since(before)
    assert idle is not None
    assert idle < 0.5


@contextlib.contextmanager
def spinning() -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def test_a_line_says_what_happens_now_and_what_limits_by_the_last_verdict() -> None:
    reported = pulse_line(PULSE, diagnosis())
    assert reported == (
        "sanpath: 1:03 step t100 0:03 of 0:13; read 6,288 IOPS, 412.1 MB/s, 127 ms p99 131 ms, 800 outstanding I/Os; "
        "esx7/vmhba2 - sw1/fc1/7 read 98.4 %; LATE: fa1; "
        "so far bottleneck: esx7/vmhba2 - sw1/fc1/7 read in step t64; NO ANSWER from fa1"
    )
    assert "so far" not in pulse_line(PULSE, None)
    assert "no load has reported I/O yet" in pulse_line(Pulse(5.0), None)


def test_a_source_that_never_answered_is_named_before_the_first_verdict() -> None:
    ages = {"sw1": Freshness(5.0, None, late=False), "fa1": Freshness(5.0, 2.0, late=False)}
    assert "NO ANSWER" not in pulse_line(Pulse(14.0, ages=ages), None)
    assert pulse_line(Pulse(16.0, ages=ages), None).endswith("; NO ANSWER from sw1")


def test_between_two_steps_a_line_names_the_last_and_leaves_out_what_its_links_carried() -> None:
    newest = Newest()
    pulses = Pulses(newest)
    newest.take("fio", Event(10_000_000, "step-begin", {"step": "t16", "group": 0}))
    newest.take("fio", Event(23_000_000, "step-end", {"step": "t16", "group": 0}))
    pulse = pulses.pulse(25_000_000, 0, [])
    link = replace(PULSE.links[0], began_us=22_000_000, ended_us=24_000_000)
    line = pulse_line(replace(pulse, links=[link]), None)
    assert line == "sanpath: 0:25; between steps, t16 ended 0:02 ago"
    assert pulse_line(replace(pulse, links=[link]), diagnosis()).startswith(line)
    later = replace(link, began_us=24_000_000, ended_us=25_000_000)
    assert "98.4 %" in pulse_line(replace(pulse, links=[later]), None)
    newest.take("fio", Event(26_000_000, "step-begin", {"step": "t64", "group": 1}))
    assert "between" not in pulse_line(pulses.pulse(27_000_000, 0, []), None)


class SlowToClose(Film):
    """A feed whose reader process takes a moment to exit."""

    async def close(self) -> None:
        await asyncio.sleep(0.05)
        await super().close()


def test_the_reader_is_waited_for_when_the_input_closes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    feed = SlowToClose([])
    monkeypatch.setattr("sanpath.views.live.plain_lines.ReaderProcess", lambda *_: feed)
    received, sent = os.pipe()
    os.close(sent)
    with os.fdopen(received) as closed_input:
        monkeypatch.setattr("sys.stdin", closed_input)
        asyncio.run(print_lines(tmp_path / "r.sanpath", Choice(), {}, until_input_closes=True))
    assert feed.closed


def test_another_verdict_is_a_line_at_once() -> None:
    def reported(at: float, windows: int, kind: VerdictKind) -> Snapshot:
        return snapshot(diagnosis(step(windows=windows, kind=kind)), at=at)

    snapshots = [
        reported(1, 5, "bottleneck"),
        reported(2, 6, "healthy"),
        reported(3, 8, "healthy"),
        snapshot(ended=True),
    ]
    result: list[str] = []

    async def scene() -> None:
        film = Film(snapshots)
        for _ in snapshots:
            film.wanted.release()
        await Lines(film, Viewer(Path("/nowhere")), result.append, seconds=1000.0).run()

    asyncio.run(scene())
    assert "sanpath: healthy in step t64; was bottleneck: esx7/vmhba2 - sw1/fc1/7 read in step t64" in result
    assert "bottleneck" in result[-1]
