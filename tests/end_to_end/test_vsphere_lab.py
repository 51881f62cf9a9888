"""A simulated vCenter beside switches and array: a path policy and what its remedy gains, and waits in the kernel.

In simulated time; test_direct_recording.py reads a vCenter over sockets, too, and is told the same.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sanpath.cli.sessions.child_process import environment
from tests.support.simulated import diagnosed

pytestmark = pytest.mark.slow

LUN = "naa.624a93705f1c0b7e6a1d4c5500011001"
FULL_LINK = "link:esx7/vmhba2--sw1/fc1/7"
OTHER_LINK = "link:esx7/vmhba3--sw2/fc1/7"
REMEDY = f"esxcli storage nmp device set -d {LUN} --psp VMW_PSP_RR"


def sanpath(folder: Path, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "sanpath", *arguments, "--format", "json"]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("vsphere-lab")


@pytest.fixture(scope="module")
def mru(folder: Path) -> dict[str, Any]:
    return diagnosed("mru-active-active", folder / "mru.sanpath")


@pytest.fixture(scope="module")
def round_robin(folder: Path) -> dict[str, Any]:
    return diagnosed("round-robin-active-active", folder / "round-robin.sanpath")


@pytest.fixture(scope="module")
def comparison(folder: Path, mru: dict[str, Any], round_robin: dict[str, Any]) -> dict[str, Any]:
    assert mru["verdict"] != round_robin["verdict"]
    return sanpath(folder, "compare", "mru.sanpath", "round-robin.sanpath")


def finding(diagnosis: dict[str, Any], rule: str) -> dict[str, Any]:
    (found,) = [one for one in diagnosis["findings"] if one["rule"] == rule and one["outcome"] == "hit"]
    return dict(found)


def commands(found: dict[str, Any]) -> list[str]:
    return [command for fix in found["fix"] for command in fix["commands"]]


def test_the_loaded_link_is_the_bottleneck_and_the_idle_one_is_not(mru: dict[str, Any]) -> None:
    verdict = mru["verdict"]
    (bottleneck,) = verdict["bottlenecks"]
    assert (verdict["kind"], verdict["grade"]) == ("bottleneck", "A")
    assert (bottleneck["entity"], bottleneck["coincident"]) == (FULL_LINK, [])
    assert 0.97 <= bottleneck["utilisation"] <= 0.99


def test_the_path_policy_is_the_finding(mru: dict[str, Any]) -> None:
    found = finding(mru, "single-path-in-use")
    assert (found["title"], found["entity"]) == ("One path carries nearly all of the test", "load:fio")
    assert (found["evidence"]["usable_links"], round(found["evidence"]["busiest_link_share"], 2)) == (2, 1.0)
    assert any("esxcli storage nmp device set" in line and "VMW_PSP_RR" in line for line in commands(found))


def test_the_lun_of_the_host_is_named_with_the_line_that_changes_it(mru: dict[str, Any]) -> None:
    found = finding(mru, "policy-uses-one-path")
    assert found["entity"] == f"lun:esx7/{LUN}"
    assert found["evidence"]["usable_paths"] == 4
    assert REMEDY in commands(found)


def test_more_paths_come_before_faster_hardware(mru: dict[str, Any]) -> None:
    assert REMEDY in finding(mru, "link-full")["fix"][0]["commands"]


def test_no_source_failed(mru: dict[str, Any]) -> None:
    assert {source["name"] for source in mru["sources"]} == {"sw1", "sw2", "fa1", "vc1", "fio"}
    assert all(source["failures"] == 0 for source in mru["sources"])


def test_after_the_change_the_gain_is_measured(comparison: dict[str, Any]) -> None:
    assert comparison["outcome"] == "MOVED"
    most = next(pair for pair in comparison["pairs"] if pair["in_flight"] == 64)
    assert most["throughput_change"] == pytest.approx(1.0, abs=0.05)
    assert most["latency_change"] == pytest.approx(-0.5, abs=0.05)


def test_after_the_change_both_links_are_full_and_no_path_is_alone(round_robin: dict[str, Any]) -> None:
    (bottleneck,) = round_robin["verdict"]["bottlenecks"]
    assert {bottleneck["entity"], *bottleneck["coincident"]} == {FULL_LINK, OTHER_LINK}
    hits = {finding["rule"] for finding in round_robin["findings"] if finding["outcome"] == "hit"}
    assert not hits & {"single-path-in-use", "policy-uses-one-path"}


@pytest.fixture(scope="module")
def queued(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Steps longer than two of an ESXi host's sampling intervals."""
    return {
        scenario: diagnosed(scenario, tmp_path_factory.mktemp(scenario) / "r.sanpath")
        for scenario in ("lun-queue-full", "lun-queue-above-full-link")
    }


@pytest.mark.parametrize(("scenario", "seconds"), [("lun-queue-full", 0.019), ("lun-queue-above-full-link", 0.015)])
def test_a_wait_in_the_kernel_of_the_host_is_found(
    queued: dict[str, dict[str, Any]], scenario: str, seconds: float
) -> None:
    found = finding(queued[scenario], "kernel-latency")
    assert (found["entity"], found["steps"]) == (f"lun:esx7/{LUN}", ["t16"])
    assert found["evidence"]["kernel_seconds"] == pytest.approx(seconds)


def test_the_array_is_not_blamed_for_a_wait_in_the_kernel(queued: dict[str, dict[str, Any]]) -> None:
    for diagnosis in queued.values():
        assert "array:fa1" not in {bottleneck["entity"] for bottleneck in diagnosis["verdict"]["bottlenecks"]}
    assert not any(
        one["entity"].startswith("array:") and one["role"] == "cause" and one["outcome"] == "hit"
        for one in queued["lun-queue-full"]["findings"]
    )


def test_a_queue_of_the_host_above_idle_links_is_what_limits(queued: dict[str, dict[str, Any]]) -> None:
    verdict = queued["lun-queue-full"]["verdict"]
    (bottleneck,) = verdict["bottlenecks"]
    assert (verdict["kind"], verdict["from_step"]) == ("bottleneck", "t16")
    assert (bottleneck["entity"], bottleneck["layer"]) == (f"lun:esx7/{LUN}", "host")
    assert bottleneck["wait_at"] == f"lun:esx7/{LUN}"


@pytest.mark.parametrize("scenario", ["lun-queue-full", "lun-queue-above-full-link"])
def test_the_wait_in_the_kernel_is_the_host_s_part_of_the_latency(
    queued: dict[str, dict[str, Any]], scenario: str
) -> None:
    (budget,) = [one for one in queued[scenario]["latency_budget"] if one["step"] == "t16"]
    in_kernel = [part for part in budget["parts"] if (part["plane"], part["layer"]) == ("kernel", "host")]
    assert [part["entity"] for part in in_kernel] == [f"lun:esx7/{LUN}"]
    assert sum(in_kernel[0]["seconds"]) / 2 > budget["total_seconds"] / 2


def test_a_full_link_below_the_queue_of_the_host_is_what_limits(queued: dict[str, dict[str, Any]]) -> None:
    verdict = queued["lun-queue-above-full-link"]["verdict"]
    (bottleneck,) = verdict["bottlenecks"]
    assert {bottleneck["entity"], *bottleneck["coincident"]} == {FULL_LINK, "link:sw1/fc1/1--fa1/CT0.FC0"}
    assert (bottleneck["layer"], bottleneck["wait_at"]) == ("fabric", f"lun:esx7/{LUN}")
