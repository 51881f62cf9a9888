"""Both clients read every table of real switches alike: recordings served over SNMP, and a net-snmp agent."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from sanpath.plugin import Cost, Snmp, SnmpValue
from tests.support.replay import ReplaySnmp, read_snmprec
from tests.transport.ber import GET
from tests.transport.recorded_agent import read_recording, serving
from tests.transport.snmp_sessions import Rows, WallClock, by_both, by_pysnmp, credentials, without_times
from tests.transport.snmpd import running

pytest.importorskip("gufo.snmp", reason="gufo-snmp is not installed")

ROOT = Path(__file__).parents[2]
RECORDINGS = Path(os.environ.get("SANPATH_RECORDINGS", ROOT.parent / "shared" / "recordings")) / "snmp"
TABLES = {
    "ifEntry": "1.3.6.1.2.1.2.2.1",
    "ifXEntry": "1.3.6.1.2.1.31.1.1.1",
    "ipAddrEntry": "1.3.6.1.2.1.4.20.1",
    "entPhysicalEntry": "1.3.6.1.2.1.47.1.1.1.1",
    "fcFxPortEntry": "1.3.6.1.2.1.75.1.2.2.1",
    "fcmPortStats": "1.3.6.1.2.1.75.1.3.1.1",
    "swFCPortEntry": "1.3.6.1.4.1.1588.2.1.1.1.6.2.1",
    "swNbEntry": "1.3.6.1.4.1.1588.2.1.1.1.2.9.1",
    "connUnitPortEntry": "1.3.6.1.3.94.1.10.1",
    "connUnitLinkEntry": "1.3.6.1.3.94.1.12.1",
    "connUnitPortStatEntry": "1.3.6.1.3.94.4.5.1",
    "connUnitSnsEntry": "1.3.6.1.3.94.5.2.1.1",
    "fcIfEntry": "1.3.6.1.4.1.9.9.289.1.1.2.1",
    "fcIfC64Entry": "1.3.6.1.4.1.9.9.289.1.2.2.1",
}
TOGETHER = 10
UPTIME = "1.3.6.1.2.1.1.3.0"
IF_DESCR, IF_TYPE, IF_IN_OCTETS, IF_IN_ERRORS = (f"{TABLES['ifEntry']}.{number}" for number in (2, 3, 10, 14))
IF_NAME, IF_HC_IN_OCTETS = (f"{TABLES['ifXEntry']}.{number}" for number in (1, 6))


def recordings() -> list[Path]:
    return sorted(RECORDINGS.glob("*.snmprec.bz2"))


def groups(path: Path) -> Iterator[list[str]]:
    """The columns of each table that is recorded, ten at a time, each time with one that no agent has."""
    recorded = [oid for oid, _ in read_snmprec(path)]
    for entry in TABLES.values():
        root = tuple(map(int, entry.split(".")))
        numbers = sorted({oid[len(root)] for oid in recorded if oid[: len(root)] == root and len(oid) > len(root)})
        for first in range(0, len(numbers), TOGETHER):
            yield [f"{entry}.{number}" for number in (*numbers[first : first + TOGETHER], 999)]


def test_there_are_recordings() -> None:
    if not recordings():
        pytest.skip(f"no recordings in {RECORDINGS}")
    assert all(list(groups(path)) for path in recordings())


@pytest.mark.parametrize("path", recordings(), ids=lambda path: path.name)
def test_every_table_of_a_recording(path: Path) -> None:
    replayed = ReplaySnmp([read_snmprec(path)], WallClock(), Cost())

    async def scene(session: Snmp) -> list[int]:
        by_get = []
        await session.get([UPTIME])
        for columns in groups(path):
            assert without_times(await session.columns(columns, row_per_pdu=False)) == without_times(
                await replayed.columns(columns)
            )
            # With uptime beside as the collectors poll.
            first, again, third = [await session.columns(columns, alongside=UPTIME) for _ in range(3)]
            assert without_times(first) == without_times(await replayed.columns(columns, alongside=UPTIME))
            assert without_times(again) == without_times(first), columns
            assert without_times(third) == without_times(first), columns
            by_get.append(agent.requests[GET])
        return by_get

    with serving(read_recording(path)) as agent:
        by_get = by_both(credentials(agent.port), scene)
    assert all(by_get), "the fast client was not asked"


@pytest.mark.parametrize("path", recordings(), ids=lambda path: path.name)
def test_the_scalars_of_a_recording(path: Path) -> None:
    scalars = [f"1.3.6.1.2.1.1.{number}.0" for number in range(1, 9)]

    async def scene(session: Snmp) -> list[dict[str, SnmpValue]]:
        there = [oid for oid, value in (await session.get(scalars)).items() if value is not None]
        return [await session.get(asked) for asked in (scalars, there, there)]

    with serving(read_recording(path)) as agent:
        assert by_both(credentials(agent.port), scene) == by_pysnmp(credentials(agent.port), scene)


@pytest.fixture(scope="module")
def snmpd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with running(tmp_path_factory.mktemp("snmpd"), "rocommunity public 127.0.0.1\nsysName lab-switch\n") as port:
        yield port


def test_net_snmp_is_read_alike(snmpd: int) -> None:
    columns = [IF_DESCR, IF_TYPE, IF_IN_OCTETS, IF_IN_ERRORS, IF_NAME, IF_HC_IN_OCTETS]
    fixed = {IF_DESCR, IF_TYPE, IF_IN_ERRORS, IF_NAME}
    cost = Cost()

    async def polls(session: Snmp) -> list[Rows]:
        return [await session.columns(columns, alongside=UPTIME) for _ in range(3)]

    def identity(rows: Rows) -> list[tuple[str, Mapping[str, SnmpValue]]]:
        return [(index, {key: value for key, value in row.items() if key in fixed}) for index, row in rows.items()]

    (before,) = by_pysnmp(credentials(snmpd), polls)[-1:]
    _, _, polled = by_both(credentials(snmpd), polls, cost)
    (after,) = by_pysnmp(credentials(snmpd), polls)[:1]
    assert identity(polled) == identity(before) == identity(after)
    assert b"lo" in [row[IF_DESCR] for row in polled.values()]
    for index, row in polled.items():
        assert row.keys() == before[index].keys()
        for growing in (IF_HC_IN_OCTETS, "alongside", "seen"):
            assert number(before, index, growing) <= number(polled, index, growing) <= number(after, index, growing)


def number(rows: Rows, index: str, key: str) -> int:
    value = rows[index][key]
    assert isinstance(value, int)
    return value
