"""Reads of an area that no host ever wrote, which a thin array answers without its media."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.model import Scalar
from tests.support.san import AtArray, Flow, San
from tests.support.stories import X

GB = 10**9
FLOW = Flow(X, 16 / X)
READ, WRITTEN = {"read": AtArray(0.0003)}, {"write": AtArray(0.0003)}


def new_volume(folder: Path, written: int | None, area: int | None, random: float | None = 1.0) -> San:
    about: dict[str, Scalar] = {"working_set_bytes": area} if area is not None else {}
    about |= {"random_ratio": random} if random is not None else {}
    return San(folder / "r.sanpath", written_bytes=written, about=about)


def outcome(san: San) -> str:
    """Of the rule; "clear" also if it is not printed."""
    found = [f for f in diagnose(san.write()).findings if f.rule == "test-reads-unwritten"]
    return found[0].outcome if found else "clear"


@pytest.mark.parametrize(
    ("written", "area", "expected"),
    [
        (2 * GB, 100 * GB, "hit"),
        (100 * GB, 100 * GB, "clear"),
        (400 * GB, 100 * GB, "clear"),
        (None, 100 * GB, "unknown"),
        (2 * GB, None, "unknown"),
    ],
    ids=["new", "written once", "with other data", "not counted", "area not known"],
)
def test_reads_of_what_was_never_written(
    tmp_path: Path, written: int | None, area: int | None, expected: str
) -> None:
    san = new_volume(tmp_path, written, area)
    san.step("t16", 16, read=FLOW, array=READ)
    assert outcome(san) == expected


def test_what_the_test_wrote_before_counts_although_the_array_counts_it_late(tmp_path: Path) -> None:
    san = new_volume(tmp_path, 0, GB)
    san.step("fill", 16, write=FLOW, array=WRITTEN)
    san.step("t16", 16, read=FLOW, array=READ)
    assert outcome(san) == "clear"


def test_of_sequential_reads_only_what_they_have_reached_counts(tmp_path: Path) -> None:
    san = new_volume(tmp_path, 40 * GB, 100 * GB, random=0.0)
    san.step("t16", 16, read=FLOW, array=READ)
    assert outcome(san) == "clear"


def test_what_is_written_later_was_not_there_to_be_read(tmp_path: Path) -> None:
    san = new_volume(tmp_path, 0, GB)
    san.step("t16", 16, read=FLOW, array=READ)
    san.step("fill", 16, write=FLOW, array=WRITTEN)
    assert outcome(san) == "hit"
