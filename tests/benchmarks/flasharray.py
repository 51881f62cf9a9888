"""What a poll of a FlashArray with 2,000 volumes costs in CPU, against json.loads over the same answers.

Goals: under 0.05 s; at most 3 times json.loads. Answers are as large as those of Purity 6.3; nothing is sent.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Mapping
from typing import Any

from pydantic import SecretStr

from sanpath.plugin import HttpReply
from sanpath_collectors.flasharray.collector import FlashArray
from sanpath_collectors.flasharray.config import FlashArrayConfig
from tests.benchmarks.rounds import interleaved, ratios, spread

ROUNDS = 20
VOLUMES, HOSTS, PORTS = 2_000, 100, 16
DIRECTIONS = ("read", "write", "mirrored_write")
PARTS = ("usec", "san_usec", "queue_usec", "qos_rate_limit_usec", "service_usec")


def performance(name: str, noise: random.Random) -> dict[str, Any]:
    """A performance item with the fields of Purity 6.3."""
    item: dict[str, Any] = {"name": name, "id": f"{noise.getrandbits(128):032x}", "time": 1_800_000_000_000}
    for direction in DIRECTIONS:
        item |= {f"{part}_per_{direction}_op": noise.randrange(2_000) for part in PARTS}
        item[f"{direction}_bytes_per_sec"] = noise.randrange(10**8)
        item[f"{direction}s_per_sec"] = noise.randrange(10**4)
        item[f"bytes_per_{direction}"] = noise.randrange(10**5)
    return item | {"bytes_per_op": 4096, "service_usec_per_read_op_cache_reduction": None, "queue_depth": None}


def answers() -> dict[str, bytes]:
    """Endpoint → body."""
    noise = random.Random(1)
    volumes = [f"vol{number:04}" for number in range(VOLUMES)]
    hosts = [f"host{number:03}" for number in range(HOSTS)]
    counted = {f"{way}_{what}_per_sec": 1 for way in ("received", "transmitted") for what in ("bytes", "frames")}
    samples = [performance("fa1", noise) | {"time": 1_800_000_000_000 + 1000 * second} for second in range(10)]
    pairs = [
        {
            "name": host,
            "time": 1_800_000_000_000,
            "initiator": {"wwn": f"21:00:00:24:FF:00:{number:02X}:{port:02X}", "iqn": None},
            "target": {"name": f"CT{port % 2}.FC{port // 2}"},
            "op_count": noise.randrange(1000),
            "fraction_relative_to_max": noise.random(),
        }
        for number, host in enumerate(hosts)
        for port in range(8)
    ]
    items: Mapping[str, list[dict[str, Any]]] = {
        "arrays": [{"name": "fa1", "version": "6.3.3"}],
        "arrays/performance": samples,
        "controllers": [{"name": "CT0", "mode": "primary", "status": "ready"}],
        "hosts": [{"name": host} for host in hosts],
        "hosts/performance": [performance(host, noise) for host in hosts],
        "hosts/performance/balance": pairs,
        "ports": [{"name": f"CT{port % 2}.FC{port // 2}"} for port in range(PORTS)],
        "network-interfaces/performance": [
            {"name": f"CT{port % 2}.FC{port // 2}", "interface_type": "fc", "time": 1, "fc": counted, "eth": {}}
            for port in range(PORTS)
        ],
        "volumes": [{"name": volume, "serial": f"{noise.getrandbits(96):024X}"} for volume in volumes],
        "volumes/performance": [performance(volume, noise) for volume in volumes],
        "connections": [{"volume": {"name": volume}, "host": {"name": hosts[0]}} for volume in volumes],
    }
    return {endpoint: json.dumps({"items": result}).encode() for endpoint, result in items.items()}


class Canned:
    """An array that needs no network: `plugin.Http` and `plugin.Context` in one. Notes what was asked."""

    def __init__(self, bodies: Mapping[str, bytes]) -> None:
        self.bodies, self.asked = bodies, list[bytes]()

    async def request(self, method: str, path: str, *_: object, **__: object) -> HttpReply:
        """The body of an endpoint."""
        if path == "/api/api_version":
            return HttpReply(200, {}, b'{"version": ["2.26"]}')
        if method == "POST":
            return HttpReply(200, {"x-auth-token": "session"}, b"{}")
        body = self.bodies.get(path.removeprefix("/api/2.26/"), b'{"items": []}')
        self.asked.append(body)
        return HttpReply(200, {}, body)

    async def close(self) -> None:
        """Nothing to free."""

    @property
    def clock(self) -> Canned:
        """Itself."""
        return self

    def now_us(self) -> int:
        """A clock that is past every due time."""
        return time.time_ns()

    def http(self, *_: object) -> Canned:
        """Itself."""
        return self


def measure() -> str:
    """Seconds of a poll that reads everything, and how many times json.loads over its answers."""
    canned = Canned(answers())
    loop = asyncio.new_event_loop()
    config = FlashArrayConfig(name="fa1", collector="flasharray", host="fa1", api_token=SecretStr("unused"))

    async def opened() -> FlashArray:
        array = FlashArray(config)
        await array.open(canned)  # type: ignore[arg-type]  # it lends nothing but HTTP and a clock
        _ = [item async for item in array.inventory(canned)]  # type: ignore[arg-type]
        canned.asked.clear()
        return array

    async def polled(array: FlashArray) -> int:
        return len([item async for item in array.poll(canned)])  # type: ignore[arg-type]

    def ours() -> float:
        array = loop.run_until_complete(opened())
        began = time.process_time()
        loop.run_until_complete(polled(array))
        return time.process_time() - began

    def theirs() -> float:
        began = time.process_time()
        for body in canned.asked:
            json.loads(body)
        return time.process_time() - began

    seconds, baseline = interleaved(ROUNDS, ours, theirs)
    loop.close()
    return (
        f"{VOLUMES} volumes, {spread(seconds, 1e3, 'ms')} of CPU a poll (goal 50 ms), "
        f"{spread(ratios(seconds, baseline))} times json.loads (goal 3)"
    )
