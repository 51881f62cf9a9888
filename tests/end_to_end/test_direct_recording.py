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
from sanpath.cli.sessions.lab_process import served
from sanpath.facts.compute import compute
from sanpath.facts.table import FactTable
from sanpath.recording.reading.recording import Recording
from sanpath_lab.scenario import load_scenario

pytestmark = pytest.mark.slow

Diagnosis = dict[str, Any]
OF_A_VCENTER = ("multipath", "device", "virtual_disk", "initiator", "host", "plane")
"""Tables of which a vCenter tells most."""


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Diagnosis, Diagnosis]:
    """Over sockets, and directly: an oversubscribed link between switches, two steps of it."""
    folder = tmp_path_factory.mktemp("both")
    scenario = load_scenario("oversubscribed-isl").model_dump(mode="json")
    scenario["load"] |= {"threads": [1, 8], "ramp_seconds": 1.5, "measured_seconds": 8}
    short = folder / "short.yaml"
    short.write_text(yaml.safe_dump(scenario), encoding="utf-8")
    with served(str(short), folder / "lab") as lab:
        words = ("run", "--config", str(lab.config), "--into", "sockets.sanpath", "--format", "json", "--load", "fio")
        over_sockets = _said(folder, *words, "--", *lab.load)
    _sanpath(folder, "lab", "record", str(short), "--into", "direct.sanpath")
    return over_sockets, _said(folder, "diagnose", "direct.sanpath", "--format", "json")


@pytest.fixture(scope="module")
def with_vcenter(tmp_path_factory: pytest.TempPathFactory) -> tuple[Mapping[str, FactTable], Mapping[str, FactTable]]:
    """Over sockets, and directly: one of four paths is dead and one on standby; one step, long enough for a host that
    samples itself every 20 s."""
    folder = tmp_path_factory.mktemp("vcenter")
    scenario = load_scenario("mru-active-active").model_dump(mode="json")
    scenario["load"] |= {"threads": [4], "ios_per_second": 500.0, "measured_seconds": 44}
    for path, state in zip(scenario["paths"], ("active", "dead", "standby", "active"), strict=True):
        path["state"] = state
    short = folder / "short.yaml"
    short.write_text(yaml.safe_dump(scenario), encoding="utf-8")
    with served(str(short), folder / "lab") as lab:
        words = ("run", "--config", str(lab.config), "--into", "sockets.sanpath", "--format", "json", "--load", "fio")
        _said(folder, *words, "--", *lab.load)
    _sanpath(folder, "lab", "record", str(short), "--into", "direct.sanpath")
    over_sockets, direct = (compute(Recording(folder / f"{way}.sanpath")).tables for way in ("sockets", "direct"))
    return over_sockets, direct


def _sanpath(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "sanpath", *words]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _said(folder: Path, *words: str) -> Diagnosis:
    found: Diagnosis = json.loads(_sanpath(folder, *words))
    return found


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
    told = {"cause", "culprit", "symptom", "risk"}
    over_sockets, direct = (
        {(f["rule"], f["entity"], f["role"]) for f in d["findings"] if f["outcome"] == "hit" and f["role"] in told}
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
    a, b, c = (_said(tmp_path, "diagnose", f"{name}.sanpath", "--format", "json")["steps"] for name in seeds)
    assert a == b
    assert a != c
    assert [step["verdict"]["kind"] for step in a] == [step["verdict"]["kind"] for step in c]
