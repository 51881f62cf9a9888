"""What sanpath says of a recording beside what is true of its case."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from kernel_lab.cases import Case


def outcome(case: Case, recording: Path) -> str:
    """One line: whether the verdict is right, what it is, who is suspected, and the steps."""
    said = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "sanpath", "diagnose", str(recording), "--format", "json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if not said.stdout:
        return f"{case.name:24} FAILED {said.stderr.strip()[-200:]}"
    document = json.loads(said.stdout)
    verdict = document["verdict"]
    named = [one["entity"] for one in verdict["bottlenecks"]]
    right = verdict["kind"] in case.truth.kinds and (
        not (case.truth.elements and named)
        or any(e in n or n.startswith(e) for n in named for e in case.truth.elements)
    )
    mark = "ok   " if right else "dunno" if verdict["kind"] == "cannot_tell" else "WRONG"
    suspects = ", ".join(
        f"{one['kind']} {one.get('entity') or ''} {one['probability']:.2f}" for one in verdict["suspects"][:4]
    )
    steps = "; ".join(
        f"{step['name']} {direction} {one['ops_per_second']:.0f} IOPS {1e3 * one['latency_seconds']['mean']:.1f} ms"
        for step in document["steps"]
        for direction, one in step["directions"].items()
    )
    return f"{case.name:24} {mark} {verdict['kind']} {verdict.get('grade')} {named} | {suspects} | {steps}"
