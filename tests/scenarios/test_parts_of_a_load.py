"""One test from several hosts: what one of them waits for is not what the others wait for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.model import Scalar
from sanpath_collectors.fio.tables import LOAD
from sanpath_collectors.linux_host.tables import LUN
from tests.support.recording import RecordingBuilder
from tests.support.san import KIB, Flow, San
from tests.support.stories import judged

SERVICE = 6e-4


@dataclass(frozen=True, slots=True)
class Reads:
    """What a host reads: `outstanding` I/Os of fio, of which `at_device` are at its only block device at a time, for
    `seconds` each. `depth`: slots of the device. `is_read`: whether a source reads the device."""

    outstanding: int
    at_device: int
    seconds: float = SERVICE
    depth: int = 254
    is_read: bool = True
    kind: str = "disk"

    @property
    def ops(self) -> float:
        """Reads a second (Little's law)."""
        return self.at_device / self.seconds


@dataclass(slots=True)
class OnHosts(San):
    """Each host runs a fio of its own. `hosts`: host → what it reads."""

    hosts: Mapping[str, Reads] = field(default_factory=dict)

    def _configuration(self, out: RecordingBuilder) -> None:
        for host, reads in self.hosts.items():
            out.source(f"{host}/os", "linux_host", LUN)
            out.entity(f"{host}/os", "host", host, ids={"name": (host,)}, attributes={"os": "Linux 6.1"})
            about = {"kind": reads.kind, "queue_depth": reads.depth}
            out.entity(f"{host}/os", "lun", "sda", f"{host}/sda", {"device": ("sda",)}, about)
            out.link(f"{host}/os", "attached_to", (("lun", "sda"), ("host", host)))
            for at in range(int(self.steps[-1].end) + 2) if reads.is_read else ():
                out.poll(f"{host}/os", at)
                done = self._done(reads, at)
                sda = {"ops_read_total": done, "bytes_read_total": 8 * done, "in_flight": reads.at_device}
                sda |= {"latency_seconds_read_total": round(1e3 * done * reads.seconds)}
                out.samples(f"{host}/os", LUN, at, {"sda": sda})

    def _load(self, out: RecordingBuilder, last: float) -> None:
        (step,) = self.steps
        for host, reads in self.hosts.items():
            source, job = f"{host}/fio", f"{host}/fio/{step.name}"
            out.source(source, "fio", LOAD)
            out.entity(source, "load", source, ids={"name": (source,)})
            out.entity(source, "load", job, ids={"name": (job,)})
            out.link(source, "member_of", (("load", job), ("load", source)))
            out.link(source, "runs_on", (("load", source), ("host", host)))
            out.say(f"load:{source} targets lun:{host}/sda")
            mark: dict[str, Scalar] = {"step": step.name, "loads": job, "block_bytes": step.block}
            out.event(source, step.begin, "step-begin", **mark, offered=reads.outstanding)
            out.event(source, step.end, "step-end", **mark)
            for at in range(int(last) + 1):
                out.poll(source, at)
                done = self._done(reads, at)
                counters = {"ops_read_total": done, "bytes_read_total": round(done * step.block)}
                counters |= {"latency_seconds_read_total": round(1e9 * done * reads.outstanding / reads.ops)}
                out.samples(source, LOAD, at, {job: counters})

    def _done(self, reads: Reads, at: float) -> int:
        """I/Os that are done."""
        (step,) = self.steps
        return round(reads.ops * max(0.0, min(at, step.end) - step.begin))


def diagnosed(folder: Path, **hosts: Reads) -> Diagnosis:
    """A test of 30 seconds."""
    san = OnHosts(folder / "r.sanpath", ports=[], leave_out={"switch", "array", "disk"}, hosts=hosts)
    ops, outstanding = sum(r.ops for r in hosts.values()), sum(r.outstanding for r in hosts.values())
    san.step("s", outstanding, block=4 * KIB, read=Flow(ops, outstanding / ops), seconds=30)
    return judged(san.write())


def test_the_full_queue_of_the_host_that_waits_is_named(tmp_path: Path) -> None:
    """db1 keeps 64 I/Os outstanding over a queue of 8; what the others ask for is at their devices at once."""
    found = diagnosed(tmp_path, db1=Reads(64, 8, depth=8), db2=Reads(4, 4), db3=Reads(4, 4))
    assert found.verdict.bottlenecks[0].entity == "lun:db1/sda"
    assert "8 slots" in found.summary.verdict


def test_a_limit_of_one_host_is_no_ceiling_below_what_all_reach(tmp_path: Path) -> None:
    """Two of three hosts with a full queue: what one of them lets through is half of what is reached."""
    found = diagnosed(tmp_path, db1=Reads(64, 8, depth=8), db2=Reads(64, 8, depth=8), db3=Reads(1, 1))
    reached = found.steps[0].directions["read"].ops_per_second
    assert len(found.verdict.bottlenecks) == 2
    assert all((b.ceiling_ops_per_second or reached) >= 0.99 * reached for b in found.verdict.bottlenecks)
    assert "slows down" not in (found.summary.consequence or "")


def test_every_host_with_a_full_queue_of_its_own_is_named(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, db1=Reads(64, 8, depth=8), db2=Reads(64, 8, depth=8))
    assert {b.entity for b in found.verdict.bottlenecks} == {"lun:db1/sda", "lun:db2/sda"}


def test_the_clock_of_one_host_times_no_io_of_another(tmp_path: Path) -> None:
    """Only db2 is read, whose I/Os wait for nothing: where those of db1 wait is not known, and not above db2's
    device."""
    found = diagnosed(tmp_path, db1=Reads(64, 8, is_read=False), db2=Reads(8, 8))
    assert found.verdict.kind == "cannot_tell"
    accused = {s.entity for s in found.verdict.suspects if s.probability > 0.05}
    assert not accused & {"lun:db2/sda", "host:db2"}


def test_a_slow_device_of_one_host_leaves_the_others_alone(tmp_path: Path) -> None:
    """An I/O of db1 takes 20 ms at its device, and one of db2 0.6 ms: in the mean it takes 1.9 ms."""
    found = diagnosed(tmp_path, db1=Reads(16, 16, seconds=0.02), db2=Reads(8, 8))
    assert found.verdict.suspects[0].entity not in ("lun:db2/sda", "host:db2")
    assert found.steps[0].directions["read"].latency_seconds.mean == pytest.approx(24 / (800 + 8 / SERVICE), rel=0.01)
    assert "judged by db1: 16 of 24 outstanding I/Os, at 20.0 ms each" in found.steps[0].verdict.because


def test_a_host_with_few_ios_does_not_decide_for_the_test(tmp_path: Path) -> None:
    """The queue of db2 is full: it holds 4 of 36 I/Os, and the other 32 wait for nothing."""
    found = diagnosed(tmp_path, db1=Reads(32, 32), db2=Reads(4, 1, depth=1))
    assert "lun:db2/sda" not in {b.entity for b in found.verdict.bottlenecks}
