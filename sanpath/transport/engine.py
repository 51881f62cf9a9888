"""One pysnmp engine an event loop, shared by its sessions: each would cost 40 ms and a socket of its own."""

from __future__ import annotations

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

from sanpath.plugin import Cost

Address = tuple[str, int]
_ANSWER_ARRIVED = "rfc3412.receiveMessage:response"


class SharedEngine:
    """A pysnmp SnmpEngine that books the bytes of every answer to the session that asked its address."""

    def __init__(self) -> None:
        from pysnmp.hlapi.v3arch.asyncio import SnmpEngine

        self.snmp = SnmpEngine()
        self.costs: dict[Address, Cost] = {}
        self.sessions = 0
        self.snmp.observer.register_observer(self._answer_arrived, _ANSWER_ARRIVED)

    def _answer_arrived(self, _engine: Any, _point: str, variables: dict[str, Any], _context: Any) -> None:
        host, port = variables["transportAddress"][:2]
        if cost := self.costs.get((str(host), int(port))):
            cost.bytes_in += len(variables["wholeMsg"])


_engines: WeakKeyDictionary[asyncio.AbstractEventLoop, SharedEngine] = WeakKeyDictionary()


def acquire() -> SharedEngine:
    """The running loop's engine; made when its first session asks."""
    loop = asyncio.get_running_loop()
    engine = _engines.get(loop)
    if engine is None:
        engine = _engines[loop] = SharedEngine()
    engine.sessions += 1
    return engine


def release(engine: SharedEngine) -> None:
    """Give the engine back; its socket is closed with the last session."""
    engine.sessions -= 1
    if engine.sessions == 0:
        _engines.pop(asyncio.get_running_loop(), None)
        engine.snmp.close_dispatcher()
