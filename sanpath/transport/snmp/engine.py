"""One pysnmp engine an event loop and user, shared by its sessions: each would cost 40 ms and a socket of its own.

An engine knows a user by name alone: two switches whose users are namesakes with different passwords need two.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from sanpath.plugin import Cost, SnmpUser

if TYPE_CHECKING:
    from sanpath.transport.snmp.asked_only import Address, AskedOnlyTransport

_ANSWER_ARRIVED = "rfc3412.receiveMessage:response"
_REPORT_ARRIVED = "rfc3412.prepareDataElements:internal"


class SharedEngine:
    """A pysnmp SnmpEngine that books the bytes of every answer to the session that asked its address, and no other's.

    `reported`: agents that have sent a report, as they do to the first request of an SNMPv3 session.
    """

    def __init__(self, user: SnmpUser | None) -> None:
        from pysnmp.carrier.asyncio.dgram.udp import DOMAIN_NAME
        from pysnmp.entity.config import add_transport
        from pysnmp.hlapi.v3arch.asyncio import SnmpEngine

        from sanpath.transport.snmp.asked_only import AskedOnlyTransport

        self.user = user
        self.snmp = SnmpEngine()
        self.socket: AskedOnlyTransport = AskedOnlyTransport().open_client_mode()
        add_transport(self.snmp, DOMAIN_NAME, self.socket)
        self.costs: dict[Address, Cost] = {}
        self.reported: set[Address] = set()
        self.sessions = self._requests = 0
        self._keep_time(False)
        self.snmp.observer.register_observer(self._answer_arrived, _ANSWER_ARRIVED)
        self.snmp.observer.register_observer(self._report_arrived, _REPORT_ARRIVED)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Time passes in the engine while a request is under way, and only then: its clock ticks ten times a second,
        which in a day of polling costs more than the polls of a small switch."""
        if self._requests == 0:
            self._keep_time(True)
        self._requests += 1
        try:
            yield
        finally:
            self._requests -= 1
            if self._requests == 0:
                self._keep_time(False)

    def _keep_time(self, on: bool) -> None:
        dispatcher = self.snmp.transport_dispatcher
        if dispatcher is None:  # closed while a request was under way
            return
        if dispatcher.loopingcall is not None:
            dispatcher.loopingcall.cancel()
        dispatcher.loopingcall = asyncio.ensure_future(dispatcher.handle_timeout()) if on else None

    def _answer_arrived(self, _engine: Any, _point: str, variables: dict[str, Any], _context: Any) -> None:
        if cost := self.costs.get(_address(variables)):
            cost.bytes_in += len(variables["wholeMsg"])

    def _report_arrived(self, _engine: Any, _point: str, variables: dict[str, Any], _context: Any) -> None:
        self.reported.add(_address(variables))


def _address(variables: dict[str, Any]) -> Address:
    from sanpath.transport.snmp.asked_only import address

    return address(variables["transportAddress"])


_engines: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[SnmpUser | None, SharedEngine]] = WeakKeyDictionary()


def acquire(user: SnmpUser | None = None) -> SharedEngine:
    """The running loop's engine of an SNMPv3 user, None: of all v2c sessions; made when its first session asks."""
    here = _engines.setdefault(asyncio.get_running_loop(), {})
    engine = here.get(user)
    if engine is None:
        engine = here[user] = SharedEngine(user)
    engine.sessions += 1
    return engine


def release(engine: SharedEngine) -> None:
    """Give the engine back; its socket is closed with the last session."""
    engine.sessions -= 1
    if engine.sessions == 0:
        _engines.get(asyncio.get_running_loop(), {}).pop(engine.user, None)
        engine.snmp.close_dispatcher()
