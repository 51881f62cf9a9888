"""One test from several hosts: what one of them waits for is not what the others wait for."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.views.words import confidence_lines, evidence_lines
from tests.support.reading_hosts import SERVICE, Reads, reads_on_hosts


def test_the_full_queue_of_the_host_that_waits_is_named(tmp_path: Path) -> None:
    """db1 keeps 64 I/Os outstanding over a queue of 8; what the others ask for is at their devices at once."""
    found = reads_on_hosts(tmp_path, db1=Reads(64, 8, depth=8), db2=Reads(4, 4), db3=Reads(4, 4))
    assert found.verdict.bottlenecks[0].entity == "lun:db1/sda"
    assert "8 slots" in found.summary.verdict


def test_a_limit_of_one_host_is_no_ceiling_below_what_all_reach(tmp_path: Path) -> None:
    """Two of three hosts with a full queue: what one of them lets through is half of what is reached."""
    found = reads_on_hosts(tmp_path, db1=Reads(64, 8, depth=8), db2=Reads(64, 8, depth=8), db3=Reads(1, 1))
    reached = found.steps[0].directions["read"].ops_per_second
    assert len(found.verdict.bottlenecks) == 2
    assert all((b.ceiling_ops_per_second or reached) >= 0.99 * reached for b in found.verdict.bottlenecks)
    assert "slows down" not in (found.summary.consequence or "")


def test_every_host_with_a_full_queue_of_its_own_is_named(tmp_path: Path) -> None:
    found = reads_on_hosts(tmp_path, db1=Reads(64, 8, depth=8), db2=Reads(64, 8, depth=8))
    assert {b.entity for b in found.verdict.bottlenecks} == {"lun:db1/sda", "lun:db2/sda"}


def test_the_clock_of_one_host_times_no_io_of_another(tmp_path: Path) -> None:
    """Only db2 is read, whose I/Os wait for nothing: where those of db1 wait is not known, and not above db2's
    device."""
    found = reads_on_hosts(tmp_path, db1=Reads(64, 8, is_read=False), db2=Reads(8, 8))
    assert found.verdict.kind == "cannot_tell"
    accused = {s.entity for s in found.verdict.suspects if s.probability > 0.05}
    assert not accused & {"lun:db2/sda", "host:db2"}


def test_a_slow_device_of_one_host_leaves_the_others_alone(tmp_path: Path) -> None:
    """An I/O of db1 takes 20 ms at its device, and one of db2 0.6 ms: in the mean it takes 1.9 ms."""
    found = reads_on_hosts(tmp_path, db1=Reads(16, 16, seconds=0.02), db2=Reads(8, 8))
    assert found.verdict.suspects[0].entity not in ("lun:db2/sda", "host:db2")
    assert found.steps[0].directions["read"].latency_seconds.mean == pytest.approx(24 / (800 + 8 / SERVICE), rel=0.01)
    words = "judged by db1: 16 of 24 outstanding I/Os, at 20.0 ms each"
    assert words in found.steps[0].verdict.because
    lines = confidence_lines(found)
    assert lines.index(words) < min(n for n, line in enumerate(lines) if line.startswith("likelihood "))


def test_a_host_with_few_ios_does_not_decide_for_the_test(tmp_path: Path) -> None:
    """The queue of db2 is full: it holds 4 of 36 I/Os, and the other 32 wait for nothing."""
    found = reads_on_hosts(tmp_path, db1=Reads(32, 32), db2=Reads(4, 1, depth=1))
    assert not found.verdict.bottlenecks
    assert found.verdict.grade == "C"
    assert "lun:db2/sda limits db2: 4 of 36 outstanding I/Os" in found.steps[0].verdict.because


def test_a_host_that_waits_for_nothing_acquits_no_other(tmp_path: Path) -> None:
    """db1 has more I/Os outstanding than any other host; 33 of 49 wait for the queues of the others."""
    full = Reads(11, 1, depth=1)
    found = reads_on_hosts(tmp_path, db1=Reads(16, 16), db2=full, db3=full, db4=full)
    assert {b.entity for b in found.verdict.bottlenecks} == {f"lun:db{n}/sda" for n in (2, 3, 4)}
    assert found.verdict.grade != "A"


def test_a_limit_of_a_third_of_the_ios_is_not_that_of_the_test_for_sure(tmp_path: Path) -> None:
    found = reads_on_hosts(tmp_path, db1=Reads(4, 1, depth=1), db2=Reads(4, 4), db3=Reads(4, 4))
    assert found.verdict.grade == "C"


def test_the_rate_of_one_host_holds_no_other_back(tmp_path: Path) -> None:
    """20 of the 32 I/Os that db1 may keep are outstanding, and it has no rate: db2 has."""
    hosts = {"db1": Reads(20, 20, configured=32), "db2": Reads(13, 1, depth=1, has_rate=True)}
    found = reads_on_hosts(tmp_path, **hosts)
    assert "demand_limited" not in {s.verdict for s in found.verdict.suspects if s.probability > 0.5}


def test_every_one_of_many_hosts_is_judged(tmp_path: Path) -> None:
    hosts = {f"db{number}": Reads(64, 8, depth=8) for number in range(40)}
    found = reads_on_hosts(tmp_path, **hosts)
    assert {b.entity for b in found.verdict.bottlenecks} == {f"lun:{host}/sda" for host in hosts}
    assert found.summary.verdict == "Queues of device sda on db0 and 39 others are full"
    assert (found.summary.action, found.summary.plan_step) == ("Raise the LUN queue depth", 1)
    assert len({each.entity for each in found.plan[0].resolves}) == 40
    assert len([line for line in evidence_lines(found) if "slots" in line or "64 are offered" in line]) == 1


def test_of_hosts_that_are_too_many_to_judge_each_the_verdict_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sanpath.facts.compute._MAX_LOADS_OF_PARTS", 2)
    found = reads_on_hosts(tmp_path, **{f"db{number}": Reads(4, 4) for number in range(3)})
    words = "judged together: 3 hosts and targets are too many to judge separately"
    assert words in found.steps[0].verdict.because


def test_what_a_host_is_given_is_shared_by_all_jobs_on_it(tmp_path: Path) -> None:
    """Two jobs of db1 do 2,000 reads a second each, of 4,000 that the array gives it."""
    half = Reads(32, 32, seconds=0.016, machine="db1")
    found = reads_on_hosts(tmp_path, ops_limit=4000, one=half, two=half)
    assert found.verdict.kind == "configured_cap"
    assert found.verdict.bottlenecks[0].entity == "host:db1"


def test_what_a_host_is_given_says_nothing_of_another(tmp_path: Path) -> None:
    """Each of two hosts does 2,000 reads a second, and is given 4,000."""
    half = Reads(32, 32, seconds=0.016)
    assert reads_on_hosts(tmp_path, ops_limit=4000, db1=half, db2=half).verdict.kind != "configured_cap"


@pytest.mark.parametrize(("limit", "is_reached"), [(1000.0, True), (5000.0, False)])
def test_a_control_group_limits_the_host_that_it_is_of(tmp_path: Path, limit: float, is_reached: bool) -> None:
    """db1 does 1,000 reads a second, 3 % of the test's: 64 are outstanding, and 0.6 of them at its device."""
    limited = Reads(64, 0.6, limit=limit)
    found = reads_on_hosts(tmp_path, db1=limited, db2=Reads(20, 20))
    named = [b.entity for b in found.verdict.bottlenecks if b.entity.startswith("cgroup:")]
    assert named == (["cgroup:db1/load.slice on sda"] if is_reached else [])


def test_a_control_group_that_two_hosts_fill_is_told_of_both(tmp_path: Path) -> None:
    """Neither does most of the test's reads."""
    limited = Reads(64, 0.6, limit=1000.0)
    found = reads_on_hosts(tmp_path, db1=limited, db2=limited, db3=Reads(20, 20))
    hosts = {b.entity.partition("/")[0] for b in found.verdict.bottlenecks}
    assert hosts == {"cgroup:db1", "cgroup:db2"}
