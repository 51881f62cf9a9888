"""A session that polls by gufo-snmp gives what pysnmp alone gives, whatever the agent does between two polls."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from sanpath.plugin import Cost, Snmp
from sanpath.transport.live_context import LiveContext
from sanpath.transport.snmp.cached_rows import SilentError
from sanpath.transport.snmp.session import PysnmpSession
from tests.transport.ber import (
    COUNTER64,
    GET,
    GET_BULK,
    IP_ADDRESS,
    NULL,
    TIME_TICKS,
    coded,
    coded_oid,
    read_request,
    response,
)
from tests.transport.recorded_agent import Objects, RecordedAgent, integer, serving, text
from tests.transport.snmp_sessions import (
    WallClock,
    by_both,
    by_pysnmp,
    credentials,
    outcome,
    without_times,
)

pytest.importorskip("gufo.snmp", reason="gufo-snmp is not installed")

from sanpath.transport.snmp.gufo import GufoClient  # needs gufo-snmp

ENTRY = "1.3.6.1.2.1.31.1.1.1"
NAME, OCTETS, SPEED = f"{ENTRY}.1", f"{ENTRY}.6", f"{ENTRY}.15"
GENERIC_ERROR, AUTHORIZATION_ERROR = 5, 16  # RFC 3416
UPTIME, CONTACT = "1.3.6.1.2.1.1.3.0", "1.3.6.1.2.1.1.4.0"
COLUMNS = [NAME, OCTETS, SPEED]
SYSTEM: Objects = [(UPTIME, integer(4242, TIME_TICKS))]
BEHIND: Objects = [("1.3.6.1.2.1.47.1", integer(1))]


def table(rows: Sequence[int], *, octets_of: Sequence[int] | None = None, speed: bytes | None = None) -> Objects:
    """ifXTable with these rows; without ifHighSpeed where `speed` is None."""
    counted = rows if octets_of is None else octets_of
    names: Objects = [(f"{NAME}.{row}", text(b"fc1/%d" % row)) for row in rows]
    octets: Objects = [(f"{OCTETS}.{row}", integer(2**63 + row, COUNTER64)) for row in counted]
    speeds: Objects = [] if speed is None else [(f"{SPEED}.{row}", speed) for row in rows]
    return [*SYSTEM, *names, *octets, *speeds, *BEHIND]


class Turn(NamedTuple):
    """What an agent has before and after something happens to it."""

    before: Objects
    after: Objects


USUAL = table(range(1, 31), speed=integer(16_000))
TURNS = {
    "nothing": Turn(USUAL, USUAL),
    "counters": Turn(USUAL, [(oid, integer(7) if oid.startswith(OCTETS) else value) for oid, value in USUAL]),
    "a new row at the end": Turn(USUAL, table(range(1, 32), speed=integer(16_000))),
    "a new row in the middle": Turn(table([1, 2, 9]), table([1, 2, 5, 9])),
    "a row has gone": Turn(table([1, 2, 3, 4]), table([1, 2, 4])),
    "one row for another": Turn(table([1, 2, 3]), table([1, 2, 4])),
    "all rows have gone": Turn(table([1, 2, 3]), [*SYSTEM, *BEHIND]),
    "other row numbers": Turn(table(range(1, 31)), table(range(1001, 1031))),
    "a hole stays": Turn(table(range(1, 9), octets_of=[1, 2, 6]), table(range(1, 9), octets_of=[1, 2, 6])),
    "a hole is filled": Turn(table(range(1, 9), octets_of=[1, 2, 6]), table(range(1, 9))),
    "a hole opens": Turn(table(range(1, 9)), table(range(1, 9), octets_of=[1, 2, 6])),
    "a column appears": Turn(table([1, 2]), table([1, 2], speed=integer(8_000))),
    "a column vanishes": Turn(table([1, 2], speed=integer(8_000)), table([1, 2])),
    "out of order": Turn(table([5, 6, 1, 2]), table([5, 6, 1, 2])),
    "another order": Turn(table([1, 2, 5, 6]), table([5, 6, 1, 2])),
    "in circles": Turn(table([1, 2, 3, 1]), table([1, 2, 3, 1])),
    "NULL for a value": Turn(table([1, 2], speed=integer(1)), table([1, 2], speed=coded(NULL, b""))),
    "an address": Turn(table([1, 2], speed=integer(1)), table([1, 2], speed=coded(IP_ADDRESS, b"\x01\x03\x06\x01"))),
    "an identifier": Turn(table([1, 2], speed=integer(1)), table([1, 2], speed=coded_oid((1, 3, 6, 1, 4, 1)))),
    "a short identifier": Turn(table([1, 2], speed=integer(1)), table([1, 2], speed=coded_oid((1, 3, 6, 1)))),
    "a joint identifier": Turn(table([1, 2], speed=integer(1)), table([1, 2], speed=coded_oid((2, 999, 1)))),
    "a negative number": Turn(table([1, 2], speed=integer(1)), table([1, 2], speed=integer(-(2**31)))),
    "the largest counter": Turn(table([1, 2], speed=integer(1)), table([1, 2], speed=integer(2**64 - 1, COUNTER64))),
    "no octets": Turn(table([1, 2], speed=integer(1)), table([1, 2], speed=text(b""))),
    "any octets": Turn(table([1, 2], speed=integer(1)), table([1, 2], speed=text(bytes(range(256))))),
    "no uptime": Turn(table([1, 2]), table([1, 2])[1:]),
}


@pytest.mark.parametrize("polls_before", [0, 1, 2])
@pytest.mark.parametrize("turn", [pytest.param(turn, id=name) for name, turn in TURNS.items()])
def test_rows_are_those_of_pysnmp_at_once(turn: Turn, polls_before: int) -> None:
    async def scene(session: Snmp) -> object:
        agent.serve(turn.before)
        await session.get([UPTIME])
        for _ in range(polls_before):
            await session.columns(COLUMNS, alongside=UPTIME)
        agent.serve(turn.after)
        return [await outcome(session.columns(COLUMNS, alongside=UPTIME)) for _ in range(3)]

    with serving(turn.before) as agent:
        alone = by_pysnmp(credentials(agent.port), scene)
        asked_alone = sum(agent.requests.values())
        assert by_both(credentials(agent.port), scene) == alone
        assert sum(agent.requests.values()) != 2 * asked_alone, "the fast client was not asked"


@pytest.mark.parametrize("turn", [pytest.param(turn, id=name) for name, turn in TURNS.items()])
def test_rows_that_need_not_be_whole_are_the_same(turn: Turn) -> None:
    async def scene(session: Snmp) -> object:
        agent.serve(turn.before)
        await session.get([UPTIME])
        reported = [await outcome(session.columns(COLUMNS, row_per_pdu=False))]
        agent.serve(turn.after)
        return [*reported, *[await outcome(session.columns(COLUMNS, row_per_pdu=False)) for _ in range(2)]]

    with serving(turn.before) as agent:
        assert by_both(credentials(agent.port), scene) == by_pysnmp(credentials(agent.port), scene)


def test_columns_read_once_are_not_walked_again_for_the_first_poll() -> None:
    async def scene(session: Snmp) -> None:
        await session.get([UPTIME])
        await session.columns(COLUMNS, row_per_pdu=False)
        agent.requests.clear()
        await session.columns(COLUMNS, alongside=UPTIME)

    with serving(USUAL) as agent:
        by_both(credentials(agent.port), scene)
        # The column that tells whether the rows are the same, and 30 rows in two answers.
        assert agent.requests == {GET_BULK: 2, GET: 2}


def test_a_poll_asks_only_what_it_needs_and_its_cost_is_what_the_agent_saw() -> None:
    async def scene(session: Snmp) -> None:
        for _ in range(4):
            await session.columns(COLUMNS, alongside=UPTIME)
            await session.get([UPTIME])

    cost = Cost()
    with serving(USUAL) as agent:
        by_both(credentials(agent.port), scene, cost)
        assert cost == Cost(sum(agent.requests.values()), agent.sent_bytes)
        # 30 rows fit two answers; the uptime alone is asked by GET the first time, too.
        assert agent.requests[GET] == 3 * 2 + 4


def test_a_row_that_only_another_column_has_is_found_when_every_column_is_looked_at() -> None:
    async def scene(session: Snmp) -> int:
        agent.serve(table([1, 2]))
        await session.columns(COLUMNS)
        agent.serve(table([1, 2], octets_of=[1, 2, 3]))
        for number in range(102):
            if "3" in await session.columns(COLUMNS):
                return number
        return -1

    with serving(table([1, 2])) as agent:
        assert by_both(credentials(agent.port), scene) == 99


@pytest.mark.parametrize("name", ["nothing", "a hole stays", "out of order", "in circles"])
def test_a_table_that_stays_is_walked_by_pysnmp_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    walks: list[object] = []
    walk = PysnmpSession.columns

    async def counted(session: PysnmpSession, oids: Sequence[str], *further: Any) -> object:
        walks.append(oids)
        return await walk(session, oids, *further)

    async def scene(session: Snmp) -> None:
        first = without_times(await session.columns(COLUMNS, alongside=UPTIME))
        for _ in range(205):
            assert without_times(await session.columns(COLUMNS, alongside=UPTIME)) == first

    monkeypatch.setattr(PysnmpSession, "columns", counted)
    with serving(TURNS[name].before) as agent:
        by_both(credentials(agent.port), scene)
    assert walks == [COLUMNS]


def test_rows_are_capped() -> None:
    async def scene(session: Snmp) -> list[object]:
        return [without_times(await session.columns(COLUMNS, max_rows=limit)) for limit in (5, 5, 30, 30, 31, 31)]

    with serving(USUAL) as agent:
        rows = by_both(credentials(agent.port), scene)
        assert rows == by_pysnmp(credentials(agent.port), scene)
    assert isinstance(rows[0], list)
    assert len(rows[0]) == 5


@pytest.mark.parametrize("column", [NAME, f".{NAME}"])
def test_scalars_and_the_spelling_of_identifiers(column: str) -> None:
    async def scene(session: Snmp) -> list[object]:
        asked: list[object] = []
        for _ in range(3):
            asked += [
                await session.get([UPTIME]),
                await session.get([CONTACT, UPTIME]),
                await session.get([f"{column}.2"]),
            ]
            asked.append(without_times(await session.columns([column], alongside=f".{UPTIME}")))
        return asked

    with serving(USUAL) as agent:
        assert by_both(credentials(agent.port), scene) == by_pysnmp(credentials(agent.port), scene)


def test_an_agent_that_refuses_large_answers_is_left_to_pysnmp_after_three_tries() -> None:
    async def scene(session: Snmp) -> list[object]:
        return [without_times(await session.columns(COLUMNS)) for _ in range(8)]

    with serving(USUAL, largest=300) as agent:
        alone = by_pysnmp(credentials(agent.port), scene)
        assert by_both(credentials(agent.port), scene) == alone
        assert agent.requests[GET] == 3


def test_strings_that_fill_more_than_gufos_buffer_are_read() -> None:
    objects = [(f"{NAME}.{row}", text(b"%03d" % row * 85)) for row in range(25)]

    async def scene(session: Snmp) -> list[object]:
        return [without_times(await session.columns([NAME])) for _ in range(5)]

    with serving(objects, largest=60_000) as agent:
        alone = by_pysnmp(credentials(agent.port), scene)
        assert by_both(credentials(agent.port), scene) == alone


def test_no_answer_is_larger_than_a_frame_when_strings_are_long() -> None:
    lost = []

    def frames_only(answer: bytes) -> list[bytes]:
        lost.extend([answer] if len(answer) > 1_472 else [])
        return [answer] if len(answer) <= 1_472 else []

    objects = [*SYSTEM, *((f"{NAME}.{row}", text(b"%03d" % row * 33)) for row in range(60)), *BEHIND]

    async def scene(session: Snmp) -> list[int]:
        await session.get([UPTIME])
        return [len(await session.columns([NAME], alongside=UPTIME)) for _ in range(3)]

    with serving(objects, largest=60_000) as agent:
        agent.answering = frames_only
        assert by_both(credentials(agent.port), scene) == [60, 60, 60]
    assert not lost


@pytest.mark.parametrize("once", [True, False])
@pytest.mark.parametrize("status", [GENERIC_ERROR, AUTHORIZATION_ERROR])
def test_an_error_in_the_midst_of_a_table_is_not_its_end(status: int, once: bool) -> None:
    answer_well = RecordedAgent.answer
    failed = []

    def failing(message: bytes) -> bytes:
        request = read_request(message)
        at_fault = request.kind == GET_BULK and request.oids[-1][-1] >= 20 and not (once and failed)
        failed.extend([request] if at_fault else [])
        return response(request, b"", status, 1) if at_fault else answer_well(agent, message)

    async def scene(session: Snmp) -> object:
        await session.get([UPTIME])
        return await outcome(session.columns(COLUMNS, row_per_pdu=False))

    with serving(USUAL) as agent:
        whole = by_pysnmp(credentials(agent.port), scene)
        agent.answer = failing  # type: ignore[method-assign]  # an agent that fails from row 20 on
        reported = by_both(credentials(agent.port), scene)
        assert failed
        if once:
            assert reported == whole
        else:
            alone = by_pysnmp(credentials(agent.port), scene)
            assert isinstance(reported, tuple)
            assert isinstance(alone, tuple)
            assert reported[0] is alone[0]


@pytest.mark.parametrize("objects", [USUAL[:-1], table([1, 2, 3, 4], octets_of=[1, 2])[:-1]])
def test_the_end_of_the_view_is_the_end_of_its_last_column(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(session: Snmp) -> object:
        await session.get([UPTIME])
        return [await outcome(session.columns([*COLUMNS, CONTACT])) for _ in range(2)]

    with serving(objects) as agent:
        alone = by_pysnmp(credentials(agent.port), scene)
        monkeypatch.setattr(PysnmpSession, "columns", None)  # not needed
        assert by_both(credentials(agent.port), scene) == alone


def test_a_poll_that_is_given_up_leaves_nothing_behind() -> None:
    async def scene(session: Snmp) -> object:
        for _ in range(2):
            await session.columns(COLUMNS)
        agent.answering = lambda _: []
        poll = asyncio.create_task(session.columns(COLUMNS))
        await asyncio.sleep(0.1)
        poll.cancel()
        await asyncio.wait([poll])
        agent.answering = lambda answer: [answer]
        return without_times(await session.columns(COLUMNS))

    with serving(USUAL) as agent:
        assert by_both(credentials(agent.port), scene) == by_pysnmp(credentials(agent.port), scene)


def test_questions_at_once_get_each_its_own_answer() -> None:
    async def scene(session: Snmp) -> object:
        for _ in range(2):
            both = await asyncio.gather(session.columns(COLUMNS), session.get([UPTIME]), session.columns([SPEED]))
        rows, scalar, speeds = both
        return without_times(rows), scalar, without_times(speeds)

    with serving(USUAL) as agent:
        assert by_both(credentials(agent.port), scene) == by_pysnmp(credentials(agent.port), scene)


def test_a_closed_session_can_be_asked_again() -> None:
    async def scene(session: Snmp) -> list[object]:
        asked: list[object] = []
        for _ in range(3):
            asked += [without_times(await session.columns(COLUMNS)) for _ in range(2)]
            await session.close()
        return asked

    with serving(USUAL) as agent:
        assert by_both(credentials(agent.port), scene) == by_pysnmp(credentials(agent.port), scene)


def test_a_silent_agent_gets_every_request_and_all_the_time_that_is_configured() -> None:
    """However quickly it answered before: a request that is sent again has another identifier, so a late answer to
    the earlier one is lost."""

    async def scene(port: int) -> float:
        client = GufoClient(("127.0.0.1", port), "public", timeout_seconds=0.25, retries=5, cost=cost)
        await client.get([UPTIME])
        agent.answering = lambda _: []
        began = time.monotonic()
        with pytest.raises(SilentError):
            await client.get([UPTIME])
        return time.monotonic() - began

    cost = Cost()
    with serving(SYSTEM) as agent:
        assert asyncio.run(scene(agent.port)) >= 1.49
    assert cost.requests == 1 + 6


def test_without_gufo_a_run_has_pysnmp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "sanpath.transport.snmp.fast_session", raising=False)
    monkeypatch.delitem(sys.modules, "sanpath.transport.snmp.gufo", raising=False)
    monkeypatch.setitem(sys.modules, "gufo.snmp", None)

    async def play(agent: RecordedAgent) -> object:
        session = LiveContext(WallClock(), Cost()).snmp(credentials(agent.port))
        rows = [without_times(await session.columns(COLUMNS)) for _ in range(2)]
        await session.close()
        return rows

    with serving(USUAL) as agent:
        names = [row[NAME] for _, row in asyncio.run(play(agent))[1]]  # type: ignore[index]  # a list of pairs
        assert names[0] == b"fc1/1"
        assert agent.requests[GET] == 0
