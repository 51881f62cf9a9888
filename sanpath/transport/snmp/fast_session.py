"""An SNMP session that reads with gufo-snmp, or with pysnmp if the results might differ."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import NamedTuple, TypeVar

from sanpath.plugin import Clock, CollectorError, Cost, Failure, SnmpCredentials, SnmpValue
from sanpath.transport.snmp.authentication import no_answer_text
from sanpath.transport.snmp.cached_rows import CachedRows, ChangedError, SilentError, UnclearError
from sanpath.transport.snmp.column_walk import join_columns, walk_separately
from sanpath.transport.snmp.gufo import GufoClient
from sanpath.transport.snmp.session import SCALARS_PER_GET, PysnmpSession

_MAX_FAILURES = 3
"""Consecutive failures, as of an agent that refuses a GET of this size, after which gufo-snmp is no longer used."""

T = TypeVar("T")
Cells = dict[str, SnmpValue]
_NEVER_READ = object()


class _TableKey(NamedTuple):
    """The arguments that identify a table."""

    columns: tuple[str, ...]
    max_rows: int
    alongside: str | None


class FastSession:
    """`plugin.Snmp` for one agent of SNMP v2c. pysnmp sends each first request: it reports why an answer is missing.

    A table is read by GET, with complete rows in each answer, once a walk of its columns has found its rows.
    """

    def __init__(self, credentials: SnmpCredentials, clock: Clock, cost: Cost) -> None:
        self._credentials, self._clock, self._cost = credentials, clock, cost
        self._pysnmp = PysnmpSession(credentials, clock, cost)
        self._one_at_a_time = asyncio.Lock()
        self._unanswered = 0
        self._forget()

    @staticmethod
    def supports(credentials: SnmpCredentials) -> bool:
        """Whether gufo-snmp can be used with these credentials.

        It does not authenticate SNMPv3 answers, and encodes a community that is not ASCII as UTF-8.
        """
        return (
            credentials.user is None
            and credentials.community is not None
            and credentials.community.get_secret_value().isascii()
        )

    async def get(self, oids: Sequence[str]) -> dict[str, SnmpValue]:
        """Read scalars by full OID; None if the agent has no such object. Raises CollectorError."""
        key = tuple(oids)
        if key in self._scalars:
            answer = await self._try_gufo(key, lambda gufo: gufo.get(list(oids)))
            if answer is not None and answer.keys() == set(oids):
                return {oid: answer[oid] for oid in oids}
        values = await self._pysnmp.get(oids)
        self._has_answered = True
        if len(key) <= SCALARS_PER_GET and None not in values.values():
            self._scalars.add(key)
        return values

    async def columns(
        self, oids: Sequence[str], max_rows: int = 20_000, alongside: str | None = None, row_per_pdu: bool = True
    ) -> dict[str, Cells]:
        """Read columns of one table; see `plugin.Snmp.columns`. Raises CollectorError."""
        key = _TableKey(tuple(oids), max_rows, alongside)
        if self._has_answered and self._tables.get(key, _NEVER_READ) is not None:
            answer = await self._try_gufo(key, lambda gufo: self._read(gufo, key, row_per_pdu))
            if answer is not None:
                return answer
        rows = await self._pysnmp.columns(oids, max_rows, alongside)
        self._has_answered = True
        self._tables[key] = CachedRows.from_walk(rows, oids, alongside, max_rows)
        return rows

    async def _read(self, gufo: GufoClient, key: _TableKey, row_per_pdu: bool) -> dict[str, Cells]:
        table = self._tables.get(key)
        if table is None:
            unread = [oid for oid in key.columns if not (row_per_pdu and oid in self._walked)]
            walked = await walk_separately(gufo, self._pysnmp.following, unread, key.max_rows)
            self._walked |= {oid: values for oid, values in walked.items() if len(values) < key.max_rows}
            walked = {oid: walked[oid] if oid in walked else self._walked[oid] for oid in key.columns}
            rows = join_columns(walked, self._clock.now_us())
            table = CachedRows.from_walk(rows, key.columns, key.alongside, key.max_rows)
            if table is not None:
                self._tables[key] = table
            if not row_per_pdu:
                return rows
            if table is None:
                raise UnclearError
        return await table.read(gufo, self._clock.now_us)

    async def close(self) -> None:
        """Close the sockets."""
        self._forget()
        await self._pysnmp.close()

    def _forget(self) -> None:
        self._gufo: GufoClient | None = None
        self._has_answered = False
        self._scalars: set[Hashable] = set()
        self._walked: dict[str, Cells] = {}
        self._tables: dict[_TableKey, CachedRows | None] = {}
        self._failures: Counter[Hashable] = Counter()

    async def _try_gufo(self, key: Hashable, ask: Callable[[GufoClient], Awaitable[T]]) -> T | None:
        """Return the result of `ask`; None: pysnmp must ask. Raises UNREACHABLE if the agent answered before."""
        if self._failures[key] == _MAX_FAILURES or self._unanswered == _MAX_FAILURES:
            return None
        async with self._one_at_a_time:
            try:
                gufo = self._connected()
                answer = await ask(gufo)
            except ChangedError:
                self._walked.clear()
                return None
            except UnclearError:
                self._failures[key] += 1
                return None
            except SilentError as error:
                self._forget()  # pysnmp sends the first requests when the agent answers again
                if gufo.answered:
                    raise CollectorError(Failure.UNREACHABLE, no_answer_text(self._credentials)) from error
                self._unanswered += 1
                return None
        self._failures[key] = self._unanswered = 0
        return answer

    def _connected(self) -> GufoClient:
        credentials, address = self._credentials, self._pysnmp.address
        if self._gufo is None:
            if address is None or credentials.community is None:
                raise UnclearError
            community = credentials.community.get_secret_value()
            self._gufo = GufoClient(address, community, credentials.timeout_seconds, credentials.retries, self._cost)
        return self._gufo
