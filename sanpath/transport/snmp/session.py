"""An SNMP session with pysnmp: numeric OIDs, no MIB files, bounded requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sanpath.plugin import Clock, CollectorError, Cost, Failure, SnmpCredentials, SnmpValue
from sanpath.transport.snmp import engine as shared
from sanpath.transport.snmp.authentication import auth_data, no_answer_text, refusal_text, undecrypted_text
from sanpath.transport.snmp.walk import Oid, VarBind, format_oid, parse_oid, walk_columns

SCALARS_PER_GET = 20
"""Scalars per request, so that an answer with strings fits one datagram."""

_REFUSALS = (6, 16)  # noAccess and authorizationError, RFC 3416


class PysnmpSession:
    """`plugin.Snmp` for one agent. The first request opens the socket."""

    def __init__(self, credentials: SnmpCredentials, clock: Clock, cost: Cost) -> None:
        self._credentials, self._clock, self._cost = credentials, clock, cost
        self._engine: shared.SharedEngine | None = None
        self._target: Any = None
        self._answered = False

    @property
    def address(self) -> tuple[str, int] | None:
        """The agent's address and port; None before the first request and after `close`."""
        return None if self._target is None else self._target.transport_address

    async def get(self, oids: Sequence[str]) -> dict[str, SnmpValue]:
        """Read scalars by full OID; None if the agent has no such object. Raises CollectorError."""
        from pysnmp.hlapi.v3arch.asyncio import get_cmd

        values: dict[str, SnmpValue] = {}
        for first in range(0, len(oids), SCALARS_PER_GET):
            requested = oids[first : first + SCALARS_PER_GET]
            answer = await self._request(get_cmd, (), [parse_oid(oid) for oid in requested])
            values.update(zip(requested, (value for _, value in answer), strict=False))
        return {oid: values.get(oid) for oid in oids}

    async def columns(
        self,
        oids: Sequence[str],
        max_rows: int = 20_000,
        alongside: str | None = None,
        row_per_pdu: bool = True,  # noqa: ARG002 - always so here
    ) -> dict[str, dict[str, SnmpValue]]:
        """Read columns of one table by GETBULK; see `plugin.Snmp.columns`. Raises CollectorError."""
        if alongside is None:
            return await walk_columns(self._bulk, self._clock.now_us, oids, max_rows)
        # A GETBULK answers its non-repeaters like GETNEXT: so the OID without the instance is requested.
        scalar = parse_oid(alongside)[:-1]
        last: list[SnmpValue] = [None]

        async def bulk(asked: Sequence[Oid], max_repetitions: int) -> Sequence[VarBind]:
            first, *bindings = await self._bulk([scalar, *asked], max_repetitions, non_repeaters=1)
            last[0] = first[1] if format_oid(first[0]) == alongside else None
            return bindings

        return await walk_columns(bulk, self._clock.now_us, oids, max_rows, lambda: last[0])

    async def following(self, oids: Sequence[Oid]) -> Sequence[VarBind]:
        """Read the object after each OID. A value of None: the MIB view ends there. Raises CollectorError."""
        return await self._bulk(oids, 1)

    async def close(self) -> None:
        """Close the socket, unless another session of this loop uses it."""
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
            credentials = self._credentials
            try:
                # retries=0: retries by pysnmp would not be counted as requests
                self._target = await UdpTransportTarget.create(
                    (credentials.host, credentials.port), credentials.timeout_seconds, 0
                )
            except (PySnmpError, OSError) as error:
                raise CollectorError(Failure.UNREACHABLE, f"no IPv4 address for host {credentials.host!r}") from error
            self._engine = shared.acquire(credentials.user)
            self._engine.costs[self._target.transport_address] = self._cost
        return self._engine

    async def _request(
        self, command: Callable[..., Any], arguments: tuple[int, ...], oids: Sequence[Oid]
    ) -> Sequence[VarBind]:
        """Send one PDU. Without an answer, repeat it as often as the credentials say."""
        from pysnmp.hlapi.v3arch.asyncio import ContextData, ObjectIdentity, ObjectType
        from pysnmp.proto.errind import RequestTimedOut

        engine, credentials = await self._connect(), self._credentials
        unsolicited = engine.socket.unsolicited.get(credentials.port)
        context = ContextData(contextName=credentials.user.context.encode() if credentials.user else b"")
        for _ in range(1 + credentials.retries):
            self._cost.requests += 1
            with engine.request_under_way():
                problem, status, index, bindings = await command(
                    engine.snmp,
                    auth_data(credentials),
                    self._target,
                    context,
                    *arguments,
                    *(ObjectType(ObjectIdentity(oid)) for oid in oids),
                    lookupMib=False,
                )
            if not isinstance(problem, RequestTimedOut):
                break
        else:
            raise self._unanswered(engine, engine.socket.unsolicited.get(credentials.port) != unsolicited)
        self._answered = True
        if refusal := refusal_text(credentials, problem):
            raise CollectorError(Failure.REFUSED, refusal)
        if problem:
            raise CollectorError(Failure.UNREADABLE, f"{credentials.host}:{credentials.port}: {problem}")
        if status:
            oid = format_oid(oids[(int(index) - 1) % len(oids)])
            failure = Failure.REFUSED if int(status) in _REFUSALS else Failure.UNREADABLE
            raise CollectorError(failure, f"{credentials.host}:{credentials.port}: {status.prettyPrint()} at {oid}")
        return [(tuple(oid), _decoded(value)) for oid, value in bindings]

    def _unanswered(self, engine: shared.SharedEngine, any_unsolicited: bool) -> CollectorError:
        """Return the error for a missing answer.

        An SNMPv3 agent that reported its engine ID but never answered is reachable, but cannot decrypt requests.
        """
        credentials = self._credentials
        if credentials.user and not self._answered and self._target.transport_address in engine.reported:
            return CollectorError(Failure.REFUSED, undecrypted_text(credentials, credentials.user))
        return CollectorError(
            Failure.UNREACHABLE,
            no_answer_text(credentials, engine.socket.unsolicited[credentials.port][1] if any_unsolicited else None),
        )


def _decoded(value: Any) -> SnmpValue:
    from pyasn1.type import univ

    if isinstance(value, univ.Null):  # noSuchObject, noSuchInstance and endOfMibView are Nulls, too
        return None
    if isinstance(value, univ.ObjectIdentifier):
        return str(value)
    if isinstance(value, univ.Integer):
        return int(value)
    return bytes(value)
