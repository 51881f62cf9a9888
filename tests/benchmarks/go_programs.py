"""Programs in Go that sanpath is measured against: built in a folder of their own from their published modules."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Program:
    """A published module, at one version. `main`: our own few lines around it, None: the module is the program."""

    name: str
    module: str
    version: str
    main: Path | None = None


SNMP_EXPORTER = Program("snmp_exporter", "github.com/prometheus/snmp_exporter", "v0.30.1")
TELEGRAF = Program(
    "telegraf", "github.com/influxdata/telegraf", "v1.37.2", Path(__file__).parent / "peers" / "telegraf.go"
)


class NotBuiltError(Exception):
    """Says why there is no such program."""


def built(program: Program, folder: Path) -> Path:
    """The program. Raises NotBuiltError. What Go downloads and compiles stays in its own caches for the next time."""
    if shutil.which("go") is None:
        raise NotBuiltError("Go is not installed")
    work = folder / f"{program.name}-module"
    work.mkdir()
    package = program.module
    if program.main is not None:
        shutil.copy(program.main, work / "main.go")
        package = "."
    target = folder / program.name
    for step in (
        ["go", "mod", "init", "peer"],
        ["go", "get", f"{program.module}@{program.version}"],
        # Only what is imported is looked up: not all that these modules name can be had.
        ["go", "build", "-mod=mod", "-o", str(target), package],
    ):
        done = subprocess.run(step, cwd=work, capture_output=True, text=True, check=False, env=_environment())
        if done.returncode:
            print(done.stderr[-2_000:], file=sys.stderr)
            raise NotBuiltError(f"`{' '.join(step[:2])}` failed for {program.module} {program.version}")
    return target


def go_version() -> str:
    """ "" without Go."""
    if shutil.which("go") is None:
        return ""
    return subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, check=True).stdout.strip()


def _environment() -> dict[str, str]:
    return os.environ | {"GO111MODULE": "on", "GOWORK": "off"}
