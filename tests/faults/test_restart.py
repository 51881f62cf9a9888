"""A switch that restarts during a run: its uptime and counters begin again, and rates stay what they were."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from pysnmp.proto.rfc1902 import Counter64, Gauge32, Integer32, OctetString, TimeTicks

from sanpath.facts.deltas import step_samples
from sanpath.model import Step
from sanpath.recording.duck import connect
from sanpath.recording.read import Recording
from sanpath_lab.object_tree import Getter, ObjectTree, Oid
from sanpath_lab.snmp_agent import SnmpAgent
from tests.recorder.processes import sanpath

BYTES_PER_SECOND = 100e6
UPTIME_SECONDS = 4e6
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
def served(switch: RestartingSwitch) -> Iterator[int]:
    """Its agent's port, while the context is entered."""
    loop, ready = asyncio.new_event_loop(), threading.Event()
    made: list[SnmpAgent] = []

    def serve() -> None:
        asyncio.set_event_loop(loop)
        loop.call_soon(lambda: made.append(SnmpAgent(switch.objects(), "public", lambda: None)))
        loop.call_soon(ready.set)
        loop.run_forever()
        made[0].close()
        loop.close()

    thread = threading.Thread(target=serve)
    thread.start()
    ready.wait()
    try:
        yield made[0].address[1]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    folder = tmp_path_factory.mktemp("restart")
    switch = RestartingSwitch()
    with served(switch) as port:
        config = {"name": "sw1", "collector": "snmp_if", "host": "127.0.0.1", "port": port, "every_seconds": 0.5}
        (folder / "community").write_text("public")
        (folder / "sanpath.yaml").write_text(
            yaml.safe_dump({"sources": [config | {"community": "file:community"}]})
        )
        threading.Timer(4.0, switch.restart).start()
        done = sanpath("run", "--for", "8", "--into", "r.sanpath", "--format", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return Recording(folder / "r.sanpath")


def test_the_restart_is_an_event_and_no_failure(recording: Recording) -> None:
    restarts = [event for _, event in recording.events() if event.name == "device-restarted"]
    assert len(restarts) == 1
    assert float(restarts[0].detail["uptime_seconds_before"] or 0) > UPTIME_SECONDS
    assert float(restarts[0].detail["uptime_seconds"] or 9) < 2
    assert {poll.outcome for poll in recording.polls()} == {"ok"}


def test_no_rate_is_wrong_for_it(recording: Recording) -> None:
    polls = recording.polls()
    whole = Step("all of it", polls[0].started, polls[-1].ended, "whole run", (), None)
    connection = connect()
    (port,) = step_samples(recording, connection, "switch_port", [whole])
    connection.close()
    rates = [rate for rate in port.rates["bytes_rx_total"] if rate is not None]
    assert len(rates) >= 10
    assert rates == pytest.approx([BYTES_PER_SECOND] * len(rates), rel=0.05)
