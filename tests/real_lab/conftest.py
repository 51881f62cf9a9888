from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real_lab.support import (
    EXAMPLE,
    RunningLab,
    bring_up,
    run_lab,
    skip_unless_labs_can_be_built,
)

sys.path.insert(0, str(EXAMPLE))


@pytest.fixture
def slow_port_lab(tmp_path: Path) -> Iterator[RunningLab]:
    skip_unless_labs_can_be_built()
    folder = tmp_path / "lab"
    try:
        yield bring_up(folder)
    finally:
        run_lab("down", "--folder", str(folder))
