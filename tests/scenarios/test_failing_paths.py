"""A path that fails and comes back: what is sent over it waits for a time-out before another path has it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sanpath.diagnosis.model import Diagnosis
from tests.support.esx_san import SECOND, EsxSan
from tests.support.recording import RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, AtArray, Flow, San
from tests.support.stories import NOTHING, SECOND_HBA, SECOND_TARGET, calm, judged

OPS = 150.0


class ReadWhileItWorks(EsxSan):
    """The second path works whenever it is read, and was seen to have changed its state at `changes`, in seconds."""

    changes: Sequence[float] = ()

    def _host_samples(self, out: RecordingBuilder) -> None:
        EsxSan._host_samples(self, out)
        for at in self.changes:
            out.event("vc", at, "path-state", path=SECOND, to="active")


def stalled(folder: Path, changes: Sequence[float] = (), **paths: Any) -> Diagnosis:
    """16 and 64 I/Os bring 150 a second; the array takes half a millisecond for each, and no link is busy."""
    san = ReadWhileItWorks(
        folder, ports=[HOST_PORT, ARRAY_PORT, SECOND_HBA, SECOND_TARGET], shares=(0.6, 0.4), **paths
    )
    san.changes = changes
    moved = OPS * 64 * KIB * 1.02
    ports = {port.name: (0.6 * moved, NOTHING) for port in (HOST_PORT, ARRAY_PORT)}
    ports |= {port.name: (0.4 * moved, NOTHING) for port in (SECOND_HBA, SECOND_TARGET)}
    for n in (16, 64):
        flow = Flow(OPS, n / OPS)
        at_array = {"read": AtArray(0.5e-3, san=0.4e-3)}
        san.step(f"q{n}", n, read=flow, disk={"read": flow}, ports=ports, array=at_array, seconds=20)
    return judged(san.write())


def test_a_path_that_fails_again_and_again_is_named_and_repaired_first(tmp_path: Path) -> None:
    found = stalled(tmp_path, lost_at=3.0, flaps_every=3.0)
    (bottleneck,) = found.verdict.bottlenecks
    assert (bottleneck.entity, bottleneck.kind) == (f"path:vc/{SECOND}", "retries")
    assert "fails" in found.summary.verdict
    assert found.summary.action == "Repair the lost path"


def test_a_path_that_comes_and_goes_between_two_polls_is_named(tmp_path: Path) -> None:
    (bottleneck,) = stalled(tmp_path, changes=(20.0, 23.0, 27.0, 30.0)).verdict.bottlenecks
    assert (bottleneck.entity, bottleneck.kind) == (f"path:vc/{SECOND}", "retries")
    assert "again and again around this step" in bottleneck.because[0]


@pytest.mark.parametrize(
    "paths", [{}, {"lost_at": 2.0}, {"changes": (20.0,)}], ids=["steady", "lost before the test", "one change"]
)
def test_a_path_that_stays_as_it_is_costs_nothing(tmp_path: Path, paths: dict[str, Any]) -> None:
    found = stalled(tmp_path, **paths)
    assert not [s for s in found.verdict.suspects if s.entity is not None and s.entity.startswith("path:")]


@pytest.mark.parametrize(("slowest_seconds", "found_stalled"), [(31.0, True), (0.05, False), (None, False)])
def test_an_io_of_half_a_minute_is_told_beside_a_mean_that_hides_it(
    tmp_path: Path, slowest_seconds: float | None, found_stalled: bool
) -> None:
    """500 µs in the mean: one I/O waited for a time-out."""
    found = judged(calm(San(tmp_path / "r.sanpath", slowest_seconds=slowest_seconds)).write())
    texts = [
        finding.summary for finding in found.findings if finding.rule == "io-stalled" and finding.outcome == "hit"
    ]
    assert ["the slowest read took 31 s" in text for text in texts] == [True] * found_stalled
