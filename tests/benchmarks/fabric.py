"""`python -m tests.benchmarks.fabric PORTS…`: switches with so many ports together, answering over SNMP v2c.

Prints JSON, the UDP ports on 127.0.0.1 for each number of ports, and answers until it is killed. A switch has at most
384 ports, as a director has, and IF-MIB alone: what every tool can read without knowing a vendor.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.transport.ber import COUNTER32, COUNTER64, GAUGE32, TIME_TICKS
from tests.transport.recorded_agent import Objects, RecordedAgent, integer, text

LARGEST = 384
COLUMNS = {
    "ifHCInOctets": "1.3.6.1.2.1.31.1.1.1.6",
    "ifHCOutOctets": "1.3.6.1.2.1.31.1.1.1.10",
    "ifHighSpeed": "1.3.6.1.2.1.31.1.1.1.15",
    "ifOperStatus": "1.3.6.1.2.1.2.2.1.8",
    "ifInErrors": "1.3.6.1.2.1.2.2.1.14",
    "ifOutErrors": "1.3.6.1.2.1.2.2.1.20",
    "ifInDiscards": "1.3.6.1.2.1.2.2.1.13",
    "ifOutDiscards": "1.3.6.1.2.1.2.2.1.19",
    "ifHCInUcastPkts": "1.3.6.1.2.1.31.1.1.1.7",
    "ifHCOutUcastPkts": "1.3.6.1.2.1.31.1.1.1.11",
}
"""What sanpath polls of a Fibre Channel port that has IF-MIB only."""

_FIBRE_CHANNEL, _UP = 56, 1
_VALUES = {"ifHighSpeed": (16_000, GAUGE32), "ifOperStatus": (_UP, 2)}


def switches(ports: int) -> list[int]:
    """How many ports each switch of a fabric has."""
    return [min(LARGEST, ports - first) for first in range(0, ports, LARGEST)]


def objects(ports: int) -> Objects:
    """What a switch answers, in the order of its MIB."""
    found = [
        ("1.3.6.1.2.1.1.1.0", text(b"a switch")),
        ("1.3.6.1.2.1.1.3.0", integer(4242, TIME_TICKS)),
        ("1.3.6.1.2.1.1.5.0", text(b"sw")),
    ]
    for port in range(ports):
        index = 1 << 24 | port
        found += [
            (f"1.3.6.1.2.1.2.2.1.2.{index}", text(b"fc1/%d" % port)),
            (f"1.3.6.1.2.1.2.2.1.3.{index}", integer(_FIBRE_CHANNEL)),
            (f"1.3.6.1.2.1.31.1.1.1.1.{index}", text(b"fc1/%d" % port)),
        ]
        for name, column in COLUMNS.items():
            wide = (10**15 + port, COUNTER64) if "HC" in name else (port, COUNTER32)
            found.append((f"{column}.{index}", integer(*_VALUES.get(name, wide))))
    return sorted(found, key=lambda entry: tuple(map(int, entry[0].split("."))))


@contextmanager
def fabrics(sizes: Sequence[int]) -> Iterator[dict[int, list[int]]]:
    """The UDP ports of the switches of each fabric, served by a process of its own."""
    command = [sys.executable, "-m", "tests.benchmarks.fabric", *map(str, sizes)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield {int(size): agents for size, agents in json.loads(process.stdout.readline()).items()}
        finally:
            process.kill()


def _serve(sizes: Sequence[int]) -> None:
    agents = {size: [RecordedAgent(objects(ports)) for ports in switches(size)] for size in sizes}
    threads = [threading.Thread(target=agent.run) for several in agents.values() for agent in several]
    for thread in threads:
        thread.start()
    print(json.dumps({size: [agent.port for agent in several] for size, several in agents.items()}), flush=True)


if __name__ == "__main__":
    _serve(list(map(int, sys.argv[1:])))
