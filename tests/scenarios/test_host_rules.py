"""What the rules for hosts and their paths say of whole recordings, and what the verdict makes of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.model import Column, Table
from sanpath.rulebook.model import Finding
from tests.support.esx_san import DEVICE, EsxSan, over_first_path
from tests.support.recording import RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, NAA, AtArray, Flow
from tests.support.stories import COUNTED, NOTHING, SECOND_HBA, SECOND_TARGET, X, diagnosed, judged

MRU = {"path_policy": "most_recently_used", "path_policy_native": "VMW_PSP_MRU", "path_access": "active/active"}
ROUND_ROBIN = {"path_policy": "round_robin", "path_policy_native": "VMW_PSP_RR", "path_switch_operations": 1000}


def of(found: Diagnosis, rule: str, outcome: str = "hit") -> list[Finding]:
    return [f for f in found.findings if (f.rule, f.outcome) == (rule, outcome)]


def commands(finding: Finding) -> list[str]:
    return [command for fix in finding.fix for command in fix.commands]


def test_a_path_that_dies_in_the_middle_of_a_run_marks_the_steps_after_it(tmp_path: Path) -> None:
    """Steps of 5 to 17 s and 21 to 33 s; the path is dead from 26 s on."""
    found = judged(over_first_path(tmp_path, lun=ROUND_ROBIN, lost_at=26))
    (finding,) = of(found, "controller-or-path-lost")
    assert (finding.role, finding.entity, finding.steps) == ("validity", DEVICE, ("t128",))
    assert "had 1 of 2 paths" in finding.summary
    assert "vmhba3:C0:T1:L1" in finding.summary
    assert of(found, "paths-down") == []


def test_a_path_that_never_worked_is_a_risk_of_every_step(tmp_path: Path) -> None:
    found = judged(over_first_path(tmp_path, states=("active", "dead")))
    (finding,) = of(found, "paths-down")
    assert (finding.role, finding.steps) == ("risk", ("t16", "t128"))
    assert of(found, "controller-or-path-lost") == []


def test_most_recently_used_on_equal_paths_names_the_command_and_how_full_the_link_is(tmp_path: Path) -> None:
    found = judged(over_first_path(tmp_path, lun=MRU))
    (finding,) = of(found, "policy-uses-one-path")
    assert (finding.role, finding.entity) == ("risk", DEVICE)
    assert "VMW_PSP_MRU uses one of them" in finding.summary
    assert "97.7 %" in finding.summary
    assert f"esxcli storage nmp device set -d {NAA} --psp VMW_PSP_RR" in commands(finding)
    assert not any(command.startswith(("multipath", "mpclaim")) for command in commands(finding)), "it is an ESXi"


@pytest.mark.parametrize(
    ("access", "outcome"), [("active/passive", "clear"), ("asymmetric", "unknown"), (None, "unknown")]
)
def test_most_recently_used_is_right_on_active_passive_arrays(
    tmp_path: Path, access: str | None, outcome: str
) -> None:
    found = judged(over_first_path(tmp_path, lun={**MRU, "path_access": access}))
    assert of(found, "policy-uses-one-path") == []
    assert bool(of(found, "policy-uses-one-path", "unknown")) == (outcome == "unknown")


def test_a_batch_of_1000_is_large_for_30_in_flight_and_small_for_2000(tmp_path: Path) -> None:
    for in_flight, hits in ((30, 1), (2000, 0)):
        counted = {"lun": {"in_flight": in_flight, "queue_depth": 4096}}
        found = judged(over_first_path(tmp_path / str(in_flight), lun=ROUND_ROBIN, counted=counted))
        assert len(of(found, "round-robin-batch-large")) == hits


class BusyArray(EsxSan):
    """`busy`: how busy the array reports that its controllers and media are, as a ratio; None: it reports neither."""

    busy: float | None = None

    def _configuration(self, out: RecordingBuilder) -> None:
        EsxSan._configuration(self, out)
        if self.busy is None:
            return
        table = Table("controller", (Column("cpu_busy_ratio"), Column("media_busy_ratio")))
        out.source("stats", "prometheus", table)
        out.entity("stats", "controller", "1")
        out.link("stats", "member_of", (("controller", "1"), ("array", "fa1")))
        for second in range(int(self.steps[-1].end)):
            busy = 0.02 if second <= self.steps[0].begin else self.busy
            out.samples("stats", table, second, {"1": {"cpu_busy_ratio": busy, "media_busy_ratio": busy}})


@pytest.mark.parametrize(
    ("state", "busy", "kind"),
    [
        ("active/optimized", None, "array"),
        ("active/non-optimized", None, "path_policy"),
        ("active/non-optimized", 0.2, "path_policy"),
        ("active/non-optimized", 0.99, "array"),
    ],
)
def test_a_slow_array_is_first_spared_what_its_controllers_pass_on_to_each_other(
    tmp_path: Path, state: str, busy: float | None, kind: str
) -> None:
    """Half of the I/Os go over the second path. The array takes 8 ms for 16 of them and 64 ms for 128."""
    san = BusyArray(
        tmp_path,
        ports=[HOST_PORT, ARRAY_PORT, SECOND_HBA, SECOND_TARGET],
        lun=ROUND_ROBIN,
        states=("active/optimized", state),
        shares=(0.5, 0.5),
    )
    san.busy = busy
    for n in (16, 128):
        flow = Flow(2000, n / 2000)
        ports = {port.name: (1000 * 32 * 2076.0, NOTHING) for port in san.ports}
        san.step(f"t{n}", n, read=flow, ports=ports, array={"read": AtArray(n / 2000 - 0.0004)})
    found = judged(san.write())
    assert found.verdict.bottlenecks[0].kind == kind
    assert (found.verdict.probability > 0.85) == (busy is not None or kind == "array")
    crosses = state != "active/optimized"
    assert (found.plan[0].action == "Send I/O over the optimised paths only") == crosses
    if crosses:
        assert found.plan[0].purpose == "limit"
        assert found.plan[0].commands[-1].endswith(f"--useano=0 --device {NAA}")


def test_what_the_array_times_as_its_queue_waits_whatever_path_it_came_over(tmp_path: Path) -> None:
    """Half of the I/Os cross the link between the controllers. Each is served in 3 ms, and the others wait for it."""
    san = EsxSan(
        tmp_path,
        ports=[HOST_PORT, ARRAY_PORT, SECOND_HBA, SECOND_TARGET],
        lun=ROUND_ROBIN,
        states=("active/optimized", "active/non-optimized"),
        shares=(0.5, 0.5),
    )
    for n in (16, 128):
        flow = Flow(2000, n / 2000)
        ports = {port.name: (1000 * 32 * 2076.0, NOTHING) for port in san.ports}
        at_array = {"read": AtArray(0.003, queue=n / 2000 - 0.0034)}
        san.step(f"t{n}", n, read=flow, ports=ports, array=at_array)
    verdict = judged(san.write()).verdict
    assert [bottleneck.kind for bottleneck in verdict.bottlenecks] == ["array"]


@pytest.mark.parametrize("state", ["active/optimized", "active/non-optimized"])
def test_paths_that_are_not_optimised_are_suspected_of_a_wait_that_no_array_reports(
    tmp_path: Path, state: str
) -> None:
    san = EsxSan(
        tmp_path,
        ports=[HOST_PORT, ARRAY_PORT, SECOND_HBA, SECOND_TARGET],
        lun=ROUND_ROBIN,
        states=("active/optimized", state),
        shares=(0.5, 0.5),
        leave_out={"array_samples"},
    )
    for n in (16, 128):
        ports = {port.name: (1000 * 32 * 2076.0, NOTHING) for port in san.ports}
        san.step(f"t{n}", n, read=Flow(2000, n / 2000), ports=ports, array={"read": AtArray(None)})
    first = judged(san.write()).verdict.suspects[0]
    assert (first.kind == "path_policy") == (state != "active/optimized")


def test_round_robin_over_8_and_16_gigabit(tmp_path: Path) -> None:
    (finding,) = of(
        judged(over_first_path(tmp_path, lun=ROUND_ROBIN, speeds=(8e9, 16e9))), "unequal-paths-equal-split"
    )
    assert "paths of 8 Gb/s and of 16 Gb/s" in finding.summary
    assert any("--type=latency" in command for command in commands(finding))


@pytest.mark.parametrize(("second", "has_room"), [(8, True), (4, None)], ids=["8GFC", "both 4GFC"])
def test_round_robin_over_a_slow_full_link_and_a_faster_one_is_advised_against(
    tmp_path: Path, second: int, has_room: bool | None
) -> None:
    """6,250 IOPS on each: 97.7 % of 4GFC, 48.8 % of 8GFC."""
    targets = [replace(port, speed=16) for port in (ARRAY_PORT, SECOND_TARGET)]
    hosts = [HOST_PORT, replace(SECOND_HBA, speed=second)]
    san = EsxSan(tmp_path / "r.sanpath", ports=[*hosts, *targets], lun=ROUND_ROBIN, speeds=(4e9, second * 1e9))
    san.shares = (0.5, 0.5)
    for n in (64, 256):
        ports = {port.name: (COUNTED, NOTHING) for port in san.ports}
        san.step(f"t{n}", n, read=Flow(2 * X, n / 2 / X), ports=ports, array={"read": AtArray(0.0004, san=0.003)})
    found = judged(san.write())
    assert found.verdict.bottlenecks[0].kind == "link"
    hits = of(found, "unequal-paths-equal-split")
    assert [finding.relieves for finding in hits] == (["link:esx7/vmhba2--sw1/fc1/7"] if has_room else [])
    assert all("a faster path has room" in (finding.in_this_run or "") for finding in hits)
    assert (found.plan[0].action == "Weight the paths by latency or queue depth") == bool(has_room)


def test_a_full_queue_of_32_is_the_cause_where_nothing_below_is_full() -> None:
    """8 KiB on 32GFC: 64,000 IOPS are 15.7 % of the link, and the guest admits 32."""
    found = diagnosed("guest_queue")
    (finding,) = of(found, "lun-queue-limits")
    assert (finding.role, finding.entity) == ("cause", "lun:sqlvm1/sda")
    assert found.verdict.bottlenecks[0].entity == finding.entity
    assert "of the 32 that are allowed" in finding.summary


def test_a_full_queue_of_32_before_a_full_link_is_not_worth_a_word() -> None:
    """The published test: 32 of 32 in flight, and 97.7 % of the link."""
    assert of(diagnosed("published"), "lun-queue-limits") == []


def test_waits_in_the_kernel_and_one_full_core_are_told(tmp_path: Path) -> None:
    counted = {
        "lun": {"in_flight": 30, "queue_depth": 32, "kernel_seconds_mean": 0.004, "sioc_active_ratio": 0.5},
        "host": {"cpu_busy_ratio": 0.2, "cpu_busiest_core_ratio": 1.0},
    }
    found = judged(over_first_path(tmp_path, busy=0.3, lun=MRU, counted=counted))
    (kernel,) = of(found, "kernel-latency")
    assert "4 ms in the kernel" in kernel.summary
    assert len(of(found, "sioc-throttling")) == 1
    (core,) = of(found, "core-busy")
    assert (core.entity, core.role) == ("host:esx7", "cause")
    assert (found.verdict.kind, found.verdict.bottlenecks[0].kind) == ("bottleneck", "core")


def test_a_limit_of_the_virtual_disk_is_the_cause(tmp_path: Path) -> None:
    """0.3 x 6,250 = 1,875 IOPS under a limit of 1,900."""
    vdisks = {"sqlvm1/scsi0:1": {"controller_type": "pvscsi", "controller": "scsi0", "limit_ops_per_second": 1900}}
    (finding,) = of(judged(over_first_path(tmp_path, busy=0.3, vdisks=vdisks)), "vdisk-iops-limit")
    assert "uses 98.7 % of its limit of 1,900 IOPS" in finding.summary
    assert any("Get-VM sqlvm1" in command for command in commands(finding))


def test_disks_that_reach_their_limits_together_are_the_limit(tmp_path: Path) -> None:
    """1,875 IOPS over two disks of 950 each."""
    about = {"controller_type": "pvscsi", "controller": "scsi0", "limit_ops_per_second": 950}
    vdisks = {f"sqlvm1/scsi0:{number}": about for number in (1, 2)}
    verdict = judged(over_first_path(tmp_path, busy=0.3, vdisks=vdisks)).verdict
    (cap,) = verdict.bottlenecks
    assert verdict.kind == "configured_cap"
    assert {cap.entity, *cap.coincident} == {f"vdisk:{name}" for name in vdisks}
