"""The supervisors' files are what systemd and Kubernetes take, and their commands what sanpath takes."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from sanpath.cli import app
from sanpath.errors import UsageError

FOLDER = Path(__file__).parents[2] / "examples" / "supervisors"
UNIT = FOLDER / "sanpath-recorder@.service"
LOAD = FOLDER / "sanpath-load@.service"
JOB = FOLDER / "job.yaml"


def verified(unit: str, name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What systemd says of the unit, with the sanpath of this machine in the place of an installed one."""
    here = folder / "sanpath"
    here.write_text(f"#!{sys.executable}\n")
    here.chmod(0o755)
    file = folder / name
    file.write_text(unit.replace("/usr/local/bin/sanpath", str(here)))
    command = ["systemd-analyze", "verify", "--man=no", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("unit", [UNIT, LOAD], ids=["recorder", "load"])
def test_systemd_takes_the_unit(unit: Path, tmp_path: Path) -> None:
    whole = unit.read_text(encoding="utf-8")
    done = verified(whole, unit.name, tmp_path)
    assert (done.returncode, unit.name in done.stderr) == (0, False), done.stderr
    wrong = verified(whole.replace("Restart=on-failure", "Restart=when-it-likes"), unit.name, tmp_path)
    assert "when-it-likes" in wrong.stderr, "the check sees what it is for"


def test_kubernetes_takes_the_job() -> None:
    schemas = pytest.importorskip("kubernetes_validate")
    job = yaml.safe_load(JOB.read_text(encoding="utf-8"))
    schemas.validate(job, schemas.latest_version(), strict=True)
    job["spec"]["template"]["spec"]["containers"][0]["argz"] = []
    with pytest.raises(schemas.ValidationError):
        schemas.validate(job, schemas.latest_version(), strict=True)


def settings(unit: Path) -> dict[str, str]:
    """What a unit sets; of what it sets several times, the last."""
    lines = [line for line in unit.read_text(encoding="utf-8").splitlines() if "=" in line and line[0] != "#"]
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def commands() -> list[list[str]]:
    lines = [settings(unit)["ExecStart"] for unit in (UNIT, LOAD)]
    container: dict[str, Any] = yaml.safe_load(JOB.read_text())["spec"]["template"]["spec"]["containers"][0]
    return [*(shlex.split(line)[1:] for line in lines), container["args"]]


@pytest.mark.parametrize("words", commands(), ids=["recorder", "load", "Kubernetes"])
def test_sanpath_takes_the_command(words: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    name, command, rest = command.resolve_command(command.make_context("sanpath", list(words)), list(words))
    context = command.make_context(name, rest)
    assert context.params["writer"], "the same at every start"
    assert context.params["only_sources"]
    assert bool(context.params["load"]) == ("fio" in words), "the others only watch"


def test_only_the_unit_of_the_load_stays_down_when_it_is_refused() -> None:
    assert settings(LOAD)["RestartPreventExitStatus"] == str(UsageError.exit_code.value)
    assert "RestartPreventExitStatus" not in settings(UNIT)
    assert {settings(unit)["Restart"] for unit in (UNIT, LOAD)} == {"on-failure"}
