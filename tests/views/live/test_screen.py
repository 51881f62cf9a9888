"""What a person sees on the live view, at which size, and after which key."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from rich.cells import cell_len

from sanpath.diagnosis.model import Diagnosis
from sanpath.views.live.cursor import Cursor, Tab
from sanpath.views.live.pages.lists import HELP, page
from tests.views.live.made import ARRAY_LINK, HOST_LINK, diagnosis, failed, snapshot, step
from tests.views.live.screen import play, showing

HOSTILE = "link:[red]esx[/red] [b\x1b[2J\x07\nnew\tline--sw1/\u202efc1/7 \u540d\u524d [@click=app.quit]"


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pause between looks; which look comes when is up to the test."""
    monkeypatch.setattr("sanpath.views.live.reading.snapshot.TICK_SECONDS", 0.01)


def test_a_small_terminal_has_verdict_reason_law_budget_history_elements_sources_and_blind_spots() -> None:
    async def scene() -> None:
        async with showing(snapshot()) as shown:
            text = shown.text()
        assert "RUNNING 1:00" in text
        assert "step t64" in text
        assert "BOTTLENECK step t64, confidence A, 9 windows" in text
        assert "esx7/vmhba2 - sw1/fc1/7 and sw1/fc1/1 - fa1/CT0.FC0, read" in text
        assert "81.9 ms = 512 outstanding / 6,250 IOPS" in text
        assert "415.2 MB/s counted of 425.0 MB/s = 97.7 %" in text
        assert re.search(r"guest +77\.0 ms █+ +caused by esx7/vmhba2 - sw1/fc1/7", text)
        assert re.search(r"throughput +409\.6 MB/s █+▁▁█+", text)
        assert re.search(r"load +81\.9 ms ▆+ +█+", text)
        assert re.search(r"array fa1 +0\.35 ms ▁+ +▁+", text)
        assert re.search(r"fc1/7 +read +97\.7 % █+ +█+ LIMITS 4GFC", text)
        assert "fa1 41 s LATE, 3 failed" in text
        assert "sw1 1 s" in text
        assert re.search(r"not measured: +credit stall", text)
        assert "q quit" in text.splitlines()[-1]
        assert "? help" in text.splitlines()[-1]

    play(scene)


def test_a_large_terminal_also_says_what_to_type_and_what_comes_next() -> None:
    async def scene() -> None:
        async with showing(snapshot(), size=(160, 48)) as shown:
            text = shown.text()
        assert "BOTTLENECK" in text
        assert "esxcli storage nmp device set --psp VMW_PSP_RR" in text
        assert "12,500 IOPS" in text
        assert "CAUSE" in text
        assert "link-full" in text
        assert re.search(r"fa1 +flasharray +2 s +41 s +20 +3 ", text)
        assert "The link is full." in text

    play(scene)


@pytest.mark.parametrize("size", [(10, 3), (20, 5), (39, 7)])
def test_a_tiny_terminal_still_has_the_verdict(size: tuple[int, int]) -> None:
    async def scene() -> None:
        async with showing(snapshot(), size=size) as shown:
            assert shown.lines()[0].startswith("BOTTLENECK")
            assert len(shown.lines()) == size[1]

    play(scene)


def test_any_size_is_drawn_and_the_first_one_looks_the_same_again() -> None:
    async def scene() -> None:
        async with showing(snapshot()) as shown:
            before = shown.text()
            for keys in ((), ("t",), ("s",), ("f",), ("o",), ("question_mark",), ("m",)):
                await shown.press("escape", *keys)
                for size in ((1, 1), (10, 3), (200, 5), (5, 60), (110, 8), (109, 30), (160, 48)):
                    await shown.resize(*size)
                    assert all(cell_len(line) <= size[0] for line in shown.lines())
            await shown.press("escape", "escape")
            assert await shown.resize(80, 24) == before

    play(scene)


@pytest.mark.parametrize("size", [(80, 24), (160, 48), (10, 3)])
def test_names_of_devices_cannot_change_the_layout(size: tuple[int, int]) -> None:
    made = diagnosis(entity=HOSTILE, source="[blink]sw1\x1b[31m")
    given = snapshot(made, source="[blink]sw1\x1b[31m")

    async def scene() -> None:
        async with showing(given, size=size) as shown:
            for key in ("escape", "t", "s", "f", "o"):
                text = await shown.press(key)
                assert all(character.isprintable() or character == "\n" for character in text)
                assert all(cell_len(line) == size[0] for line in shown.lines())
                assert shown.app.is_running
            if size[0] >= 80:
                assert "[red]esx[/red]" in await shown.press("escape")
                assert "[blink]sw1" in await shown.press("o")

    play(scene)


def test_keys_turn_pages_and_escape_comes_back() -> None:
    async def scene() -> None:
        async with showing(snapshot()) as shown:
            overview = shown.text()
            assert "2 steps" in await shown.press("s")
            findings = await shown.press("f")
            assert "a full link makes every I/O wait" in findings
            assert "BOTTLENECK" in findings
            assert "no answer within the deadline" in await shown.press("o")
            assert "latency = outstanding I/Os / IOPS" in await shown.press("question_mark")
            assert await shown.press("question_mark") == overview
            assert await shown.press("f", "escape") == overview

    play(scene)


