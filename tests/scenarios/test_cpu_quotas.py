"""CPU quotas of control groups: the load generator is stopped while the cores of its host idle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis, Finding
from sanpath.facts.compute import compute
from sanpath.recording.reading.recording import Recording
from sanpath.verdict.judgement.possible_experiments import possible_experiments
from sanpath.verdict.judgement.posterior import rank_claims
from sanpath.verdict.places.table import place_tables
from sanpath_collectors.linux_host.tables import CGROUP
from tests.scenarios.test_control_groups import ABOVE, DEVICE_SECONDS, OTHER, OWN, READS, Grouped
from tests.support.recording import RecordingBuilder
from tests.support.san import KIB, Flow
from tests.support.stories import judged

PERIODS = 10
"""Periods of a quota in a second."""


@dataclass(frozen=True, slots=True)
class Quota:
    """`cores` that a group may use, and those that it does; None: not counted. `stopped`: share of the periods."""

    cores: float
    used: float | None
    stopped: float | None = None


@dataclass(slots=True)
class WithQuotas(Grouped):
    """`quotas`: path of a control group → its quota and what it uses of it."""

    quotas: Mapping[str, Quota] = field(default_factory=dict)
    manager: str = "systemd"

    def _configuration(self, out: RecordingBuilder) -> None:
        Grouped._configuration(self, out)
        for path in self.quotas:
            name = ("cgroup", f"{path} processors")
            about = {"path": path, "unit": path.rpartition("/")[2], "manager": self.manager, "version": 2}
            out.entity("db7", *name, f"db7{path} on the processors", {}, about)
            out.link("db7", "attached_to", (name, ("host", "db7")))
        for at in range(int(self.steps[-1].end) + 2):
            out.samples("db7", CGROUP, at, {f"{path} processors": _row(at, q) for path, q in self.quotas.items()})


def _row(at: int, quota: Quota) -> dict[str, int | float | None]:
    stopped = None if quota.stopped is None else round(at * PERIODS * quota.stopped)
    return {
        "cpu_quota_cores": quota.cores,
        "cpu_used_seconds_total": None if quota.used is None else round(at * quota.used * 1e6),
        "cpu_periods_total": None if stopped is None else at * PERIODS,
        "cpu_throttled_periods_total": stopped,
    }


def reads(
    folder: Path,
    quotas: Mapping[str, Quota],
    throughput: Mapping[int, float] | None = None,
    cpu: float | None = 0.49,
    **more: object,
) -> Diagnosis:
    """Steps of 8 KiB reads, by default 5,000 IOPS with 16 and with 64 outstanding. An I/O takes 0.25 ms from the
    block device on, so that only 1.25 are there. `cpu`: share of a core that the busiest process uses."""
    san = WithQuotas(
        folder / "r.sanpath",
        ports=[],
        leave_out={"switch", "array", "disk"},
        quotas=quotas,
        **more,  # type: ignore[arg-type]
    )
    for n, ops in (throughput or {16: 5000, 64: 5000}).items():
        disk = {"read": Flow(ops, DEVICE_SECONDS)}
        san.step(f"t{n}", n, block=8 * KIB, read=Flow(ops, n / ops), disk=disk, cpu=cpu)
    return judged(san.write())


def hits(found: Diagnosis) -> list[Finding]:
    return [f for f in found.findings if f.rule == "cpu-quota-limit" and f.outcome == "hit"]


@pytest.mark.parametrize(
    "quota",
    [Quota(0.5, 0.499, 0.99), Quota(0.5, 0.499), Quota(0.5, None, 0.99)],
    ids=["used and stopped", "used", "stopped"],
)
@pytest.mark.parametrize("cpu", [0.49, None], ids=["its processes are read", "they are not"])
def test_a_quota_that_is_used_up_makes_the_generator_the_limit(
    tmp_path: Path, quota: Quota, cpu: float | None
) -> None:
    """Half a core is used, and the others idle: without the quota nothing looks busy."""
    found = reads(tmp_path, {OWN: quota}, cpu=cpu)
    assert found.verdict.kind == "generator_limited"
    assert "control group load.slice/fio.service" in found.verdict.headline
    assert "CPU quota of 0.5 cores" in found.verdict.headline
    (finding,) = hits(found)
    assert finding.role == "cause"
    assert "load.slice/fio.service" in finding.summary
    assert "0.5 cores" in finding.summary
    assert found.summary.action == "Raise or clear the CPU quota of the load generator"
    commands = [command for fix in finding.fix for command in fix.commands]
    assert "systemctl set-property --runtime fio.service CPUQuota=" in commands
    assert "cat /sys/fs/cgroup/load.slice/fio.service/cpu.max" in commands
    assert not any(cleared.entity == "load:fio" for cleared in found.cleared)


def test_a_quota_that_stops_the_load_in_most_periods_is_the_limit(tmp_path: Path) -> None:
    """In a period without a core, as on a busy machine, the load uses none of its quota: 83 % of it on average,
    and it is stopped in 83 % of the periods."""
    found = reads(tmp_path, {OWN: Quota(0.05, 0.0415, 0.83)}, {4: 8000}, cpu=0.04)
    assert found.verdict.kind == "generator_limited"
    assert "CPU quota of 0.05 cores" in found.verdict.headline


def test_more_processes_are_not_expected_to_do_more_under_a_quota_that_is_used_up(tmp_path: Path) -> None:
    """All of them share the quota. Without it, each has a core of its own."""
    quota, none = Quota(0.5, 0.499, 0.99), Quota(64.0, 0.95, 0.0)
    bound, free = (_by_more_jobs(tmp_path / name, each) for name, each in (("bound", quota), ("free", none)))
    assert bound < 0.2 < 0.8 < free


def _by_more_jobs(folder: Path, quota: Quota) -> float:
    """How probable the verdict's own claim of the generator makes more throughput with more processes."""
    folder.mkdir()
    reads(folder, {OWN: quota}, {64: 5000}, cpu=0.99)
    facts = compute(Recording(folder / "r.sanpath"))
    (table,) = place_tables(facts, facts.loads)
    claim = next(claim for claim in rank_claims([table])[0] if claim.verdict == "generator_limited")
    (more_jobs,) = [each for each in possible_experiments(table, claim) if each.action == "more_jobs"]
    return more_jobs.outcome_probability(claim)


