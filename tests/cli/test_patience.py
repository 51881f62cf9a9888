"""Who waits at a terminal is told what for; files, pipes and whoever is answered quickly are not."""

from __future__ import annotations

import io
import sys
import time

import pytest

from sanpath.cli import progress_notice as notice
from sanpath.cli.progress_notice import progress_notice


class Terminal(io.StringIO):
    """A terminal that notes what is written to it."""

    def isatty(self) -> bool:
        return True


def test_what_takes_long_is_named_and_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(notice, "AFTER_SECONDS", 0.0)
    with progress_notice("judging a\x1b[2Jb"):
        until = time.monotonic() + 10
        while "judging" not in terminal.getvalue() and time.monotonic() < until:
            time.sleep(0.01)
    reported = terminal.getvalue()
    assert "sanpath: judging a�[2Jb, 0 s" in reported
    assert reported.endswith("\r\x1b[K")


def test_what_is_quick_and_what_goes_to_a_file_is_not_spoken_of(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, file = Terminal(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress_notice("judging"):
        pass
    monkeypatch.setattr(sys, "stderr", file)
    monkeypatch.setattr(notice, "AFTER_SECONDS", 0.0)
    with progress_notice("judging"):
        time.sleep(0.05)
    assert terminal.getvalue() == file.getvalue() == ""
