"""A switch with one port, served over SNMP on 127.0.0.1, that can be restarted."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pysnmp.proto.rfc1902 import Counter64, Gauge32, Integer32, OctetString, TimeTicks

from sanpath_lab.object_tree import Getter, ObjectTree, Oid
from sanpath_lab.snmp_agent import SnmpAgent
from tests.faults.proxies import Address

BYTES_PER_SECOND = 100e6
UPTIME_SECONDS = 4e6
COMMUNITY = "public"
SYSTEM: Oid = (1, 3, 6, 1, 2, 1, 1)
IF_ENTRY: Oid = (1, 3, 6, 1, 2, 1, 2, 2, 1)
IF_X_ENTRY: Oid = (1, 3, 6, 1, 2, 1, 31, 1, 1, 1)
ETHERNET, UP = 6, 1


class RestartingSwitch:
    """One port with constant traffic. A restart takes both the uptime and the counters back to zero."""

    def __init__(self) -> None:
        self._started = time.monotonic() - UPTIME_SECONDS

    def restart(self) -> None:
        self._started = time.monotonic()

    def objects(self) -> ObjectTree:
        def seconds() -> float:
            return time.monotonic() - self._started

        def octets() -> Counter64:
            return Counter64(int(seconds() * BYTES_PER_SECOND))

        getters: dict[Oid, Getter] = {
            (*SYSTEM, 1, 0): lambda: OctetString("a switch"),
            (*SYSTEM, 3, 0): lambda: TimeTicks(int(seconds() * 100)),
            (*SYSTEM, 5, 0): lambda: OctetString("sw1"),
            (*IF_ENTRY, 2, 1): lambda: OctetString("p1"),
            (*IF_ENTRY, 3, 1): lambda: Integer32(ETHERNET),
            (*IF_ENTRY, 8, 1): lambda: Integer32(UP),
            (*IF_X_ENTRY, 1, 1): lambda: OctetString("p1"),
            (*IF_X_ENTRY, 6, 1): octets,
            (*IF_X_ENTRY, 10, 1): octets,
            (*IF_X_ENTRY, 15, 1): lambda: Gauge32(10_000),
        }
        return ObjectTree(getters)


@contextmanager
def served(switch: RestartingSwitch) -> Iterator[Address]:
    """Its agent's address, while the context is entered."""
    loop, ready = asyncio.new_event_loop(), threading.Event()
    made: list[SnmpAgent] = []

    def serve() -> None:
        asyncio.set_event_loop(loop)
        loop.call_soon(lambda: made.append(SnmpAgent(switch.objects(), COMMUNITY, lambda: None)))
        loop.call_soon(ready.set)
        loop.run_forever()
        made[0].close()
        loop.run_until_complete(asyncio.sleep(0))  # for what the agent has cancelled
        loop.close()

    thread = threading.Thread(target=serve)
    thread.start()
    ready.wait()
    try:
        yield made[0].address
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
