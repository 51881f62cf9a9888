"""A counter that jumps to what no link can carry, or back: no rate comes of it, and what is unknown is said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from tests.support.recording import Number
from tests.support.san import ARRAY_PORT, HOST_PORT, Port, San
from tests.support.stories import diagnosed, judged, published

HALF_OF_64_BITS = 2**63
JUMP_S = 58.0  # 5 s into the last step
HOST_LINK, ARRAY_LINK = "link:esx7/vmhba2--sw1/fc1/7", "link:sw1/fc1/1--fa1/CT0.FC0"


@dataclass(slots=True)
class Jumping(San):
    """Byte counters of these ports jump in the middle of the last step: by so much, or (0) back to nothing."""

    jumps: Mapping[str, int] | None = None

    def _port(self, port: Port, at: float) -> dict[str, Number]:
        count = super(Jumping, self)._port  # with slots, this class is another than the one super() knows
        values, then = count(port, at), count(port, JUMP_S)
        if self.jumps and port.name in self.jumps and at >= JUMP_S:
            for counter in ("bytes_rx_total", "bytes_tx_total"):
                values[counter] = int(values[counter] or 0) + (self.jumps[port.name] or -int(then[counter] or 0))
        return values


def diagnosis(folder: Path, jumps: Mapping[str, int]) -> Diagnosis:
    return judged(published(Jumping(folder, jumps=jumps)).write())


@pytest.mark.parametrize(
    ("port", "link", "other"),
    [
        (HOST_PORT, HOST_LINK, ARRAY_LINK),
        (ARRAY_PORT, ARRAY_LINK, HOST_LINK),
    ],
)
def test_a_jump_up_makes_one_link_unknown_and_says_so(tmp_path: Path, port: Port, link: str, other: str) -> None:
    found = diagnosis(tmp_path, {port.name: HALF_OF_64_BITS})
    assert (found.verdict.kind, found.verdict.grade, found.verdict.from_step) == ("bottleneck", "A", "t800")
    assert [one.entity for one in found.verdict.bottlenecks] == [other]
    assert found.verdict.bottlenecks[0].utilisation == diagnosed("published").verdict.bottlenecks[0].utilisation
    unknown = {entry.what: entry.why for entry in found.unobserved}
    assert unknown[f"{link} in step t800"] == "counts more bytes than its 4 Gb/s can carry"


def test_jumps_of_every_link_leave_what_the_same_throughput_told_before(tmp_path: Path) -> None:
    found = diagnosis(tmp_path, {HOST_PORT.name: HALF_OF_64_BITS, ARRAY_PORT.name: HALF_OF_64_BITS})
    assert {entry.what for entry in found.unobserved} >= {f"{HOST_LINK} in step t800", f"{ARRAY_LINK} in step t800"}
    (bottleneck,) = found.verdict.bottlenecks
    assert {bottleneck.entity, *bottleneck.coincident} == {HOST_LINK, ARRAY_LINK}
    assert bottleneck.utilisation is None
    assert any("were not measured" in reason for reason in bottleneck.because)


def test_a_jump_back_leaves_out_its_window_and_no_more(tmp_path: Path) -> None:
    found, usual = diagnosis(tmp_path, {HOST_PORT.name: 0, ARRAY_PORT.name: 0}), diagnosed("published")
    assert (found.verdict.kind, found.verdict.grade) == (usual.verdict.kind, usual.verdict.grade)
    (bottleneck,), (expected,) = found.verdict.bottlenecks, usual.verdict.bottlenecks
    assert bottleneck.entity == expected.entity
    assert bottleneck.utilisation == pytest.approx(expected.utilisation)
