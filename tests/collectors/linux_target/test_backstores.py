"""Backstores of LIO: a name may be used once for each kind."""

from __future__ import annotations

from sanpath_collectors.linux_host.snapshot import Snapshot
from sanpath_collectors.linux_target.targets import targets

CORE = "/sys/kernel/config/target/core"


def test_backstores_of_one_name_are_two_volumes() -> None:
    files = {f"{CORE}/{hba}/vol1/udev_path": f"/dev/{hba}\n".encode() for hba in ("iblock_0", "fileio_1")}
    files |= {
        f"{CORE}/{hba}/vol1/wwn/vpd_unit_serial": f"T10 VPD Unit Serial Number: {serial}\n".encode()
        for hba, serial in (("iblock_0", "0a-1"), ("fileio_1", "0b-2"))
    }
    files[f"{CORE}/iblock_0/vol2/udev_path"] = b"/dev/sdb\n"
    found = targets(Snapshot(files), ())
    assert {volume.local_id: volume.path for volume in found.volumes.values()} == {
        "iblock_0/vol1": "/dev/iblock_0",
        "fileio_1/vol1": "/dev/fileio_1",
        "vol2": "/dev/sdb",
    }
    assert {volume.label for volume in found.volumes.values()} == set(found.volumes)
