"""Prints the tests of each package that a branch has changed since its merge base, for `make quick`."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAIN = ("main", "origin/main")
ALWAYS = "tests/test_house_rules.py"
HOMES = (
    ("collectors/sanpath_collectors", "tests/collectors"),
    ("rules/sanpath_rules", "tests/rulebook"),
    ("lab", "tests/lab"),
    ("examples/real-lab", "tests/real_lab"),
    ("examples/kernel-lab", "tests/kernel_lab"),
    ("docs", "tests/docs"),
    ("sanpath", "tests"),
)
"""Folder of packages → folder in which each has the folder of its tests, or which holds those of them all."""


def touched(files: Iterable[str]) -> list[str]:
    """Files and folders of tests for changed files, all relative to the repository's root; the house rules always."""
    return sorted({ALWAYS, *(found for file in files if (found := _touched(Path(file))))})


def _touched(file: Path) -> str | None:
    if file.parts[0] == "tests":
        return file.as_posix() if file.match("test_*.py") and (ROOT / file).exists() else _folder(file.parent)
    for home, tests in HOMES:
        if file.is_relative_to(home):
            package = file.relative_to(home).parts[0]
            return _folder(Path(tests, package)) or _folder(Path(tests))
    return None


def _folder(folder: Path) -> str | None:
    """None: it is not there, or holds all tests there are."""
    return folder.as_posix() if folder != Path("tests") and (ROOT / folder).is_dir() else None


def changed() -> list[str]:
    """Every file that differs from the merge base with the main branch, uncommitted and new ones included."""
    bases = [_git("merge-base", "HEAD", branch) for branch in MAIN]
    base = next((found[0] for found in bases if found), "HEAD")
    return _git("diff", "--name-only", base) + _git("ls-files", "--others", "--exclude-standard")


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


if __name__ == "__main__":
    print(*touched(changed()))
