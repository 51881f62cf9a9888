"""Which tests run by themselves: those whose processes need a processor when they ask for one."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ALONE = ("end_to_end", "faults", "kernel_lab", "real_lab", "recorder", "views/live/test_terminal.py")
"""Real processes with real deadlines; everything else only computes and runs beside its like."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them, so that `make test` runs them after all others, one by one."""
    for item in items:
        if item.path.is_relative_to(TESTS) and item.path.relative_to(TESTS).as_posix().startswith(ALONE):
            item.add_marker("alone")
