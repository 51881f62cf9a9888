"""What a poll of a large vCenter costs: 64 hosts with 20 LUNs of 4 paths each, 20 counters. Goal: 2 s of CPU.

The vCenter stands in place of a connection, and what it takes to write its replies is not counted. Beside it, the
same with every counter that is asked of a real vCenter.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sanpath.plugin import HttpReply, Rows
from sanpath_collectors.vsphere.collector import Vsphere
from sanpath_collectors.vsphere.config import VsphereConfig
from tests.benchmarks.rounds import spread
from tests.collectors.vsphere import site
from tests.collectors.vsphere.vcenter import VERSIONS, Vcenter

HOSTS, LUNS, ROUNDS = 64, 20, 3
GOAL_SECONDS = 2.0
TWENTY = (
    *(f"disk.number{d}.summation" for d in ("Read", "Write")),
    *(f"disk.{d}.average" for d in ("read", "write")),
    *(f"disk.{part}Latency.average" for part in ("device", "kernel", "queue", "total")),
    "disk.maxQueueDepth.average",
    "disk.commandsAborted.summation",
    *(f"storageAdapter.{name}.average" for name in ("outstandingIOs", "queued", "queueDepth", "queueLatency")),
    *(f"storagePath.number{d}Averaged.average" for d in ("Read", "Write")),
    *(f"storagePath.{d}.average" for d in ("read", "write")),
    *(f"storagePath.total{d}Latency.average" for d in ("Read", "Write")),
)


class Clock:
    def now_us(self) -> int:
        return time.time_ns() // 1000


class Lent:
    """`plugin.Http` and `plugin.Context` of a vCenter in this process. `seconds`: what its side took."""

    def __init__(self, vcenter: Vcenter) -> None:
        self.clock, self.seconds, self.bytes_in, self._vcenter = Clock(), 0.0, 0, vcenter

    def http(self, *_: object, **__: object) -> Lent:
        return self

    async def request(
        self,
        method: str,  # noqa: ARG002 - as the protocol has it
        path: str,  # noqa: ARG002
        params: Mapping[str, str] | None = None,  # noqa: ARG002
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> HttpReply:
        began = time.process_time()
        if body is None:
            return HttpReply(200, {}, VERSIONS.format(name="vim25", version="8.0.3.0").encode())
        status, reported, content = self._vcenter.answer(body, (headers or {}).get("cookie", ""))
        self.bytes_in += len(content)
        self.seconds += time.process_time() - began
        return HttpReply(status, {name.lower(): value for name, value in reported.items()}, content)

    async def close(self) -> None:
        pass


def measure() -> str:
    """CPU of a poll, with 20 counters and with all."""
    choices = {"20 counters": TWENTY, f"all {len(site.COUNTERS)} counters": tuple(site.COUNTERS)}
    return "".join(f"\n  {name}: {asyncio.run(_measured(counters))}" for name, counters in choices.items())


async def _measured(counters: Sequence[str]) -> str:
    vcenter = _large(counters)
    server: Any = Lent(vcenter)
    given = {"name": "vc", "collector": "vsphere", "host": "vc", "user": "u", "password": "right", "esxcli": False}
    collector = Vsphere(VsphereConfig.model_validate(given))
    await collector.open(server)
    inventory = await _cost(server, collector.inventory(server))
    polls = []
    for number in range(ROUNDS + 1):
        _sample(vcenter, counters, number)
        server.bytes_in = 0
        polls.append(await _cost(server, collector.poll(server)))
    await collector.close()
    polls = polls[1:]  # the first one reads path states as well
    per_host = [1000 * seconds / HOSTS for seconds, _ in polls]
    return (
        f"{spread([seconds for seconds, _ in polls], 1, 's')} of CPU a poll (goal {GOAL_SECONDS:g}), "
        f"{spread(per_host, 1, 'ms')} a host; {polls[-1][1]} rows from {server.bytes_in / 1e6:.1f} MB; "
        f"an inventory of {inventory[1]} things and links {inventory[0]:.2g} s"
    )


async def _cost(server: Lent, items: Any) -> tuple[float, int]:
    """Seconds of CPU on our side, and the number of rows, things and links."""
    began, theirs, number = time.process_time(), server.seconds, 0
    async for item in items:
        number += len(item.entity) if isinstance(item, Rows) else 1
    return time.process_time() - began - (server.seconds - theirs), number


def _large(counters: Sequence[str]) -> Vcenter:
    devices = [f"naa.624a9370{number:024x}" for number in range(LUNS)]
    vcenter = Vcenter(counters={name: number for number, name in enumerate(counters, start=100)})
    for host in range(HOSTS):
        initiators = (f"21000024ff4a{host:02x}04", f"21000024ff4a{host:02x}05")
        properties = site.host_properties(f"esx{host}.example.com", devices, initiators)
        vcenter.objects["HostSystem", f"host-{host}"] = properties
    return vcenter


def _sample(vcenter: Vcenter, counters: Sequence[str], number: int) -> None:
    """The last six samples of every host, one of them new."""
    offsets = [20 * (number + place) for place in range(6)]
    values = ",".join("1234" for _ in offsets)
    for (_, moid), properties in vcenter.objects.items():
        instances = dict(_instances(properties))
        series = {(name, one): values for name in counters for one in instances[name.partition(".")[0]]}
        vcenter.samples[moid] = (offsets, series)
    vcenter.seconds = offsets[-1] + 5.0


def _instances(properties: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Counter group → its instances on a host."""
    units = properties["config.storageDevice.multipathInfo"].lun
    yield "disk", [unit.id for unit in units]
    yield "datastore", []
    yield "storageAdapter", [one.device for one in properties["config.storageDevice.hostBusAdapter"]]
    yield "storagePath", [path.name for unit in units for path in unit.path]
    yield "cpu", [""]
    yield "virtualDisk", []
