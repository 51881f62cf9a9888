"""What finding out costs: the slow client, which codes messages in Python, is not asked more of a larger switch."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sanpath.transport.snmp.session import PysnmpSession
from tests.benchmarks.fabric import COLUMNS, objects
from tests.benchmarks.pollers import Collectors
from tests.transport.recorded_agent import serving

pytest.importorskip("gufo.snmp", reason="gufo-snmp is not installed")


@pytest.fixture
def read_by_pysnmp(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Values in each answer that pysnmp has decoded."""
    request = PysnmpSession._request
    found: list[int] = []

    async def counted(session: PysnmpSession, *asked: object) -> Sequence[object]:
        answer = await request(session, *asked)  # type: ignore[arg-type]  # passed on as they came
        found.append(len(answer))
        return answer

    monkeypatch.setattr(PysnmpSession, "_request", counted)
    return found


def test_what_pysnmp_reads_does_not_grow_with_the_switch(read_by_pysnmp: list[int]) -> None:
    decoded = []
    for ports in (20, 200):
        read_by_pysnmp.clear()
        with serving(objects(ports)) as agent, Collectors([agent.port]) as collectors:
            assert collectors.poll()[0] == ports * len(COLUMNS)
        decoded.append(sum(read_by_pysnmp))
    assert decoded[1] == decoded[0] < 100
