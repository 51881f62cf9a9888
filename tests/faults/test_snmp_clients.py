"""Both SNMP clients say the same of an agent whose answers are not what they should be, and take it back alike."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator

import pytest

from sanpath.plugin import Failure, Snmp
from tests.faults.altering import (
    ELSEWHERE,
    Alteration,
    AlteringProxy,
    damaged,
    endlessly,
    of_another_request,
    truncated,
    unaltered,
)
from tests.faults.proxies import GARBAGE, LOOPBACK, Fault, standing_for
from tests.transport.ber import COUNTER64, GET, TIME_TICKS, read_request, response
from tests.transport.recorded_agent import Objects, RecordedAgent, integer, serving
from tests.transport.snmp_sessions import by_both, by_pysnmp, credentials, outcome

pytest.importorskip("gufo.snmp", reason="gufo-snmp is not installed")

ENTRY, UPTIME = "1.3.6.1.2.1.31.1.1.1", "1.3.6.1.2.1.1.3.0"
COLUMNS = [f"{ENTRY}.6", f"{ENTRY}.10"]
OBJECTS: Objects = [(UPTIME, integer(4242, TIME_TICKS))] + [
    (f"{column}.{row}", integer(row, COUNTER64)) for column in COLUMNS for row in range(1, 60)
]
GENERIC_ERROR, AUTHORIZATION_ERROR = 5, 16  # RFC 3416
TIMEOUT_SECONDS = 0.3


def silent(answer: bytes) -> Iterable[bytes]:  # noqa: ARG001 - the signature of an alteration
    return []


def garbage(answer: bytes) -> Iterable[bytes]:  # noqa: ARG001 - the signature of an alteration
    return [GARBAGE]


def after_another(answer: bytes) -> Iterable[bytes]:
    """The right answer, but behind a wrong one."""
    return [*of_another_request(answer), answer]


def twice(answer: bytes) -> Iterable[bytes]:
    return [answer, answer]


def becomes(proxy: AlteringProxy, alteration: Alteration) -> Callable[[], None]:
    return lambda: setattr(proxy, "alter", alteration)


async def polls(session: Snmp, proxy: AlteringProxy, fail: Callable[[], None]) -> list[object]:
    """Three that go well, two while it fails, three when all is well again."""
    reported = [await outcome(session.columns(COLUMNS, alongside=UPTIME)) for _ in range(3)]
    fail()
    reported += [await outcome(session.columns(COLUMNS, alongside=UPTIME)) for _ in range(2)]
    proxy.fail(Fault.NONE)
    proxy.alter, proxy.from_elsewhere = unaltered, False
    await asyncio.sleep(0.1)
    return reported + [await outcome(session.columns(COLUMNS, alongside=UPTIME)) for _ in range(3)]


@pytest.fixture
def agent() -> Iterator[RecordedAgent]:
    with serving(OBJECTS) as agent:
        yield agent


@pytest.fixture
def proxy(agent: RecordedAgent) -> Iterator[AlteringProxy]:
    with standing_for(AlteringProxy, (LOOPBACK, agent.port)) as proxy:
        yield proxy


def answers_of_both(proxy: AlteringProxy, fail: Callable[[], None]) -> tuple[list[object], list[object]]:
    who = credentials(proxy.address[1], TIMEOUT_SECONDS)
    return by_pysnmp(who, lambda s: polls(s, proxy, fail)), by_both(who, lambda s: polls(s, proxy, fail))


@pytest.mark.parametrize("alteration", [silent, garbage, truncated, damaged, of_another_request, endlessly])
def test_what_is_no_answer_is_unreachable(agent: RecordedAgent, proxy: AlteringProxy, alteration: Alteration) -> None:
    alone, both = answers_of_both(proxy, becomes(proxy, alteration))
    assert both == alone
    for number in (3, 4):
        failure, message = outcome_of(both[number])
        assert failure is Failure.UNREACHABLE
        assert "gave no SNMP answer in 2 x 0.3 s" in message
    assert both[-1] == both[0]
    assert agent.requests[GET] > 0, "the fast client was not asked"


def test_a_silent_agent_is_asked_no_more_often_than_by_pysnmp(agent: RecordedAgent, proxy: AlteringProxy) -> None:
    async def scene(session: Snmp) -> list[int]:
        for _ in range(3):
            await session.columns(COLUMNS)
        proxy.alter = silent
        asked = []
        for _ in range(2):
            agent.requests.clear()
            await outcome(session.columns(COLUMNS))
            asked.append(sum(agent.requests.values()))
        proxy.alter = unaltered
        return asked

    who = credentials(proxy.address[1], TIMEOUT_SECONDS)
    assert by_both(who, scene) == by_pysnmp(who, scene) == [2, 2]


@pytest.mark.parametrize("alteration", [after_another, twice])
def test_what_comes_beside_the_answer_does_no_harm(
    agent: RecordedAgent, proxy: AlteringProxy, alteration: Alteration
) -> None:
    alone, both = answers_of_both(proxy, becomes(proxy, alteration))
    assert both == alone == [alone[0]] * 8
    assert agent.requests[GET] > 0, "the fast client was not asked"


def test_a_port_that_is_closed_for_a_while(proxy: AlteringProxy) -> None:
    alone, both = answers_of_both(proxy, lambda: proxy.fail(Fault.REFUSED))
    assert both == alone
    assert outcome_of(both[3])[0] is Failure.UNREACHABLE


def test_an_answer_from_another_address_is_not_taken_and_the_address_is_told(proxy: AlteringProxy) -> None:
    alone, both = answers_of_both(proxy, lambda: setattr(proxy, "from_elsewhere", True))
    assert both[:3] + both[4:] == alone[:3] + alone[4:]  # by gufo-snmp the first silence cannot be told from another
    assert outcome_of(both[3])[0] is outcome_of(both[4])[0] is Failure.UNREACHABLE
    assert f"{ELSEWHERE}:{proxy.address[1]} answered instead" in outcome_of(both[4])[1]


@pytest.mark.parametrize(
    ("status", "failure"), [(GENERIC_ERROR, Failure.UNREADABLE), (AUTHORIZATION_ERROR, Failure.REFUSED)]
)
def test_an_error_of_the_agent_keeps_its_name_and_place(
    agent: RecordedAgent, proxy: AlteringProxy, status: int, failure: Failure
) -> None:
    answer = agent.answer

    def refusing(message: bytes) -> bytes:
        return response(read_request(message), b"", status, 1)

    def fail() -> None:
        agent.answer = refusing  # type: ignore[method-assign]  # an agent that turns others away

    async def scene(session: Snmp) -> list[object]:
        reported = [await outcome(session.columns(COLUMNS, alongside=UPTIME)) for _ in range(3)]
        fail()
        reported += [await outcome(session.columns(COLUMNS, alongside=UPTIME)) for _ in range(2)]
        agent.answer = answer  # type: ignore[method-assign]  # as before
        return reported + [await outcome(session.columns(COLUMNS, alongside=UPTIME)) for _ in range(2)]

    who = credentials(proxy.address[1], TIMEOUT_SECONDS)
    alone, both = by_pysnmp(who, scene), by_both(who, scene)
    assert both == alone
    assert outcome_of(both[3])[0] is failure
    assert "1.3.6.1.2.1" in outcome_of(both[3])[1]


def outcome_of(reported: object) -> tuple[Failure, str]:
    assert isinstance(reported, tuple), reported
    failure, message = reported
    return failure, message
