"""Links whose counters miss what has passed them, as those of a switch that stands still."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.model import Column, Table
from sanpath.views import terminal_report
from tests.support.recording import RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, San
from tests.support.stories import COUNTED, NOTHING, X, fast, judged

HOST_LINK, ARRAY_LINK = "link:esx7/vmhba2--sw1/fc1/7", "link:sw1/fc1/1--fa1/CT0.FC0"


@pytest.mark.parametrize("misses", [1.0, 7 / 8], ids=["it stands still", "it counts bits as bytes, divided twice"])
@pytest.mark.parametrize("port", ["fc1/7", "fc1/1"])
def test_a_counter_that_misses_bytes_acquits_no_link(tmp_path: Path, port: str, misses: float) -> None:
    """The path carries what a full 4GFC link carries, whatever one of its ports counts."""
    ends = {"fc1/7": HOST_PORT, "fc1/1": ARRAY_PORT}
    san = San(tmp_path, ports=[end if name == port else fast(end) for name, end in ends.items()])
    for n in (16, 64, 512):
        counted = {name: ((1 - misses if name == port else 1) * COUNTED, NOTHING) for name in ends}
        san.step(f"t{n}", n, read=Flow(X, n / X), ports=counted, array={"read": AtArray(0.0004)})
    found = judged(san.write())
    link = HOST_LINK if port == "fc1/7" else ARRAY_LINK
    assert found.verdict.bottlenecks[0].entity == link
    assert [part.why for part in found.unobserved if part.what == link] == [
        "its counter, read from sw1, misses bytes that crossed the link"
    ]


class PortsOfTheArray(San):
    """The array tells what its port counts, `at_port` bytes a second, and nothing of its volumes."""

    at_port: float | None = COUNTED

    def _configuration(self, out: RecordingBuilder) -> None:
        super()._configuration(out)
        if self.at_port is None:
            return
        table = Table("array_port", (Column("bytes_rx_total", 64), Column("bytes_tx_total", 64)))
        out.source("ports", "ports", table)
        out.entity("ports", "array_port", "p", ids={"wwpn": (ARRAY_PORT.wwpn,)})
        for at in range(int(self.steps[-1].end) + 1):
            done = sum(min(max(at - step.begin, 0.0), step.end - step.begin) for step in self.steps)
            out.samples(
                "ports", table, at, {"p": {"bytes_rx_total": 0, "bytes_tx_total": round(self.at_port * done)}}
            )


def with_switch_that_stands_still(folder: Path, at_port: float | None) -> Diagnosis:
    san = PortsOfTheArray(folder, leave_out={"array_samples"}, ports=[HOST_PORT, fast(ARRAY_PORT)])
    san.at_port = at_port
    for n in (16, 64, 512):
        counted = {HOST_PORT.name: (0.0, 0.0), ARRAY_PORT.name: (0.0, 0.0)}
        san.step(f"t{n}", n, read=Flow(X, n / X), ports=counted, disk={"read": Flow(X, n / X)})
    return judged(san.write())


def test_a_switch_that_stands_still_is_told_where_a_port_at_the_end_of_the_path_counts(tmp_path: Path) -> None:
    """Both of its ports count nothing, so that only what is at their other end knows better."""
    found = with_switch_that_stands_still(tmp_path, COUNTED)
    why = {part.what: part.why for part in found.unobserved}
    assert {HOST_LINK, ARRAY_LINK} <= why.keys()
    assert "read from sw1" in why[HOST_LINK]
    assert found.verdict.bottlenecks[0].entity == HOST_LINK
    assert {HOST_LINK, ARRAY_LINK}.isdisjoint(cleared.entity for cleared in found.cleared)
    assert "idle" not in terminal_report.render(found, 100)


@pytest.mark.parametrize("at_port", [None, 0.1 * COUNTED, 3 * COUNTED], ids=["not read", "other path", "others"])
def test_a_path_that_counts_nothing_and_has_no_witness_is_not_called_idle(
    tmp_path: Path, at_port: float | None
) -> None:
    """Its cables are named, and may be wrong, or its counters stand still: neither is known."""
    found = with_switch_that_stands_still(tmp_path, at_port)
    assert not [part for part in found.unobserved if "misses bytes" in part.why]
    path = next(line for line in terminal_report.render(found, 300).splitlines() if "══" in line)
    assert "idle" not in path
    assert "ame the cables" not in (found.summary.action or "")
