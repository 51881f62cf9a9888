"""The page on writing an array collector shows what the Linux one holds today, file by file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3] / "collectors"
PAGE = (ROOT / "WRITE-AN-ARRAY-COLLECTOR.md").read_text(encoding="utf-8")
FOLDER = ROOT / "sanpath_collectors" / "linux_target"
CASES = Path(__file__).parent

SHOWN = [
    (file, block)
    for file, section in re.findall(r"^## \d+\. `(\w+\.py)`(.*?)(?=^## )", PAGE, re.DOTALL | re.MULTILINE)
    for block in re.findall(r"```python\n(.*?)```", section, re.DOTALL)
]


def test_it_names_every_file_of_the_folder_and_no_other() -> None:
    named = set(re.findall(r"^## \d+\. `([\w.]+)`", PAGE, re.MULTILINE))
    assert named == {path.name for path in FOLDER.iterdir() if path.is_file()}


@pytest.mark.parametrize(("file", "block"), SHOWN, ids=[file for file, _ in SHOWN])
def test_what_it_shows_stands_in_the_file(file: str, block: str) -> None:
    content = (FOLDER / file).read_text(encoding="utf-8")
    lines = [line.strip() for line in block.splitlines() if line.strip() and "…" not in line]
    assert lines
    assert [line for line in lines if line not in content] == []


def test_the_cases_it_names_are_there() -> None:
    (table,) = re.findall(r"\| case \| linux_target has \|\n(.*?)\n\n", PAGE, re.DOTALL)
    named = {name for name in re.findall(r"`([\w-]+)`", table) if "-" in name or "/" in name}
    assert named == {name for name in named if (CASES / name / "config.yaml").is_file()}
    assert len(named) >= 5
