"""A logical volume of two LUNs on two arrays, of which only one is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Verdict
from tests.support.recording import RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, AtArray, Flow, Port, San
from tests.support.stories import COUNTED, NOTHING, X, fast, judged

UNREAD = Port("fc1/3", "P0", "524a937000000009", host="")
"""The port of the array that is not read."""


@dataclass(slots=True)
class Striped(San):
    """The load is on sqlvm1/lv, of which sda is on fa1, and sdb on an array that is not read."""

    def _configuration(self, out: RecordingBuilder) -> None:
        San._configuration(self, out)
        out.entity("config", "lun", "sqlvm1/lv", attributes={"kind": "other dm"})
        out.entity("config", "lun", "sqlvm1/sdb", attributes={"kind": "disk"})
        out.entity("config", "array_port", "P0", ids={"wwpn": (UNREAD.wwpn,)})
        out.configure_link("load:fio targets lun:sqlvm1/lv")
        out.configure_link("volume:fa1/vol01 presents host:esx7")
        for lun in ("lv", "sdb"):
            out.configure_link(f"lun:sqlvm1/{lun} attached_to vm:sqlvm1")
        for lun, port in (("sda", f"fa1/{ARRAY_PORT.device}"), ("sdb", "P0")):
            out.configure_link(f"lun:sqlvm1/{lun} member_of lun:sqlvm1/lv")
            out.entity("config", "path", f"to-{lun}")
            for end in (f"member_of lun:sqlvm1/{lun}", "attached_to hba:esx7/vmhba2", f"targets array_port:{port}"):
                out.configure_link(f"path:to-{lun} {end}")

    def _array(self, out: RecordingBuilder, last: float) -> None:
        San._array(replace(self, ports=[port for port in self.ports if port.wwpn != UNREAD.wwpn]), out, last)


def striped(folder: Path, speed: float) -> Verdict:
    """12,500 IOPS of 64 KiB, half of them on fa1, which takes 0.35 ms for each. `speed`: of the other port."""
    ports = [fast(HOST_PORT), fast(ARRAY_PORT), fast(UNREAD, speed)]
    san = Striped(folder / "r.sanpath", ports=ports, leave_out={"disk"})
    ops = 2 * X
    for n in (64, 256):
        counts = {HOST_PORT.name: (2 * COUNTED, NOTHING)}
        counts |= {port.name: (COUNTED, NOTHING) for port in (ARRAY_PORT, UNREAD)}
        array = {"read": AtArray(0.00035, san=0.0001, ops=X)}
        san.step(f"q{n}", n, block=64 * KIB, read=Flow(ops, n / ops), ports=counts, array=array)
    return judged(san.write()).verdict


def test_a_full_link_to_the_array_that_is_not_read_is_named(tmp_path: Path) -> None:
    (bottleneck,) = striped(tmp_path, 4).bottlenecks
    assert UNREAD.name in bottleneck.entity


def test_the_array_that_is_read_does_not_answer_for_the_other(tmp_path: Path) -> None:
    """Its own clock tells of half of the I/Os: where the other half waits is not known."""
    suspects = {suspect.entity: suspect.probability for suspect in striped(tmp_path, 16).suspects}
    assert suspects["array:fa1"] == pytest.approx(suspects["array_port:P0"], abs=0.01)
