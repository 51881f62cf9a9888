"""Windows under Fail Over Only: every path but one is on standby, and the array's state tells which could be used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.recorder.importing.importer import ImportRequest, import_file
from sanpath.recording.reading.recording import Recording
from tests.support.fio_text import fio_text
from tests.support.stories import judged

USED, WAITING = "policy-uses-one-path", "policy-leaves-paths-on-standby"


def mpclaim_text(groups: Sequence[str | None], policy: str = "Fail Over Only", access: str = "Implicit Only") -> str:
    """The details of a disk of which the first path is active and the others stand by. `groups`: the state of each
    path's target port group, None: not printed."""
    lines = [
        f"MPIO Disk0: {len(groups):02} Paths, {policy}, {access}",
        "    Controlling DSM: Microsoft DSM",
        "    SN: 60002AC0000000000000000A0001B3E5",
        "",
    ]
    for number, group in enumerate(groups):
        state = "Standby" if number else "Active/Optimized"
        lines.append(f"    000000007703000{number} {state:18} 003|000|00{number}|005   0")
        lines += [] if group is None else [f"      TPG_State : {group:16}, TPG_Id: {number + 1}, : 1{number}"]
    return "\n".join([*lines, ""])


def diagnosis_of(folder: Path, details: str) -> Diagnosis:
    (result := folder / "fio.txt").write_text(fio_text())
    (paths := folder / "mpclaim.txt").write_text(details)
    import_file(ImportRequest(result, folder / "r.sanpath", host="SQL1"))
    import_file(ImportRequest(paths, folder / "r.sanpath", name="SQL1"))
    return judged(Recording(folder / "r.sanpath"))


def found(diagnosis: Diagnosis) -> dict[str, str]:
    hits = [finding for finding in diagnosis.findings if finding.outcome == "hit"]
    return {finding.rule: finding.summary for finding in hits if finding.rule in (USED, WAITING)}


@pytest.mark.parametrize(
    ("groups", "access"),
    [(["Active/Optimized"] * 4, "Implicit Only"), ([None] * 4, "Symmetric Access")],
    ids=["the groups are all optimised", "the array is symmetric"],
)
def test_the_policy_is_named_where_the_array_serves_all_paths(
    tmp_path: Path, groups: Sequence[str | None], access: str
) -> None:
    diagnosis = diagnosis_of(tmp_path, mpclaim_text(groups, access=access))
    assert list(found(diagnosis)) == [USED]
    assert "has 4 equal paths; its policy Fail Over Only uses one of them" in found(diagnosis)[USED]
    assert "Use the idle paths as well" in [step.action for step in diagnosis.plan]


def test_the_policy_is_named_as_a_question_where_the_state_of_the_groups_was_not_read(tmp_path: Path) -> None:
    summaries = found(diagnosis_of(tmp_path, mpclaim_text([None] * 4)))
    assert list(summaries) == [WAITING]
    assert "leaves 3 on standby. Whether the array serves these as well was not read" in summaries[WAITING]


@pytest.mark.parametrize(
    ("groups", "policy"),
    [
        (["Active/Optimized", "Standby", "Standby", "Standby"], "Fail Over Only"),
        (["Active/Optimized", "Active/Unoptimized"], "Fail Over Only"),
        (["Active/Optimized", None], "Least Queue Depth"),
    ],
    ids=["the groups stand by", "the other is not optimised", "another policy"],
)
def test_paths_that_the_array_would_not_serve_as_well_are_no_fault_of_the_policy(
    tmp_path: Path, groups: Sequence[str | None], policy: str
) -> None:
    assert found(diagnosis_of(tmp_path, mpclaim_text(groups, policy))) == {}
