"""Reads of an area that no host ever wrote, which a thin array answers without its media."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from tests.support.san import AtArray, Flow, San
from tests.support.stories import X

GB = 10**9


@pytest.mark.parametrize(
    ("written", "area", "outcome"),
    [
        (2 * GB, 100 * GB, "hit"),
        (100 * GB, 100 * GB, "clear"),
        (400 * GB, 100 * GB, "clear"),
        (None, 100 * GB, "unknown"),
        (2 * GB, None, "unknown"),
    ],
    ids=["new", "written once", "with other data", "not counted", "area not known"],
)
def test_reads_of_what_was_never_written(tmp_path: Path, written: int | None, area: int | None, outcome: str) -> None:
    san = San(tmp_path / "r.sanpath", written_bytes=written, about={"working_set_bytes": area} if area else {})
    san.step("t16", 16, read=Flow(X, 16 / X), array={"read": AtArray(0.0003)})
    (finding,) = [f for f in diagnose(san.write()).findings if f.rule == "test-reads-unwritten"] or [None]
    assert (finding.outcome if finding is not None else "clear") == outcome
    if finding is not None and outcome == "hit":
        assert finding.evidence["unwritten_ratio"] == pytest.approx(0.98)
