"""What a report advises to read depends on what was a source, and on what it gave."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from sanpath.diagnose import diagnose
from sanpath.diagnosis.experiment import Experiment
from tests.support.recording import RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, San
from tests.support.stories import COUNTED, NOTHING, X, fast


@dataclass(slots=True)
class FailingArray(San):
    """The source of the array is asked, and never answers; the switch knows the name of its port."""

    def _array(self, out: RecordingBuilder, last: float) -> None:
        out.configure_link(f"switch_port:sw1/{ARRAY_PORT.name} cabled_to array_port:fa1/{ARRAY_PORT.device}")
        out.configure_link(f"array_port:fa1/{ARRAY_PORT.device} member_of array:fa1")
        for at in range(0, int(last), 5):
            out.poll("fa1", float(at), "failed", "fa1: connection refused")


def advice(san: San, action: str) -> list[Experiment]:
    san.ports = [fast(HOST_PORT), fast(ARRAY_PORT)]
    for in_flight in (16, 128):
        ports = {port.name: (COUNTED, NOTHING) for port in san.ports}
        san.step(f"t{in_flight}", in_flight, read=Flow(X, in_flight / X), ports=ports)
    return [each for each in diagnose(san.write()).verdict.experiments if each.action == action]


def test_a_source_that_fails_is_to_be_repaired(tmp_path: Path) -> None:
    (array,) = advice(FailingArray(tmp_path / "r.sanpath"), "read_array")
    assert array.text == "repair the source fa1, whose polls fail (sanpath check says why)"


def test_a_source_that_does_not_tell_it_is_not_to_be_added(tmp_path: Path) -> None:
    assert advice(San(tmp_path / "r.sanpath", leave_out={"array_samples"}), "read_array") == []


@pytest.mark.parametrize(
    ("action", "text"),
    [
        ("read_array", "repeat the test, and let sanpath read the array (sanpath init adds it)"),
        ("read_host", "repeat the test, and let sanpath read host esx7 (sanpath init adds it)"),
        ("read_switches", "repeat the test, and let sanpath read the switch ports (sanpath init adds them)"),
    ],
)
def test_what_is_no_source_is_to_be_added(tmp_path: Path, action: str, text: str) -> None:
    missing = {"array", "lun", "disk", *(["switch"] if action == "read_switches" else [])}
    found = advice(San(tmp_path / "r.sanpath", leave_out=missing), action)
    assert [each.text for each in found] == [text]


@pytest.mark.parametrize(
    ("technology", "times", "is_advised"),
    [("ethernet", 1, False), ("ethernet", 2, True), ("fibre_channel", 1, True)],
)
def test_nobody_is_asked_to_keep_quiet_where_nobody_else_is(
    tmp_path: Path, technology: Literal["ethernet", "fibre_channel"], times: int, is_advised: bool
) -> None:
    """The array's port carries as many bytes as the test moves, or twice as many; the host's port only the test's."""
    san = San(tmp_path / "r.sanpath", technology=technology)
    for in_flight in (16, 128):
        ports = {HOST_PORT.name: (COUNTED, NOTHING), ARRAY_PORT.name: (times * COUNTED, NOTHING)}
        san.step(f"t{in_flight}", in_flight, read=Flow(X, in_flight / X), ports=ports, array={"read": AtArray(0.001)})
    actions = [each.action for each in diagnose(san.write()).verdict.experiments]
    assert ("quiet_neighbours" in actions) == is_advised, actions
