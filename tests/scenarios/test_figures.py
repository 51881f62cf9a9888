"""Figures that a person read off a screen: used where nothing was measured, and never against a measurement."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.diagnose import diagnose
from sanpath.diagnosis.model import Diagnosis
from sanpath.recording.reading.recording import Recording
from tests.support.recording import Number
from tests.support.san import ARRAY_PORT, HOST_PORT, Port, San
from tests.support.stories import SECOND_TARGET, X, published


def with_figures(tmp_path: Path, figures: str, *leave_out: str, recorded: San | None = None) -> Diagnosis:
    """The published test without what is left out, and with the figures."""
    folder = tmp_path / "a.sanpath"
    if recorded is None:
        published(San(folder, leave_out=set(leave_out))).write()
    file = tmp_path / "figures.yaml"
    file.write_text("figures:\n" + "".join(f"  - {{{line}}}\n" for line in figures.strip().splitlines()))
    done = CliRunner().invoke(app, ["import", str(file), "--into", str(folder)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return diagnose(Recording(folder))


ARRAY = 'entity: "array:fa1", quantity: latency, value: 3-5 ms, direction: read, source: the array\'s GUI'
PORTS = """
entity: "switch_port:sw1/fc1/7", quantity: throughput, value: 415.2 MB/s, direction: read, source: port counters
entity: "switch_port:sw1/fc1/1", quantity: throughput, value: 415.2 MB/s, direction: read, source: port counters
"""


def array_part(result: Diagnosis) -> tuple[float, float]:
    (budget,) = [b for b in result.latency_budget if b.step == "t800"]
    (part,) = [p for p in budget.parts if p.plane == "array"]
    return part.seconds


def test_what_no_source_measured_is_taken_from_the_figure_as_an_interval(tmp_path: Path) -> None:
    result = with_figures(tmp_path, ARRAY, "array_samples")
    assert array_part(result) == (pytest.approx(0.003), pytest.approx(0.005))
    assert result.verdict.bottlenecks[0].entity == "link:esx7/vmhba2--sw1/fc1/7"
    reported = [text for step in result.steps for text in step.valid]
    assert any("latency 3 to 5 ms, read by hand (the array's GUI)" in text for text in reported)


def test_a_measurement_counts_whatever_the_figure_says(tmp_path: Path) -> None:
    result = with_figures(tmp_path, ARRAY.replace("3-5", "50"))
    assert array_part(result) == (pytest.approx(0.00035), pytest.approx(0.00035))
    reported = [text for step in result.steps for text in step.valid]
    assert any("the measured 0.00035 is used instead" in text for text in reported)


def test_an_array_is_not_cleared_by_what_was_read_by_hand(tmp_path: Path) -> None:
    result = with_figures(tmp_path, ARRAY, "array_samples")
    assert "array:fa1" not in [cleared.entity for cleared in result.cleared]


def test_a_data_sheet_may_be_what_limits_next(tmp_path: Path) -> None:
    sheet = 'entity: "array:fa1", quantity: ceiling, value: 8000 IOPS, source: its data sheet'
    following = with_figures(tmp_path, sheet).verdict.next
    assert following is not None
    assert (following.entity, following.change) == ("array:fa1", "by its data sheet")
    assert following.predicted_ops_per_second == (pytest.approx(X), pytest.approx(8000))


def sheets(**promised: str) -> str:
    """Data sheets of the array (`fa1`) and of its ports."""
    names = {"fa1": "array:fa1"} | {f"CT{n}": f"array_port:fa1/CT{n}.FC0" for n in (0, 1)}
    return "\n".join(
        f'entity: "{names[name]}", quantity: ceiling, value: {value}, source: its data sheet'
        for name, value in promised.items()
    )


def test_a_promise_that_is_exceeded_already_is_not_what_limits_next(tmp_path: Path) -> None:
    """6,250 IOPS are what the array promises, and 409.6 MB/s a quarter more than its port does."""
    verdict = with_figures(tmp_path, sheets(fa1="6300 IOPS", CT0="325 MB/s"), "switch", "array_samples").verdict
    assert [bottleneck.entity for bottleneck in verdict.bottlenecks] == ["array:fa1"]
    assert verdict.next is None or verdict.next.change != "by its data sheet"


@pytest.mark.parametrize(("larger", "several"), [("350 MB/s", True), ("800 MB/s", False)])
def test_several_ports_are_in_use_where_no_single_one_carries_the_load(
    tmp_path: Path, larger: str, several: bool
) -> None:
    """409.6 MB/s over a port of 200 MB/s and a larger one."""
    san = San(tmp_path / "a.sanpath", ports=[HOST_PORT, ARRAY_PORT, SECOND_TARGET])
    san.leave_out = {"switch", "array_samples"}
    published(san).write()
    figures = sheets(fa1="6300 IOPS", CT0="200 MB/s", CT1=larger)
    (bottleneck,) = with_figures(tmp_path, figures, recorded=san).verdict.bottlenecks
    assert "over 2 ports" in " ".join(bottleneck.because)
    assert ("several are in use" in " ".join(bottleneck.because)) == several


class UncountedPorts(San):
    """A switch that tells the speed of its ports, and no bytes."""

    def _port(self, port: Port, at: float) -> dict[str, Number]:
        return super()._port(port, at) | {"bytes_rx_total": None, "bytes_tx_total": None}


def test_bytes_of_a_port_that_were_read_by_hand_convict_it_with_the_lowest_grade(tmp_path: Path) -> None:
    san = UncountedPorts(tmp_path / "a.sanpath")
    published(san).write()
    result = with_figures(tmp_path, PORTS, recorded=san)
    (bottleneck,) = result.verdict.bottlenecks
    assert bottleneck.entity == "link:esx7/vmhba2--sw1/fc1/7"
    assert bottleneck.utilisation == pytest.approx(415.2 / 425)
    assert result.verdict.grade == "C"


def test_a_name_that_nobody_knows_is_said(tmp_path: Path) -> None:
    result = with_figures(tmp_path, ARRAY.replace("fa1", "fa2"))
    assert any("no entity has this name" in text for step in result.steps for text in step.valid)


def test_a_data_sheet_that_is_beaten_by_far_limits_nothing_and_is_pointed_out(tmp_path: Path) -> None:
    sheet = 'entity: "array:fa1", quantity: ceiling, value: 4000 IOPS, source: its data sheet'
    result = with_figures(tmp_path, sheet, "switch", "array_samples")
    assert "data_sheet" not in {suspect.kind for suspect in result.verdict.suspects}
    assert result.verdict.next is None or result.verdict.next.change != "by its data sheet"
    (finding,) = [f for f in result.findings if f.rule == "data-sheet-beaten" and f.outcome == "hit"]
    assert f"{X / 4000:.2f} times as much" in finding.summary
    assert not any("data-sheet-beaten" in [r.rule for r in step.resolves] for step in result.plan)
