"""The kernel lab's cases fit together."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from kernel_lab.cases import CASES, Case
from kernel_lab.configuration import write_configuration, write_job
from kernel_lab.draws import draw
from real_lab.state import State

LAB = Path(__file__).parents[2] / "examples/kernel-lab"
SOURCES = {"host1", "array1", "sw-a", "sw-b"}
DRAWN = [draw(seed) for seed in range(40)]


@pytest.mark.parametrize("case", [*CASES.values(), *DRAWN], ids=lambda case: case.name)
def test_a_case_reads_what_it_does_not_leave_out(tmp_path: Path, case: Case) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/host_key.pub").write_text("ssh-ed25519 AAAA\n")
    state = State("srl-000000", case.name, "10.213.0.0/24")
    document = yaml.safe_load(write_configuration(case, state, tmp_path).read_text())
    switches = {"sw-a", "sw-b"} if len(case.fabrics) == 2 else {"sw-a"}
    assert case.unread <= SOURCES
    assert {source["name"] for source in document["sources"]} == {"host1", "array1", *switches} - case.unread
    assert len([link for link in document["topology"]["links"] if "cabled_to hba:" in link]) == len(case.fabrics)
    steps = [line for line in write_job(case, tmp_path).read_text().splitlines() if line.startswith("iodepth=")]
    assert steps == [f"iodepth={depth}" for depth in case.load.queue_depths]


def test_a_seed_is_always_the_same_case() -> None:
    assert [draw(case_number) for case_number in range(40)] == DRAWN
    assert {kind for case in DRAWN for kind in case.truth.kinds} >= {"bottleneck", "concurrency_limited", "healthy"}


@pytest.mark.parametrize("script", sorted(path.name for path in (LAB / "kernel_lab/guest").iterdir()))
def test_a_guest_s_script_is_shell(script: str) -> None:
    checked = subprocess.run(["bash", "-n", LAB / "kernel_lab/guest" / script], capture_output=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, b"")
