"""Pause frames of Ethernet ports: of dot3PauseTable, where a switch has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.snmp_switch.small import Objects, port, read
from tests.facts.test_ports_and_sources import HOST_SIDE, counted, only

FIBRE_CHANNEL = 56
PAUSE = "1.3.6.1.2.1.10.7.10.1"


def pauses(if_index: int, received: int, sent: int, *, wide: bool = False) -> Objects:
    counts: Objects = {f"{PAUSE}.3.{if_index}": received % 2**32, f"{PAUSE}.4.{if_index}": sent % 2**32}
    return counts | ({f"{PAUSE}.5.{if_index}": received, f"{PAUSE}.6.{if_index}": sent} if wide else {})


@pytest.mark.parametrize(("wide", "bits"), [(False, 32), (True, 64)])
def test_pause_frames_are_read_with_the_width_that_the_switch_has(wide: bool, bits: int) -> None:
    found = read("sw", port(1, "e1") | pauses(1, 7, 9, wide=wide), port(1, "e1") | pauses(1, 107, 9, wide=wide))
    received = [found.row("e1", poll)["pause_frames_rx_total"] for poll in (0, 1)]
    assert (received, found.row("e1")["pause_frames_tx_total"]) == ([7, 107], 9)
    assert found.bits("e1")["pause_frames_rx_total"] == bits


def test_a_switch_without_the_table_reports_none() -> None:
    found = read("sw", port(1, "e1"))
    assert "pause_frames_rx_total" not in found.row("e1")
    assert not [line for line in found.check.unreadable if "pause" in line.lower() or "EtherLike" in line]


def test_a_fibre_channel_port_has_credits_instead() -> None:
    found = read("sw", port(1, "fc1/1", b"", FIBRE_CHANNEL) | pauses(1, 0, 0) | port(2, "e1") | pauses(2, 3, 4))
    assert "pause_frames_rx_total" not in found.row("fc1/1")
    assert found.row("e1")["pause_frames_rx_total"] == 3


def test_pause_frames_of_a_port_are_a_rate_of_each_direction(tmp_path: Path) -> None:
    found = only(
        counted(tmp_path, {"sw1/fc1/7": {"pause_frames_rx_total": 600, "pause_frames_tx_total": 0}}),
        "switch_port",
        HOST_SIDE,
    )
    assert found["pause_frames_per_second_rx"] == pytest.approx(50, rel=0.05)
    assert found["pause_frames_per_second_tx"] == 0
