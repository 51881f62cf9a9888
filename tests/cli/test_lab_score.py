"""`sanpath lab score`: cases are recorded, diagnosed and compared, and what was judged is not judged again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sanpath.cli.sessions.child_process import environment

pytestmark = pytest.mark.slow


def sanpath(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sanpath", "lab", *words]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)


def test_a_corpus_is_scored_and_goes_on_where_it_was_broken_off(tmp_path: Path) -> None:
    words = ("score", "--families", "concurrency,demand-limited", "--keep", "kept.jsonl", "--into", "accuracy.md")
    first = sanpath(tmp_path, *words, "--seeds", "1")
    assert first.returncode == 0, first.stderr
    assert "1 of 2" in first.stderr
    assert len((tmp_path / "kept.jsonl").read_text().splitlines()) == 2
    again = sanpath(tmp_path, *words, "--seeds", "1", "--defects", "no-array")
    assert again.returncode == 0, again.stderr
    assert len(again.stderr.splitlines()) == 2, "what has been judged is not judged again"
    paper = (tmp_path / "accuracy.md").read_text()
    assert "| concurrency | 1 |" in paper
    assert "| no-array: the array is not read | 2 |" in paper
    assert paper.strip() in again.stdout


def test_a_family_that_there_is_not_is_told(tmp_path: Path) -> None:
    done = sanpath(tmp_path, "score", "--families", "no-such", "--keep", "kept.jsonl")
    assert done.returncode == 2
    assert "there is no 'no-such'; there are: healthy" in done.stderr
    assert "\n" not in done.stderr.strip()
