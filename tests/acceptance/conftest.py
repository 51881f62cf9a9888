from __future__ import annotations

import pytest

from sanpath_lab.scenario import Scenario
from sanpath_testbed.defects import Defect, Defects
from tests.acceptance.lab import Ran, Record, ran


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Records a scenario; what a module asks for is recorded once."""

    def recorded(scenario: Scenario, defect: Defect | Defects | None = None) -> Ran:
        return ran(tmp_path_factory.mktemp("acceptance"), scenario, defect)

    return recorded
