"""Compares the diagnosis of a recording with the truth of its case."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from kernel_lab.cases import Case


def outcome(case: Case, recording: Path) -> str:
    """Return one line: whether the verdict is right, the verdict, its suspects and the steps."""
    diagnosis = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "sanpath", "diagnose", str(recording), "--format", "json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if not diagnosis.stdout:
        return f"{case.name:24} FAILED {diagnosis.stderr.strip()[-200:]}"
    document = json.loads(diagnosis.stdout)
    verdict = document["verdict"]
    entities = [bottleneck["entity"] for bottleneck in verdict["bottlenecks"]]
    right = verdict["kind"] in case.truth.kinds and (
        not (case.truth.elements and entities)
        or any(e in n or n.startswith(e) for n in entities for e in case.truth.elements)
    )
    mark = "ok   " if right else "dunno" if verdict["kind"] == "cannot_tell" else "WRONG"
    suspects = ", ".join(
        f"{s['kind']} {s.get('entity') or ''} {s['probability']:.2f}" for s in verdict["suspects"][:4]
    )
    steps = "; ".join(
        f"{step['name']} {direction} {load['ops_per_second']:.0f} IOPS {1e3 * load['latency_seconds']['mean']:.1f} ms"
        for step in document["steps"]
        for direction, load in step["directions"].items()
    )
    return f"{case.name:24} {mark} {verdict['kind']} {verdict.get('grade')} {entities} | {suspects} | {steps}"
