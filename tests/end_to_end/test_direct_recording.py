"""A scenario recorded in simulated time gives the facts and the verdict of one that was read over sockets."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from sanpath.cli.sessions.child_process import environment
from sanpath.cli.sessions.lab_process import serve_lab
from sanpath.facts.compute import compute
from sanpath.facts.table import FactTable
from sanpath.recording.reading.recording import Recording
from sanpath_lab.scenario import load_scenario

pytestmark = pytest.mark.slow

Diagnosis = dict[str, Any]
OF_A_VCENTER = ("multipath", "device", "virtual_disk", "initiator", "host", "plane")
"""Tables of which a vCenter tells most."""


FABRICS = {"slow-drain-host": "demo.sanpath", "oversubscribed-isl": "demo-2.sanpath"}
"""Switches of two makers → the name that `demo` gives the recording, in this order."""
VCENTER = "mru-active-active"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sockets")


@pytest.fixture(scope="module")
def over_sockets(folder: Path) -> Mapping[str, Diagnosis]:
    """Scenario → what is said of it when it is read over sockets: both fabrics while a vCenter is read, most of which
    is waiting.

    Two steps of either fabric, long enough for four windows on a busy machine. With the vCenter, one of four paths is
    dead and one on standby; one step, long enough for a host that samples itself every 20 s.
    """
    short = {"threads": [1, 8], "ramp_seconds": 1.5, "measured_seconds": 12}
    for name in FABRICS:
        _written(folder, name, load_scenario(name).model_dump(mode="json"), short)
    scenario = load_scenario(VCENTER).model_dump(mode="json")
    for path, state in zip(scenario["paths"], ("active", "dead", "standby", "active"), strict=True):
        path["state"] = state
    _written(folder, VCENTER, scenario, {"threads": [4], "ios_per_second": 500.0, "measured_seconds": 44})
    with serve_lab(str(folder / f"{VCENTER}.yaml"), folder / "lab") as lab:
        words = ("run", "--config", str(lab.config), "--into", "vcenter.sanpath", "--format", "json", "--load", "fio")
        command = [sys.executable, "-m", "sanpath", *words, "--", *lab.load]
        reading = subprocess.Popen(command, cwd=folder, env=environment(), stdout=subprocess.PIPE, text=True)
        try:
            demos = {
                name: _sanpath(folder, "demo", "--scenario", f"{name}.yaml", "--format", "json") for name in FABRICS
            }
            printed = demos | {VCENTER: reading.communicate()[0]}
        finally:
            reading.kill()
    assert reading.returncode == 0
    assert all((folder / recording).is_dir() for recording in FABRICS.values())
    return {name: json.loads(out) for name, out in printed.items()}


@pytest.fixture(scope="module", params=FABRICS)
def both(
    request: pytest.FixtureRequest, folder: Path, over_sockets: Mapping[str, Diagnosis]
) -> tuple[Diagnosis, Diagnosis]:
    """Over sockets, and directly."""
    _sanpath(folder, "lab", "record", f"{request.param}.yaml", "--into", f"{request.param}.sanpath")
    direct = json.loads(_sanpath(folder, "diagnose", f"{request.param}.sanpath", "--format", "json"))
    return over_sockets[request.param], direct


@pytest.fixture(scope="module")
def with_vcenter(
    folder: Path, over_sockets: Mapping[str, Diagnosis]
) -> tuple[Mapping[str, FactTable], Mapping[str, FactTable]]:
    """Over sockets, and directly."""
    assert over_sockets[VCENTER]["run"]["complete"]
    _sanpath(folder, "lab", "record", f"{VCENTER}.yaml", "--into", "direct.sanpath")
    sockets, direct = (compute(Recording(folder / f"{name}.sanpath")).tables for name in ("vcenter", "direct"))
    return sockets, direct


def _written(folder: Path, name: str, scenario: dict[str, Any], load: Mapping[str, object]) -> None:
    scenario["load"] |= load
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(scenario), encoding="utf-8")


def _sanpath(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "sanpath", *words]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_verdict_is_the_same(both: tuple[Diagnosis, Diagnosis]) -> None:
    """All but the grade: on a busy machine polls come late, and fewer whole windows lie in a step."""
    over_sockets, direct = (
        (v["kind"], v["from_step"], [(b["entity"], b["layer"], b["coincident"]) for b in v["bottlenecks"]])
        for v in (diagnosis["verdict"] for diagnosis in both)
    )
    assert direct == over_sockets
    assert direct[0] == "bottleneck"


def test_every_link_is_as_busy(both: tuple[Diagnosis, Diagnosis]) -> None:
    over_sockets, direct = (
        {(e["entity"], e["step"], e["direction"]): e["utilisation"] for e in diagnosis["elements"]}
        for diagnosis in both
    )
    assert direct.keys() == over_sockets.keys()
    known = {key: use for key, use in over_sockets.items() if use is not None}
    assert len(known) >= 10
    assert {key: direct[key] for key in known} == pytest.approx(known, rel=0.03, abs=0.005)


def test_the_load_and_where_its_latency_went_are_the_same(both: tuple[Diagnosis, Diagnosis]) -> None:
    for one, other in zip(*(diagnosis["steps"] for diagnosis in both), strict=True):
        ours, theirs = one["directions"]["read"], other["directions"]["read"]
        assert theirs["ops_per_second"] == pytest.approx(ours["ops_per_second"], rel=0.02)
        assert theirs["latency_seconds"]["mean"] == pytest.approx(ours["latency_seconds"]["mean"], rel=0.02)
    for one, other in zip(*(diagnosis["latency_budget"] for diagnosis in both), strict=True):
        ours, theirs = ({part["plane"]: sum(part["seconds"]) / 2 for part in b["parts"]} for b in (one, other))
        assert theirs == pytest.approx(ours, rel=0.05, abs=5e-5)


def test_findings_of_the_fabric_and_the_array_are_the_same(both: tuple[Diagnosis, Diagnosis]) -> None:
    """What is found of the data itself, such as late polls, belongs to real time."""
    result = {"cause", "culprit", "symptom", "risk"}
    over_sockets, direct = (
        {(f["rule"], f["entity"], f["role"]) for f in d["findings"] if f["outcome"] == "hit" and f["role"] in result}
        for d in both
    )
    assert direct == over_sockets


@pytest.mark.parametrize("kind", OF_A_VCENTER)
def test_what_a_vcenter_tells_is_the_same(
    with_vcenter: tuple[Mapping[str, FactTable], Mapping[str, FactTable]], kind: str
) -> None:
    """All but the number of windows: where those of 20 s fall in a step is as it happens."""
    ours, theirs = (
        {
            (row["entity"], row.get("plane")): {name: value for name, value in row.items() if name != "windows"}
            for row in tables[kind]
        }
        for tables in with_vcenter
    )
    assert ours
    assert ours.keys() == theirs.keys()
    for key, row in ours.items():
        numbers = {name: value for name, value in row.items() if isinstance(value, float)}
        assert {name: theirs[key][name] for name in numbers} == pytest.approx(numbers, rel=0.05, abs=1e-4)
        assert {n: v for n, v in theirs[key].items() if n not in numbers} == {
            n: v for n, v in row.items() if n not in numbers
        }


def test_a_vcenter_that_is_asked_directly_tells_the_paths_that_cannot_be_used(
    with_vcenter: tuple[Mapping[str, FactTable], Mapping[str, FactTable]],
) -> None:
    (row,) = with_vcenter[1]["multipath"]
    assert (row["paths"], row["usable_paths"], row["down_paths"], row["standby_paths"]) == (4, 2, 1, 1)


def test_the_same_seed_gives_the_same_recording_and_another_one_does_not(tmp_path: Path) -> None:
    seeds = {"a": "7", "b": "7", "c": "8"}
    for name, seed in seeds.items():
        _sanpath(tmp_path, "lab", "record", "controller-queue", "--seed", seed, "--into", f"{name}.sanpath")
    a, b, c = (
        json.loads(_sanpath(tmp_path, "diagnose", f"{name}.sanpath", "--format", "json"))["steps"] for name in seeds
    )
    assert a == b
    assert a != c
    assert [step["verdict"]["kind"] for step in a] == [step["verdict"]["kind"] for step in c]
