"""Runs lab.py as a person would, and looks at what it leaves on the machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sanpath.cli.sessions.child_process import environment
from tests.support.processors import measure_undisturbed

EXAMPLE = Path(__file__).parents[2] / "examples" / "real-lab"


@dataclass(frozen=True)
class RunningLab:
    """A lab that is up. `load` is the command line that fio's own options may follow."""

    config: Path
    load: list[str]

    @property
    def folder(self) -> Path:
        return self.config.parent


def skip_unless_labs_can_be_built() -> None:
    from real_lab.requirements import missing

    if lacking := missing():
        pytest.skip("; ".join(lacking))


def lab_command(*arguments: str) -> list[str]:
    return [sys.executable, str(EXAMPLE / "lab.py"), *arguments]


def lab_environment() -> dict[str, str]:
    """Modules are found where pytest finds them, installed or not."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def run_lab(*arguments: str) -> str:
    done = subprocess.run(lab_command(*arguments), env=lab_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def bring_up(folder: Path, case: str = "slow-port") -> RunningLab:
    answer = json.loads(run_lab("up", "--case", case, "--folder", str(folder)))
    return RunningLab(config=Path(answer["config"]), load=answer["load"])


@contextmanager
def running_lab(folder: Path, case: str = "slow-port") -> Iterator[RunningLab]:
    skip_unless_labs_can_be_built()
    try:
        yield bring_up(folder, case)
    finally:
        run_lab("down", "--folder", str(folder))


def recorded(lab: RunningLab, into: Path) -> dict[str, Any]:
    """What `sanpath run` says of the lab's load, as its JSON object. Skips where the machine is busy otherwise."""

    def run() -> dict[str, Any]:
        shutil.rmtree(into, ignore_errors=True)
        return _recorded(lab, into)

    return measure_undisturbed(run)


def _recorded(lab: RunningLab, into: Path) -> dict[str, Any]:
    options = ["--load", "fio", "--config", str(lab.config), "--into", str(into), "--format", "json"]
    command = [sys.executable, "-m", "sanpath", "run", *options, "--", *lab.load]
    done = subprocess.run(command, cwd=into.parent, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def lab_name(folder: Path) -> str:
    return str(json.loads((folder / "state.json").read_text())["lab"])


def left_of(lab: str) -> list[str]:
    """Namespaces, interfaces and processes of a lab, asked from the system and not from the lab's own code."""
    namespaces = _names("/run/netns", lab)
    interfaces = _names("/sys/class/net", lab)
    return namespaces + interfaces + [str(process) for process in processes_of(lab)]


def processes_of(lab: str) -> list[int]:
    mark = f"SANPATH_REAL_LAB={lab}".encode()
    return [number for number in _process_ids() if mark in _proc(number, "environ").split(b"\0")]


def command_line(process: int) -> str:
    return _proc(process, "cmdline").replace(b"\0", b" ").decode()


def _names(folder: str, begin: str) -> list[str]:
    return [entry.name for entry in Path(folder).glob(f"{begin}*")]


def _process_ids() -> list[int]:
    return [int(name) for name in _names("/proc", "[0-9]") if name.isdigit()]


def _proc(process: int, what: str) -> bytes:
    try:
        return Path(f"/proc/{process}/{what}").read_bytes()
    except OSError:
        return b""
