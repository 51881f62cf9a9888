"""Scenarios of the lab, recorded in simulated time and judged.

tests/end_to_end/test_direct_recording.py shows that one that is read over sockets gives the same.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sanpath.diagnose import diagnose
from sanpath.recording.reading.recording import Recording
from sanpath.views.json import render
from sanpath_lab.scenario import load_scenario
from sanpath_testbed.record import record


def diagnosed(scenario: str, into: Path) -> dict[str, Any]:
    """The diagnosis of a scenario that is recorded into a new folder, as its JSON object."""
    record(load_scenario(scenario), into)
    diagnosis: dict[str, Any] = json.loads(render(diagnose(Recording(into))))
    return diagnosis
