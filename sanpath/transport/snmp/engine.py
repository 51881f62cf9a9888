"""One pysnmp engine for each event loop and user, shared by their sessions: each engine costs 40 ms and a socket.

An engine identifies a user only by name. So two switches with users of the same name but different passwords need two
engines.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from sanpath.plugin import Cost, SnmpUser

if TYPE_CHECKING:
    from sanpath.transport.snmp.solicited_transport import Address, SolicitedTransport

_ANSWER_ARRIVED = "rfc3412.receiveMessage:response"
_REPORT_ARRIVED = "rfc3412.prepareDataElements:internal"


class SharedEngine:
    """A pysnmp SnmpEngine that charges the bytes of each answer to the session with the sender's address.

    `reported`: agents that have sent a report, as they do after the first request of an SNMPv3 session.
    """

    def __init__(self, user: SnmpUser | None) -> None:
        from pysnmp.carrier.asyncio.dgram.udp import DOMAIN_NAME
        from pysnmp.entity.config import add_transport
        from pysnmp.hlapi.v3arch.asyncio import SnmpEngine

        from sanpath.transport.snmp.solicited_transport import SolicitedTransport

        self.user = user
        self.snmp = SnmpEngine()
        self.socket: SolicitedTransport = SolicitedTransport().open_client_mode()
        add_transport(self.snmp, DOMAIN_NAME, self.socket)
        self.costs: dict[Address, Cost] = {}
        self.reported: set[Address] = set()
        self.sessions = self._requests = 0
        self._run_timers(False)
        self.snmp.observer.register_observer(self._answer_arrived, _ANSWER_ARRIVED)
        self.snmp.observer.register_observer(self._report_arrived, _REPORT_ARRIVED)

    @contextmanager
    def request_under_way(self) -> Iterator[None]:
        """Run the engine's timers only while a request is in progress.

        They fire ten times a second, which in a day of polling costs more than the polls of a small switch.
        """
        if self._requests == 0:
            self._run_timers(True)
        self._requests += 1
        try:
            yield
        finally:
            self._requests -= 1
            if self._requests == 0:
                self._run_timers(False)

    def _run_timers(self, running: bool) -> None:
        dispatcher = self.snmp.transport_dispatcher
        if dispatcher is None:  # closed during a request
            return
        if dispatcher.loopingcall is not None:
            dispatcher.loopingcall.cancel()
        dispatcher.loopingcall = asyncio.ensure_future(dispatcher.handle_timeout()) if running else None

    def _answer_arrived(self, _engine: Any, _point: str, variables: dict[str, Any], _context: Any) -> None:
        if cost := self.costs.get(_address(variables)):
            cost.bytes_in += len(variables["wholeMsg"])

    def _report_arrived(self, _engine: Any, _point: str, variables: dict[str, Any], _context: Any) -> None:
        self.reported.add(_address(variables))


def _address(variables: dict[str, Any]) -> Address:
    from sanpath.transport.snmp.solicited_transport import plain_address

    return plain_address(variables["transportAddress"])


_engines: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[SnmpUser | None, SharedEngine]] = WeakKeyDictionary()


def acquire(user: SnmpUser | None = None) -> SharedEngine:
    """Return the running loop's engine for an SNMPv3 user, or with None the one for all v2c sessions.

    It is created for the first session that needs it.
    """
    engines = _engines.setdefault(asyncio.get_running_loop(), {})
    engine = engines.get(user)
    if engine is None:
        engine = engines[user] = SharedEngine(user)
    engine.sessions += 1
    return engine


def release(engine: SharedEngine) -> None:
    """Release a session's use of the engine; its socket is closed with the last session."""
    engine.sessions -= 1
    if engine.sessions == 0:
        _engines.get(asyncio.get_running_loop(), {}).pop(engine.user, None)
        engine.snmp.close_dispatcher()
