"""Polls that go wrong half way, ports that change, and agents that answer nonsense."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from sanpath.plugin import (
    CollectorError,
    Cost,
    Event,
    Failure,
    Item,
    Rows,
    SnmpCredentials,
    SnmpValue,
    SourceEntity,
    SourceLink,
)
from sanpath.transport.snmp.walk import Oid, VarBind
from sanpath_collectors.snmp_switch.collector import SnmpSwitch
from sanpath_collectors.snmp_switch.config import SnmpSwitchConfig
from sanpath_collectors.snmp_switch.parse import TICK_US, TICKS_WRAP
from tests.support.replay import ReplaySnmp, read_snmprec

CASES = sorted(path.parent for path in Path(__file__).parent.glob("*/replies") if "silent" not in path.parent.name)
CASES = [case for case in CASES if "no-iftable" not in case.name]
CONFIG = SnmpSwitchConfig(name="sw1", collector="snmp_switch", host="192.0.2.1", community=SecretStr("unused"))


class MovingClock:
    """A second passes whenever it is looked at."""

    def __init__(self) -> None:
        self.us = 1_700_000_000_000_000

    def now_us(self) -> int:
        self.us += 1_000_000
        return self.us


class Agent(ReplaySnmp):
    """A recorded agent that fails when asked for a column below `failing`."""

    failing = "none"

    async def columns(
        self, oids: Sequence[str], max_rows: int = 20_000, alongside: str | None = None, row_per_pdu: bool = True
    ) -> dict[str, dict[str, SnmpValue]]:
        if any(oid.startswith(self.failing) for oid in oids):
            raise CollectorError(Failure.UNREACHABLE, "gave no SNMP answer")
        return await super().columns(oids, max_rows, alongside, row_per_pdu)


class OneAgent:
    """A context with one agent."""

    def __init__(self, states: Sequence[Sequence[VarBind]]) -> None:
        self.clock, self.cost = MovingClock(), Cost()
        self.agent = Agent(states, self.clock, self.cost)

    def snmp(self, credentials: SnmpCredentials) -> Agent:  # noqa: ARG002
        return self.agent


def states(case: str) -> list[list[VarBind]]:
    folder = Path(__file__).parent / case / "replies"
    return [read_snmprec(file) for file in sorted(folder.glob("*.snmprec"))]


async def learned(context: OneAgent) -> tuple[SnmpSwitch, list[SourceEntity | SourceLink]]:
    switch = SnmpSwitch(CONFIG)
    await switch.open(context)
    return switch, [item async for item in switch.inventory(context)]


async def until_it_fails(found: AsyncIterator[Item]) -> tuple[list[Item], CollectorError | None]:
    items: list[Item] = []
    try:
        async for item in found:
            items += [item]
    except CollectorError as error:
        return items, error
    return items, None


def test_what_was_answered_before_the_agent_fell_silent_is_kept() -> None:
    async def run() -> tuple[list[Item], CollectorError | None]:
        context = OneAgent(states("brocade-fos-6"))
        switch, _ = await learned(context)
        context.agent.failing = "1.3.6.1.2.1.2.2"
        return await until_it_fails(switch.poll(context))

    items, error = asyncio.run(run())
    rows = [rows for rows in items if isinstance(rows, Rows) and rows.table.kind == "switch_port"]
    assert error is not None
    assert error.failure is Failure.UNREACHABLE
    assert rows[0].values["bytes_rx_total"][0] == 2_001_000_000_000
    assert rows[0].values["errors_rx_total"][0] is None


def test_a_port_that_comes_up_later_has_its_counters_found_then() -> None:
    """A transceiver that is put in during the run: its optics are asked for from the next inventory on."""

    def without(optics: str, port: str, state: list[VarBind]) -> list[VarBind]:
        down = (1, 3, 6, 1, 3, 94, 1, 10, 1, 6)
        kept: list[VarBind] = []
        for oid, value in state:
            dotted = ".".join(map(str, oid))
            if dotted.startswith(optics) and dotted.endswith(port):
                continue
            kept.append((oid, 3 if oid[:10] == down and dotted.endswith(port) else value))
        return kept

    async def run() -> list[set[str]]:
        later = states("brocade-fos-9")[0]
        context = OneAgent([without("1.3.6.1.4.1.1588.2.1.1.1.28.1", ".0.1", later), later, later])
        switch, _ = await learned(context)
        result = []
        for _ in range(2):
            found = [item async for item in switch.poll(context)]
            rows = next(r for r in found if isinstance(r, Rows) and "1073741824" in r.entity)
            result.append(set(rows.values))
            context.agent.advance()
            _ = [item async for item in switch.inventory(context)]
        return result

    before, after = asyncio.run(run())
    assert "optics_rx_power_dbm" not in before
    assert "optics_rx_power_dbm" in after


def test_a_change_is_told_once() -> None:
    async def run() -> list[list[str]]:
        context = OneAgent(states("cisco-mds-txwait-64"))
        switch, _ = await learned(context)
        reported = []
        for _ in range(4):
            reported.append([e.name async for e in switch.poll(context) if isinstance(e, Event)])
            context.agent.advance()
        return reported

    assert asyncio.run(run()) == [[], [], ["port-speed", "port-state"], []]


def test_an_uptime_that_wraps_after_497_days_is_no_restart() -> None:
    """The agent goes on where it was, and the time of its samples with it."""

    def at(ticks: int) -> list[VarBind]:
        state = states("brocade-fos-6")[0]
        return [(oid, ticks if oid == (1, 3, 6, 1, 2, 1, 1, 3, 0) else value) for oid, value in state]

    async def run() -> list[list[Item]]:
        context = OneAgent([at(TICKS_WRAP - 200), at(300)])
        switch, _ = await learned(context)
        before = [item async for item in switch.poll(context)]
        context.agent.advance()
        return [before, [item async for item in switch.poll(context)]]

    polls = asyncio.run(run())
    assert not [item for items in polls for item in items if isinstance(item, Event)]
    before, after = ([r.device_time[0] for r in items if isinstance(r, Rows) and r.device_time] for items in polls)
    assert [later - earlier for earlier, later in zip(before, after, strict=True)] == [500 * TICK_US] * len(before)
    assert before


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@settings(max_examples=12, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data())
def test_no_answer_is_too_bad(case: Path, data: st.DataObject) -> None:
    """Values of other types, absurd numbers, short indexes: an agent may answer what it likes."""
    state = list(read_snmprec(case / "replies" / "1.snmprec"))
    nonsense = st.one_of(
        st.integers(-(2**63), 2**64 - 1),
        st.binary(max_size=40),
        st.just(None),
        st.just("1.3.6.1"),
        st.just(b"\xff" * 8),
    )
    for _ in range(data.draw(st.integers(1, 12))):
        at = data.draw(st.integers(0, len(state) - 1))
        oid: Oid = state[at][0]
        match data.draw(st.sampled_from(("value", "value", "shorter", "longer", "drop", "swap"))):
            case "value":
                state[at] = (oid, data.draw(nonsense))
            case "shorter":
                state[at] = (oid[:-1], state[at][1])
            case "longer":
                state[at] = ((*oid, data.draw(st.integers(0, 2**32 - 1))), state[at][1])
            case "drop" if len(state) > 1:
                del state[at]
            case "swap":
                other = data.draw(st.integers(0, len(state) - 1))
                state[at], state[other] = state[other], state[at]

    async def run() -> None:
        context = OneAgent([state])
        switch, found = await learned(context)
        items = [item async for item in switch.poll(context)]
        ports = {t.local_id for t in found if isinstance(t, SourceEntity) and t.kind == "switch_port"}
        for rows in items:
            if isinstance(rows, Rows) and rows.table.kind == "switch_port":
                assert set(rows.entity) <= ports
                assert all(v is None or v >= 0 for m, v in _values(rows) if m.endswith("_total"))

    try:
        asyncio.run(run())
    except CollectorError as error:
        assert error.failure in (Failure.UNREADABLE, Failure.UNREACHABLE)  # noqa: PT017 - the only way it may end


def _values(rows: Rows) -> list[tuple[str, int | float | None]]:
    return [(metric, value) for metric, values in rows.values.items() for value in values]
