"""A load whose devices differ: each has its own queue, and the clock of the load is that of all of them together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.compute import compute
from sanpath.verdict.places.host_queues import devices_with_unread_slots
from sanpath_collectors.linux_host.tables import LUN
from tests.support.recording import RecordingBuilder
from tests.support.san import KIB, LOAD, Flow, San
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
    """fio on the host db7 reads from several disks, which it names. `later`: the disks from the second step on, where
    they differ. `volumes`: devices of this `kind` on all of them, with an equal part of the I/Os each, which it
    names instead; `volume_depth`: slots of each, None: not reported; `volume_seconds`: mean latency there,
    None: that on the disks."""

    disks: Mapping[str, Disk] = field(default_factory=dict)
    later: Mapping[str, Disk] = field(default_factory=dict)
    volumes: tuple[str, ...] = ()
    kind: str = "other dm"
    volume_depth: int | None = None
    volume_seconds: float | None = None

    def _configuration(self, out: RecordingBuilder) -> None:
        out.configure_link("load:fio runs_on host:db7")
        out.source("db7", "linux_host", LUN)
        out.entity("db7", "host", "db7", ids={"name": ("db7",)}, attributes={"os": "Linux 6.1"})
        for name, disk in self.disks.items():
            about = {"kind": "disk", "queue_depth": disk.depth}
            out.entity("db7", "lun", name, f"db7/{name}", {"device": (name,)}, about)
            out.link("db7", "attached_to", (("lun", name), ("host", "db7")))
            if not self.volumes:
                out.configure_link(f"load:fio targets lun:db7/{name}")
        for volume in self.volumes:
            about = {"kind": self.kind, "queue_depth": self.volume_depth}
            out.entity("db7", "lun", volume, f"db7/{volume}", {"device": (volume,)}, about)
            out.link("db7", "attached_to", (("lun", volume), ("host", "db7")))
            out.configure_link(f"load:fio targets lun:db7/{volume}")
            for name in self.disks:
                out.link("db7", "member_of", (("lun", name), ("lun", volume)), "slaves")
        for at in range(int(self.steps[-1].end) + 2):
            out.poll("db7", at)
            counters = {name: self._counters(name, at) for name in self.disks}
            metrics = next(iter(counters.values()))
            part = {m: sum(each[m] for each in counters.values()) // max(1, len(self.volumes)) for m in metrics}
            if self.volume_seconds is not None:
                part["latency_seconds_read_total"] = round(1e3 * self.volume_seconds * part["ops_read_total"])
            out.samples("db7", LUN, at, {**counters, **dict.fromkeys(self.volumes, part)})

    def _counters(self, name: str, at: float) -> dict[str, int | float]:
        """The counters of a disk: sectors of 512 bytes, and milliseconds."""
        ops = seconds = in_flight = 0.0
        for index, step in enumerate(self.steps):
            disk = (self.later if index and self.later else self.disks)[name]
            done = disk.ops * max(0.0, min(at, step.end) - step.begin)
            ops, seconds = ops + done, seconds + done * disk.latency
            in_flight = disk.ops * disk.latency if at >= step.begin else in_flight
        counters = {"ops_read_total": ops, "bytes_read_total": 8 * ops, "latency_seconds_read_total": 1e3 * seconds}
        return {metric: round(value) for metric, value in counters.items()} | {"in_flight": round(in_flight)}


def reads(
    folder: Path,
    in_flight: int,
    *,
    volumes: tuple[str, ...] = (),
    kind: str = "other dm",
    volume_depth: int | None = None,
    volume_seconds: float | None = None,
    **disks: Disk,
) -> Diagnosis:
    """Reads of 4 KiB, `in_flight` of them outstanding."""
    unread = {"switch", "array", "disk"}
    san = OnDisks(folder / "r.sanpath", ports=[], leave_out=unread, disks=disks, volumes=volumes, kind=kind)
    san.volume_depth, san.volume_seconds = volume_depth, volume_seconds
    ops = sum(disk.ops for disk in disks.values())
    san.step("s", in_flight, block=4 * KIB, read=Flow(ops, in_flight / ops))
    return judged(san.write())


@pytest.mark.parametrize("where", ["before the clock of the block device", "inside it"])
def test_the_slots_of_a_device_are_its_own(tmp_path: Path, where: str) -> None:
    """Of 16 reads 8 are sda's, which takes one at a time; the other 8 are all at sdb."""
    at_sda = 6e-4 if where.startswith("before") else 8 * 6e-4
    found = reads(tmp_path, 16, sda=Disk(1 / 6e-4, at_sda, 1), sdb=Disk(8 / 6e-4, 6e-4, 254))
    assert found.verdict.suspects[0].entity == "lun:db7/sda"
    assert found.summary.verdict == "Queue of device sda on db7 is full (1 slot)"


