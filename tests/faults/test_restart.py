"""A switch that restarts during a run: its uptime and counters begin again, and rates stay what they were."""

from __future__ import annotations

from statistics import median

import pytest
import yaml
from duckdb import connect

from sanpath.facts.samples.step_samples import step_samples
from sanpath.model import Step
from sanpath.recording.reading.recording import Recording
from tests.faults.switch import (
    BYTES_PER_SECOND,
    COMMUNITY,
    UPTIME_SECONDS,
    RestartingSwitch,
    assert_each_answer_is_of_its_poll,
    served,
)
from tests.recorder.processes import sanpath


@pytest.fixture(scope="module")
def switch() -> RestartingSwitch:
    return RestartingSwitch()


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory, switch: RestartingSwitch) -> Recording:
    folder = tmp_path_factory.mktemp("restart")
    with served(switch) as (host, port):
        config = {"name": "sw1", "collector": "snmp_switch", "host": host, "port": port, "every_seconds": 0.5}
        (folder / "community").write_text(COMMUNITY)
        (folder / "sanpath.yaml").write_text(yaml.safe_dump({"sources": [config | {"community": "file:community"}]}))
        switch.after_first_read((5.0, switch.restart))
        done = sanpath("run", "--for", "12", "--into", "r.sanpath", "--format", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return Recording(folder / "r.sanpath")


def test_the_restart_is_an_event_and_no_failure(recording: Recording) -> None:
    restarts = [event for _, event in recording.events() if event.name == "device-restarted"]
    assert len(restarts) == 1
    before, after = (restarts[0].detail[name] for name in ("uptime_seconds_before", "uptime_seconds"))
    assert isinstance(before, int | float)
    assert isinstance(after, int | float)
    assert after < 2 < UPTIME_SECONDS < before
    assert {poll.outcome for poll in recording.polls()} <= {"ok", "skipped"}


def test_no_rate_is_wrong_for_it(recording: Recording, switch: RestartingSwitch) -> None:
    assert_each_answer_is_of_its_poll(recording, switch)
    polls = recording.polls()
    whole = Step("all of it", polls[0].started, polls[-1].ended, "whole run", (), None)
    connection = connect()
    (port,) = step_samples(recording, connection, "switch_port", [whole])
    connection.close()
    rates = [rate for rate in port.rates["bytes_rx_total"] if rate is not None]
    assert len(rates) >= 10
    # Counters from before the restart that are compared with those from after it make a rate negative or huge; an
    # answer that is read late makes it a few times what it is at most.
    assert all(0 < rate < 10 * BYTES_PER_SECOND for rate in rates)
    assert median(rates) == pytest.approx(BYTES_PER_SECOND, rel=0.05)
