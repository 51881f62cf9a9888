"""An SNMP session over pysnmp: numeric OIDs, no MIB files, bounded requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sanpath.plugin import Clock, CollectorError, Cost, Failure, SnmpCredentials, SnmpValue
from sanpath.transport.snmp import engine as shared
from sanpath.transport.snmp.authentication import auth_data, refusal, silence, undecrypted
from sanpath.transport.snmp.walk import Oid, VarBind, format_oid, parse_oid, walk_columns

SCALARS_PER_GET = 20
"""So that an answer with strings fits one datagram."""

_REFUSALS = (6, 16)  # noAccess and authorizationError, RFC 3416


class PysnmpSession:
    """`plugin.Snmp` for one agent. The socket is opened by the first request."""

    def __init__(self, credentials: SnmpCredentials, clock: Clock, cost: Cost) -> None:
        self._credentials, self._clock, self._cost = credentials, clock, cost
        self._engine: shared.SharedEngine | None = None
        self._target: Any = None
        self._answered = False

    @property
    def address(self) -> tuple[str, int] | None:
        """Where the agent is asked; None before the first request and after `close`."""
        return None if self._target is None else self._target.transport_address

    async def get(self, oids: Sequence[str]) -> dict[str, SnmpValue]:
        """Scalars by full OID; None where the agent has no such object. Raises CollectorError."""
        from pysnmp.hlapi.v3arch.asyncio import get_cmd

        values: dict[str, SnmpValue] = {}
        for first in range(0, len(oids), SCALARS_PER_GET):
            asked = oids[first : first + SCALARS_PER_GET]
            answer = await self._request(get_cmd, (), [parse_oid(oid) for oid in asked])
            values.update(zip(asked, (value for _, value in answer), strict=False))
        return {oid: values.get(oid) for oid in oids}

    async def columns(
        self,
        oids: Sequence[str],
        max_rows: int = 20_000,
        alongside: str | None = None,
        row_per_pdu: bool = True,  # noqa: ARG002 - they always are
    ) -> dict[str, dict[str, SnmpValue]]:
        """Columns of one table by GETBULK; see `plugin.Snmp.columns`. Raises CollectorError."""
        if alongside is None:
            return await walk_columns(self._bulk, self._clock.now_us, oids, max_rows)
        # A GETBULK answers its non-repeaters as GETNEXT does: the object's name without the instance is asked.
        scalar = parse_oid(alongside)[:-1]
        last: list[SnmpValue] = [None]

        async def bulk(asked: Sequence[Oid], max_repetitions: int) -> Sequence[VarBind]:
            first, *rest = await self._bulk([scalar, *asked], max_repetitions, non_repeaters=1)
            last[0] = first[1] if format_oid(first[0]) == alongside else None
            return rest

        return await walk_columns(bulk, self._clock.now_us, oids, max_rows, lambda: last[0])

    async def following(self, oids: Sequence[Oid]) -> Sequence[VarBind]:
        """The object behind each of these; None for a value: the MIB view ends there. Raises CollectorError."""
        return await self._bulk(oids, 1)

    async def close(self) -> None:
        """Free the socket, when no other session of this loop uses it."""
        if self._engine is not None:
            self._engine.costs.pop(self._target.transport_address, None)
            self._engine.reported.discard(self._target.transport_address)
            shared.release(self._engine)
            self._engine = self._target = None

    async def _bulk(self, oids: Sequence[Oid], max_repetitions: int, non_repeaters: int = 0) -> Sequence[VarBind]:
        from pysnmp.hlapi.v3arch.asyncio import bulk_cmd

        return await self._request(bulk_cmd, (non_repeaters, max_repetitions), oids)

    async def _connect(self) -> shared.SharedEngine:
        from pysnmp.error import PySnmpError
        from pysnmp.hlapi.v3arch.asyncio import UdpTransportTarget

        if self._engine is None:
            who = self._credentials
            try:
                # retries=0: pysnmp's own would hide what the agent was really asked
                self._target = await UdpTransportTarget.create((who.host, who.port), who.timeout_seconds, 0)
            except (PySnmpError, OSError) as error:
                raise CollectorError(Failure.UNREACHABLE, f"no IPv4 address for host {who.host!r}") from error
            self._engine = shared.acquire(who.user)
            self._engine.costs[self._target.transport_address] = self._cost
        return self._engine

    async def _request(
        self, command: Callable[..., Any], arguments: tuple[int, ...], oids: Sequence[Oid]
    ) -> Sequence[VarBind]:
        """One PDU, repeated after silence as often as the credentials say."""
        from pysnmp.hlapi.v3arch.asyncio import ContextData, ObjectIdentity, ObjectType
        from pysnmp.proto.errind import RequestTimedOut

        engine, who = await self._connect(), self._credentials
        strangers = engine.socket.strangers
        context = ContextData(contextName=who.user.context.encode() if who.user else b"")
        for _ in range(1 + who.retries):
            self._cost.requests += 1
            with engine.asking():
                problem, status, index, bindings = await command(
                    engine.snmp,
                    auth_data(who),
                    self._target,
                    context,
                    *arguments,
                    *(ObjectType(ObjectIdentity(oid)) for oid in oids),
                    lookupMib=False,
                )
            if not isinstance(problem, RequestTimedOut):
                break
        else:
            raise self._unanswered(engine, engine.socket.strangers > strangers)
        self._answered = True
        if refused := refusal(who, problem):
            raise CollectorError(Failure.REFUSED, refused)
        if problem:
            raise CollectorError(Failure.UNREADABLE, f"{who.host}:{who.port}: {problem}")
        if status:
            place = format_oid(oids[(int(index) - 1) % len(oids)])
            failure = Failure.REFUSED if int(status) in _REFUSALS else Failure.UNREADABLE
            raise CollectorError(failure, f"{who.host}:{who.port}: {status.prettyPrint()} at {place}")
        return [(tuple(oid), _decoded(value)) for oid, value in bindings]

    def _unanswered(self, engine: shared.SharedEngine, by_a_stranger: bool) -> CollectorError:
        """An agent that has named its SNMPv3 engine and has never answered since is there, but cannot read us."""
        who = self._credentials
        if who.user and not self._answered and self._target.transport_address in engine.reported:
            return CollectorError(Failure.REFUSED, undecrypted(who, who.user))
        return CollectorError(Failure.UNREACHABLE, silence(who, engine.socket.stranger if by_a_stranger else None))


def _decoded(value: Any) -> SnmpValue:
    from pyasn1.type import univ

    if isinstance(value, univ.Null):  # noSuchObject, noSuchInstance and endOfMibView are Nulls too
        return None
    if isinstance(value, univ.ObjectIdentifier):
        return str(value)
    if isinstance(value, univ.Integer):
        return int(value)
    return bytes(value)