@dataclass
class ReadsAndWrites(OnDisks):
    """fio also writes. `writes`: disk → writes a second there, with their latency."""

    writes: Mapping[str, Disk] = field(default_factory=dict)

    def _counters(self, name: str, at: float) -> dict[str, int | float]:
        counters = OnDisks._counters(self, name, at)
        written = OnDisks(self.folder, ports=[], disks=self.writes, steps=self.steps)._counters(name, at)
        held = counters.pop("in_flight") + written.pop("in_flight")
        return counters | {metric.replace("read", "write"): n for metric, n in written.items()} | {"in_flight": held}


def test_writes_to_another_device_take_no_slots_of_the_one_that_is_read(tmp_path: Path) -> None:
    """A database reads and writes its data on sda, whose four slots are full, and writes its log to sdb: of 14
    outstanding I/Os 12 are at sda, a third of them writes, and 2 at sdb. Before, six I/Os in four slots spoke against
    sda."""
    san = ReadsAndWrites(tmp_path / "r.sanpath", ports=[], leave_out={"switch", "array", "disk"})
    each = 12 / 4 * 6e-4
    san.disks = {"sda": Disk(8 / each, each, 4), "sdb": Disk(0, 6e-4, 4)}
    san.writes = {"sda": Disk(4 / each, each, 4), "sdb": Disk(2 / 6e-4, 6e-4, 4)}
    writes = sum(disk.ops for disk in san.writes.values())
    san.step("s", 14, block=4 * KIB, read=Flow(8 / each, each), write=Flow(writes, 6 / writes))
    found = judged(san.write()).verdict
    assert found.suspects[0].entity == "lun:db7/sda"
    assert found.suspects[0].because[0] == "4 of 4 slots are in use"
    assert found.suspects[0].probability > 0.9


@pytest.mark.parametrize(
    ("sda", "sdb"),
    [((64, 64), (4, 32)), ((32, 32), (160, 254)), ((64, 64), (0, 32))],
    ids=["most of the slots", "fewer I/Os than the other", "the other is next to idle"],
)
def test_a_full_device_is_found_whatever_its_share(
    tmp_path: Path, sda: tuple[int, int], sdb: tuple[int, int]
) -> None:
    """I/Os in the slots of each disk, and slots; as many more wait as sda has."""
    disks = {
        name: Disk(max(used, 0.02) / 6e-4, 6e-4, depth) for name, (used, depth) in {"sda": sda, "sdb": sdb}.items()
    }
    found = reads(tmp_path, 2 * sda[0] + sdb[0], **disks)
    queue = next(suspect for suspect in found.verdict.suspects if suspect.kind == "lun")
    assert queue.entity == "lun:db7/sda"
    assert f"{sda[0]} of {sda[1]} slots are in use" in queue.because[0]


def test_steps_with_one_full_device_agree(tmp_path: Path) -> None:
    """With 96 outstanding sdb holds 48, and sda still one: its queue let no other number through."""
    san = OnDisks(tmp_path / "r.sanpath", ports=[], leave_out={"switch", "array", "disk"})
    san.disks = {"sda": Disk(1 / 6e-4, 6e-4, 1), "sdb": Disk(8 / 6e-4, 6e-4, 254)}
    san.later = {"sda": Disk(1 / 6e-4, 6e-4, 1), "sdb": Disk(48 / 6e-4, 6e-4, 254)}
    for n, at_sdb in ((16, 8), (96, 48)):
        ops = (1 + at_sdb) / 6e-4
        san.step(f"t{n}", n, block=4 * KIB, read=Flow(ops, n / ops))
    found = judged(san.write())
    assert found.verdict.suspects[0].entity == "lun:db7/sda"
    assert not [words for words in found.verdict.suspects[0].against if "another" in words]


def test_of_equal_devices_none_is_singled_out(tmp_path: Path) -> None:
    """Of 32 reads 16 wait for the eight slots of each disk; counters scatter by some percent."""
    found = reads(tmp_path, 32, sda=Disk(13_000, 6e-4, 8), sdb=Disk(13_300, 6.1e-4, 8))
    (queue,) = [s for s in found.verdict.suspects if s.kind == "lun" and s.probability > 0.5]
    assert " of 16 slots are in use" in queue.because[0]


