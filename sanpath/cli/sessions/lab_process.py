"""The simulated SAN as a process that ends with the command that uses it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sanpath.cli.sessions.child_process import environment, python
from sanpath.errors import SanpathError

_END_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ServedLab:
    """A running lab: its configuration and the command that starts its load."""

    config: Path
    load: tuple[str, ...]


@contextmanager
def serve_lab(scenario: str, folder: Path) -> Iterator[ServedLab]:
    """Serve a scenario until the context is left. Raises SanpathError if it does not start."""
    process = subprocess.Popen(  # noqa: S603 - our own interpreter
        python("sanpath_lab", "serve", scenario, "--folder", str(folder)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
    )
    try:
        ready = process.stdout.readline() if process.stdout else ""
        if not ready:
            raise SanpathError(f"the lab did not start (exit code {process.wait(_END_SECONDS)})")
        answer = json.loads(ready)
        yield ServedLab(Path(answer["config"]), tuple(answer["load"]))
    finally:
        if process.stdin:
            process.stdin.close()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
