"""The table walk against agents that answer well, with holes, out of order and in circles."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from sanpath.plugin import CollectorError, Failure, SnmpValue
from sanpath.transport.snmp.walk import Oid, VarBind, parse_oid, repetitions, walk_columns

NAME, BYTES = "1.3.1", "1.3.2"


class Agent:
    """Answers GETBULK from variable bindings in the order in which it has them; counts the requests."""

    def __init__(self, bindings: Sequence[tuple[str, SnmpValue]], most_bindings: int = 1000) -> None:
        self.bindings = [(parse_oid(oid), value) for oid, value in bindings]
        self.most_bindings, self.requests, self.us = most_bindings, 0, 0

    def now_us(self) -> int:
        return self.us

    async def bulk(self, oids: Sequence[Oid], max_repetitions: int) -> Sequence[VarBind]:
        self.requests += 1
        self.us += 1000
        answer: list[VarBind] = []
        for _ in range(max_repetitions):
            row = [self._after(oid) for oid in oids]
            answer += row
            oids = [oid for oid, _ in row]
        return answer[: self.most_bindings]

    def _after(self, oid: Oid) -> VarBind:
        known = [o for o, _ in self.bindings]
        later = (n for n, o in enumerate(known) if o > oid)
        at = known.index(oid) + 1 if oid in known else next(later, len(known))
        return self.bindings[at] if at < len(known) else (oid, None)


def walk(agent: Agent, *columns: str, max_rows: int = 20_000) -> dict[str, dict[str, SnmpValue]]:
    return asyncio.run(walk_columns(agent.bulk, agent.now_us, columns, max_rows))


def table(rows: Sequence[int], without: Sequence[int] = ()) -> list[tuple[str, SnmpValue]]:
    names: list[tuple[str, SnmpValue]] = [(f"{NAME}.{row}", b"p%d" % row) for row in rows]
    return names + [(f"{BYTES}.{row}", row * 10) for row in rows if row not in without] + [("1.3.3.1", 0)]


def test_reads_every_row_and_asks_no_more_than_needed() -> None:
    agent = Agent(table(range(1, 51)))
    rows = walk(agent, NAME, BYTES)
    assert list(rows) == [str(n) for n in range(1, 51)]
    assert rows["50"] == {NAME: b"p50", BYTES: 500, "seen": rows["50"]["seen"]}
    assert agent.requests == 50 // repetitions(2) + 1


@pytest.mark.parametrize("hole", [range(5, 40), range(10, 56)])
def test_a_row_is_never_put_together_from_two_answers(hole: range) -> None:
    agent = Agent(table(range(1, 61), without=hole))
    answered: dict[Oid, int] = {}

    async def noted(oids: Sequence[Oid], max_repetitions: int) -> Sequence[VarBind]:
        answer = await agent.bulk(oids, max_repetitions)
        for number, (oid, _) in enumerate(answer):
            if oid[:3] == oids[number % len(oids)][:3]:  # a column that has ended runs into the next one
                answered[oid] = agent.us
        return answer

    rows = asyncio.run(walk_columns(noted, agent.now_us, [NAME, BYTES], 1000))
    assert len(rows) == 60
    assert BYTES not in rows["20"]
    for index, row in rows.items():
        for column in (NAME, BYTES):
            if column in row:
                assert answered[parse_oid(f"{column}.{index}")] == row["seen"]


def test_rows_out_of_order_are_all_read() -> None:
    order = [*range(100, 160), *range(1, 60), *range(300, 330)]
    assert sorted(map(int, walk(Agent(table(order)), NAME, BYTES))) == sorted(order)


def test_an_agent_in_circles_ends_the_walk_with_its_rows() -> None:
    circle = [(f"{NAME}.{n}", n) for n in (1, 2, 3, 1)]
    agent = Agent(circle)
    assert list(walk(agent, NAME)) == ["1", "2", "3"]
    assert agent.requests <= 4


def test_a_column_the_agent_lacks_is_absent() -> None:
    rows = walk(Agent(table([1, 2])), NAME, "1.3.9")
    assert rows["1"] == {NAME: b"p1", "seen": 1000}


def test_rows_are_capped() -> None:
    assert len(walk(Agent(table(range(1, 500))), NAME, max_rows=30)) == 30


def test_a_row_cut_off_at_the_end_of_an_answer_is_asked_again() -> None:
    agent = Agent(table(range(1, 12)), most_bindings=5)
    rows = walk(agent, NAME, BYTES)
    assert {index: row[BYTES] for index, row in rows.items()} == {str(n): n * 10 for n in range(1, 12)}


def test_an_answer_without_a_whole_row_is_unreadable() -> None:
    with pytest.raises(CollectorError) as caught:
        walk(Agent(table([1]), most_bindings=1), NAME, BYTES)
    assert caught.value.failure is Failure.UNREADABLE
