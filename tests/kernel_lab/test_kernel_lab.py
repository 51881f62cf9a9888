"""The kernel lab's cases fit together."""

from __future__ import annotations

import json
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml

from kernel_lab import dataset
from kernel_lab.cases import Case
from kernel_lab.configuration import VOLUMES, write_configuration, write_job, write_neighbours_job, write_plan
from kernel_lab.draws import draw
from kernel_lab.named_cases import CASES
from real_lab.state import State
from sanpath.probe.plan import load_probe_plan

LAB = Path(__file__).parents[2] / "examples/kernel-lab"
SOURCES = {"host1", "array1", "sw-a", "sw-b", "vm1", "qemu"}
DRAWN = [draw(seed) for seed in range(40)]


@pytest.mark.parametrize("case", [*CASES.values(), *DRAWN], ids=lambda case: case.name)
def test_a_case_reads_what_it_does_not_leave_out(tmp_path: Path, case: Case) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/host_key.pub").write_text("ssh-ed25519 AAAA\n")
    state = State("srl-000000", case.name, "10.213.0.0/24")
    document = yaml.safe_load(write_configuration(case, state, tmp_path).read_text())
    switches = {f"sw-{letter}" for letter in "ab"[: len(case.fabrics)]}
    sources = {"host1", "array1", *switches} if case.disk is None else {"vm1", "qemu", "kvm1"}
    assert case.unread <= SOURCES
    assert {source["name"] for source in document["sources"]} == sources - case.unread
    assert len([link for link in document["topology"]["links"] if "cabled_to hba:" in link]) == len(case.fabrics)
    steps = [line for line in write_job(case, tmp_path).read_text().splitlines() if line.startswith("iodepth=")]
    assert steps == [f"iodepth={depth}" for depth in case.load.queue_depths]


@pytest.mark.parametrize("case", [*CASES.values(), *DRAWN], ids=lambda case: case.name)
def test_a_probe_starts_from_the_heaviest_step_of_the_load(tmp_path: Path, case: Case) -> None:
    plan = load_probe_plan(write_plan(case, tmp_path), allow_writes=True)
    assert plan.load.in_flight == case.load.queue_depths[-1]
    assert (plan.hosts, plan.target.filename) == ((case.load_host,), (VOLUMES[case.transport],))


def test_a_seed_is_always_the_same_case() -> None:
    assert [draw(case_number) for case_number in range(40)] == DRAWN
    assert {kind for case in DRAWN for kind in case.truth.kinds} >= {"bottleneck", "concurrency_limited", "healthy"}


@pytest.mark.parametrize("script", sorted(path.name for path in (LAB / "kernel_lab/guest").iterdir()))
def test_a_guest_s_script_is_shell(script: str) -> None:
    checked = subprocess.run(["bash", "-n", LAB / "kernel_lab/guest" / script], capture_output=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, b"")


def test_every_label_that_can_be_relieved_is() -> None:
    """The others: nothing is labelled, or the machine's processor is."""
    without = {case.name for case in CASES.values() if not case.repair}
    assert without == {"iscsi-only-load-read", "nvme-only-load-read", "nvme-host-cpu", "kvm-guest-cpu"}


@pytest.mark.parametrize("case", [case for case in CASES.values() if case.repair], ids=lambda case: case.name)
def test_a_repair_changes_what_is_labelled_and_little_else(case: Case) -> None:
    repaired = case.repaired
    assert len(repaired.load.queue_depths) == 1
    assert (repaired.transport, repaired.unread, repaired.truth) == (case.transport, case.unread, case.truth)
    fields = set(case.__slots__) - {"name", "load"}
    changed = {name for name in fields if getattr(case, name) != getattr(repaired, name)}
    assert len(changed) == 1 or (not changed and repaired.load != case.load)


def test_path_states_are_those_of_the_fabrics() -> None:
    assert all(len(case.path_states) in (0, len(case.fabrics)) for case in CASES.values())


def test_a_neighbour_uses_the_same_volume(tmp_path: Path) -> None:
    case = CASES["nvme-neighbour-media"]
    lines = write_neighbours_job(case, tmp_path).read_text().splitlines()
    assert {"filename=/dev/nvme0n1", *case.neighbour} <= set(lines)


def test_a_data_set_has_labels_and_names_nobody(tmp_path: Path) -> None:
    case = CASES["fcp-one-port"]
    recording = tmp_path / case.name / f"{case.name}.sanpath"
    recording.mkdir(parents=True)
    (recording / "manifest.json").write_text("{}")
    dataset.write([case], tmp_path, tmp_path / "set.tar.xz")
    with tarfile.open(tmp_path / "set.tar.xz") as tar:
        labels = tar.extractfile("kernel-lab/labels.json")
        assert labels is not None
        assert [(label["recording"], label["kinds"], label["elements"]) for label in json.load(labels)] == [
            ("fcp-one-port.sanpath", ["bottleneck"], ["link:"])
        ]
        assert "kernel-lab/fcp-one-port.sanpath/manifest.json" in tar.getnames()
        assert {member.uname for member in tar} == {""}


def test_the_published_table_has_every_named_case() -> None:
    """`lab.py table >results.md` writes it, after `all` and `confirm`."""
    rows = (LAB / "results.md").read_text().splitlines()
    assert [row.split("|")[1].strip() for row in rows[2:]] == list(CASES)
