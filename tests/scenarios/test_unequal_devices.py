"""A load whose devices differ: each has its own queue, and the clock of the load is that of all of them together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath_collectors.linux_host.tables import LUN
from tests.support.recording import RecordingBuilder
from tests.support.san import KIB, Flow, San
from tests.support.stories import judged


@dataclass(frozen=True, slots=True)
class Disk:
    """A block device of db7. `ops`, `latency`: reads a second of the test, and their mean latency in seconds from the
    block device on; `depth`: its slots."""

    ops: float
    latency: float
    depth: int


@dataclass(slots=True)
class OnDisks(San):
    """fio on the host db7 reads from several disks, which it names."""

    disks: Mapping[str, Disk] = field(default_factory=dict)

    def _configuration(self, out: RecordingBuilder) -> None:
        out.say("load:fio runs_on host:db7")
        out.source("db7", "linux_host", LUN)
        out.entity("db7", "host", "db7", ids={"name": ("db7",)}, attributes={"os": "Linux 6.1"})
        for name, disk in self.disks.items():
            about = {"kind": "disk", "queue_depth": disk.depth}
            out.entity("db7", "lun", name, f"db7/{name}", {"device": (name,)}, about)
            out.link("db7", "attached_to", (("lun", name), ("host", "db7")))
            out.say(f"load:fio targets lun:db7/{name}")
        for at in range(int(self.steps[-1].end) + 2):
            out.poll("db7", at)
            out.samples("db7", LUN, at, {name: self._counters(disk, at) for name, disk in self.disks.items()})

    def _counters(self, disk: Disk, at: float) -> dict[str, int | float]:
        """The counters of a disk: sectors of 512 bytes, and milliseconds."""
        seconds = sum(max(0.0, min(at, step.end) - step.begin) for step in self.steps)
        ops = disk.ops * seconds
        counters = {
            "ops_read_total": ops,
            "bytes_read_total": 8 * ops,
            "latency_seconds_read_total": 1e3 * ops * disk.latency,
        }
        return {metric: round(value) for metric, value in counters.items()} | {
            "in_flight": round(disk.ops * disk.latency)
        }


def reads(folder: Path, in_flight: int, **disks: Disk) -> Diagnosis:
    """Reads of 4 KiB, `in_flight` of them outstanding."""
    san = OnDisks(folder / "r.sanpath", ports=[], leave_out={"switch", "array", "disk"}, disks=disks)
    ops = sum(disk.ops for disk in disks.values())
    san.step("s", in_flight, block=4 * KIB, read=Flow(ops, in_flight / ops))
    return judged(san.write())


@pytest.mark.parametrize("where", ["before the clock of the block device", "inside it"])
def test_the_slots_of_a_device_are_its_own(tmp_path: Path, where: str) -> None:
    """Of 16 reads 8 are sda's, which takes one at a time; the other 8 are all at sdb."""
    at_sda = 6e-4 if where.startswith("before") else 8 * 6e-4
    found = reads(tmp_path, 16, sda=Disk(1 / 6e-4, at_sda, 1), sdb=Disk(8 / 6e-4, 6e-4, 254))
    assert found.verdict.suspects[0].entity == "lun:db7/sda"
    assert found.summary.verdict == "Queue of LUN sda on db7 is full (1 slot)"


def test_of_equal_devices_none_is_singled_out(tmp_path: Path) -> None:
    """Of 32 reads 16 wait for the eight slots of each disk; counters scatter by some percent."""
    found = reads(tmp_path, 32, sda=Disk(13_000, 6e-4, 8), sdb=Disk(13_300, 6.1e-4, 8))
    (queue,) = [s for s in found.verdict.suspects if s.kind == "lun" and s.probability > 0.5]
    assert " of 16 slots are in use" in queue.because[0]


def test_a_slow_device_of_several_does_not_contradict_the_clock_of_all(tmp_path: Path) -> None:
    """sdb does 97 % of the I/Os, 8 of 14 at a time. Only with the six of sda, which take longer, do the disks have
    the mean of the load: nothing waits above them."""
    found = reads(tmp_path, 14, sda=Disk(300, 20e-3, 254), sdb=Disk(9_000, 8 / 9_000, 254))
    assert not [s for s in found.verdict.suspects if s.kind in ("lun", "io_stack") and s.probability > 0.05]
