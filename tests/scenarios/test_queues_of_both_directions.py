"""Queues that reads and writes share, on an ESXi host."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sanpath.model import Column, Table
from tests.support.esx_queue import EsxQueue
from tests.support.recording import Number, RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, NAA, AtArray, Flow, San
from tests.support.stories import fast, judged

LUN = Table(
    "lun",
    (
        *(Column(f"{what}_{direction}_total", 64) for what in ("ops", "bytes") for direction in ("read", "write")),
        *(
            Column(f"{part}_seconds_mean_{direction}", scale=1e-3, resolution=1e-3)
            for part in ("device", "kernel")
            for direction in ("read", "write")
        ),
        Column("queue_depth"),
    ),
    plane="device",
)


@dataclass(slots=True)
class MixedQueue(San):
    """Reads and writes on a LUN of 64 slots of esx7. `below`: step → direction → DAVG; `above`: step → KAVG. Both in
    whole milliseconds."""

    below: dict[str, dict[str, int]] = field(default_factory=dict)
    above: dict[str, int] = field(default_factory=dict)

    def _configuration(self, out: RecordingBuilder) -> None:
        San._configuration(self, out)
        out.source("vc", "vsphere", LUN)
        lun = ("lun", f"esx7/{NAA}")
        out.entity("vc", "host", "esx7", ids={"name": ("esx7",)}, attributes={"os": "VMware ESXi 7.0.3 build-1"})
        out.entity("vc", *lun, ids={"naa": (NAA,)})
        out.link("vc", "attached_to", (lun, ("host", "esx7")))
        for at in range(int(self.steps[-1].end) + 2):
            out.poll("vc", at)
            now = next((step.name for step in self.steps if step.begin <= at <= step.end), None)
            values: dict[str, Number] = {"queue_depth": 64}
            for direction in ("read", "write"):
                done = sum(
                    step.flows[direction].ops * max(0.0, min(at, step.end) - step.begin) for step in self.steps
                )
                values |= {f"ops_{direction}_total": round(done), f"bytes_{direction}_total": round(done) * 8 * KIB}
                if now is not None:
                    values[f"device_seconds_mean_{direction}"] = self.below[now][direction]
                    values[f"kernel_seconds_mean_{direction}"] = self.above[now]
            out.samples("vc", LUN, at, {f"esx7/{NAA}": values})


def test_a_queue_full_of_reads_that_wait_below_it_limits_no_writes(tmp_path: Path) -> None:
    """3,800 reads and 1,630 writes a second of 8 KiB, which is all that the array serves: with 8 in flight, reads
    take 1.9 ms there. With 96 they take 16.4 ms, in 62 of 64 slots, and writes 0.5 ms in 1 slot; the others wait
    32 / 5,430 = 5.9 ms. More slots bring nothing, and there are free ones once reads are faster."""
    ports = [fast(port, 32) for port in (HOST_PORT, ARRAY_PORT)]
    san = MixedQueue(tmp_path, ports=ports, leave_out={"disk"})
    reads, writes = 3800.0, 1630.0
    for n, below, above in ((8, 0.0019, 0.0), (96, 0.0164, 0.0059)):
        name = f"t{n}"
        counted = (reads * 4 * 2076, writes * 4 * 2076)
        flows = {"read": Flow(reads, below + above), "write": Flow(writes, 0.0005 + above)}
        array = {"read": AtArray(below - 0.0001, san=0.00005), "write": AtArray(0.0004, san=0.00005)}
        counted_at = {port.name: counted for port in (HOST_PORT, ARRAY_PORT)}
        san.step(name, n, block=8 * KIB, **flows, ports=counted_at, array=array)
        san.below[name], san.above[name] = {"read": int(below * 1e3), "write": 0}, int(above * 1e3)
    found = judged(san.write())
    assert [(bottleneck.entity, bottleneck.direction) for bottleneck in found.verdict.bottlenecks] == [
        ("array:fa1", "read")
    ]
    assert {finding.role for finding in found.findings if finding.rule == "lun-queue-limits"} == {"risk"}


def test_reads_and_writes_share_the_slots_of_queues_in_series(tmp_path: Path) -> None:
    """LSI Logic gives the guest's disk 32 slots. Its own depth is not known; 24 reads and 8 writes are below it."""
    ports = [fast(port, 32) for port in (HOST_PORT, ARRAY_PORT)]
    san = EsxQueue(tmp_path, ports=ports, guest_queue_depth=None, controller="lsi_logic", depth=256)
    for n in (8, 128):
        ops = min(n, 32) / 0.0025
        flows = {"read": Flow(0.75 * ops, n / ops), "write": Flow(0.25 * ops, n / ops)}
        counted = 0.75 * ops * (4 * 2076 + 52), 0.25 * ops * (4 * 2076 + 52)
        san.step(
            f"t{n}",
            n,
            block=8 * KIB,
            read=flows["read"],
            write=flows["write"],
            ports={HOST_PORT.name: counted, ARRAY_PORT.name: counted},
            array=dict.fromkeys(flows, AtArray(0.0024)),
            disk={direction: Flow(flow.ops, min(n, 32) / ops) for direction, flow in flows.items()},
        )
        san.at_vdisk[f"t{n}"] = min(n, 32) / ops
    named = judged(san.write()).verdict.bottlenecks
    assert {each.elements for each in named} == {("lun:sqlvm1/sda", "vdisk:sqlvm1/Hard disk 2")}
