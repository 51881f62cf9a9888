"""docs/traps.md: every trap is covered by a test or rule that exists, or has its limit written down."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs/traps.md").read_text(encoding="utf-8").splitlines()
    if re.match(r"\| \d", line)
]
RULES = {file.stem for file in (ROOT / "rules/sanpath_rules").glob("*/*.yaml")}


def test_the_forty_three_are_all_there() -> None:
    assert [row[0] for row in ROWS] == [str(number) for number in range(1, 44)]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_what_covers_a_trap_exists(row: list[str]) -> None:
    _, trap, decides, covered, limit = row
    assert trap
    assert decides
    assert covered or limit
    assert not limit or limit.endswith(".")
    for name in re.findall(r"`([^`]+)`", covered):
        file, _, test = name.partition("::")
        if test:
            written = (ROOT / "tests" / file).read_text(encoding="utf-8")
            assert f"def {test}(" in written, name
        else:
            assert name in RULES, name
