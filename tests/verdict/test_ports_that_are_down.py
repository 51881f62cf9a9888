"""A cable with a port that is down carries nothing: it is no suspect, and no gap of what was measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.diagnosis.model import Diagnosis
from tests.support.recording import Number
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, Port, San
from tests.support.stories import NOTHING, SECOND_HBA, SECOND_TARGET, fast

_DOWN = {"link_up": 0, "link_speed_bits_per_second": None}
_SILENT = _DOWN | dict.fromkeys(("bytes_rx_total", "bytes_tx_total"))


def result(folder: Path, monkeypatch: pytest.MonkeyPatch, down: dict[str, dict[str, Number]]) -> Diagnosis:
    """3,000 I/Os of 64 KiB a second over links of 16 Gb/s have room; what takes the time is not read."""
    of_port = San._port

    def in_state(san: San, port: Port, at: float) -> dict[str, Number]:
        return of_port(san, port, at) | down.get(port.name, {})

    monkeypatch.setattr(San, "_port", in_state)
    ports = [
        fast(HOST_PORT),
        fast(ARRAY_PORT),
        *(replace(fast(port), capable=None) for port in (SECOND_HBA, SECOND_TARGET)),
    ]
    san = San(folder, ports=ports)
    for in_flight in (16, 64):
        carried = 3000 * 65536 * 1.02
        san.step(
            f"t{in_flight}",
            in_flight,
            read=Flow(3000, in_flight / 3000),
            ports={HOST_PORT.name: (carried, NOTHING), ARRAY_PORT.name: (carried, NOTHING)},
            array={"read": AtArray(0.0004)},
        )
    return diagnose(san.write())


def accused(found: Diagnosis) -> set[str]:
    return {
        str(entity)
        for suspect in found.verdict.suspects
        if suspect.kind == "link"
        for entity in (suspect.entity, *suspect.coincident)
    }


@pytest.mark.parametrize("state", [_DOWN, _SILENT], ids=["counts nothing", "tells nothing"])
@pytest.mark.parametrize("ends", [("fc1/8",), ("fc1/2",), ("fc1/8", "fc1/2")], ids="+".join)
def test_a_cable_whose_port_is_down_is_no_suspect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: tuple[str, ...], state: dict[str, Number]
) -> None:
    found = result(tmp_path / "r.sanpath", monkeypatch, dict.fromkeys(ends, state))
    suspected = accused(found)
    assert [entity for entity in suspected if any(f"sw1/{end}" in entity for end in ends)] == []
    named = [gap.what for gap in found.unobserved if any(f"sw1/{end}" in gap.what for end in ends)]
    assert named == []


def test_a_cable_that_is_up_and_not_counted_is_said_to_be_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state: dict[str, Number] = {**dict.fromkeys(("bytes_rx_total", "bytes_tx_total")), "link_up": 1}
    found = result(tmp_path / "r.sanpath", monkeypatch, {"fc1/8": state, "fc1/2": state})
    assert any("sw1/fc1/8" in gap.what for gap in found.unobserved)
