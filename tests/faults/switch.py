"""A switch with one port, served over SNMP on 127.0.0.1, that can be restarted."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from duckdb import connect
from pysnmp.proto.rfc1902 import Counter64, Gauge32, Integer32, OctetString, TimeTicks

from sanpath.recording.reading.recording import Recording
from sanpath_lab.switch.object_tree import Getter, ObjectTree, Oid
from sanpath_lab.switch.snmp_agent import SnmpAgent
from tests.faults.proxies import Address

BYTES_PER_SECOND = 100e6
UPTIME_SECONDS = 4e6
COMMUNITY = "public"
CLOCKS_US = 50e3
"""By how much the clocks of the switch and the recorder may disagree: a tenth of the time between two polls."""
SYSTEM: Oid = (1, 3, 6, 1, 2, 1, 1)
IF_ENTRY: Oid = (1, 3, 6, 1, 2, 1, 2, 2, 1)
IF_X_ENTRY: Oid = (1, 3, 6, 1, 2, 1, 31, 1, 1, 1)
ETHERNET, UP = 6, 1


class RestartingSwitch:
    """One port with constant traffic. A restart takes both the uptime and the counters back to zero.

    `starts`: when it was started, in seconds of the monotonic clock."""

    def __init__(self) -> None:
        self.starts = [time.monotonic() - UPTIME_SECONDS]
        self._is_read = threading.Event()

    def after_first_read(self, *actions: tuple[float, Callable[[], object]]) -> None:
        """Take each action so many seconds after its counters are first read: a busy machine starts a run late."""

        def wait() -> None:
            self._is_read.wait(60)
            for seconds, action in actions:
                threading.Timer(seconds, action).start()

        threading.Thread(target=wait, daemon=True).start()

    def restart(self) -> None:
        self.starts.append(time.monotonic())

    def counted_at(self, octets: float) -> list[float]:
        """When the port's counter stood at `octets`, after each start, in seconds since the epoch."""
        until_now = time.time() - time.monotonic()
        return [start + octets / BYTES_PER_SECOND + until_now for start in self.starts]

    def objects(self) -> ObjectTree:
        def seconds() -> float:
            return time.monotonic() - self.starts[-1]

        def octets() -> Counter64:
            self._is_read.set()
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


def assert_each_answer_is_of_its_poll(recording: Recording, switch: RestartingSwitch) -> None:
    """Each recorded counter is what the switch counted during the poll that recorded it, however late that was."""
    connection = connect()
    recording.view(connection, "switch_port")
    samples = connection.execute("SELECT source, seen, bytes_rx_total FROM samples_switch_port").fetchall()
    connection.close()
    assert samples
    polls = recording.polls()
    for source, seen, octets in samples:
        started = next(poll.started for poll in polls if poll.source == source and poll.started <= seen <= poll.ended)
        counted = [seconds * 1e6 for seconds in switch.counted_at(octets)]
        assert any(started - CLOCKS_US <= at <= seen + CLOCKS_US for at in counted), (source, seen, octets)
