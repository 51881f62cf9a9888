"""Real QEMU throttle groups as the caps: qemu-storage-daemon exports disks over NBD, fio loads one after the other.

One run serves all tests. The daemon's disks are null-co nodes with a completion time, so that nothing but the cap or
the number of I/Os in flight can limit. Caps are so low, and completion times so long, that other work on the machine
does not matter.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from sanpath.cli.sessions.child_process import environment

PROGRAMS = {"fio": "fio", "qemu-storage-daemon": "qemu-system-common"}
DELAY_NS = {"fast": 2_000_000, "slow": 20_000_000}
GROUPS = {"iops": "x-iops-total=500", "bytes": "x-bps-read=16777216", "shared": "x-iops-total=600"}
DISKS = {"d1": "iops", "d2": "bytes", "d3": "shared", "d4": "shared", "d5": "fast", "d6": "slow"}
"""Export → its throttle group above the fast node, or the node itself."""


@dataclass(frozen=True)
class Step:
    """A step of the load: the exports that it reads, one job each."""

    name: str
    disks: tuple[str, ...]
    block: str
    depth: int


STEPS = (
    Step("own-iops", ("d1",), "4k", 16),
    Step("own-bytes", ("d2",), "64k", 16),
    Step("group", ("d3", "d4"), "8k", 8),
    Step("few-1", ("d5",), "16k", 1),
    Step("few-4", ("d5",), "16k", 4),
    Step("slow-4", ("d6",), "32k", 4),
    Step("slow-16", ("d6",), "32k", 16),
)
"""Blocks differ, so that no step is taken for another load on the same disk."""


def daemon_command(folder: Path) -> list[str]:
    command = ["qemu-storage-daemon"]
    for group, limit in GROUPS.items():
        command += ["--object", f"throttle-group,id={group},{limit}"]
    for node, delay in DELAY_NS.items():
        command += ["--blockdev", f"null-co,node-name={node},size=1073741824,read-zeroes=off,latency-ns={delay}"]
    command += ["--nbd-server", f"addr.type=unix,addr.path={folder}/nbd.sock,max-connections=0"]
    for disk, behind in DISKS.items():
        if behind in GROUPS:
            command += ["--blockdev", f"throttle,node-name=node-{disk},throttle-group={behind},file=fast"]
        node = f"node-{disk}" if behind in GROUPS else behind
        command += ["--export", f"type=nbd,id={disk},name={disk},node-name={node}"]
    socket = f"socket,id=qmp,path={folder}/qsd.qmp,server=on,wait=off"
    return [*command, "--chardev", socket, "--monitor", "chardev=qmp"]


def write_job(folder: Path) -> list[str]:
    """The job file; returns what the configuration has to say of each job's disk."""
    lines = ["[global]", "ioengine=nbd", "rw=randread", "time_based", "runtime=4", "ramp_time=1"]
    links = ["load:fio runs_on vm:qsd"]
    for step in STEPS:
        for disk in step.disks:
            job = step.name if disk == step.disks[0] else f"{step.name}-{disk}"
            lines += [f"[{job}]", *(["stonewall"] if disk == step.disks[0] else [])]
            lines += [f"uri=nbd+unix:///{disk}?socket={folder}/nbd.sock", f"bs={step.block}", f"iodepth={step.depth}"]
            links.append(f"load:fio/{job} targets vdisk:qsd/{disk}")
    (folder / "job.fio").write_text("\n".join(lines) + "\n")
    return links


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if missing := [f"{p} is missing: install {package}" for p, package in PROGRAMS.items() if not shutil.which(p)]:
        pytest.skip("; ".join(missing))
    folder = tmp_path_factory.mktemp("qsd")
    process = subprocess.Popen(daemon_command(folder), stderr=subprocess.PIPE)
    try:
        for _ in range(100):
            if (folder / "qsd.qmp").exists() and (folder / "nbd.sock").exists():
                break
            if process.poll() is not None:
                pytest.skip(f"qemu-storage-daemon does not start: {process.communicate()[1].decode()[:300]}")
            time.sleep(0.05)
        yield folder
    finally:
        process.terminate()
        process.communicate(timeout=10)


@pytest.fixture(scope="module")
def diagnosis(daemon: Path) -> dict[str, Any]:
    source = {"name": "kvm1", "collector": "qemu", "interface": "qmp", "monitors": [f"{daemon}/qsd.qmp"]}
    source |= {"machines": ["qsd"], "every_seconds": 0.5}
    (daemon / "sanpath.yaml").write_text(
        yaml.safe_dump({"sources": [source], "topology": {"links": write_job(daemon)}})
    )

    options = ["--load", "fio", "--config", "sanpath.yaml", "--into", "run.sanpath", "--format", "json"]
    command = [sys.executable, "-m", "sanpath", "run", *options, "--", "fio", "job.fio"]
    paths = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        command, cwd=daemon, env={**environment(), "PYTHONPATH": paths}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def step(diagnosis: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [step for step in diagnosis["steps"] if step["name"].startswith(name)]
    return dict(found)


@pytest.mark.parametrize(
    ("name", "entity", "limit"),
    [
        ("own-iops", "vdisk:qsd/d1", "500 IOPS"),
        ("own-bytes", "vdisk:qsd/d2", "16.8 MB/s of reads"),
        ("group", "vdisk:qsd/group:shared", "600 IOPS for 2 disks together"),
    ],
)
def test_the_cap_that_holds_is_named(diagnosis: dict[str, Any], name: str, entity: str, limit: str) -> None:
    found = step(diagnosis, name)
    verdict = found["verdict"]
    (bottleneck,) = verdict["bottlenecks"]
    assert (verdict["kind"], bottleneck["entity"], bottleneck["layer"]) == ("configured_cap", entity, "host")
    assert limit in bottleneck["because"][0]


@pytest.mark.parametrize(("name", "seconds"), [("few-1", 0.002), ("slow-4", 0.02)])
def test_where_no_cap_holds_more_in_flight_is_asked_for(diagnosis: dict[str, Any], name: str, seconds: float) -> None:
    """One in flight on a disk of 2 ms, and four on a slow one of 20 ms: four times as many bring almost that."""
    found = step(diagnosis, name)
    assert (found["verdict"]["kind"], found["verdict"]["bottlenecks"]) == ("concurrency_limited", [])
    assert found["directions"]["read"]["latency_seconds"]["mean"] >= seconds


@pytest.mark.parametrize("name", ["few-4", "slow-16"])
def test_no_cap_is_accused_that_does_not_hold(diagnosis: dict[str, Any], name: str) -> None:
    """The last of the steps on its disk: whether still more would bring more was not tried."""
    assert step(diagnosis, name)["verdict"]["kind"] in ("concurrency_limited", "cannot_tell")


def test_the_limits_are_findings_with_the_remedy_of_their_hypervisor(diagnosis: dict[str, Any]) -> None:
    hits = {
        f["entity"]: f for f in diagnosis["findings"] if f["rule"] == "vdisk-iops-limit" and f["outcome"] == "hit"
    }
    assert {"vdisk:qsd/d1", "vdisk:qsd/d2", "vdisk:qsd/group:shared"} <= hits.keys()
    assert {fix["platform"] for fix in hits["vdisk:qsd/d1"]["fix"]} == {"libvirt", "Proxmox"}
