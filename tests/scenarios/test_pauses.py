"""Ethernet flow control: ports of the path are told to pause, because frames are accepted too slowly further on."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnosis.model import Verdict
from tests.scenarios.test_tcp_connections import BLOCK, OPS, PORTS, SERVED, TcpSan
from tests.support.san import AtArray, Flow
from tests.support.stories import NOTHING, judged

HOST_PORT, ARRAY_PORT = (f"sw1/{port.name}" for port in PORTS)
SECONDS = 12.0
"""A step lasts about so long: counts below are those of a step."""


def paused(folder: Path, port: str, counter: str, per_second: float) -> Verdict:
    """4,000 reads of 48 KiB a second over 10 Gb/s, with 16 and with 64 in flight: 4 and 16 ms, of which the array
    takes 0.3. A port counts pause frames."""
    san = TcpSan(folder, leave_out={"disk"}, technology="ethernet", ports=PORTS)
    for n in (16, 64):
        flow = Flow(OPS, n / OPS)
        ports = {each.name: (1.05 * OPS * BLOCK, NOTHING) for each in san.ports}
        counted = {port: {counter: per_second * SECONDS}}
        san.step(
            f"q{n}",
            n,
            block=BLOCK,
            read=flow,
            ports=ports,
            disk={"read": flow},
            array={"read": AtArray(SERVED)},
            counted=counted,
        )
    return judged(san.write()).verdict


def test_a_switch_that_pauses_the_array_holds_the_test_up(tmp_path: Path) -> None:
    """A pause lasts 65,535 x 512 bit times at most, 3.4 ms at 10 Gb/s: 200 in a second are up to 67 % of it. No link
    of the path is full, so what the switch holds back is behind another of its ports."""
    verdict = paused(tmp_path / "a", ARRAY_PORT, "pause_frames_tx_total", 200.0)
    (bottleneck,) = verdict.bottlenecks
    assert (bottleneck.kind, bottleneck.culprit, bottleneck.layer) == ("credit_stall", "switch:sw1", "fabric")
    assert "eth1/1" in bottleneck.entity


def test_a_host_that_pauses_its_switch_is_slow_itself(tmp_path: Path) -> None:
    verdict = paused(tmp_path / "a", HOST_PORT, "pause_frames_rx_total", 200.0)
    (bottleneck,) = verdict.bottlenecks
    assert (bottleneck.kind, bottleneck.culprit, bottleneck.layer) == ("credit_stall", "hba:esx7/eth0", "host")


@pytest.mark.parametrize(
    ("port", "counter", "per_second"),
    [
        (ARRAY_PORT, "pause_frames_tx_total", 1.0),
        (ARRAY_PORT, "pause_frames_rx_total", 200.0),
        (HOST_PORT, "pause_frames_tx_total", 200.0),
    ],
    ids=["a pause now and then", "commands to the array are held back", "commands of the host are held back"],
)
def test_pauses_of_the_other_direction_or_a_few_do_not_hold_up_reads(
    tmp_path: Path, port: str, counter: str, per_second: float
) -> None:
    verdict = paused(tmp_path / "a", port, counter, per_second)
    assert [each.kind for each in verdict.bottlenecks if each.kind == "credit_stall"] == []