def test_a_step_can_be_chosen_and_left_again() -> None:
    async def scene() -> None:
        async with showing(snapshot()) as shown:
            chosen = await shown.press("s", "up", "s")
            assert "BOTTLENECK step t16" in chosen
            assert "20.5 ms = 128 outstanding" in chosen
            assert "BOTTLENECK step t64" in await shown.press("escape")

    play(scene)


def test_pages_scroll_and_stop_at_their_first_row() -> None:
    finding = diagnosis().findings[0]
    many = tuple(replace(finding, rule=f"rule-{number}", why="", fix=()) for number in range(5000))
    made = replace(diagnosis(), findings=many)

    async def scene() -> None:
        async with showing(snapshot(made)) as shown:
            first = await shown.press("f")
            assert "rule-0:" in first
            assert "rule-40:" not in first
            assert "rule-40:" in await shown.press(*["pagedown"] * 4)
            assert await shown.press(*["pageup"] * 9) == first

    play(scene)


def test_one_direction_can_be_looked_at() -> None:
    both = diagnosis(step(directions=("read", "write")))

    async def scene() -> None:
        async with showing(snapshot(both)) as shown:
            assert "d both" in shown.text()
            reads = await shown.press("d")
            assert "CT0.FC0, read" in reads
            assert "CT0.FC0, write" not in reads
            writes = await shown.press("d")
            assert "CT0.FC0, write" in writes
            assert "ms go: write" in writes
            assert "d both" in await shown.press("d")

    play(scene)


def test_a_paused_screen_stands_still_until_it_goes_on() -> None:
    async def scene() -> None:
        async with showing(snapshot(), snapshot(at=75), snapshot(at=90)) as shown:
            assert "PAUSED at 1:00" in await shown.press("p")
            assert "PAUSED at 1:00" in await shown.next(), "a look that was under way"
            await shown.press("p")
            assert "RUNNING 1:30" in await shown.next()

    play(scene)


def other_verdict(kind: str = "cannot_tell", windows: int = 9) -> Diagnosis:
    assert kind in ("cannot_tell", "healthy")
    return diagnosis(step("t16", 128), step(kind=kind, windows=windows))  # type: ignore[arg-type] # narrowed above


def test_a_verdict_changes_only_when_two_more_windows_agree_and_says_so() -> None:
    async def scene() -> None:
        doubts = [snapshot(other_verdict(windows=w), at=at) for at, w in ((62, 10), (62, 12), (64, 11), (66, 12))]
        async with showing(snapshot(), *doubts) as shown:
            doubtful = await shown.next()
            assert "BOTTLENECK" in doubtful
            assert "changing? cannot tell" in doubtful
            assert "BOTTLENECK" in await shown.next(), "the same data judged twice are no second witness"
            assert "BOTTLENECK" in await shown.next(), "one window more may be chance"
            changed = await shown.next()
            assert changed.splitlines()[2].startswith("CANNOT TELL")
            assert "was     bottleneck in step t64; 2 more windows of the step show something else" in changed

    play(scene)


def test_a_newer_step_has_its_windows_already_and_needs_a_second_look_only() -> None:
    newer = diagnosis(step("t64"), step("t100", 800, kind="healthy"))

    async def scene() -> None:
        async with showing(snapshot(), snapshot(newer, at=62), snapshot(newer, at=64)) as shown:
            assert "changing? healthy" in await shown.next()
            changed = await shown.next()
            assert changed.splitlines()[2].startswith("HEALTHY")
            assert "was     bottleneck in step t64; step t100 has 9 windows of its own" in changed

    play(scene)


def test_naming_the_other_of_two_coincident_links_first_is_no_change() -> None:
    swapped = step()
    limit = replace(swapped.verdict.bottlenecks[0], entity=ARRAY_LINK, coincident=(HOST_LINK,))
    swapped = replace(swapped, verdict=replace(swapped.verdict, bottlenecks=(limit,)))

    async def scene() -> None:
        async with showing(snapshot(), snapshot(diagnosis(swapped), at=62)) as shown:
            text = await shown.next()
            assert "where   sw1/fc1/1 - fa1/CT0.FC0 and esx7/vmhba2 - sw1/fc1/7" in text
            assert "changing?" not in text

    play(scene)


def test_another_element_of_the_same_kind_is_named_as_what_changes() -> None:
    moved = diagnosis(step(entity="link:esx7/vmhba3--sw1/fc1/8"))

    async def scene() -> None:
        async with showing(snapshot(), snapshot(moved, at=62)) as shown:
            assert "changing? esx7/vmhba3 - sw1/fc1/8" in await shown.next()

    play(scene)


