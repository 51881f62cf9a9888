"""Compares the diagnosis of a recording with the truth of its case, and a prediction with what a repair brought."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel_lab.cases import Case
from real_lab.state import LabError


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the diagnosis of a case says. `right`: None where it says that it cannot tell and should not."""

    case: Case
    right: bool | None
    document: dict[str, Any]

    @property
    def verdict(self) -> str:
        """The kind, what it names, and how sure it is."""
        verdict = self.document["verdict"]
        named = " and ".join(bottleneck["entity"] for bottleneck in verdict["bottlenecks"])
        grade = f" ({verdict['grade']})" if verdict.get("grade") else ""
        return f"{verdict['kind'].replace('_', ' ')}{f': {named}' if named else ''}{grade}"

    def __str__(self) -> str:
        """Return one line: whether the verdict is right, the verdict, its suspects and the steps."""
        mark = {True: "ok   ", False: "WRONG", None: "dunno"}[self.right]
        suspects = ", ".join(
            f"{suspect['kind']} {suspect.get('entity') or ''} {suspect['probability']:.2f}"
            for suspect in self.document["verdict"]["suspects"][:4]
        )
        steps = "; ".join(
            f"{step['name']} {direction} {load['ops_per_second']:.0f} IOPS"
            for step in self.document["steps"]
            for direction, load in step["directions"].items()
        )
        return f"{self.case.name:24} {mark} {self.verdict} | {suspects} | {steps}"


def outcome(case: Case, folder: Path) -> Outcome:
    """Return the outcome of a case that was recorded in `folder`. Raises LabError."""
    document = _sanpath("diagnose", str(case.recording_in(folder)))
    verdict = document["verdict"]
    entities = [bottleneck["entity"] for bottleneck in verdict["bottlenecks"]]
    right: bool | None = verdict["kind"] in case.truth.kinds and (
        not (case.truth.elements and entities)
        or any(e in n or n.startswith(e) for n in entities for e in case.truth.elements)
    )
    return Outcome(case, right or (None if verdict["kind"] == "cannot_tell" else False), document)


def probe_outcome(case: Case, folder: Path) -> str:
    """Return the outcome of a case that was probed: one line, with the experiments and why the probe ended. Raises
    LabError."""
    done = outcome(case, folder)
    probe = done.document["probe"]
    steps = ", ".join(f"{step['experiment']} ({step['probability']:.2f})" for step in probe["steps"])
    return f"{done} | {len(probe['steps'])} steps: {steps}; {probe['ended']}"


def is_confirmed(case: Case, folder: Path) -> bool:
    """Return whether the case was recorded with the labelled place relieved."""
    return case.repaired.recording_in(folder).exists()


def confirmation(case: Case, folder: Path) -> str:
    """Return throughput before and after the repair, and what sanpath predicted of it. Raises LabError."""
    before = _last_step(outcome(case, folder))
    after = _last_step(Outcome(case, None, _sanpath("diagnose", str(case.repaired.recording_in(folder)))))
    parts = [f"{_total(before):.0f} → {_total(after):.0f} IOPS (× {_total(after) / _total(before):.2f})"]
    if case.change:
        settings = [word for change in case.change for word in ("--set", change)]
        document = _sanpath("whatif", str(case.recording_in(folder)), *settings)
        likely = [s["likely_ops_per_second"] for s in document["steps"] if s["step"] == before["name"]]
        is_predicted = bool(likely) and None not in likely
        low, high = (sum(interval[end] for interval in likely) if is_predicted else 0 for end in (0, 1))
        parts.append(f"predicted {low:.0f} to {high:.0f}" if is_predicted else "not predicted")
    return ", ".join(parts)


def table(cases: Sequence[Case], folder: Path) -> str:
    """Return the outcomes of cases recorded in `folder` as a table in Markdown. Raises LabError."""
    lines = [
        "| case | correct verdict | with that place relieved | what sanpath says | right |",
        "|---|---|---|---|---|",
    ]
    for case in cases:
        done = outcome(case, folder)
        relieved = confirmation(case, folder) if is_confirmed(case, folder) else ""
        truth = " or ".join(kind.replace("_", " ") for kind in case.truth.kinds)
        elements = f": {', '.join(case.truth.elements)}" if case.truth.elements else ""
        right = {True: "yes", False: "**no**", None: "cannot tell"}[done.right]
        lines.append(f"| {case.name} | {truth}{elements} | {relieved} | {done.verdict} | {right} |")
    return "\n".join(lines)


def _sanpath(*words: str) -> dict[str, Any]:
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "sanpath", *words, "--format", "json"], capture_output=True, text=True, check=False
    )
    if not done.stdout:
        raise LabError(f"sanpath {' '.join(words)}: {done.stderr.strip()[-200:]}")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def _last_step(judged: Outcome) -> dict[str, Any]:
    step: dict[str, Any] = judged.document["steps"][-1]
    return step


def _total(step: dict[str, Any]) -> float:
    """All operations a second of a step."""
    return sum(float(load["ops_per_second"]) for load in step["directions"].values())
