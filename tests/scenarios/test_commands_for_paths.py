"""The commands for paths are those of the driver that has the paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.model import Scalar
from sanpath_collectors.linux_host.tables import LUN
from tests.support.recording import RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, NAA, Flow, San
from tests.support.stories import COUNTED, NOTHING, SECOND_HBA, X, fast, judged


class OnDevice(San):
    """fio on a block device of the host esx7, which runs Linux; no source reads its paths."""

    device = "sdb"

    def _configuration(self, out: RecordingBuilder) -> None:
        out.configure_link("load:fio runs_on host:esx7")
        for port in (HOST_PORT, SECOND_HBA):
            name = f"{port.host}/{port.device}"
            out.entity("config", "hba", name, ids={"wwpn": (port.wwpn,)})
            out.configure_link(f"hba:{name} attached_to host:esx7")
        out.configure_link(f"load:fio targets lun:esx7/{self.device}")
        out.source("os", "linux_host", LUN)
        about: dict[str, Scalar] = {"os": "Linux 6.1"}
        out.entity("os", "host", "esx7", "esx7", {"name": ("esx7",)}, about)
        ids = {"device": (self.device,), "naa": (NAA,)}
        out.entity("os", "lun", self.device, f"esx7/{self.device}", ids, {"kind": "disk"})
        out.link("os", "attached_to", (("lun", self.device), ("host", "esx7")))
        for at in range(int(self.steps[-1].end) + 2):
            out.poll("os", at)
            ops = round(X * at)
            counted = {"ops_read_total": ops, "bytes_read_total": 128 * ops, "latency_seconds_read_total": ops}
            out.samples("os", LUN, at, {self.device: counted})


@pytest.mark.parametrize(("device", "other"), [("sdb", "NVMe"), ("nvme0n1", "dm-multipath")])
def test_commands_of_the_other_driver_are_left_out(tmp_path: Path, device: str, other: str) -> None:
    san = OnDevice(tmp_path / "r", ports=[HOST_PORT, SECOND_HBA, fast(ARRAY_PORT)], leave_out={"lun", "disk"})
    san.device = device
    for n in (16, 64):
        ports = {"fc1/7": (COUNTED, NOTHING), "fc1/8": (NOTHING, NOTHING), "fc1/1": (COUNTED, NOTHING)}
        san.step(f"q{n}", n, read=Flow(X, n / X), ports=ports)
    platforms = {fix.platform for finding in judged(san.write()).findings for fix in finding.fix}
    offered = {driver for driver in ("NVMe", "dm-multipath") if any(driver in name for name in platforms)}
    assert offered == {"NVMe", "dm-multipath"} - {other}
