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

FOLDER = Path(__file__).parents[2] / "examples" / "supervisors"
UNIT = FOLDER / "sanpath-recorder@.service"
JOB = FOLDER / "job.yaml"


def verified(unit: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What systemd says of the unit, with the sanpath of this machine in the place of an installed one."""
    here = folder / "sanpath"
    here.write_text(f"#!{sys.executable}\n")
    here.chmod(0o755)
    file = folder / UNIT.name
    file.write_text(unit.replace("/usr/local/bin/sanpath", str(here)))
    command = ["systemd-analyze", "verify", "--man=no", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    whole = UNIT.read_text(encoding="utf-8")
    done = verified(whole, tmp_path)
    assert (done.returncode, UNIT.name in done.stderr) == (0, False), done.stderr
    wrong = verified(whole.replace("Restart=on-failure", "Restart=when-it-likes"), tmp_path)
    assert "when-it-likes" in wrong.stderr, "the check sees what it is for"


def test_kubernetes_takes_the_job() -> None:
    schemas = pytest.importorskip("kubernetes_validate")
    job = yaml.safe_load(JOB.read_text(encoding="utf-8"))
    schemas.validate(job, schemas.latest_version(), strict=True)
    job["spec"]["template"]["spec"]["containers"][0]["argz"] = []
    with pytest.raises(schemas.ValidationError):
        schemas.validate(job, schemas.latest_version(), strict=True)


def commands() -> list[list[str]]:
    (line,) = (t for t in UNIT.read_text(encoding="utf-8").splitlines() if t.startswith("ExecStart="))
    container: dict[str, Any] = yaml.safe_load(JOB.read_text())["spec"]["template"]["spec"]["containers"][0]
    return [shlex.split(line.removeprefix("ExecStart="))[1:], container["args"][1:]]


@pytest.mark.parametrize("words", commands(), ids=["systemd", "Kubernetes"])
def test_sanpath_takes_the_command(words: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    name, command, rest = command.resolve_command(command.make_context("sanpath", list(words)), list(words))
    context = command.make_context(name, rest)
    assert context.params["writer"], "the same at every start"
    assert context.params["only_sources"]
    assert not context.params["load"], "a supervisor would start it a second time"
