"""Control groups that limit the load's I/O: which limit is named, and which is not, each with its arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis, Finding
from sanpath.facts.compute import compute
from sanpath.model import DIRECTIONS, Scalar
from sanpath_collectors.linux_host.tables import CGROUP, HBA, LUN
from tests.support.recording import Number, RecordingBuilder
from tests.support.san import KIB, Flow, San
from tests.support.stories import judged

OWN, ABOVE, OTHER = "/load.slice/fio.service", "/load.slice", "/other.slice"
READS, WRITES = "limit_ops_per_second_read", "limit_ops_per_second_write"
DEVICE_SECONDS = 2.5e-4
"""An I/O takes 0.25 ms from the block device on, unless a test says otherwise."""
Limits = Mapping[str, Mapping[str, int]]
"""Path of a control group → metric → limit."""


@dataclass(slots=True)
class Grouped(San):
    """fio on the host db7 and its sda, in the control group OWN and so in ABOVE, but not in OTHER.

    `raised`: limits after the first step, or from `raised_at` on, where they change. `others`: path of a group
    → reads a second in it that are not the test's; "": in no group. `is_counted`: whether io.stat is read.
    `addressed`: the device that the load names, "": none. `parts`: devices that sda is made of → their latency
    over that of sda. `local`: whether sda is local to db7, None: not known. `local_parts`: the parts that are
    known to be local. `idle`: another device of db7, which does nothing; "": none. `paths`: how many sda has,
    None: not known.
    """

    limits: Limits = field(default_factory=dict)
    raised: Limits = field(default_factory=dict)
    raised_at: float | None = None
    others: Mapping[str, float] = field(default_factory=dict)
    is_counted: bool = True
    parts: Mapping[str, float] = field(default_factory=dict)
    local: bool | None = None
    local_parts: frozenset[str] = frozenset()
    idle: str = ""
    addressed: str = ""
    paths: int | None = None

    def _configuration(self, out: RecordingBuilder) -> None:
        out.configure_link("load:fio runs_on host:db7")
        out.source("db7", "linux_host", LUN, CGROUP)
        out.entity("db7", "host", "db7", ids={"name": ("db7",)}, attributes={"os": "Linux 6.1"})
        about: dict[str, Scalar] = {"local": self.local, "kind": "md" if self.parts else "disk"}
        about["paths"] = self.paths
        out.entity("db7", "lun", "sda", "db7/sda", {"device": ("sda",)}, about)
        out.link("db7", "attached_to", (("lun", "sda"), ("host", "db7")))
        for part in self.parts:
            about = {"model": "M1", "local": part in self.local_parts or None}
            out.entity("db7", "lun", part, f"db7/{part}", {"device": (part,)}, about)
            out.link("db7", "member_of", (("lun", part), ("lun", "sda")))
            out.link("db7", "attached_to", (("lun", part), ("host", "db7")))
            out.configure_link("load:fio targets lun:db7/sda")
        if self.addressed:
            out.configure_link(f"load:fio targets lun:db7/{self.addressed}")
        if self.idle:
            out.entity("db7", "lun", self.idle, f"db7/{self.idle}", {"device": (self.idle,)}, {"local": None})
            out.link("db7", "attached_to", (("lun", self.idle), ("host", "db7")))
        for path in self.limits:
            name = ("cgroup", f"{path} sda")
            about = {"path": path, "unit": path.rpartition("/")[2], "device_number": "8:0"}
            out.entity("db7", *name, f"db7{path} on sda", {}, {**about, "manager": "systemd", "version": 2})
            out.link("db7", "attached_to", (name, ("host", "db7")))
            out.link("db7", "targets", (name, ("lun", "sda")))
        for at in range(int(self.steps[-1].end) + 2):
            out.poll("db7", at)
            parts = {part: self._device(at, 1 / len(self.parts), slowness) for part, slowness in self.parts.items()}
            idle = {self.idle: self._device(0.0)} if self.idle else {}
            out.samples("db7", LUN, at, {"sda": self._device(at)} | parts | idle)
            limits = self.raised if self.raised and at > (self.raised_at or self.steps[0].end) else self.limits
            groups = {f"{path} sda": self._group(path, at) | dict(limits[path]) for path in self.limits}
            out.samples("db7", CGROUP, at, groups)

    def _tested(self, direction: str, at: float) -> list[tuple[float, float]]:
        """I/Os of the test until now, and the seconds that they take from the block device on: one pair a step."""
        return [
            (step.flows[direction].ops * max(0.0, min(at, step.end) - step.begin), step.disk[direction].latency)
            for step in self.steps
            if direction in step.flows
        ]

    def _device(self, at: float, share: float = 1.0, slowness: float = 1.0) -> dict[str, Number]:
        """`share`: of the I/Os; `slowness`: factor of their latency."""
        values: dict[str, Number] = {}
        for d in DIRECTIONS:
            tested, more = self._tested(d, at), at * sum(self.others.values()) if d == "read" else 0.0
            ops = share * (sum(ops for ops, _ in tested) + more)
            seconds = share * slowness * (sum(ops * latency for ops, latency in tested) + more * DEVICE_SECONDS)
            values |= {f"ops_{d}_total": round(ops), f"bytes_{d}_total": round(ops * self.steps[0].block / 512)}
            values[f"latency_seconds_{d}_total"] = round(seconds * 1e3)
        return values

    def _group(self, path: str, at: float) -> dict[str, Number]:
        values: dict[str, Number] = {}
        for d in DIRECTIONS if self.is_counted else ():
            tested = sum(ops for ops, _ in self._tested(d, at)) if path != OTHER else 0.0
            ops = tested + (at * self.others.get(path, 0.0) if d == "read" else 0.0)
            values |= {f"ops_{d}_total": round(ops), f"bytes_{d}_total": round(ops * self.steps[0].block)}
        return values


def grouped(folder: Path, limits: Limits, **more: object) -> Grouped:
    left_out = {"switch", "array", "disk"}
    return Grouped(folder / "r.sanpath", ports=[], leave_out=left_out, limits=limits, **more)  # type: ignore[arg-type]


def reads(san: Grouped, throughput: Mapping[int, float], below: float | None = DEVICE_SECONDS) -> Diagnosis:
    """Steps of 8 KiB reads, I/Os in flight → I/Os a second. `below`: seconds from the block device on; None: all
    of an I/O's N / X, as where the device's clock starts before the limit."""
    for n, ops in throughput.items():
        flow = Flow(ops, n / ops)
        san.step(f"t{n}", n, block=8 * KIB, read=flow, disk={"read": Flow(ops, below or flow.latency)})
    return judged(san.write())


def named(found: Diagnosis) -> list[str]:
    """The limits that the verdict names."""
    return [b.entity for b in found.verdict.bottlenecks if found.verdict.kind == "configured_cap"]


def hits(found: Diagnosis) -> list[Finding]:
    return [f for f in found.findings if f.rule == "control-group-limit" and f.outcome == "hit"]


@pytest.mark.parametrize(
    ("limits", "words"),
    [({READS: 2000}, "2,000 IOPS of reads"), ({"limit_bytes_per_second_read": 16_384_000}, "16.4 MB/s of reads")],
)
@pytest.mark.parametrize("below", [DEVICE_SECONDS, None], ids=["above the device's clock", "inside it"])
def test_a_limit_that_is_reached_is_named(
    tmp_path: Path, limits: Mapping[str, int], words: str, below: float | None
) -> None:
    """2,000 I/Os of 8 KiB are 16.384 MB. I/Os wait above the block device or, by older kernels, in it."""
    found = reads(grouped(tmp_path, {OWN: limits}), {16: 1990, 64: 1996}, below)
    assert named(found) == ["cgroup:db7/load.slice/fio.service on sda"]
    assert words in found.verdict.bottlenecks[0].because[0]
    assert len(found.summary.verdict.split()) <= 12
    assert found.summary.verdict.startswith("Limit of control group db7 load.slice/fio.service on sda is reached")
    waits = [part for budget in found.latency_budget for part in budget.parts if part.is_limit_wait]
    assert bool(waits) == (below is not None), "the wait above the device's clock is that for the limit"
    (finding,) = hits(found)
    assert finding.role == "cause"
    commands = [command for fix in finding.fix for command in fix.commands]
    assert "cat /sys/fs/cgroup/load.slice/fio.service/io.max" in commands
    assert any("fio.service" in command and "/dev/sda infinity" in command for command in commands)


def test_a_limit_that_is_far_away_is_not_accused(tmp_path: Path) -> None:
    """2,000 IOPS of 20,000: something else above the device holds them."""
    found = reads(grouped(tmp_path, {OWN: {READS: 20_000}}), {16: 2000, 64: 2000})
    assert (named(found), hits(found)) == ([], [])
    assert [b.kind for b in found.verdict.bottlenecks] == ["io_stack"]


@pytest.mark.parametrize(
    ("parts", "kind"), [({}, "lun"), ({"sdb": 1.0, "sdc": 1.0}, "io_stack")], ids=["disk", "md or LVM"]
)
def test_only_a_device_of_its_own_has_a_queue(tmp_path: Path, parts: Mapping[str, float], kind: str) -> None:
    """Of 24 reads 10 are at the device: it may have ten slots, unless it hands all that it gets to others."""
    found = reads(grouped(tmp_path, {}, parts=parts), {24: 40_000})
    assert next(suspect.kind for suspect in found.verdict.suspects if suspect.entity is not None) == kind
    assert not parts or "lun" not in {suspect.kind for suspect in found.verdict.suspects}


def test_the_fewer_ios_are_below_a_queue_of_unknown_depth_the_less_it_is_that_queue(tmp_path: Path) -> None:
    """Of 16 reads 1.3, 2.6 or 10 are below: hardly any queue has two slots, so what is above it holds the others."""
    odds = []
    for below in (1.3, 2.6, 10.0):
        found = reads(grouped(tmp_path / str(below), {}), {16: 4000}, below=below / 4000)
        by_kind = {suspect.kind: suspect.probability for suspect in found.verdict.suspects}
        odds.append(by_kind["lun"] / by_kind["io_stack"])
    assert odds[0] < odds[1] / 1.5 < odds[2] / 2


def test_between_a_device_and_its_parts_ios_wait_in_the_device(tmp_path: Path) -> None:
    """sda holds all of 24 reads; hardly one of them is at its parts. What to look for is not above sda."""
    found = reads(grouped(tmp_path, {OWN: {}}, parts={"sdb": 0.05, "sdc": 0.05}), {8: 2000, 24: 2000}, None)
    (bottleneck,) = found.verdict.bottlenecks
    assert (bottleneck.kind, bottleneck.entity, bottleneck.wait_at) == ("io_stack", "host:db7", "lun:db7/sda")
    assert found.summary.verdict == "I/Os wait in host db7 between device db7 sda and its parts"
    assert found.summary.action == "Find what holds I/Os back between device db7 sda and its parts"


@pytest.mark.parametrize(
    ("about", "san", "is_less"),
    [
        ({"block_devices": True}, {"addressed": "sda"}, True),
        ({"block_devices": False}, {"addressed": "sda"}, False),
        ({"block_devices": True}, {}, False),
        ({"block_devices": True, "direct": False}, {"addressed": "sda"}, False),
        ({"block_devices": True}, {"parts": {"sdb": 1.0, "sdc": 1.0}}, False),
    ],
    ids=["the device itself", "a file on it", "another device", "through the file cache", "md"],
)
def test_no_file_system_holds_the_ios_of_a_load_that_accesses_the_device_itself(
    tmp_path: Path, about: Mapping[str, Scalar], san: Mapping[str, object], is_less: bool
) -> None:
    """Of 64 reads 10 are at the device."""

    def software(folder: Path, **about: Scalar) -> float:
        found = reads(grouped(folder, {OWN: {}}, about=about, **san), {64: 40_000})
        return next(s.probability for s in found.verdict.suspects if s.kind == "io_stack")

    unknown, known = software(tmp_path / "a"), software(tmp_path / "b", **about)
    assert known < unknown / 3 if is_less else known == pytest.approx(unknown)


def test_a_control_group_that_was_not_read_may_hold_ios_above_the_device_itself(tmp_path: Path) -> None:
    """Of 64 reads 10 are at the device, which the load accesses itself."""

    def software(folder: Path, limits: Limits) -> float:
        found = reads(grouped(folder, limits, about={"block_devices": True}, addressed="sda"), {64: 40_000})
        return next(s.probability for s in found.verdict.suspects if s.kind == "io_stack")

    assert software(tmp_path / "unread", {}) > 2 * software(tmp_path / "read", {OWN: {}})


def test_a_thread_does_not_wait_for_a_slot_of_the_device_with_many_ios(tmp_path: Path) -> None:
    """A thread keeps all of 32 reads outstanding, of which 10 are at the device. One of libaio sleeps with the first
    for which there is no slot."""

    def queue_over_software(engine: str) -> float:
        san = grouped(tmp_path / engine, {}, about={"ioengine": engine, "threads": 1})
        by_kind = {s.kind: s.probability for s in reads(san, {16: 40_000, 32: 40_000}).verdict.suspects}
        return by_kind["lun"] / by_kind["io_stack"]

    assert queue_over_software("libaio") < queue_over_software("io_uring") / 2


@pytest.mark.parametrize("at_device", [2e-5, 2e-4])
def test_what_waits_above_an_idle_device_does_not_wait_for_it(tmp_path: Path, at_device: float) -> None:
    """400 reads a second with 4 and with 32 outstanding, in bursts: with 32 they take longer at the device, where
    less than one is at a time."""
    san = grouped(tmp_path, {})
    for n, device in ((4, 2e-5), (32, at_device)):
        san.step(f"t{n}", n, block=8 * KIB, read=Flow(400, n / 400), disk={"read": Flow(400, device)})
    found = judged(san.write())
    assert [b.kind for b in found.verdict.bottlenecks] == ["io_stack"], found.verdict.headline


@pytest.mark.parametrize(
    ("share", "ports", "addressed"),
    [
        (0.0, {"eth0": True}, ""),
        (1.0, {"eth0": True}, ""),
        (0.0, {"eth0": False}, ""),
        (0.0, {"eth0": True, "eth1": False}, ""),
        (0.0, {"eth0": True}, "sda"),
    ],
    ids=["no device", "a device", "the port is unread", "another port is unread", "its device counts nothing"],
)
def test_a_test_that_no_device_of_its_machine_carries_is_none_of_the_storage(
    tmp_path: Path, share: float, ports: Mapping[str, bool], addressed: str
) -> None:
    """fio makes a file in memory where a device name below /dev is mistyped, and does direct I/O on it. If a port is
    not read, the file may be on a server; and there are devices that count nothing. `ports`: whether each is read."""

    class Mistyped(Grouped):
        def _configuration(self, out: RecordingBuilder) -> None:
            Grouped._configuration(self, out)
            out.source("net", "linux_host", HBA)
            for name in ports:
                out.entity("net", "hba", name, f"db7/{name}", attributes={"technology": "ethernet"})
                out.configure_link(f"hba:db7/{name} attached_to host:db7")
            read = [name for name, is_read in ports.items() if is_read]
            for at in range(int(self.steps[-1].end) + 2) if read else ():
                out.poll("net", at)
                out.samples("net", HBA, at, {name: {"bytes_rx_total": at, "bytes_tx_total": at} for name in read})

        def _device(self, at: float, *_: float) -> dict[str, Number]:
            return Grouped._device(self, at, share)

    about = {"direct": True}
    unread = {"switch", "array", "disk"}
    san = Mistyped(tmp_path / "r.sanpath", ports=[], leave_out=unread, about=about, addressed=addressed)
    found = reads(san, {2: 8000, 4: 16_000})
    rules = {finding.rule for finding in found.findings if finding.outcome == "hit"}
    assert ("test-on-no-device" in rules) == (share == 0 and all(ports.values()) and not addressed)
    assert (found.verdict.kind == "concurrency_limited") == ("test-on-no-device" not in rules)


def test_throughput_that_falls_with_more_ios_does_not_ask_for_more(tmp_path: Path) -> None:
    """With more than 8 outstanding the device thrashes."""
    verdict = reads(grouped(tmp_path, {}), {1: 2136, 8: 16_985, 32: 7_636, 128: 2086}, None).verdict
    assert verdict.kind != "concurrency_limited"
    assert sum(s.probability for s in verdict.suspects if s.verdict == "concurrency_limited") < 0.6


@pytest.mark.parametrize(("local", "drives"), [(True, ["lun:db7/sda"]), (None, []), (False, [])])
def test_below_a_local_drive_there_is_nothing_else(tmp_path: Path, local: bool | None, drives: list[str]) -> None:
    """20,000 IOPS with 16 and with 64 outstanding, all of them at the device."""
    verdict = reads(grouped(tmp_path, {}, local=local), {16: 20_000, 64: 20_000}, None).verdict
    assert [b.entity for b in verdict.bottlenecks if b.kind == "drive"] == drives
    assert verdict.kind == ("bottleneck" if drives else "cannot_tell")


def test_of_drives_that_are_used_together_the_one_that_is_slow_for_its_load_is_named(tmp_path: Path) -> None:
    parts = {"nvme0n1": 0.5, "nvme1n1": 0.5, "nvme2n1": 2.5, "nvme3n1": 0.5}
    (drive,) = reads(grouped(tmp_path, {}, local=True, parts=parts), {16: 2000, 64: 2000}, None).verdict.bottlenecks
    assert (drive.kind, drive.entity) == ("drive", "lun:db7/nvme2n1")
    assert "5.0 times as long as its peers" in drive.because[0]


def test_a_group_without_a_limit_clears_the_rule(tmp_path: Path) -> None:
    found = reads(grouped(tmp_path, {OWN: {}}), {16: 2000, 64: 2000})
    assert (named(found), hits(found)) == ([], [])
    assert "control-group-limit" not in {f.rule for f in found.findings if f.outcome == "unknown"}


def test_a_limit_of_writes_does_not_hold_reads_back(tmp_path: Path) -> None:
    assert named(reads(grouped(tmp_path, {OWN: {WRITES: 2000}}), {16: 2000, 64: 2000})) == []


def test_reads_and_writes_have_limits_of_their_own(tmp_path: Path) -> None:
    """Half of 2,000 are writes, which are limited to 1,000; the limit of reads is far away. Reads take 0.25 ms, so
    0.25 of N are in flight, and the other I/Os are writes that wait."""
    san = grouped(tmp_path, {OWN: {READS: 5000, WRITES: 1000}})
    for n in (16, 64):
        disk = Flow(1000, DEVICE_SECONDS)
        write = Flow(1000, n / 1000 - DEVICE_SECONDS)
        san.step(f"t{n}", n, block=8 * KIB, read=disk, write=write, disk={"read": disk, "write": disk})
    found = judged(san.write())
    assert named(found) == ["cgroup:db7/load.slice/fio.service on sda"]
    assert "1,000 IOPS of writes" in found.verdict.bottlenecks[0].because[0]


def test_the_limit_of_the_rarer_direction_is_a_cause_with_its_remedy(tmp_path: Path) -> None:
    """Of 1,500 a second 500 are writes, which are limited to 500; the reads take 0.25 ms. The facts of a group stand
    in one row, in the direction that moves more, and are about both."""
    san = grouped(tmp_path, {OWN: {WRITES: 500}})
    for n in (16, 64):
        read, below = Flow(1000, DEVICE_SECONDS), Flow(500, DEVICE_SECONDS)
        write = Flow(500, (n - 0.25) / 500)
        san.step(f"t{n}", n, block=8 * KIB, read=read, write=write, disk={"read": read, "write": below})
    found = judged(san.write())
    assert named(found) == ["cgroup:db7/load.slice/fio.service on sda"]
    (finding,) = hits(found)
    assert (finding.role, finding.direction) == ("cause", "both")
    assert found.plan[0].resolves[0].rule == "control-group-limit"


def test_the_limit_of_a_group_above_is_named_with_what_others_use_of_it(tmp_path: Path) -> None:
    """The slice has 2,000; another service in it does 1,000 of them. The service itself has no limit."""
    found = reads(grouped(tmp_path, {OWN: {}, ABOVE: {READS: 2000}}, others={ABOVE: 1000}), {16: 1000, 64: 1000})
    assert named(found) == ["cgroup:db7/load.slice on sda"]
    assert "50.0 %" in found.verdict.bottlenecks[0].because[1]


def test_the_limit_of_another_load_of_the_same_name_is_not_the_tests(tmp_path: Path) -> None:
    """Another fio runs at the limit of its group. The device carries its 5,000 and the test's 2,000: none of the
    test's can be among the 5,000."""
    found = reads(grouped(tmp_path, {OWN: {}, OTHER: {READS: 5000}}, others={OTHER: 5000}), {16: 2000, 64: 2000})
    assert (named(found), hits(found)) == ([], [])


