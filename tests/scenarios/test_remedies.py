"""What a report tells a person to type: the right port, the right LUN, and only what can help."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.views import markdown, terminal_report
from tests.support.reading_hosts import Reads, reads_on_hosts
from tests.support.san import ARRAY_PORT, HOST_PORT, NAA, AtArray, Flow, Port, San
from tests.support.stories import COUNTED, NOTHING, SECOND_HBA, SECOND_TARGET, X, diagnosed, fast, judged

HOST_LINK = "link:esx7/vmhba2--sw1/fc1/7"
ROUND_ROBIN = f"esxcli storage nmp device set -d {NAA} --psp VMW_PSP_RR"


def full(folder: Path, ports: list[Port], carried: dict[str, float] | None = None) -> Diagnosis:
    """The published test at 4GFC; `carried`: bytes a second of ports beside the first two, otherwise idle."""
    san = San(folder, ports=ports)
    counted = {port.name: (COUNTED, NOTHING) for port in ports[:2]} | {
        name: (rate, NOTHING) for name, rate in (carried or {}).items()
    }
    for n in (16, 128):
        san.step(f"t{n}", n, read=Flow(X, n / X), ports=counted, array={"read": AtArray(0.00035)})
    return judged(san.write())


def commands(found: Diagnosis, rule: str = "link-full") -> list[str]:
    return [c for f in found.findings if (f.rule, f.outcome) == (rule, "hit") for fix in f.fix for c in fix.commands]


def test_round_robin_is_advised_where_both_ends_have_an_idle_path(tmp_path: Path) -> None:
    found = full(tmp_path, [HOST_PORT, ARRAY_PORT, SECOND_HBA, SECOND_TARGET])
    assert ROUND_ROBIN in commands(found)
    assert f"$ {ROUND_ROBIN}" in terminal_report.render(found, 120)


def test_the_path_policy_says_whether_it_matters_in_this_run(tmp_path: Path) -> None:
    """With an idle path from end to end, to spread the I/O relieves the full link; behind a full port it does not."""
    whole = full(tmp_path / "a", [HOST_PORT, ARRAY_PORT, SECOND_HBA, SECOND_TARGET])
    (policy,) = (f for f in whole.findings if (f.rule, f.outcome) == ("single-path-in-use", "hit"))
    assert (policy.title, policy.role) == ("One path carries nearly all of the test", "risk")
    assert "a parallel path is idle" in (policy.in_this_run or "")
    assert ROUND_ROBIN in whole.plan[0].commands
    assert {resolved.rule for resolved in whole.plan[0].resolves} == {"link-full", "single-path-in-use"}
    half = full(tmp_path / "b", [HOST_PORT, ARRAY_PORT, SECOND_HBA])
    (policy,) = (f for f in half.findings if (f.rule, f.outcome) == ("single-path-in-use", "hit"))
    assert (policy.in_this_run or "").startswith("it does not limit this run: ")
    assert not any("single-path-in-use" in {r.rule for r in step.resolves} for step in half.plan[:1])


def test_round_robin_is_not_advised_where_there_is_no_other_path() -> None:
    assert not any("VMW_PSP_RR" in command or "multipath" in command for command in commands(diagnosed("published")))


def test_round_robin_is_not_advised_where_every_path_carries_the_test() -> None:
    """4GFC and 8GFC, half of the bytes each."""
    assert not any("VMW_PSP_RR" in command for command in commands(diagnosed("unequal")))


def test_round_robin_is_not_advised_where_both_ways_lead_through_the_same_full_port(tmp_path: Path) -> None:
    """The second port of the host idles, and the array's only one is as full as the first."""
    found = full(tmp_path, [HOST_PORT, ARRAY_PORT, SECOND_HBA])
    assert not any("VMW_PSP_RR" in command for command in commands(found))


def test_round_robin_helps_a_full_host_port_before_a_target_port_with_room(tmp_path: Path) -> None:
    """The target port is 16GFC, 24.4 % busy: only the host's own port is in the way."""
    found = full(tmp_path, [HOST_PORT, fast(ARRAY_PORT), SECOND_HBA])
    assert ROUND_ROBIN in commands(found)


def test_a_path_that_a_neighbour_fills_is_not_idle() -> None:
    """The other target port carries nothing of the test and 415.2 MB/s of another host."""
    assert not any("VMW_PSP_RR" in command for command in commands(diagnosed("off_the_path")))


def test_of_two_links_that_are_full_together_both_ports_are_named() -> None:
    found = diagnosed("published")
    for report in (terminal_report.render(found, 120), markdown.render(found)):
        assert "interface fc1/7" in report
        assert "interface fc1/1" in report
    for f in found.findings:
        if f.rule == "link-full":
            port = "fc1/7" if f.entity == HOST_LINK else "fc1/1"
            assert f"interface {port}" in {c for fix in f.fix for c in fix.commands}


def test_every_step_of_a_remedy_is_listed_once() -> None:
    report = terminal_report.render(diagnosed("published"), 160)
    assert report.count("interface fc1/7") == 1
    assert report.count("First make sure that no port was set to this speed") == 1


@pytest.mark.parametrize("name", ["fc1/7; reboot", "$(reboot)", "-h", "fc1/7\nreload", "`id`", "fc1/7 | sh", "<b>"])
def test_a_port_with_a_hostile_name_never_gets_into_a_command(tmp_path: Path, name: str) -> None:
    found = full(tmp_path, [replace(HOST_PORT, name=name), ARRAY_PORT])
    assert found.verdict.kind == "bottleneck"
    assert "interface <switch_port>" in commands(found), "left for a person to fill in"
    assert "interface fc1/1" in commands(found)
    assert not any(name in c for f in found.findings for fix in f.fix for c in (*fix.commands, fix.verify, fix.undo))


@pytest.mark.parametrize("kind", ["disk", "multipath map"])
def test_the_depth_of_a_map_is_set_on_its_paths(tmp_path: Path, kind: str) -> None:
    """A map has no queue depth of its own."""
    found = reads_on_hosts(tmp_path, db1=Reads(64, 8, depth=8, kind=kind))
    (finding,) = [f for f in found.findings if f.rule == "lun-queue-limits"]
    raised = [command for fix in finding.fix for command in fix.commands]
    assert len(raised) == 2
    assert all(("/slaves/*/device/" in command) == (kind == "multipath map") for command in raised)
