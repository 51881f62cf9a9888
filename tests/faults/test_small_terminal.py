"""A terminal of 10 columns and 3 rows: every command that draws ends as it should, and on its lines."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.san import San
from tests.support.stories import published
from tests.views.live.terminal import Terminal

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

SIZE = (10, 3)
LINES = 20_000
"""A report of 10 columns is long."""


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def start(*arguments: str | Path) -> Terminal:
        opened.append(Terminal([sys.executable, "-m", "sanpath", *map(str, arguments)], tmp_path, *SIZE))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def joined(text: str) -> str:
    """What the terminal has wrapped."""
    return text.replace("\n", "").replace(" ", "")


@pytest.mark.parametrize(
    "words", [("diagnose", "R"), ("topology", "R"), ("compare", "R", "R"), ("watch", "--plain", "R")], ids=" ".join
)
def test_reports_end_well_on_it(terminal: Callable[..., Terminal], tmp_path: Path, words: tuple[str, ...]) -> None:
    recording = published(San(tmp_path / "r.sanpath")).write().folder
    screen = terminal(*(recording if word == "R" else word for word in words))
    text = joined(wait_for_end(screen))
    assert text.endswith("exitcode0")
    assert "Traceback" not in text


def test_a_run_ends_well_on_it(terminal: Callable[..., Terminal], tmp_path: Path) -> None:
    screen = terminal("run", "--into", tmp_path / "r.sanpath", "--", "sleep", "3")
    text = joined(wait_for_end(screen))
    assert text.endswith("exitcode0")
    assert "Traceback" not in text
    assert list((tmp_path / "r.sanpath" / "writers").glob("*.end.json"))


def wait_for_end(screen: Terminal) -> str:
    """All that was written; the words of the last line are wrapped at this width."""
    from tests.recorder.processes import wait_for

    wait_for(lambda: "exitcode" in joined(screen.text()))
    return screen.text(LINES).rstrip()
