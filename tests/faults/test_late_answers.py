"""An agent that takes 8 s for every answer, beside one that does not: its polls are given up, and it comes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from sanpath.recording.reading.recording import Recording
from tests.faults.proxies import Fault, UdpProxy, standing_for
from tests.faults.switch import COMMUNITY, RestartingSwitch, served
from tests.recorder.processes import sanpath

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("late")


@pytest.fixture(scope="module")
def diagnosis(folder: Path) -> dict[str, Any]:
    switch = RestartingSwitch()
    with served(switch) as address, standing_for(UdpProxy, address) as late:
        sources = [
            {"name": name, "collector": "snmp_switch", "host": host, "port": port, "every_seconds": 0.5}
            for name, (host, port) in (("quick", address), ("late", late.address))
        ]
        (folder / "community").write_text(COMMUNITY)
        config = {"sources": [source | {"community": "file:community"} for source in sources]}
        (folder / "sanpath.yaml").write_text(yaml.safe_dump(config))
        # Answers to what was asked before arrive between those to what is asked when it comes back.
        switch.after_first_read((2.0, lambda: late.fail(Fault.LATE)), (12.0, lambda: late.fail(Fault.NONE)))
        done = sanpath("run", "--for", "22", "--into", "r.sanpath", "--format", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_quick_one_is_not_held_up(diagnosis: dict[str, Any], folder: Path) -> None:
    accounts = {account["name"]: account for account in diagnosis["sources"]}
    assert accounts["quick"]["failures"] == 0
    polls = [poll for poll in Recording(folder / "r.sanpath").polls() if poll.source == "quick"]
    # 44 without a gap; a busy machine may skip some, waiting 8 s for the other once would cost 16.
    assert len([poll for poll in polls if poll.outcome == "ok"]) >= 34


def test_the_late_one_is_asked_less_often_and_comes_back(diagnosis: dict[str, Any], folder: Path) -> None:
    assert diagnosis
    polls = [poll for poll in Recording(folder / "r.sanpath").polls() if poll.source == "late"]
    outcomes = [poll.outcome for poll in polls]
    failed = [poll for poll in polls if poll.outcome == "failed"]
    assert outcomes[0] == outcomes[-1] == "ok"
    assert 2 <= len(failed) <= 6
    assert {poll.failure for poll in failed} == {"unreachable"}
    # A poll is given up after 3 s; a log-in may take 10 s.
    assert all(poll.ended - poll.started < 11_000_000 for poll in failed)
