"""No switch is read: what the host's initiators can carry still names a full link."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, AtArray, Flow, Port, San
from tests.support.stories import judged

PAYLOAD = 409.6e6
"""Bytes a second of 64 KiB blocks through 4GFC: 97.7 % of what a full link reads, less headers."""
SECOND = Port("fc1/8", "vmhba3", "21000024ff000002", host="esx7")


def plateau(folder: Path, ports: Sequence[Port], ops: float) -> Diagnosis:
    """Twice the I/Os in flight give twice the latency, and the array answers in 0.3 ms."""
    san = San(folder, ports=[*ports, ARRAY_PORT], leave_out={"switch"})
    for in_flight in (64, 128):
        san.step(
            f"q{in_flight}", in_flight, read=Flow(ops, in_flight / ops), array={"read": AtArray(0.0003, san=None)}
        )
    return judged(san.write())


def port(made: Port, speed: float) -> Port:
    return Port(made.name, made.device, made.wwpn, speed, speed, made.host)


@pytest.mark.parametrize(
    ("speeds", "links", "names"),
    [
        ((4,), 1, {"hba:esx7/vmhba2"}),
        ((4, 4), 2, {"hba:esx7/vmhba2", "hba:esx7/vmhba3"}),
        ((16, 4), 2, {"hba:esx7/vmhba3"}),
    ],
    ids=["one", "two", "the slower of two"],
)
def test_what_the_initiators_can_carry_together_is_their_limit(
    tmp_path: Path, speeds: Sequence[float], links: int, names: set[str]
) -> None:
    ports = [port(made, speed) for made, speed in zip((HOST_PORT, SECOND), speeds, strict=False)]
    found = plateau(tmp_path, ports, links * PAYLOAD / (64 * KIB))
    (bottleneck,) = found.verdict.bottlenecks
    assert {bottleneck.entity, *bottleneck.coincident} == names
    assert any("were not measured" in words for words in bottleneck.because)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.85])
def test_initiators_that_can_carry_more_are_not_accused(tmp_path: Path, share: float) -> None:
    found = plateau(tmp_path, [port(HOST_PORT, 4)], share * PAYLOAD / (64 * KIB))
    assert not any(bottleneck.entity.startswith("hba:") for bottleneck in found.verdict.bottlenecks)
