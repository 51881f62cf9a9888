"""A load whose I/Os do not get to the disk that is read: a FUSE file system, or another device, answers them."""

from __future__ import annotations

from pathlib import Path

from tests.support.san import KIB, Flow, San
from tests.support.stories import judged


def test_a_disk_that_holds_hardly_any_of_the_ios_is_no_suspect(tmp_path: Path) -> None:
    """250 IOPS, however many are outstanding; the machine's only disk does eight I/Os a second for others."""
    san = San(tmp_path / "r.sanpath", leave_out={"switch", "array"}, guest_queue_depth=None)
    for n in (1, 4, 16):
        san.step(f"q{n}", n, block=8 * KIB, read=Flow(250, n / 250), disk={"read": Flow(8, 0.0001)})
    verdict = judged(san.write()).verdict
    assert verdict.kind == "cannot_tell"
    assert "lun:sqlvm1/sda" not in {suspect.entity for suspect in verdict.suspects}