@pytest.mark.parametrize("sdb", [Disk(8 / 6e-4, 16 / 8 * 6e-4, 8), Disk(8 / 6e-4, 6e-4, 254)], ids=["both", "one"])
def test_the_disks_of_a_volume_have_their_slots(tmp_path: Path, sdb: Disk) -> None:
    """The clock of a disk runs while I/Os wait for its slots: 16 are at sda, which takes 8 at a time."""
    sda = Disk(8 / 6e-4, 16 / 8 * 6e-4, 8)
    outstanding = round(sum(disk.ops * disk.latency for disk in (sda, sdb)))

    def queues(*volumes: str) -> set[str]:
        found = reads(tmp_path / str(len(volumes)), outstanding, volumes=volumes, sda=sda, sdb=sdb)
        full = next(suspect for suspect in found.verdict.suspects if suspect.kind == "lun")
        assert full.probability > 0.5
        return {entity for bottleneck in found.verdict.bottlenecks for entity in bottleneck.elements}

    full = {"lun:db7/sda"} | ({"lun:db7/sdb"} if sdb.depth == 8 else set())
    assert queues() == full
    assert queues("dm-3") == full


@pytest.mark.parametrize(
    ("sdb_seconds", "full", "slots"), [(0.663e-3, "lun:db7/sda", 64), (3.413e-3, "lun:db7/dm-0", 128)]
)
def test_a_path_has_slots_of_its_own(tmp_path: Path, sdb_seconds: float, full: str, slots: int) -> None:
    """A multipath map sends as many reads over sda as over sdb. sda takes 64 of its 106 at a time, however many slots
    are free on sdb. If both paths are as full, the map is."""
    sda, sdb = Disk(31_000, 3.413e-3, 64), Disk(31_000, sdb_seconds, 64)
    outstanding = round(sum(disk.ops * disk.latency for disk in (sda, sdb)))
    found = reads(tmp_path, outstanding, volumes=("dm-0",), kind="multipath map", sda=sda, sdb=sdb)
    queue = next(suspect for suspect in found.verdict.suspects if suspect.kind == "lun")
    assert (queue.entity, queue.because) == (full, (f"{slots} of {slots} slots are in use",))


def test_a_map_with_fewer_slots_than_its_paths_is_the_queue(tmp_path: Path) -> None:
    """The sessions admit 4 I/Os to a map, two over each path, which has 6 slots."""
    path = Disk(80, 2 / 80, 6)
    found = reads(
        tmp_path,
        48,
        volumes=("dm-0",),
        kind="multipath map",
        volume_depth=4,
        volume_seconds=46 / 160,
        sda=path,
        sdb=path,
    )
    (bottleneck,) = found.verdict.bottlenecks
    assert (bottleneck.kind, bottleneck.entity) == ("lun", "lun:db7/dm-0")


@pytest.mark.parametrize(("kind", "unread"), [("nvme", []), ("disk", ["lun:db7/nvme0n1"])])
def test_an_nvme_namespace_has_no_slots_but_those_of_its_paths(tmp_path: Path, kind: str, unread: list[str]) -> None:
    """No source reports slots of the namespace; each path has 254."""
    san = OnDisks(tmp_path / "r.sanpath", ports=[], leave_out={"switch", "array", "disk"}, kind=kind)
    san.disks, san.volumes = dict.fromkeys(("nvme0c0n1", "nvme0c1n1"), Disk(80, 0.1, 254)), ("nvme0n1",)
    san.step("s", 16, block=4 * KIB, read=Flow(160, 0.1))
    facts = compute(san.write())
    (load,) = facts.loads
    assert devices_with_unread_slots(facts, load) == unread


def test_volumes_that_share_a_disk_have_its_slots_once(tmp_path: Path) -> None:
    """64 outstanding I/Os are at a disk that takes 32 at a time, over so many volumes."""
    sda = Disk(32 / 6e-4, 2 * 6e-4, 32)
    for volumes in (("dm-3",), ("dm-3", "dm-4"), ("dm-3", "dm-4", "dm-5", "dm-6")):
        found = reads(tmp_path / str(len(volumes)), 64, volumes=volumes, sda=sda)
        first = found.verdict.suspects[0]
        assert first.entity == "lun:db7/sda"
        assert "32 of 32 slots are in use" in first.because[0]


def test_a_slow_device_of_several_does_not_contradict_the_clock_of_all(tmp_path: Path) -> None:
    """sdb does 97 % of the I/Os, 8 of 14 at a time. Only with the six of sda, which take longer, do the disks have
    the mean of the load: nothing waits above them."""
    found = reads(tmp_path, 14, sda=Disk(300, 20e-3, 254), sdb=Disk(9_000, 8 / 9_000, 254))
    assert not [s for s in found.verdict.suspects if s.kind in ("lun", "io_stack") and s.probability > 0.05]


