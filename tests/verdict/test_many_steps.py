"""A result of hundreds of steps is judged in a time that people wait for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.recorder.importing.importer import ImportRequest, import_file
from sanpath.recording.reading.recording import Recording
from sanpath.topology.topology import Topology

SECONDS = 30


def result_of(steps: int) -> str:
    """A fio result of jobs one after another, each with another number of outstanding I/Os than the one before."""
    jobs = []
    for step in range(steps):
        depth = 2 ** (step % 8)
        latency = max(0.0004, depth / 6000)
        done = round(SECONDS * depth / latency)
        read = {"total_ios": done, "io_bytes": 8192 * done, "runtime": 1000 * SECONDS}
        read["lat_ns"] = {"min": 1, "max": round(3e9 * latency), "mean": 1e9 * latency, "N": done}
        options = {"rw": "randread", "iodepth": str(depth), "filename": "/dev/sdb", "stonewall": "1"}
        write = {"total_ios": 0, "io_bytes": 0, "runtime": 0}
        head = {"jobname": f"step-{step}", "groupid": step, "error": 0, "job options": options}
        jobs.append(head | {"read": read, "write": write, "usr_cpu": 1.0, "sys_cpu": 2.0})
    return json.dumps({"fio version": "fio-3.36", "timestamp": 1_700_000_000 + SECONDS * steps, "jobs": jobs})


def lookups(folder: Path, steps: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many relations a diagnosis looks up in the topology."""
    file = folder / f"{steps}.json"
    file.write_text(result_of(steps))
    import_file(ImportRequest(file, folder / f"{steps}.sanpath"))
    count, related = 0, Topology.related

    def counted(topology: Topology, entity: str, relation: str, kind: str | None = None) -> list[str]:
        nonlocal count
        count += 1
        return related(topology, entity, relation, kind)

    with monkeypatch.context() as patch:
        patch.setattr(Topology, "related", counted)
        assert len(diagnose(Recording(folder / f"{steps}.sanpath")).steps) == steps
    return count


def test_lookups_grow_in_proportion_to_the_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (lookups(tmp_path, steps, monkeypatch) for steps in (10, 40))
    assert many < 5 * few
