"""When sources are polled, and what the failures of one mean for itself and for the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import pairwise
from math import ceil
from pathlib import Path

import pytest

from sanpath.errors import CollectorError, Failure
from sanpath.plugin import Context, Item, Rows
from sanpath.recorder.sink import FULL_ROWS, Sink
from sanpath.recorder.sources.source import INVENTORY_SECONDS, MAX_LATE_POLLS
from sanpath.transport.live_context import LiveContext
from tests.recorder.support import PORT, SECOND, START_US, Scripted, answers, record, row

Act = Callable[[int], AsyncIterator[Item]]


def fails(failure: Failure, until: int | None = None) -> Act:
    """Fails at every poll, or at those before `until`."""

    async def act(number: int) -> AsyncIterator[Item]:
        if until is None or number < until:
            raise CollectorError(failure, "it said no", "<html>")
        yield row()

    return act


async def hangs(_number: int) -> AsyncIterator[Item]:
    yield row(7)
    await asyncio.Event().wait()


async def is_defective(_number: int) -> AsyncIterator[Item]:
    raise ZeroDivisionError("oops")
    yield


async def yields_nonsense(_number: int) -> AsyncIterator[Item]:
    yield Rows(PORT, ["p1"], [START_US], {"link_up": ["up"]})  # type: ignore[list-item]
    yield "something else"  # type: ignore[misc]


async def takes_its_time(number: int) -> AsyncIterator[Item]:
    await asyncio.sleep(0.3 + 0.4 * (number % 2))
    yield row()


def test_polls_keep_to_the_grid_for_an_hour(tmp_path: Path) -> None:
    polls = record(tmp_path, 3600, slow=takes_its_time).polls("slow")
    assert {poll.outcome for poll in polls} == {"ok"}
    assert [poll.due - polls[0].due for poll in polls] == [number * SECOND for number in range(len(polls))]
    assert len(polls) in (3599, 3600)
    assert all(abs(poll.started - poll.due) <= 1 for poll in polls)


@pytest.mark.parametrize(
    "bad",
    [
        fails(Failure.UNREACHABLE),
        fails(Failure.REFUSED),
        fails(Failure.UNREADABLE),
        fails(Failure.MISCONFIGURED),
        hangs,
        is_defective,
        yields_nonsense,
    ],
    ids=["unreachable", "refused", "unreadable", "misconfigured", "hangs", "defect", "nonsense"],
)
def test_a_source_that_fails_costs_a_healthy_one_nothing(tmp_path: Path, bad: Act) -> None:
    found = record(tmp_path, 60, healthy=answers, bad=bad)
    polls = found.polls("healthy")
    assert [(poll.outcome, poll.rows) for poll in polls] == [("ok", 1)] * len(polls)
    assert [poll.due - polls[0].due for poll in polls] == [number * SECOND for number in range(60)]
    assert found.polls("bad", "failed", "partial")


@pytest.mark.parametrize(("open_seconds", "opened"), [(10.0, 2), (30.0, 1)], ids=["usual", "slow to log in"])
def test_a_login_may_take_as_long_as_its_collector_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_seconds: float, opened: int
) -> None:
    """A login of 20 s."""

    async def log_in(collector: Scripted, ctx: Context) -> None:  # noqa: ARG001
        collector.opened += 1
        await asyncio.sleep(20)

    monkeypatch.setattr(Scripted, "open", log_in)
    monkeypatch.setattr(Scripted, "open_seconds", open_seconds)
    found = record(tmp_path, 22, slow=answers)
    assert found.collectors["slow"].opened == opened
    assert bool(found.polls("slow", "failed")) is (opened == 2)


@pytest.mark.parametrize(
    ("load_ends", "polls"), [(70, 4), (62, 3), (None, 3)], ids=["coarse", "just asked", "stopped"]
)
def test_who_has_not_been_asked_since_the_load_ended_is_asked_once_more(
    tmp_path: Path, load_ends: float | None, polls: int
) -> None:
    """Every 30 s from up to 7.5 s on: at 60 s and a little, not again before 73 s."""
    found = record(tmp_path, 73, every_seconds=30, load_ends=load_ends, coarse=answers).seconds("coarse")
    assert len(found) == polls
    assert polls == 3 or found[-1] == pytest.approx(73, abs=7.5)


@pytest.mark.parametrize(("delay_seconds", "polls"), [(0.0, 3), (10.0, 4)], ids=["in time", "late samples"])
def test_the_last_poll_is_late_enough_for_the_last_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delay_seconds: float, polls: int
) -> None:
    """Asked at 60 s and a little: after the load has ended at 58 s, but not 10 s after, as a sample may take."""
    monkeypatch.setattr(Scripted, "delay_seconds", delay_seconds)
    found = record(tmp_path, 73, every_seconds=30, load_ends=58, coarse=answers)
    assert len(found.seconds("coarse")) == polls


def test_who_does_not_answer_is_not_asked_once_more(tmp_path: Path) -> None:
    found = record(tmp_path, 73, every_seconds=30, load_ends=70, gone=fails(Failure.UNREACHABLE))
    assert max(found.seconds("gone")) < 70


def test_what_came_before_a_deadline_is_kept(tmp_path: Path) -> None:
    first = record(tmp_path, 3, hung=hangs).polls("hung", "partial")[0]
    assert (first.rows, first.failure, first.message) == (1, "unreachable", "no answer within the deadline")
    assert first.ended - first.started == pytest.approx(3 * SECOND, abs=2)


@pytest.mark.parametrize("takes", [0.9, 1.4, 2.8])
def test_a_device_that_is_slower_than_its_interval_is_read_in_full(tmp_path: Path, takes: float) -> None:
    async def is_slow(_number: int) -> AsyncIterator[Item]:
        yield row(1)
        await asyncio.sleep(takes)
        yield row(2)

    found = record(tmp_path, 30, slow=is_slow)
    polls = found.polls("slow", "ok", "partial", "failed")
    assert [(poll.outcome, poll.rows) for poll in polls] == [("ok", 2)] * len(polls)
    assert {after.due - before.due for before, after in pairwise(polls)} == {ceil(takes) * SECOND}


def late(polls: int) -> Act:
    """The last rows of the first polls come too late."""

    async def act(number: int) -> AsyncIterator[Item]:
        yield row(7)
        await asyncio.sleep(5 if number <= polls else 0)

    return act


def test_a_busy_device_is_not_logged_in_to_again_because_it_is_late(tmp_path: Path) -> None:
    found = record(tmp_path, 20, busy=late(MAX_LATE_POLLS - 1))
    polls = found.polls("busy", "partial", "ok")
    assert [poll.outcome for poll in polls[: MAX_LATE_POLLS + 1]] == [*["partial"] * (MAX_LATE_POLLS - 1), "ok", "ok"]
    assert found.collectors["busy"].opened == 1


def test_a_session_that_stays_late_is_opened_again(tmp_path: Path) -> None:
    found = record(tmp_path, 20, broken=late(MAX_LATE_POLLS))
    assert found.collectors["broken"].opened == 2
    assert found.polls("broken", "ok")


def test_an_unreachable_source_is_asked_less_and_less_often_and_its_gaps_are_counted(tmp_path: Path) -> None:
    found = record(tmp_path, 400, gone=fails(Failure.UNREACHABLE))
    waits = [after - before for before, after in pairwise(found.seconds("gone"))]
    backing_off = [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
    assert len(waits) >= 9
    assert all(wait <= seen < wait + 1.01 for wait, seen in zip(backing_off, waits, strict=False))
    asked = {poll.due for poll in found.polls("gone", "failed")}
    skipped = found.polls("gone", "skipped")
    missed = sum(int(poll.message.split()[0]) for poll in skipped)
    grid = (max(asked) - min(asked)) // SECOND + 1
    after_the_last = [poll for poll in skipped if poll.due > max(asked)]
    assert len(asked) + missed - sum(int(p.message.split()[0]) for p in after_the_last) == grid
    assert all("backing off" in poll.message for poll in skipped)


def test_a_source_that_fails_for_days_is_still_asked_once_a_minute(tmp_path: Path) -> None:
    waits = record(tmp_path, 1200 * 61, gone=fails(Failure.UNREACHABLE)).seconds("gone")
    assert len(waits) > 1100
    assert waits[-1] - waits[-2] == pytest.approx(60, abs=1.01)


def test_a_source_that_comes_back_is_polled_as_before(tmp_path: Path) -> None:
    found = record(tmp_path, 60, flaky=fails(Failure.UNREACHABLE, until=4))
    good = found.polls("flaky", "ok")
    assert [poll.due - good[0].due for poll in good] == [number * SECOND for number in range(len(good))]
    assert len(good) > 40
    # Opened again after each failure, closed at the end.
    assert (found.collectors["flaky"].opened, found.collectors["flaky"].closed) == (4, 4)


def test_a_source_that_goes_and_comes_back_a_hundred_times_costs_nobody_else_a_poll(tmp_path: Path) -> None:
    async def flaps(number: int) -> AsyncIterator[Item]:
        if number % 2:
            raise CollectorError(Failure.UNREACHABLE, "is away")
        yield row()

    found = record(tmp_path, 400, flapping=flaps, good=answers)
    good = found.polls("good", "ok")
    assert [poll.due - good[0].due for poll in good] == [number * SECOND for number in range(len(good))]
    assert len(good) >= 399
    failed, answered = found.polls("flapping", "failed"), found.polls("flapping", "ok")
    assert len(failed) >= 100
    assert abs(len(failed) - len(answered)) <= 1
    # It is never asked less and less often: each answer is a new beginning.
    assert max(after - before for before, after in pairwise(found.seconds("flapping"))) < 2.1


def test_a_source_that_refuses_is_given_up_after_three_tries(tmp_path: Path) -> None:
    found = record(tmp_path, 60, closed=fails(Failure.REFUSED))
    assert [poll.message for poll in found.polls("closed", "failed")] == ["it said no <html>"] * 3
    assert [(event.name, event.detail) for event in found.events("closed")] == [
        ("source-given-up", {"failure": "refused"})
    ]


def test_an_answer_between_refusals_is_a_new_beginning(tmp_path: Path) -> None:
    async def now_and_then(number: int) -> AsyncIterator[Item]:
        if number % 3:
            raise CollectorError(Failure.REFUSED, "not now")
        yield row()

    found = record(tmp_path, 60, moody=now_and_then)
    assert not found.events("moody")
    assert len(found.polls("moody", "ok")) > 5


def test_a_misconfigured_source_is_asked_once(tmp_path: Path) -> None:
    found = record(tmp_path, 60, wrong=fails(Failure.MISCONFIGURED))
    assert [poll.failure for poll in found.polls("wrong")] == ["misconfigured"]
    assert [event.name for event in found.events("wrong")] == ["source-given-up"]


def test_an_unreadable_answer_is_kept_in_part_and_the_source_polled_on(tmp_path: Path) -> None:
    found = record(tmp_path, 10, odd=fails(Failure.UNREADABLE))
    polls = found.polls("odd")
    assert [(p.outcome, p.failure, p.message) for p in polls] == [("failed", "unreadable", "it said no <html>")] * 10
    assert found.collectors["odd"].opened == 1


def test_a_defect_is_told_and_does_not_end_the_run(tmp_path: Path) -> None:
    found = record(tmp_path, 10, broken=is_defective)
    assert {p.message for p in found.polls("broken", "failed")} == {"ZeroDivisionError: oops"}


def test_rows_that_cannot_be_recorded_are_told_with_their_source(tmp_path: Path) -> None:
    found = record(tmp_path, 2, healthy=answers, odd=yields_nonsense)
    messages = {poll.message for poll in found.polls("odd", "failed")}
    assert any("could not be recorded" in message and "'up'" in message for message in messages)
    assert any("a collector yields no str" in message for message in messages)
    assert found.polls("healthy", "ok")


def test_a_poll_that_takes_too_long_skips_places_on_the_grid_and_says_so(tmp_path: Path) -> None:
    async def overruns(_number: int) -> AsyncIterator[Item]:
        # Blocks beyond its deadline, as code that does not await does.
        asyncio.get_running_loop().virtual.now += 2.5  # type: ignore[attr-defined]
        yield row()

    found = record(tmp_path, 30, slow=overruns)
    polls = found.polls("slow", "ok", "partial")
    assert {b.due - a.due for a, b in pairwise(polls)} == {3 * SECOND}
    assert {p.message for p in found.polls("slow", "skipped")} == {"2 polls skipped: the previous poll took too long"}


def test_no_poll_is_started_while_the_recording_cannot_be_written(tmp_path: Path) -> None:
    def fill(sink: Sink) -> None:
        many = FULL_ROWS + 1
        sink.take("big", START_US, Rows(PORT, ["p"] * many, [START_US] * many, {}))

    found = record(tmp_path, 5, fill=fill, healthy=answers)
    assert found.collectors["healthy"].polls == 0
    assert {(p.outcome, p.message) for p in found.polls("healthy")} == {
        ("skipped", "the recording cannot be written")
    }


def trickling(every_seconds: float, answers: float) -> Callable[[Context], Awaitable[None]]:
    """A device of whose inventory a part arrives again and again, and no more after so many parts."""

    async def look(ctx: Context) -> None:
        assert isinstance(ctx, LiveContext)
        arrived = 0
        while arrived < answers:
            await asyncio.sleep(every_seconds)
            ctx.cost.bytes_in += 1_400
            arrived += 1
        if answers == SILENT_AFTER:
            await asyncio.Event().wait()

    return look


SILENT_AFTER = 5


def test_an_inventory_may_take_as_long_as_the_device_answers(tmp_path: Path) -> None:
    found = record(tmp_path, 100, look=trickling(9, 10), slow=answers)
    (first, *_) = found.polls("slow", "ok")
    assert first.ended - first.started == pytest.approx(90 * SECOND, abs=2)
    assert not found.polls("slow", "failed", "partial")


def test_an_inventory_whose_device_falls_silent_ends(tmp_path: Path) -> None:
    found = record(tmp_path, 30, look=trickling(3, SILENT_AFTER), silent=answers)
    first = found.polls("silent", "failed")[0]
    assert (first.failure, first.message) == ("unreachable", "no answer within the deadline")
    # From the last answer, which is seen up to a second later.
    assert 10 * SECOND <= first.ended - first.started - 3 * SILENT_AFTER * SECOND <= 11 * SECOND


def test_an_inventory_without_end_is_ended(tmp_path: Path) -> None:
    found = record(tmp_path, INVENTORY_SECONDS + 20, look=trickling(1, float("inf")), endless=answers)
    first = found.polls("endless", "failed")[0]
    assert first.ended - first.started == pytest.approx(INVENTORY_SECONDS * SECOND, abs=2)


def test_inventory_is_read_again_every_few_minutes(tmp_path: Path) -> None:
    found = record(tmp_path, 3 * INVENTORY_SECONDS - 1, healthy=answers)
    assert found.collectors["healthy"].inventories == 3


def test_sources_are_spread_over_the_interval(tmp_path: Path) -> None:
    found = record(tmp_path, 3, a=answers, b=answers, c=answers, d=answers)
    assert len({found.polls(name)[0].due for name in "abcd"}) == 4
