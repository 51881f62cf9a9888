"""`python -m tests.benchmarks.snmp_client CLIENT HOST PORT WARM_UP POLLS`: what a process spends on polling a switch.

Prints JSON: rows, seconds of CPU time of the first poll (a walk by pysnmp) and of each of the others on average, and
the resident set before and after those.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from resource import getpagesize

from pydantic import SecretStr

from sanpath.plugin import Cost, SnmpCredentials
from sanpath.recording.writing.clock import RecorderClock
from sanpath.transport.snmp.fast_session import FastSession
from sanpath.transport.snmp.session import PysnmpSession

UPTIME = "1.3.6.1.2.1.1.3.0"
COLUMNS = [f"1.3.6.1.2.1.31.1.1.1.{number}" for number in range(6, 14)]
COLUMNS += [f"1.3.6.1.2.1.2.2.1.{number}" for number in (14, 20)]
"""The eight 64-bit counters of ifXTable, and errors in and out of ifTable."""

CLIENTS: dict[str, type[FastSession] | type[PysnmpSession]] = {"fast": FastSession, "pysnmp": PysnmpSession}


async def spent(client: str, host: str, port: int, warm_up: int, polls: int) -> dict[str, float]:
    """Seconds and bytes."""
    session = CLIENTS[client](SnmpCredentials(host, port, SecretStr("public")), RecorderClock(), Cost())
    began = time.process_time()
    rows = await session.columns(COLUMNS, alongside=UPTIME)
    walk = time.process_time() - began
    for _ in range(warm_up):
        await session.columns(COLUMNS, alongside=UPTIME)
    before, began = _resident_bytes(), time.process_time()
    for _ in range(polls):
        rows = await session.columns(COLUMNS, alongside=UPTIME)
    poll = (time.process_time() - began) / polls
    after = _resident_bytes()
    await session.close()
    return {
        "rows": len(rows),
        "walk_seconds": walk,
        "poll_seconds": poll,
        "before_bytes": before,
        "after_bytes": after,
    }


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * getpagesize()


if __name__ == "__main__":
    name, address, *numbers = sys.argv[1:]
    print(json.dumps(asyncio.run(spent(name, address, *map(int, numbers)))))
