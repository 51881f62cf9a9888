"""What a machine runs decides which commands a remedy has."""

from __future__ import annotations

import pytest

from sanpath.facts.host.tested_machines import platform_of_device
from sanpath.model import Entity
from sanpath.topology.topology import Topology


@pytest.mark.parametrize(
    ("name", "system"),
    [
        *((name, "linux") for name in ("sda", "sdab", "vdb", "xvda", "dm-3", "md127", "nvme0n1", "rbd0")),
        *((name, "windows") for name in ("PhysicalDrive2", "PhysicalDisk2")),
        *((name, None) for name in ("naa.624a9370", "disk0", "sd0", "hdisk4", "C:", "", "test.img")),
    ],
)
def test_a_device_that_only_one_system_calls_so_tells_what_its_machine_runs(name: str, system: str | None) -> None:
    lun = Entity("lun:vm1/d", "lun", "d", {"device": (name,)}, {}, ())
    assert platform_of_device(Topology({"lun:vm1/d": lun}), "lun:vm1/d") == system
