"""A run with one healthy switch and others whose answers go wrong for a while: all are told, none disturbs."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import yaml
from duckdb import connect

from sanpath.facts.samples.step_samples import step_samples
from sanpath.model import Step
from sanpath.recording.reading.recording import Recording
from sanpath.units import counted
from tests.faults.altering import AlteringProxy, damaged, endlessly, of_another_request, truncated, unaltered
from tests.faults.proxies import standing_for
from tests.faults.switch import (
    BYTES_PER_SECOND,
    COMMUNITY,
    RestartingSwitch,
    assert_each_answer_is_of_its_poll,
    served,
)
from tests.recorder.processes import sanpath
from tests.support.processors import measure_undisturbed

pytestmark = pytest.mark.slow

ALTERATIONS = {
    "truncated": truncated,
    "damaged": damaged,
    "of-another-request": of_another_request,
    "endless": endlessly,
    "from-elsewhere": unaltered,
}
RUN_SECONDS, FAIL_AT, WELL_AT = 28, 3.0, 13.0
"""Ill for ten seconds: a poll ends at its deadline, one second later the switch is opened, which waits four."""


@dataclass(frozen=True)
class Ended:
    reported: dict[str, Any]
    report: str
    errors: str
    recording: Recording
    switch: RestartingSwitch


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """Skips where the machine is busy otherwise: a tenth of half a second is what a poll may be late."""
    return measure_undisturbed(lambda: run(tmp_path_factory.mktemp("agents")))


def run(folder: Path) -> Ended:
    (folder / "community").write_text(COMMUNITY)
    with ExitStack() as stack:
        switch = RestartingSwitch()
        address = stack.enter_context(served(switch))
        proxies = {name: stack.enter_context(standing_for(AlteringProxy, address)) for name in ALTERATIONS}
        sources = [
            {"name": name, "collector": "snmp_switch", "host": host, "port": port, "every_seconds": 0.5}
            | {"community": "file:community"}
            for name, (host, port) in {"healthy": address, **{n: p.address for n, p in proxies.items()}}.items()
        ]
        (folder / "sanpath.yaml").write_text(yaml.safe_dump({"sources": sources}))

        def fail() -> None:
            for name, proxy in proxies.items():
                proxy.alter, proxy.from_elsewhere = ALTERATIONS[name], name == "from-elsewhere"

        def be_well() -> None:
            for proxy in proxies.values():
                proxy.alter, proxy.from_elsewhere = unaltered, False

        switch.after_first_read((FAIL_AT, fail), (WELL_AT, be_well))
        done = sanpath("run", "--for", str(RUN_SECONDS), "--into", "r.sanpath", "--format", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    report = (folder / "r-report.md").read_text(encoding="utf-8")
    return Ended(json.loads(done.stdout), report, done.stderr, Recording(folder / "r.sanpath"), switch)


def test_the_healthy_one_loses_nothing(ended: Ended) -> None:
    account = next(a for a in ended.reported["sources"] if a["name"] == "healthy")
    assert (account["failures"], account["last_failure"]) == (0, "")
    polls = [poll for poll in ended.recording.polls() if poll.source == "healthy"]
    assert {poll.outcome for poll in polls} <= {"ok", "skipped"}
    # 56 without a gap; waiting out the others' time-outs once would cost 20.
    assert len([poll for poll in polls if poll.outcome == "ok"]) >= 44


@pytest.mark.parametrize("name", ALTERATIONS)
def test_the_others_are_told_and_come_back(ended: Ended, name: str) -> None:
    account = next(a for a in ended.reported["sources"] if a["name"] == name)
    assert account["failures"] >= 1
    assert account["gaps"] >= 1
    subject = f"source {name}, {counted(account['failures'], 'failed poll')} and {counted(account['gaps'], 'gap')}"
    unobserved = {entry["what"]: entry["why"] for entry in ended.reported["unobserved"]}
    assert unobserved[subject] == account["last_failure"]
    assert name in ended.report
    outcomes = [poll.outcome for poll in ended.recording.polls() if poll.source == name]
    assert outcomes[-1] == "ok"


def test_no_rate_is_wrong_for_it(ended: Ended) -> None:
    # One answer taken for another would double a rate or make it zero.
    assert_each_answer_is_of_its_poll(ended.recording, ended.switch)
    polls = ended.recording.polls()
    whole = Step("all of it", polls[0].started, polls[-1].ended, "whole run", (), None)
    connection = connect()
    ports = step_samples(ended.recording, connection, "switch_port", [whole])
    connection.close()
    assert {port.source for port in ports} == {"healthy", *ALTERATIONS}
    for port in ports:
        rates = [rate for rate in port.rates["bytes_rx_total"] if rate is not None]
        assert len(rates) >= 4
        assert median(rates) == pytest.approx(BYTES_PER_SECOND, rel=0.05), port.source


def test_a_run_says_it_in_words_and_not_in_tracebacks(ended: Ended) -> None:
    assert "Traceback" not in ended.errors
    # The last poll before it is well again may end at its deadline, which says less.
    polls = [poll for poll in ended.recording.polls() if "answered instead" in poll.message]
    assert {poll.source for poll in polls} == {"from-elsewhere"}, "of the others nothing came from another address"