def test_a_busy_neighbour_on_the_device_does_not_hide_the_limit(tmp_path: Path) -> None:
    """Others do 9,000 on the same device. The group does as much as the test, so it is the test's."""
    found = reads(grouped(tmp_path, {OWN: {READS: 2000}}, others={"": 9000}), {16: 2000, 64: 2000})
    assert named(found) == ["cgroup:db7/load.slice/fio.service on sda"]


def test_where_nothing_counts_the_group_the_load_is_what_uses_its_limit(tmp_path: Path) -> None:
    found = reads(grouped(tmp_path, {OWN: {READS: 2000}}, is_counted=False), {16: 1998, 64: 1998})
    assert named(found) == ["cgroup:db7/load.slice/fio.service on sda"]


def test_a_limit_that_is_raised_between_steps_holds_in_each_step_as_it_was(tmp_path: Path) -> None:
    san = grouped(tmp_path, {OWN: {READS: 500}}, raised={OWN: {READS: 2000}})
    for n, ops in ((16, 500), (64, 1000)):
        san.step(f"t{n}", n, block=8 * KIB, read=Flow(ops, n / ops), disk={"read": Flow(ops, DEVICE_SECONDS)})
    first, second = compute(san.write()).tables["control_group"].rows
    assert (first["limit_used_ratio_read"], second["limit_used_ratio_read"]) == pytest.approx((1.0, 0.5), rel=0.02)


