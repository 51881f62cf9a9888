"""Keys that go along the path, sort, filter, choose steps, and note something in the recording."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.views.live.made import diagnosis, snapshot, step
from tests.views.live.screen import play, showing


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pause between looks; which look comes when is up to the test."""
    monkeypatch.setattr("sanpath.views.live.reading.snapshot.TICK_SECONDS", 0.01)


def names(text: str) -> list[str]:
    """Elements in the order of the screen."""
    known = ("esx7/vmhba2 - sw1/fc1/7", "sw1/fc1/1 - fa1/CT0.FC0", "esx9/vmhba2 - sw1/fc1/9")
    below = text[text.index("─ loaded path") :].splitlines()
    return [name for line in below for name in known if line.startswith(name)]


def test_the_path_goes_from_the_load_to_the_media_and_says_what_is_known_of_each_stop() -> None:
    async def scene() -> None:
        async with showing(snapshot(), size=(120, 40)) as shown:
            text = await shown.press("t")
            kinds = ["load ", "VM ", "device ", "host ", "HBA ", "link ", "switch ", "array ", "media "]
            stops = [line[2:] for line in text.splitlines() if line[:2] in ("  ", "► ")]
            found = [next((n for n, s in enumerate(stops) if s.startswith(kind)), -1) for kind in kinds]
            assert -1 not in found
            assert found == sorted(found)
            assert "► load" in text
            assert "no source reports more about it" in text
            queue = await shown.press("down", "down")
            assert "► device        sqlvm1/sda" in queue
            assert "I/Os QUEUE HERE 77.0 ms of read" in queue
            assert "waits in the guest's queue; caused by esx7/vmhba2 - sw1/fc1/7" in queue
            link = await shown.press("down", "down", "down")
            assert "LIMITS" in next(line for line in link.splitlines() if line.startswith("► link"))
            assert "use     step t16, read: 97.7 %, 415.2 MB/s, 4GFC" in link
            assert "cause   link-full" in link
            end = await shown.press(*["down"] * 9)
            assert "► media         -" in end
            assert "not measured: no source reports one" in end

    play(scene)


def test_elements_are_sorted_as_asked() -> None:
    async def scene() -> None:
        async with showing(snapshot(), size=(120, 40)) as shown:
            assert "loaded path, busiest first" in shown.text()
            along = await shown.press("x")
            assert "loaded path, from load to array" in along
            assert names(along) == ["esx7/vmhba2 - sw1/fc1/7", "sw1/fc1/1 - fa1/CT0.FC0"]
            assert "loaded path, by name" in await shown.press("x")
            assert "loaded path, busiest first" in await shown.press("x")

    play(scene)


def test_a_filter_also_finds_what_is_not_on_the_path_and_escape_takes_it_back() -> None:
    async def scene() -> None:
        async with showing(snapshot(), size=(120, 40)) as shown:
            before = shown.text()
            assert "esx9" not in before
            only = await shown.press("slash", *"ESX9", "enter")
            assert names(only) == ["esx9/vmhba2 - sw1/fc1/9"]
            assert "not on the path" in only
            assert await shown.press("escape") == before
            assert "link-full" in await shown.press("f")
            assert "link-full" not in await shown.press("slash", *"nothing", "enter")

    play(scene)


def test_letters_that_are_typed_are_no_keys() -> None:
    async def scene() -> None:
        async with showing(snapshot()) as shown:
            await shown.press("m", *"quit")
            assert shown.app.is_running
            await shown.press("escape")
            assert shown.film.marked == []
            assert "PAUSED" in await shown.press("p")

    play(scene)


def test_the_next_and_the_step_before_are_one_key_away() -> None:
    async def scene() -> None:
        async with showing(snapshot()) as shown:
            assert "BOTTLENECK step t16" in await shown.press("b")
            assert "BOTTLENECK step t16" in await shown.press("b")
            assert "BOTTLENECK step t64" in await shown.press("n")

    play(scene)


def test_what_was_done_is_noted_in_the_recording() -> None:
    async def scene() -> None:
        async with showing(snapshot()) as shown:
            await shown.press("m", *"to RR", "enter")
            assert shown.film.marked == ["to RR"]
            await shown.press("m", "enter")
            assert shown.film.marked == ["to RR"], "an empty text notes nothing"

    play(scene)


def test_why_something_could_not_be_noted_is_said() -> None:
    async def scene() -> None:
        async with showing(snapshot()) as shown:
            shown.film.refused = "r.sanpath: has ended; [b]a mark[/b] belongs to a test under way"
            await shown.press("m", "x", "enter")
            reported = [notice.message for notice in shown.app._notifications]
            assert reported == [shown.film.refused]

    play(scene)


def test_marks_stand_below_the_chart_where_they_were_made_and_on_the_page_of_sources() -> None:
    async def scene() -> None:
        async with showing(snapshot(), size=(120, 40)) as shown:
            foot = next(line for line in shown.text().splitlines() if "▲" in line)
            assert "▲0:30 changed to RR" in foot
            assert "|t64" in foot[: foot.index("▲")]
            assert "marked  2027-01-15T08:00:30.000Z: changed to RR" in await shown.press("o")

    play(scene)


def test_an_array_that_tells_no_latency_is_said_to_be_unseen() -> None:
    given = snapshot()
    assert given.series is not None
    blind = replace(given.series, lines=tuple(x for x in given.series.lines if x.quantity != "array_latency"))

    async def scene() -> None:
        async with showing(replace(given, series=blind)) as shown:
            assert "not measured: no array reports its latency" in shown.text()

    play(scene)


def test_a_limit_that_is_no_link_is_among_the_elements() -> None:
    queue = diagnosis(step("t16", 128), step(entity="lun:sqlvm1/sda"), entity="lun:sqlvm1/sda")
    queue = replace(queue, elements=())

    async def scene() -> None:
        async with showing(snapshot(queue), size=(120, 40)) as shown:
            assert any(line.startswith("sqlvm1/sda") and "LIMITS" in line for line in shown.text().splitlines())

    play(scene)