def test_without_a_quota_the_same_load_is_held_by_something_else(tmp_path: Path) -> None:
    found = reads(tmp_path, {})
    assert found.verdict.kind != "generator_limited"
    assert "cpu-quota-limit" not in {f.rule for f in found.findings}


def test_a_quota_with_room_is_not_accused(tmp_path: Path) -> None:
    """Half of a core of four, and never stopped."""
    found = reads(tmp_path, {OWN: Quota(4.0, 0.5, 0.0)})
    assert (found.verdict.kind == "generator_limited", hits(found)) == (False, [])


def test_the_quota_of_a_group_above_holds_as_well(tmp_path: Path) -> None:
    """The service may use two cores; its slice may use one, and others in it use a half."""
    found = reads(tmp_path, {OWN: Quota(2.0, 0.5, 0.0), ABOVE: Quota(1.0, 0.999, 0.97)})
    assert found.verdict.kind == "generator_limited"
    assert "control group load.slice used 99.9 % of its CPU quota of 1 cores" in found.verdict.headline


def test_the_quota_of_another_load_of_the_same_name_is_not_the_tests(tmp_path: Path) -> None:
    """Another fio is stopped in its own group. The device carries its 3,000 and the test's 5,000."""
    limits = {OWN: {}, OTHER: {READS: 9_000}}
    found = reads(tmp_path, {OTHER: Quota(0.5, 0.5, 0.99)}, limits=limits, others={OTHER: 3000})
    assert (found.verdict.kind == "generator_limited", hits(found)) == (False, [])


def test_throughput_that_grows_with_more_ios_is_not_held_by_a_quota(tmp_path: Path) -> None:
    found = reads(tmp_path, {OWN: Quota(4.0, 1.0, 0.02)}, {16: 20_000, 64: 80_000})
    assert found.verdict.kind != "generator_limited"


@pytest.mark.parametrize(
    ("manager", "command"),
    [("container", "docker update --cpus MORE CONTAINER"), ("kubernetes", "kubectl -n NAMESPACE set resources")],
)
def test_the_remedy_is_that_of_what_made_the_group(tmp_path: Path, manager: str, command: str) -> None:
    (finding,) = hits(reads(tmp_path, {OWN: Quota(0.5, 0.499, 0.99)}, manager=manager))
    commands = [each for fix in finding.fix for each in fix.commands]
    assert any(each.startswith(command) for each in commands)
    assert not any("systemctl" in each for each in commands)
