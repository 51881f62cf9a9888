from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.real_lab.support import EXAMPLE, RunningLab, running_lab

sys.path.insert(0, str(EXAMPLE))


@pytest.fixture(scope="module")
def slow_port_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningLab]:
    with running_lab(tmp_path_factory.mktemp("slow-port") / "lab") as lab:
        yield lab