def test_a_limit_that_changes_within_a_step_is_said_to_change(tmp_path: Path) -> None:
    """Half of the step with 500, half with 2,000: 1,250 on average, which was never set."""
    san = grouped(tmp_path, {OWN: {READS: 500}}, raised={OWN: {READS: 2000}}, raised_at=30.0)
    san.step(
        "t64", 64, block=8 * KIB, read=Flow(1250, 64 / 1250), disk={"read": Flow(1250, DEVICE_SECONDS)}, seconds=60
    )
    (row,) = compute(san.write()).tables["control_group"].rows
    assert str(row["limit"]).endswith(" on average, changed during the step to 2,000 IOPS")


def test_nothing_separates_a_single_suspect_from_others(tmp_path: Path) -> None:
    """300 IOPS with 1, 8 and 32 outstanding, of which hardly any is at the device."""
    verdict = reads(grouped(tmp_path, {}), {1: 300, 8: 300, 32: 300}).verdict
    assert [suspect.kind for suspect in verdict.suspects] == ["io_stack"]
    assert (verdict.experiment, verdict.decide_with) == (None, None)


def test_a_load_on_the_device_itself_is_not_told_to_run_there(tmp_path: Path) -> None:
    """Of 64 reads 0.5 are at the device. No limit of a control group is read."""

    def actions(name: str, **about: Scalar) -> set[str]:
        found = reads(grouped(tmp_path / name, {}, about=about), {64: 2000})
        (finding,) = (f for f in found.findings if f.rule == "waits-above-device" and f.outcome == "hit")
        return {fix.action for fix in finding.fix if fix.action is not None}

    on_the_device = "Run the load on the block device itself"
    assert on_the_device in actions("file", block_devices=False)
    assert on_the_device not in actions("device", block_devices=True)