def test_a_doubt_that_passes_changes_nothing() -> None:
    async def scene() -> None:
        film = [
            snapshot(other_verdict(), at=62),
            snapshot(at=64),
            snapshot(other_verdict("healthy"), at=66),
            snapshot(at=68),
        ]
        async with showing(snapshot(), *film) as shown:
            for _ in film:
                text = await shown.next()
                assert text.splitlines()[2].startswith("BOTTLENECK")
            assert "changing?" not in text

    play(scene)


def test_the_first_windows_are_a_question_and_no_verdict() -> None:
    async def scene() -> None:
        async with showing(snapshot(diagnosis(step(windows=2)))) as shown:
            assert "BOTTLENECK? step t64, confidence A, 2 of 4 windows" in shown.text()

    play(scene)


def test_a_step_in_its_ramp_does_not_replace_the_last_verdict() -> None:
    ramp = diagnosis(step("t64"), step("t100", 800, kind="cannot_tell", windows=2))

    async def scene() -> None:
        async with showing(snapshot(ramp)) as shown:
            assert "RUNNING 1:00  step t100  0:40  MEASURING 2 of 4 windows" in shown.text()
            assert "BOTTLENECK step t64" in shown.text()

    play(scene)


def test_a_finished_recording_shows_the_step_that_the_verdict_is_of_and_asks_no_more() -> None:
    done = diagnosis(step("t16", 128), step("cool-down", 1, kind="healthy"), complete=True)
    done = replace(done, verdict=replace(done.verdict, from_step="t16"))

    async def scene() -> None:
        async with showing(snapshot(done, ended=True), snapshot(at=99)) as shown:
            assert "ENDED after 1:00" in shown.text()
            assert "BOTTLENECK step t16" in shown.text()
            shown.film.wanted.release()
            await shown.pilot.pause(0.3)
            assert shown.film.given == 1

    play(scene)


def test_a_killed_recorder_is_told_from_a_running_one() -> None:
    async def scene() -> None:
        async with showing(replace(snapshot(at=600), newest=snapshot(at=60).newest)) as shown:
            assert "SILENT since 2027-01-15T08:00:59" in shown.text()

    play(scene)


def test_before_the_first_io_it_says_what_it_waits_for() -> None:
    waiting = replace(diagnosis(), steps=(), latency_budget=(), findings=())

    async def scene() -> None:
        async with showing(snapshot(waiting)) as shown:
            assert "WAITING FOR I/O" in shown.text()
            assert "credit stall" in shown.text()

    play(scene)


def test_a_look_that_fails_is_said_and_keeps_the_picture() -> None:
    async def scene() -> None:
        async with showing(failed("there is no such recording"), snapshot(), failed("disk on fire", at=64)) as shown:
            assert "NOTHING RECORDED YET" in shown.text()
            assert "there is no such recording" in shown.text()
            assert "BOTTLENECK" in await shown.next()
            text = await shown.next()
            assert "BOTTLENECK" in text
            assert "not judged now: disk on fire" in text

    play(scene)


@pytest.mark.parametrize("key", ["q", "ctrl+q", "ctrl+c"])
def test_leaving_asks_nothing_and_ends_the_reader(key: str) -> None:
    async def scene() -> None:
        async with showing(snapshot()) as shown:
            await shown.pilot.press(key)
            await shown.pilot.pause()
            assert not shown.app.is_running
        assert shown.film.closed

    play(scene)


def test_ctrl_c_ends_the_run_and_not_the_view_where_there_is_a_run() -> None:
    result: list[str] = []

    async def scene() -> None:
        async with showing(snapshot(), interrupt=lambda: result.append("stop")) as shown:
            await shown.press("ctrl+c", "ctrl+c")
            assert result == ["stop", "stop"]
            assert shown.app.is_running

    play(scene)


def test_it_closes_itself_when_the_run_has_ended() -> None:
    over: list[bool] = []

    async def scene() -> None:
        async with showing(snapshot(), ended=lambda: bool(over)) as shown:
            assert shown.app.is_running
            over.append(True)
            while shown.app.is_running:
                await shown.pilot.pause(0.05)

    play(scene)


def test_both_directions_at_once_obey_one_law() -> None:
    both = diagnosis(step(directions=("read", "write")))

    async def scene() -> None:
        async with showing(snapshot(both)) as shown:
            text = shown.text()
            assert "read 164 ms, write 164 ms; 512 outstanding / 6,250 IOPS = 81.9 ms" in text
            assert HOST_LINK.partition(":")[2].replace("--", " - ") in text

    play(scene)


def test_every_word_of_the_help_is_read_on_eighty_columns_and_on_ten() -> None:
    """On 80 columns a line each; on a narrow terminal the rest of a line is below it."""
    assert max(len(word) for word, _ in HELP) + 1 + max(len(meaning) for _, meaning in HELP) <= 80
    for width in (10, 39, 60):
        lines = page(snapshot(), None, Cursor(tab=Tab.help), width, 500)
        assert max(line.cell_len for line in lines) <= width
        text = " ".join(" ".join(line.plain for line in lines).split())
        for _, meaning in HELP:
            assert meaning in text or width == 10
        assert "\u2026" not in text
