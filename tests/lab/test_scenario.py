from __future__ import annotations

import ast
from pathlib import Path

import pytest
from pydantic import ValidationError

import sanpath_lab.scenario
from sanpath_lab.scenario import Scenario, builtin_scenarios, load_scenario

LAB = Path(sanpath_lab.scenario.__file__).parent


def test_every_built_in_scenario_loads_under_its_file_name() -> None:
    names = [scenario.name for scenario in builtin_scenarios()]
    assert names == [file.stem for file in sorted((LAB / "scenarios").glob("*.yaml"))]
    assert "four-gigabit-switch" in names


def test_the_demo_is_the_published_test(demo: Scenario) -> None:
    assert [threads * demo.load.outstanding_per_thread for threads in demo.load.threads] == [
        16,
        128,
        512,
        800,
    ]
    assert demo.volume.naa == "naa.624a9370" + demo.volume.serial.lower()


def test_a_path_over_a_port_that_does_not_exist_is_refused(demo: Scenario) -> None:
    data = demo.model_dump() | {"paths": [{"hba": "vmhba9", "target": "CT0.FC0"}]}
    with pytest.raises(ValidationError, match=r"vmhba9 -> CT0\.FC0: no such port"):
        Scenario.model_validate(data)


def test_a_misspelt_key_is_refused(demo: Scenario) -> None:
    with pytest.raises(ValidationError, match="sede"):
        Scenario.model_validate(demo.model_dump() | {"sede": 1})


def test_an_unknown_scenario_is_a_missing_file_and_those_there_are_are_named(tmp_path: Path) -> None:
    for unknown in ("no-such-scenario", str(tmp_path)):
        with pytest.raises(FileNotFoundError, match=r"there are: .*four-gigabit-switch") as problem:
            load_scenario(unknown)
        assert "\n" not in str(problem.value)


def test_what_a_truth_names_is_in_its_scenario() -> None:
    for scenario in builtin_scenarios():
        there_are = {f"switch_port:{port}" for switch in scenario.switches for port in switch.ports}
        there_are |= {f"array:{scenario.array.name}"}
        there_are |= {f"volume:{scenario.array.name}/{volume.name}" for volume in scenario.volumes.values()}
        there_are |= {f"lun:{scenario.host.name}/{scenario.volume.naa}"}
        there_are |= {f"hba:{device.wwpn.replace(':', '')}" for device in scenario.devices}
        truth = scenario.truth
        named = {*truth.bottlenecks, *truth.victims, *truth.cleared, *([truth.culprit] if truth.culprit else [])}
        assert named <= there_are
        assert not set(truth.bottlenecks) & {*truth.victims, *truth.cleared}


def test_the_lab_imports_nothing_from_the_analysis() -> None:
    imported: set[str] = set()
    for file in LAB.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                imported.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                imported.add((node.module or ".").split(".")[0])
    assert "sanpath_lab" in imported
    assert not imported & {"sanpath", "sanpath_collectors", "sanpath_rules"}
