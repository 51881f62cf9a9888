"""Steps that are only numbered are told apart by what differs."""

from __future__ import annotations

from pathlib import Path

from sanpath.diagnosis.model import Diagnosis
from sanpath.views.cells import step_cells
from tests.support.san import KIB, Flow, San
from tests.support.stories import judged


def of_sizes(folder: Path, *steps: tuple[str, int]) -> Diagnosis:
    san = San(folder, leave_out=frozenset({"disk", "switch", "array"}))
    for name, block in steps:
        san.step(name, 4, block=block, read=Flow(1000, 0.004))
    return judged(san.write())


def test_steps_of_one_name_are_told_by_their_block_size(tmp_path: Path) -> None:
    """Jobs of one name in many files: a row says which is which; a name of its own says it already."""
    found = of_sizes(tmp_path, ("job", 4 * KIB), ("job (2)", 64 * KIB), ("other", 8 * KIB))
    assert [step.differs for step in found.steps] == ["4 KiB", "64 KiB", ""]
    assert [row[0] for step in found.steps for row in step_cells(step)] == ["job, 4 KiB", "job (2), 64 KiB", "other"]


def test_repetitions_do_not_differ(tmp_path: Path) -> None:
    found = of_sizes(tmp_path, ("job", 4 * KIB), ("job (2)", 4 * KIB))
    assert [step.differs for step in found.steps] == ["", ""]
