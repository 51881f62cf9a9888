"""The pulse on the screen: it goes on whatever the verdict waits for, and says when that was."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import replace

import pytest

from sanpath.cli.commands.simulation.demo import HINT
from sanpath.facts.load.loads import LoadFacts
from sanpath.pulse.model import Freshness, LinkNow, Pulse
from sanpath.views.live.reading.snapshot import Snapshot
from tests.views.live.made import ARRAY_LINK, HOST_LINK, STARTED, diagnosis, snapshot, step
from tests.views.live.screen import play, showing

READ = LoadFacts(("load:fio",), "now", "read", 1, 6288.0, 412.1e6, 0.1272, None, 800.0, None, p99_seconds=0.131)
PULSE = Pulse(
    elapsed_seconds=63.0,
    step="t100",
    step_seconds=3.0,
    step_planned_seconds=13.0,
    loads=(READ,),
    began_us=1,
    ended_us=1_000_001,
    links=(
        LinkNow(HOST_LINK, "read", 0.984, 1, 2),
        LinkNow(ARRAY_LINK, "read", 0.42, 1, 2),
    ),
    ages={"sw1": Freshness(1.0, 0.4, late=False), "fa1": Freshness(2.0, 41.0, late=True)},
    live=True,
)


class Beating:
    """Whoever knows what happens now: each time a second more."""

    def __init__(self, pulse: Pulse | None = PULSE) -> None:
        self.now = pulse

    async def run(self) -> None:
        return

    def pulse(self) -> Pulse | None:
        return self.now

    def pass_on(self, seconds: float) -> None:
        assert self.now is not None
        self.now = replace(self.now, elapsed_seconds=self.now.elapsed_seconds + seconds)


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sanpath.views.live.reading.snapshot.TICK_SECONDS", 0.01)
    monkeypatch.setattr("sanpath.views.live.app.PULSE_SECONDS", 0.01)


def test_the_clock_and_the_load_go_on_while_the_first_verdict_is_waited_for() -> None:
    beating = Beating()

    async def scene() -> None:
        async with showing(pulse_feed=beating) as shown:
            await shown.pilot.pause(0.1)
            text = shown.text()
            assert "RUNNING 1:03  step t100  0:03 of 0:13" in text
            assert re.search(r"now +read 6,288 IOPS  412.1 MB/s  127 ms p99 131 ms  800 outstanding I/Os", text)
            assert re.search(r"links +esx7/vmhba2 - sw1/fc1/7 read 98.4 %  sw1/fc1/1 - fa1/CT0.FC0 read 42.0 %", text)
            assert re.search(r"polled fa1 41 s LATE  sw1 0 s", text)
            assert "NOT JUDGED YET" in text
            assert "colours" in await shown.press("question_mark")
            beating.pass_on(5.0)
            await shown.pilot.pause(0.1)
            assert "RUNNING 1:08" in shown.text()

    play(scene)


def test_the_screen_is_drawn_and_answers_keys_before_the_run_begins() -> None:
    may_begin, begun = threading.Event(), threading.Event()

    def begin() -> None:
        may_begin.wait(10)
        begun.set()

    async def scene() -> None:
        async with showing(pulse_feed=Beating(), begin=begin, hint=HINT) as shown:
            await shown.pilot.pause(0.1)
            assert "NOT JUDGED YET" in shown.text()
            assert HINT in shown.text()
            assert "colours" in await shown.press("question_mark")
            await shown.press("escape")
            assert not begun.is_set()
            assert "RUNNING" not in shown.text()
            may_begin.set()
            while "RUNNING 1:03" not in shown.text():
                await shown.pilot.pause(0.01)
            assert begun.is_set()

    play(scene)


def test_why_a_probe_made_the_step_is_shown() -> None:
    reason = "it separates link:a (50%) from array:fa1 (49%)"
    beating = Beating(replace(PULSE, step="32 KiB random read, 8 outstanding", step_why=reason))

    async def scene() -> None:
        async with showing(pulse_feed=beating) as shown:
            await shown.pilot.pause(0.1)
            text = shown.text()
            assert "step 32 KiB random read, 8 outstanding" in text
            assert re.search(rf"why +{re.escape(reason)}", text)

    play(scene)


def test_io_before_the_first_verdict_is_not_called_waiting() -> None:
    before_io = replace(diagnosis(), steps=(), latency_budget=(), findings=())

    async def scene() -> None:
        async with showing(snapshot(before_io), pulse_feed=Beating()) as shown:
            await shown.pilot.pause(0.1)
            assert "NOT JUDGED YET" in shown.text()
            assert "WAITING FOR I/O" not in shown.text()

    play(scene)


def test_the_clock_does_not_wait_for_a_reader_that_takes_long() -> None:
    beating = Beating()

    async def scene() -> None:
        async with showing(snapshot(), pulse_feed=beating) as shown:
            for seconds in (64, 65, 66):
                beating.pass_on(1.0)
                await shown.pilot.pause(0.1)
                assert f"RUNNING 1:{seconds - 60:02}" in shown.text()
            assert shown.film.given == 1

    play(scene)


def test_the_verdict_says_how_old_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: STARTED + 60.0)

    async def scene() -> None:
        async with showing(snapshot(at=56.0), pulse_feed=Beating()) as shown:
            await shown.pilot.pause(0.1)
            verdict = "BOTTLENECK step t64, confidence A, 9 windows"
            assert re.search(rf"{verdict}  judged [4-9] s ago, at 0:56", shown.text())

    play(scene)


def test_a_step_that_the_verdict_does_not_know_yet_is_being_measured() -> None:
    async def scene() -> None:
        async with showing(snapshot(), pulse_feed=Beating()) as shown:
            await shown.pilot.pause(0.1)
            assert "MEASURING 0 of 4 windows" in shown.text()

    play(scene)


def test_another_verdict_is_marked_for_a_moment_and_rung_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def reported(at: float, windows: int, kind: str) -> Snapshot:
        made = step(windows=windows, kind="bottleneck" if kind == "bottleneck" else "healthy")
        return snapshot(diagnosis(made), at=at)

    passed, real = 0.0, time.monotonic
    monkeypatch.setattr("sanpath.views.live.app.clock", lambda: real() + passed)

    async def scene() -> None:
        nonlocal passed
        snapshots = reported(1, 5, "bottleneck"), reported(2, 6, "healthy"), reported(3, 8, "healthy")
        async with showing(*snapshots, pulse_feed=Beating()) as shown:
            rung = []
            shown.app.bell = lambda: rung.append(1)  # type: ignore[method-assign]
            assert "CHANGED" not in await shown.next()
            text = await shown.next()
            assert "CHANGED" in text
            assert re.search(r"was +bottleneck in step t64", text)
            assert rung == [1]
            passed = 20.0
            await shown.pilot.pause(0.1)
            text = shown.text()
            assert "CHANGED" not in text
            assert not re.search(r"^was ", text, re.MULTILINE)

    play(scene)


def test_a_held_screen_stands_still() -> None:
    beating = Beating()

    async def scene() -> None:
        async with showing(snapshot(), pulse_feed=beating) as shown:
            await shown.pilot.pause(0.1)
            held = await shown.press("p")
            assert "PAUSED at 1:03" in held
            beating.pass_on(5.0)
            await shown.pilot.pause(0.1)
            assert "PAUSED at 1:03" in shown.text()
            await shown.press("p")
            await shown.pilot.pause(0.1)
            assert "RUNNING 1:08" in shown.text()

    play(scene)


def test_nothing_happens_any_more_once_the_run_has_ended() -> None:
    async def scene() -> None:
        async with showing(snapshot(ended=True), pulse_feed=Beating()) as shown:
            await shown.pilot.pause(0.1)
            text = shown.text()
            assert "ENDED after" in text
            assert "6,288 IOPS" not in text
            assert "judged" not in text

    play(scene)


@pytest.mark.parametrize("size", [(10, 3), (39, 7), (50, 9), (80, 15), (80, 24), (200, 50)])
def test_it_fits_every_size(size: tuple[int, int]) -> None:
    async def scene() -> None:
        async with showing(snapshot(), pulse_feed=Beating(), size=size) as shown:
            await shown.pilot.pause(0.1)
            lines = shown.lines()
            assert len(lines) == size[1]
            assert ("now " in shown.text()) == (size[1] >= 8 and size[0] >= 40)
            assert any("BOTTLENECK" in line for line in lines)

    play(scene)


def test_figures_that_are_old_say_so() -> None:
    async def scene() -> None:
        old = replace(PULSE, loads_age_seconds=12.0, links=())
        async with showing(snapshot(), pulse_feed=Beating(old), size=(120, 30)) as shown:
            await shown.pilot.pause(0.1)
            assert "12 s ago" in shown.text()

    play(scene)


def test_the_last_line_lists_what_does_something_here() -> None:
    async def scene() -> None:
        async with showing(snapshot(), size=(120, 30)) as shown:
            assert re.search(r"q quit .*p pause .*/ only .*n b step .*x sort", shown.lines()[-1])
            assert " d " not in shown.lines()[-1], "there is one direction"
            help_line = (await shown.press("question_mark")).splitlines()[-1]
            assert "/ only" not in help_line
            assert "Esc back" in help_line
        async with showing(snapshot(ended=True), size=(120, 30)) as shown:
            assert "p pause" not in shown.lines()[-1], "nothing moves any more"
        async with showing(size=(120, 30)) as shown:
            assert shown.lines()[-1].strip() == "q quit ? help p pause"

    play(scene)


def test_a_click_on_a_key_is_the_key_and_the_wheel_scrolls() -> None:
    async def scene() -> None:
        async with showing(snapshot(), size=(120, 30)) as shown:
            last = shown.lines()[-1]
            await shown.pilot.click(offset=(last.index("steps"), 29))
            await shown.pilot.pause()
            assert "2 steps: up and down choose one" in shown.text()
            await shown.pilot.click(offset=(119, 29))
            shown.app.on_mouse_scroll_up()
            await shown.pilot.pause()
            assert "BOTTLENECK step t16" in shown.text()

    play(scene)


def test_who_tries_it_out_is_told_what_is_simulated() -> None:
    async def scene() -> None:
        async with showing(snapshot(), hint=HINT) as shown:
            assert shown.lines()[1].rstrip() == HINT
            assert HINT not in await shown.resize(80, 12)

    play(scene)
