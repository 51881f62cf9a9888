"""A virtual machine that moves from esx7 to esx8 during the test: each step is judged on the host that it ran on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sanpath.diagnosis.model import Diagnosis, StepResult
from sanpath.topology.paths import host_of
from sanpath.topology.resolve import resolve
from sanpath_collectors.vsphere.tables import LUN, VDISK
from tests.support.recording import RecordingBuilder, microseconds
from tests.support.san import ARRAY_PORT, HOST_PORT, NAA, AtArray, Flow, Port, San
from tests.support.stories import COUNTED, NOTHING, X, fast, judged

OTHER_PORT = Port("fc1/8", "vmhba2", "21000024ff000008", host="esx8")
FIRST_LINK, OTHER_LINK = "link:esx7/vmhba2--sw1/fc1/7", "link:esx8/vmhba2--sw1/fc1/8"


@dataclass(slots=True)
class Moving(San):
    """`moves`: (seconds, host) that a vCenter tells of the machine. A person has written down esx7."""

    moves: list[tuple[float, str]] = field(default_factory=list)

    def _configuration(self, out: RecordingBuilder) -> None:
        San._configuration(self, out)
        out.source("vc", "vsphere", LUN, VDISK)
        disk = ("vdisk", "sqlvm1/scsi0:1")
        out.entity("vc", "vm", "sqlvm1", ids={"name": ("sqlvm1",)})
        out.entity("vc", *disk)
        out.link("vc", "attached_to", (disk, ("vm", "sqlvm1")))
        for host in ("esx7", "esx8"):
            lun = ("lun", f"{host}/{NAA}")
            out.entity("vc", "host", host, ids={"name": (host,)})
            out.entity("vc", *lun, ids={"naa": (NAA,)})
            out.link("vc", "attached_to", (lun, ("host", host)))
        for at, host in self.moves:
            out.link("vc", "runs_on", (("vm", "sqlvm1"), ("host", host)), at=at)
            out.link("vc", "backed_by", (disk, ("lun", f"{host}/{NAA}")), at=at)
        out.poll("vc", 0.0)


def moving(folder: Path, *moves: tuple[float, str]) -> Moving:
    """The published test: its reads fill the 4GFC link of esx7 in the steps a, and that of esx8 in b."""
    san = Moving(folder, ports=[HOST_PORT, OTHER_PORT, fast(ARRAY_PORT)], leave_out=frozenset({"disk"}))
    san.moves = [(0.0, "esx7"), *moves]
    for name, n, port in (("a16", 16, HOST_PORT), ("a128", 128, HOST_PORT), ("b256", 256, OTHER_PORT)):
        ports = {one.name: (0.0, 0.0) for one in (HOST_PORT, OTHER_PORT)}
        ports |= {one.name: (COUNTED, NOTHING) for one in (port, ARRAY_PORT)}
        san.step(name, n, read=Flow(X, n / X), ports=ports, array={"read": AtArray(0.00035, san=0.0021)})
    return san


def step(found: Diagnosis, name: str) -> StepResult:
    (one,) = [step for step in found.steps if step.name == name]
    return one


def limits(found: Diagnosis) -> dict[str, list[str]]:
    return {one.name: [limit.entity for limit in one.verdict.bottlenecks] for one in found.steps}


def test_each_step_is_judged_on_the_host_that_the_machine_ran_on(tmp_path: Path) -> None:
    found = judged(moving(tmp_path, (34.5, "esx8")).write())
    assert limits(found) == {"a16": [FIRST_LINK], "a128": [FIRST_LINK], "b256": [OTHER_LINK]}
    assert found.verdict.from_step == "b256"
    reported = "sqlvm1 had moved from esx7 to esx8 before this step, which is not compared with steps on esx7"
    assert [reported in one.valid for one in found.steps] == [False, False, True]
    assert not [because for because in step(found, "b256").verdict.because if "16 outstanding I/Os gave" in because]


def test_without_a_move_the_bytes_of_the_other_host_are_not_the_test_s(tmp_path: Path) -> None:
    """What was wrong before moves were followed: step b was laid on the idle links of esx7."""
    assert OTHER_LINK not in limits(judged(moving(tmp_path).write()))["b256"]


def test_a_step_in_which_it_moves_is_graded_down_and_says_so(tmp_path: Path) -> None:
    found = judged(moving(tmp_path, (28.0, "esx8")).write())
    mixed = step(found, "a128")
    assert mixed.verdict.grade == "C"
    assert "sqlvm1 moved from esx7 to esx8 in this step: judged on esx7, with figures from both hosts" in mixed.valid


def test_a_machine_that_comes_back_is_on_its_first_host_again(tmp_path: Path) -> None:
    san = moving(tmp_path, (34.5, "esx8"), (46.0, "esx7"))
    recording = san.write()
    hosts = [host_of(resolve(recording.inventory(), at), "load:fio") for at in (None, microseconds(40))]
    assert hosts == ["host:esx7", "host:esx8"]


def test_the_disk_lies_on_the_lun_of_the_host_it_is_read_through(tmp_path: Path) -> None:
    topology = resolve(moving(tmp_path, (34.5, "esx8")).write().inventory())
    assert topology.related("vdisk:sqlvm1/scsi0:1", "backed_by", "lun") == [f"lun:esx8/{NAA}"]
