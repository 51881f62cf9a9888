"""A cloud instance with one volume under load: its files, and its log pages made from bytes.

The layout of the page is written down here a second time, from amazon-ec2-utils, so that a mistake in the collector's
own does not hide itself.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from sanpath.plugin import CommandReply, Rows, SourceEntity, SourceLink
from sanpath_collectors.cloud_volume.collector import CloudVolume
from sanpath_collectors.cloud_volume.config import CloudVolumeConfig
from sanpath_collectors.fio.tables import LUN
from tests.support.recording import RecordingBuilder, microseconds
from tests.support.san import KIB, Flow, San

EBS_MAGIC, INSTANCE_STORE_MAGIC = 0x3C23B510, 0xEC2C0D7E
EBS_MODEL, INSTANCE_STORE_MODEL = "Amazon Elastic Block Store", "Amazon EC2 NVMe Instance Storage"


def page(counters: Sequence[int], queue: int = 0, magic: int = EBS_MAGIC) -> bytes:
    """The 4,096 bytes of a log page, its histograms empty. `counters`: its ten counters in their order."""
    head = struct.pack("<II", magic, 0) + b"".join(struct.pack("<Q", value) for value in (*counters, queue))
    return head.ljust(4096, b"\0")


@dataclass(slots=True)
class Instance:
    """`plugin.Machine` of an instance. `pages`: device → its log page now, none: nvme may not be run; `page_id`: the
    identifier that the pages have."""

    vendor: str
    product: str
    devices: Mapping[str, tuple[str, str]]
    size_gib: float = 500
    page_id: int = 0xD0
    pages: dict[str, bytes] = field(default_factory=dict)
    diskstats: str = ""

    async def read(self, patterns: Sequence[str]) -> dict[str, bytes]:
        """Every file it has."""
        files = {
            "/sys/class/dmi/id/sys_vendor": self.vendor,
            "/sys/class/dmi/id/product_name": self.product,
            "/proc/sys/kernel/hostname": "db7",
            "/proc/diskstats": self.diskstats,
        }
        for device, (model, serial) in self.devices.items():
            files[f"/sys/block/{device}/size"] = str(round(self.size_gib * 2**21))
            files[f"/sys/block/{device}/device/model"] = model.ljust(40)
            files[f"/sys/block/{device}/device/serial"] = serial
        asked = "/proc/diskstats" in patterns
        return {path: f"{text}\n".encode() for path, text in files.items() if asked == (path == "/proc/diskstats")}

    async def run(self, command: Sequence[str]) -> CommandReply:
        """The answer of nvme get-log."""
        device = next(word for word in command if word.startswith("/dev/")).removeprefix("/dev/")
        if device not in self.pages:
            return CommandReply(1, b"", b"Permission denied")
        if f"--log-id={self.page_id:#x}" not in command:
            return CommandReply(2, b"", b"NVMe status: Invalid Log Page")
        return CommandReply(0, self.pages[device], b"")

    async def close(self) -> None:
        """Nothing is open."""


@dataclass
class CloudSan(San):
    """fio on the devices of a cloud instance, evenly, read by the collector itself.

    `exceeded`: name of a step → share of it at the limits of the volume (IOPS, throughput) and of the instance (IOPS,
    throughput). `in_page`: share of the device's time that the page has; `has_page`: whether nvme may be run.
    """

    devices: tuple[str, ...] = ("nvme1n1",)
    instance: Instance = field(default_factory=lambda: Instance("", "", {}))
    settings: Mapping[str, Any] = field(default_factory=dict)
    exceeded: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)
    has_page: bool = True
    in_page: float = 0.98
    magic: int = EBS_MAGIC

    def load(
        self,
        in_flight: float,
        ops: float,
        exceeded: tuple[float, float, float, float] = (0, 0, 0, 0),
        block: float = 16 * KIB,
        direction: str = "read",
    ) -> None:
        """One step: so many I/Os in flight give so many a second; what the device does takes all but 20 us."""
        name = f"q{in_flight:g}"
        flow = Flow(ops, in_flight / ops)
        below = Flow(ops, in_flight / ops - 2e-5)
        self.exceeded[name] = exceeded
        read, write = (flow, None) if direction == "read" else (None, flow)
        self.step(name, in_flight, read=read, write=write, block=block, disk={direction: below})

    def _configuration(self, out: RecordingBuilder) -> None:
        out.configure_link("load:fio runs_on host:db7")
        out.entity("config", "host", "db7", ids={"name": ("db7",)})
        for device in self.devices:
            out.entity("fio", "lun", device, ids={"device": (device,)})
            out.link("fio", "targets", (("load", "fio"), ("lun", device)), "fio disk_util")
        asyncio.run(self._collect(out))

    async def _collect(self, out: RecordingBuilder) -> None:
        now = 0
        config = CloudVolumeConfig.model_validate({"name": "c1", "collector": "cloud_volume", **self.settings})
        clock = SimpleNamespace(now_us=lambda: now)
        ctx: Any = SimpleNamespace(machine=lambda _: self.instance, clock=clock)
        collector = CloudVolume(config)
        await collector.open(ctx)
        async for item in collector.inventory(ctx):
            if isinstance(item, SourceEntity):
                out.entity("c1", item.kind, item.local_id, item.label, item.ids, item.attributes)
            elif isinstance(item, SourceLink):
                out.link("c1", item.relation, (item.from_end, item.to_end), item.evidence)
        is_declared = False
        for second in range(int(self.steps[-1].end + 2)):
            now = microseconds(second)
            self._advance(second)
            out.poll("c1", second)
            share = {metric: int(value or 0) // len(self.devices) for metric, value in self._disk(second).items()}
            out.samples("fio", LUN, second, dict.fromkeys(self.devices, share))
            async for rows in collector.poll(ctx):
                assert isinstance(rows, Rows)
                if not is_declared:
                    out.source("c1", "cloud_volume", rows.table)
                    is_declared = True
                taken = {e: {m: column[n] for m, column in rows.values.items()} for n, e in enumerate(rows.entity)}
                out.samples("c1", rows.table, second, taken)

    def _advance(self, at: float) -> None:
        sums = [0.0] * 10
        for step in self.steps:
            seconds = max(0.0, min(at, step.end) - step.begin)
            each = seconds / len(self.devices)
            for n, direction in enumerate(("read", "write")):
                flow = step.disk.get(direction, Flow(0, 0))
                sums[n] += flow.ops * each
                sums[2 + n] += flow.ops * step.block * each
                sums[4 + n] += flow.ops * flow.latency * self.in_page * 1e6 * each
            for n, share in enumerate(self.exceeded[step.name]):
                sums[6 + n] += share * 1e6 * seconds
        counters = [round(total) for total in sums]
        if self.has_page:
            self.instance.pages |= dict.fromkeys(self.devices, page(counters, magic=self.magic))
        reads, writes, read_bytes, written_bytes, read_us, written_us, *_ = counters
        numbers = (reads, 0, read_bytes // 512, read_us // 1000, writes, 0, written_bytes // 512, written_us // 1000)
        fields = " ".join(map(str, numbers))
        self.instance.diskstats = "\n".join(f"259 0 {device} {fields} 0 0 0" for device in self.devices)
