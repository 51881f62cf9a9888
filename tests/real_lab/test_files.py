from __future__ import annotations

import configparser
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from real_lab.agent import snmpd_configuration
from real_lab.cases import CASES, Case, Fabric, SwitchPort
from real_lab.files import write_configuration, write_job, write_plan
from real_lab.nbd_target import nbdkit_command
from real_lab.state import State
from sanpath.probe.plan import load_probe_plan

SLOW_PORT = CASES["slow-port"]
SECOND_FABRIC = Fabric(SwitchPort("q-host"), SwitchPort("q-array"))


def job_of(case: Case, folder: Path) -> configparser.ConfigParser:
    job = configparser.ConfigParser(allow_no_value=True)
    job.read(write_job(case, folder))
    return job


def test_a_step_begins_when_the_one_before_has_ended_and_rested(tmp_path: Path) -> None:
    job = job_of(SLOW_PORT, tmp_path)
    assert job.sections() == ["global", "depth-2", "depth-16", "depth-64"]
    begins = [int(job[step]["startdelay"]) for step in job.sections()[1:]]
    busy = int(job["global"]["ramp_time"]) + int(job["global"]["runtime"])
    assert begins == [0, busy + 2, 2 * (busy + 2)]
    assert all("stonewall" in job[step] for step in job.sections()[1:])


def test_two_loaded_fabrics_are_two_jobs_of_one_step(tmp_path: Path) -> None:
    job = job_of(replace(SLOW_PORT, fabrics=(*SLOW_PORT.fabrics, SECOND_FABRIC)), tmp_path)
    first, second = job["depth-2-eth0"], job["depth-2-eth1"]
    assert ("stonewall" in first, "stonewall" in second) == (True, False)
    assert (first["uri"], second["uri"]) == ("nbd://10.213.1.2:10809", "nbd://10.213.2.2:10809")
    assert first["startdelay"] == second["startdelay"]


def test_an_idle_fabric_is_cabled_but_gets_no_load(tmp_path: Path) -> None:
    case = replace(SLOW_PORT, fabrics=(*SLOW_PORT.fabrics, replace(SECOND_FABRIC, loaded=False)))
    lab = State("srl-3fa9c1", case.name, "10.213.0.0/24")
    config = yaml.safe_load(write_configuration(case, lab, "127.0.0.1:18443", tmp_path).read_text())
    assert "switch_port:sw1/q-host cabled_to hba:host1/eth1" in config["topology"]["links"]
    assert config["topology"]["things"]["hba:host1/eth1"]["ip"] == "10.213.2.1"
    assert "10.213.2.2" not in write_job(case, tmp_path).read_text()


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_a_probe_starts_from_the_heaviest_step_of_the_load(tmp_path: Path, case: Case) -> None:
    plan = load_probe_plan(write_plan(case, ("ip", "netns", "exec", "host", "fio"), tmp_path), allow_writes=True)
    job = job_of(case, tmp_path)
    heaviest = [job[step] for step in job.sections() if step.startswith(f"depth-{case.load.queue_depths[-1]}")]
    assert list(plan.target.uri) == [step["uri"] for step in heaviest]
    assert plan.load.in_flight == sum(int(step["iodepth"]) for step in heaviest)


def test_the_agent_reports_the_speed_of_the_case_at_the_interface_that_has_it() -> None:
    text = snmpd_configuration(SLOW_PORT, {"p-host": 4, "p-array": 3}, "10.213.0.2", "reads", "sets-up")
    assert "override 1.3.6.1.2.1.31.1.1.1.15.4 uinteger 400\n" in text
    assert "override 1.3.6.1.2.1.31.1.1.1.15.3 uinteger 10000\n" in text
    assert "rwcommunity sets-up 127.0.0.1 " in text


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_the_log_filter_sees_the_delay_of_the_others(case: Case) -> None:
    command = nbdkit_command(case.array, "10.213.1.2", Path("F"))
    filters = [word for word in command if word.startswith("--filter=")]
    expected = [*case.array.front_filters, "log", *case.array.filters]
    assert filters == [f"--filter={name}" for name in expected]


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_no_load_takes_longer_than_40_seconds(case: Case, tmp_path: Path) -> None:
    job = job_of(case, tmp_path)
    *_, last = job.sections()
    begins, ramp, runtime = job[last]["startdelay"], job["global"]["ramp_time"], job["global"]["runtime"]
    assert int(begins) + int(ramp) + int(runtime) <= 40
