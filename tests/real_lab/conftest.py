from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.real_lab.support import (
    EXAMPLE,
    RunningLab,
    bring_up,
    run_lab,
    skip_unless_labs_can_be_built,
)

sys.path.insert(0, str(EXAMPLE))


@pytest.fixture(scope="module")
def slow_port_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningLab]:
    skip_unless_labs_can_be_built()
    folder = tmp_path_factory.mktemp("slow-port") / "lab"
    try:
        yield bring_up(folder)
    finally:
        run_lab("down", "--folder", str(folder))
