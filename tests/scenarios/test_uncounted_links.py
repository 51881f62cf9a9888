"""The wait is in the fabric, and nothing shows how full its links are: one of them limits, not known which."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.diagnosis.model import Diagnosis
from sanpath.views.first_screen import role
from tests.support.recording import Number
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, Port, San
from tests.support.stories import NOTHING, SECOND_HBA, SECOND_TARGET

OPS = 3000.0


def without_speeds(folder: Path, monkeypatch: pytest.MonkeyPatch, ports: list[Port]) -> Diagnosis:
    """16 and 64 outstanding I/Os reach the same 3,000 IOPS; all but 0.5 ms of their time is their transfer. The
    switch counts bytes and reports no speed of its ports."""
    of_port = San._port

    def in_state(san: San, port: Port, at: float) -> dict[str, Number]:
        return of_port(san, port, at) | {"link_speed_bits_per_second": None}

    monkeypatch.setattr(San, "_port", in_state)
    san = San(folder, ports=[replace(port, capable=None) for port in ports])
    carried = OPS * 65536 * 1.02 / (len(ports) / 2)
    for in_flight in (16, 64):
        san.step(
            f"t{in_flight}",
            in_flight,
            read=Flow(OPS, in_flight / OPS),
            ports={port.name: (carried, NOTHING) for port in ports},
            array={"read": AtArray(0.0004, san=in_flight / OPS - 0.0005)},
            seconds=30,
        )
    return diagnose(san.write())


def test_one_of_several_links_is_not_named_with_confidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = without_speeds(tmp_path / "a.sanpath", monkeypatch, [HOST_PORT, SECOND_HBA, ARRAY_PORT, SECOND_TARGET])
    (bottleneck,) = found.verdict.bottlenecks
    assert (bottleneck.layer, bottleneck.by_exclusion, len(bottleneck.elements)) == ("fabric", True, 4)
    assert found.verdict.grade == "C"
    assert found.summary.verdict == "One of 4 links is saturated (reads); none was measured"
    assert "as well" not in str(found.summary.consequence)
    assert found.summary.action is not None
    assert found.summary.action.startswith("Let sanpath read the bytes and speeds of 4 links")
    marks = {role(found, element) for element in found.summary.path if element.kind == "link"}
    assert marks == {"LIMIT?"}


def test_both_links_of_a_single_path_are_as_likely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = without_speeds(tmp_path / "a.sanpath", monkeypatch, [HOST_PORT, ARRAY_PORT])
    accused = {entity for each in found.verdict.bottlenecks for entity in each.elements}
    assert accused == {"link:esx7/vmhba2--sw1/fc1/7", "link:sw1/fc1/1--fa1/CT0.FC0"}