class JobForEachDisk(OnDisks):
    """Each disk has a job of its own, which names it. `outstanding`: disk → I/Os that its job keeps there, and
    `configured`, where these are more. `limited`: disks whose jobs have a rate, None: it is not known."""

    outstanding: Mapping[str, int] = {}
    configured: Mapping[str, int] = {}
    limited: frozenset[str] | None = None

    def _load(self, out: RecordingBuilder, last: float) -> None:
        (step,) = self.steps
        out.entity("fio", "load", "fio", ids={"name": ("fio",)})
        for name in self.disks:
            about = {} if self.limited is None else {"rate_limited": name in self.limited}
            out.entity("fio", "load", f"fio/{name}", ids={"name": (f"fio/{name}",)}, attributes=about)
            out.link("fio", "member_of", (("load", f"fio/{name}"), ("load", "fio")), "fio job")
            out.configure_link(f"load:fio/{name} targets lun:db7/{name}")
        loads = ",".join(f"fio/{name}" for name in self.disks)
        mark = {"step": step.name, "loads": loads, "block_bytes": step.block, "rate_limited": bool(self.limited)}
        out.event("fio", step.begin, "step-begin", **mark)
        out.event("fio", step.end, "step-end", **mark)
        for at in range(int(step.begin), int(last) + 1):
            seconds = min(at, step.end) - step.begin
            jobs = {}
            for name, disk in self.disks.items():
                ops, waiting = disk.ops * seconds, self.outstanding[name]
                jobs[f"fio/{name}"] = {
                    "in_flight_configured": self.configured.get(name, waiting),
                    "ops_read_total": round(ops),
                    "bytes_read_total": round(ops * step.block),
                    "latency_seconds_read_total": round(1e9 * seconds * waiting),
                }
            out.poll("fio", at)
            out.samples("fio", LOAD, at, jobs)


@pytest.mark.parametrize(("at_hdd", "place"), [(16, "hdd or anything behind it"), (1, "")], ids=["most", "few"])
def test_a_load_is_judged_by_the_jobs_on_the_slow_device_that_holds_most_of_its_ios(
    tmp_path: Path, at_hdd: int, place: str
) -> None:
    """A disk of 200 IOPS, and beside it one of 12,000 with one I/O at a time: in the mean an I/O takes 1.4 ms."""
    disks = {"hdd": Disk(200, at_hdd / 200, 254), "nvme": Disk(12_000, 1 / 12_000, 254)}
    san = JobForEachDisk(tmp_path / "r.sanpath", ports=[], leave_out={"switch", "array", "disk"}, disks=disks)
    san.outstanding = {"hdd": at_hdd, "nvme": 1}
    san.step("s", 1 + at_hdd, block=4 * KIB, read=Flow(12_200, (1 + at_hdd) / 12_200))
    verdict = judged(san.write()).verdict
    assert verdict.suspects[0].place == place
    assert (verdict.suspects[0].verdict == "concurrency_limited") is (at_hdd == 1)


@pytest.mark.parametrize(
    ("limited", "configured"),
    [(frozenset(("sdb",)), 32), (frozenset(("sda", "sdb")), 32), (frozenset(("sda", "sdb")), 64)],
    ids=["one job", "both jobs, one misses its rate", "both jobs"],
)
def test_a_job_with_a_rate_does_not_make_the_others_ask_for_less(
    tmp_path: Path, limited: frozenset[str], configured: int
) -> None:
    """32 of the `configured` I/Os of a job are at sda, and 2 of the 8 of another one at sdb. A job that keeps all its
    I/Os in flight does not reach its rate."""
    disks = {"sda": Disk(16_000, 2e-3, 254), "sdb": Disk(1_200, 2 / 1_200, 254)}
    san = JobForEachDisk(tmp_path / "r.sanpath", ports=[], leave_out={"switch", "array", "disk"}, disks=disks)
    san.outstanding, san.configured = {"sda": 32, "sdb": 2}, {"sda": configured, "sdb": 8}
    san.limited = limited
    san.step("s", configured + 8, block=4 * KIB, read=Flow(17_200, 34 / 17_200))
    verdict = judged(san.write()).verdict
    assert (verdict.suspects[0].verdict == "demand_limited") is (configured > 32)


def test_nothing_below_a_queue_with_free_slots_holds_what_waits_above_it(tmp_path: Path) -> None:
    """64 outstanding. 30 of them are at the device, which held 57 in another, slower step."""

    def below(folder: Path, *steps: tuple[float, int]) -> float:
        san = OnDisks(folder / "r.sanpath", ports=[], leave_out={"switch", "array", "disk"})
        (san.disks, san.later) = ({"sda": Disk(ops, held / ops, 0)} for ops, held in (steps[0], steps[-1]))
        for number, (ops, _) in enumerate(steps):
            san.step(f"t{number}", 64, block=4 * KIB, read=Flow(ops, 64 / ops))
        found = judged(san.write()).verdict
        return sum(s.probability for s in found.suspects if s.kind == "unseen")

    alone = below(tmp_path / "a", (80_000, 30))
    assert below(tmp_path / "b", (50_000, 57), (80_000, 30)) < alone / 3
