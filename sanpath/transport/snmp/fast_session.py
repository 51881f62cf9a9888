"""An SNMP session that reads by gufo-snmp, and asks pysnmp wherever the two might differ."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import NamedTuple, TypeVar

from sanpath.plugin import Clock, CollectorError, Cost, Failure, SnmpCredentials, SnmpValue
from sanpath.transport.snmp.authentication import silence
from sanpath.transport.snmp.column_walk import rows_of, walk_apart
from sanpath.transport.snmp.gufo import GufoClient
from sanpath.transport.snmp.known_rows import ChangedError, KnownRows, SilentError, UnclearError
from sanpath.transport.snmp.session import SCALARS_PER_GET, PysnmpSession

_STRIKES = 3
"""Failures in a row, as with an agent that refuses a GET of this size, after which gufo-snmp is given up."""

T = TypeVar("T")
Cells = dict[str, SnmpValue]
_UNREAD = object()


class _Asked(NamedTuple):
    """What a table is known by."""

    columns: tuple[str, ...]
    max_rows: int
    alongside: str | None


class FastSession:
    """`plugin.Snmp` for one agent of SNMP v2c. Whatever is asked first, pysnmp asks: it tells why there is no answer.

    A table is read by GET, whole rows in each answer, once a walk of its columns has found its rows.
    """

    def __init__(self, credentials: SnmpCredentials, clock: Clock, cost: Cost) -> None:
        self._credentials, self._clock, self._cost = credentials, clock, cost
        self._pysnmp = PysnmpSession(credentials, clock, cost)
        self._one_at_a_time = asyncio.Lock()
        self._unheard = 0
        self._forget()

    @staticmethod
    def suits(who: SnmpCredentials) -> bool:
        """Not SNMPv3, whose answers gufo-snmp does not authenticate; not a community that it codes as UTF-8."""
        return who.user is None and who.community is not None and who.community.get_secret_value().isascii()

    async def get(self, oids: Sequence[str]) -> dict[str, SnmpValue]:
        """Scalars by full OID; None where the agent has no such object. Raises CollectorError."""
        key = tuple(oids)
        if key in self._scalars:
            found = await self._by_gufo(key, lambda gufo: gufo.get(list(oids)))
            if found is not None and found.keys() == set(oids):
                return {oid: found[oid] for oid in oids}
        values = await self._pysnmp.get(oids)
        self._heard = True
        if len(key) <= SCALARS_PER_GET and None not in values.values():
            self._scalars.add(key)
        return values

    async def columns(
        self, oids: Sequence[str], max_rows: int = 20_000, alongside: str | None = None, row_per_pdu: bool = True
    ) -> dict[str, Cells]:
        """Columns of one table; see `plugin.Snmp.columns`. Raises CollectorError."""
        asked = _Asked(tuple(oids), max_rows, alongside)
        if self._heard and self._tables.get(asked, _UNREAD) is not None:
            found = await self._by_gufo(asked, lambda gufo: self._read(gufo, asked, row_per_pdu))
            if found is not None:
                return found
        rows = await self._pysnmp.columns(oids, max_rows, alongside)
        self._heard = True
        self._tables[asked] = KnownRows.of(rows, oids, alongside, max_rows)
        return rows

    async def _read(self, gufo: GufoClient, asked: _Asked, row_per_pdu: bool) -> dict[str, Cells]:
        table = self._tables.get(asked)
        if table is None:
            fresh = [oid for oid in asked.columns if not (row_per_pdu and oid in self._walked)]
            walked = await walk_apart(gufo, self._pysnmp.following, fresh, asked.max_rows)
            self._walked |= {oid: values for oid, values in walked.items() if len(values) < asked.max_rows}
            walked = {oid: walked[oid] if oid in walked else self._walked[oid] for oid in asked.columns}
            rows = rows_of(walked, self._clock.now_us())
            table = KnownRows.of(rows, asked.columns, asked.alongside, asked.max_rows)
            if table is not None:
                self._tables[asked] = table
            if not row_per_pdu:
                return rows
            if table is None:
                raise UnclearError
        return await table.read(gufo, self._clock.now_us)

    async def close(self) -> None:
        """Free the sockets."""
        self._forget()
        await self._pysnmp.close()

    def _forget(self) -> None:
        self._gufo: GufoClient | None = None
        self._heard = False
        self._scalars: set[Hashable] = set()
        self._walked: dict[str, Cells] = {}
        self._tables: dict[_Asked, KnownRows | None] = {}
        self._strikes: Counter[Hashable] = Counter()

    async def _by_gufo(self, key: Hashable, ask: Callable[[GufoClient], Awaitable[T]]) -> T | None:
        """What `ask` gives; None when pysnmp is to be asked. Raises UNREACHABLE after an answer was there before."""
        if self._strikes[key] == _STRIKES or self._unheard == _STRIKES:
            return None
        async with self._one_at_a_time:
            try:
                gufo = self._connected()
                answer = await ask(gufo)
            except ChangedError:
                self._walked.clear()
                return None
            except UnclearError:
                self._strikes[key] += 1
                return None
            except SilentError as silent:
                self._forget()  # pysnmp finds out what the agent is when it is back
                if gufo.answered:
                    raise CollectorError(Failure.UNREACHABLE, silence(self._credentials)) from silent
                self._unheard += 1
                return None
        self._strikes[key] = self._unheard = 0
        return answer

    def _connected(self) -> GufoClient:
        who, address = self._credentials, self._pysnmp.address
        if self._gufo is None:
            if address is None or who.community is None:
                raise UnclearError
            community = who.community.get_secret_value()
            self._gufo = GufoClient(address, community, who.timeout_seconds, who.retries, self._cost)
        return self._gufo
