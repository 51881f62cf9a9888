"""What the kernel lab asks of QEMU for a virtual disk, and what its cases say of it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from kernel_lab import network
from kernel_lab.cases import Case, Disk
from kernel_lab.configuration import write_configuration
from kernel_lab.kvm_cases import CASES
from kernel_lab.virtual_disk import arguments
from real_lab.state import State

FOLDER = Path("lab")
BACKING = "driver=null-co"


def options(disk: Disk, option: str) -> list[str]:
    """The values of an option in QEMU's arguments."""
    words = arguments(disk, BACKING, FOLDER)
    return [value for name, value in pairwise(words) if name == option]


def test_a_disk_without_more_is_a_device_on_its_backing() -> None:
    assert options(Disk(), "-blockdev") == [f"node-name=data-backing,{BACKING}"]
    assert options(Disk(), "-device") == ["virtio-blk-pci,id=data,drive=data-backing,serial=DATA,addr=0x10"]
    assert options(Disk(), "-object") == []


def test_limits_are_those_of_a_throttle_group_above_the_backing() -> None:
    disk = Disk(limits="x-iops-total=300")
    assert options(disk, "-object") == ["throttle-group,id=tier1,x-iops-total=300"]
    assert options(disk, "-blockdev")[1:] == ["throttle,node-name=data-limit,throttle-group=tier1,file=data-backing"]
    assert "drive=data-limit" in options(disk, "-device")[0]


def test_a_shared_group_has_a_second_disk() -> None:
    disk = Disk(limits="x-iops-total=300", shared=True)
    assert [node.split(",")[1:3] for node in options(disk, "-blockdev") if node.startswith("throttle")] == [
        ["node-name=data-limit", "throttle-group=tier1"],
        ["node-name=other-limit", "throttle-group=tier1"],
    ]
    assert ["serial=DATA" in device or "serial=OTHER" in device for device in options(disk, "-device")] == [True] * 2


def test_an_iothread_does_not_poll() -> None:
    disk = Disk(iothread=True, device="queue-size=16")
    assert options(disk, "-object") == ["iothread,id=iothread1,poll-max-ns=0"]
    assert options(disk, "-device")[0].endswith(",iothread=iothread1,queue-size=16")


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_a_virtual_machine_is_the_only_machine_of_its_case(case: Case) -> None:
    assert case.name.startswith("kvm-")
    assert (case.transport, case.fabrics, network.sides(case)) == ("kvm", (), ("vm",))
    assert case.unread <= {"vm1", "qemu"}


def test_guest_qemu_and_hypervisor_are_read_under_the_names_that_join_them(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/host_key.pub").write_text("ssh-ed25519 AAAA\n")
    state = State("srl-000000", "kvm-iops-limit", "10.213.0.0/24")
    document = yaml.safe_load(write_configuration(CASES["kvm-iops-limit"], state, tmp_path).read_text())
    sources = {source["name"]: source for source in document["sources"]}
    assert sources["qemu"]["monitors"] == [f"{tmp_path}/vm1.qmp"]
    assert {sources[name]["host"] for name in ("qemu", "kvm1")} == {"kvm1"}
    assert (sources["vm1"]["address"], sources["qemu"]["machines"]) == ("10.213.0.30", ["vm1"])
    assert document["topology"]["links"] == ["load:fio runs_on vm:vm1"]


def test_a_load_beside_the_test_has_a_disk_of_its_own() -> None:
    loaded = [case for case in CASES.values() if "/dev/vdd" in case.host_after]
    assert loaded
    assert all(case.disk is not None and case.disk.shared for case in loaded)
