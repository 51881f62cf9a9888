"""A real Ceph: a monitor, a manager and two OSDs in memory; fio's engine rbd loads an image.

The image has a QoS limit of bytes, which is so strict that other work on the machine does not matter. What a slow OSD
does to a test depends on the machine: tests/scenarios/test_ceph.py has runs of real clusters with one, as recorded.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from sanpath.cli.sessions.child_process import environment

PROGRAMS = {
    "fio": "fio",
    "ceph-mon": "ceph-mon",
    "ceph-mgr": "ceph-mgr",
    "ceph-osd": "ceph-osd",
    "ceph": "ceph-common",
    "rbd": "ceph-common",
}
LIMIT = 2_000_000
STEPS = (("cap", "64k", 8, 0), ("calm", "4k", 2, 50))
"""Name, block size, outstanding I/Os, I/Os a second (0: any number). The second moves a tenth of the limit."""


@dataclass(frozen=True)
class Cluster:
    """A running cluster: its folder, and the environment of its programs."""

    folder: Path
    environment: dict[str, str]

    def call(self, *command: str) -> str:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode:
            pytest.skip(f"{' '.join(command)} fails: {done.stderr.strip()[-300:]}")
        return done.stdout

    def daemon(self, program: str, name: str) -> subprocess.Popen[bytes]:
        """Starts a daemon in the foreground, so that it is this test's own child."""
        return subprocess.Popen([program, "-f", "-i", name], env=self.environment, stderr=subprocess.DEVNULL)


def write_configuration(folder: Path, fsid: str) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "address").write_text(f"[v2:127.0.0.1:{port}]")
    lines = {
        "fsid": fsid,
        "mon host": f"v2:127.0.0.1:{port}",
        "mon initial members": "a",
        **{f"auth {part} required": "none" for part in ("cluster", "service", "client")},
        **dict.fromkeys(("public addr", "cluster addr"), "127.0.0.1"),
        "run dir": folder / "run",
        "log file": f"{folder}/$name.log",
        "admin socket": f"{folder}/run/$cluster-$name.asok",
        **{f"{part} data": folder / part for part in ("mon", "mgr")},
        "osd data": f"{folder}/osd.$id",
        "osd objectstore": "memstore",
        "memstore device bytes": 1 << 30,
        "osd pool default size": 2,
        "osd pool default min size": 1,
        "osd crush chooseleaf type": 0,
        "mon data avail crit": 1,
        "osd heartbeat grace": 120,
        "osd max object name len": 256,
        "osd max object namespace len": 64,
    }
    text = "[global]\n" + "".join(f"{name} = {value}\n" for name, value in lines.items())
    # The programs that the test calls do not open sockets of the daemons' names.
    (folder / "ceph.conf").write_text(f"{text}[client]\nrbd cache = false\nadmin socket =\n")


def start(cluster: Cluster, daemons: list[subprocess.Popen[bytes]]) -> None:
    folder = cluster.folder
    for part in ("run", "mon", "mgr", "osd.0", "osd.1"):
        (folder / part).mkdir()
    fsid = str(uuid.uuid4())
    write_configuration(folder, fsid)
    monmap = str(folder / "monmap")
    address = (folder / "address").read_text()
    cluster.call("monmaptool", "--create", "--addv", "a", address, "--fsid", fsid, monmap)
    cluster.call("ceph-mon", "--mkfs", "-i", "a", "--monmap", monmap)
    daemons += [cluster.daemon("ceph-mon", "a"), cluster.daemon("ceph-mgr", "x")]
    for number in ("0", "1"):
        key = str(uuid.uuid4())
        cluster.call("ceph", "osd", "new", key, number)
        cluster.call("ceph-osd", "-i", number, "--mkfs", "--osd-uuid", key)
        daemons.append(cluster.daemon("ceph-osd", number))
    cluster.call("ceph", "osd", "pool", "create", "rbd", "32", "32")
    cluster.call("rbd", "pool", "init", "rbd")
    cluster.call("rbd", "create", "rbd/vol1", "--size", "32M", "--image-feature", "layering")
    fill = ["--ioengine=rbd", "--pool=rbd", "--rbdname=vol1", "--rw=write", "--bs=1M", "--iodepth=4"]
    cluster.call("fio", "--name=fill", *fill)
    cluster.call("rbd", "config", "image", "set", "rbd/vol1", "rbd_qos_bps_limit", str(LIMIT))
    for _ in range(100):
        groups = json.loads(cluster.call("ceph", "status", "--format", "json"))["pgmap"]["pgs_by_state"]
        if [group["state_name"] for group in groups] == ["active+clean"]:
            break
        time.sleep(0.2)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if missing := [f"{p} is missing: install {package}" for p, package in PROGRAMS.items() if not shutil.which(p)]:
        pytest.skip("; ".join(missing))
    if "rbdname" not in subprocess.run(["fio", "--enghelp=rbd"], capture_output=True, text=True, check=False).stdout:
        pytest.skip("this fio has no engine rbd")
    folder = tmp_path_factory.mktemp("ceph")
    cluster = Cluster(folder, {**environment(), "CEPH_CONF": str(folder / "ceph.conf")})
    daemons: list[subprocess.Popen[bytes]] = []
    try:
        start(cluster, daemons)
        yield cluster
    finally:
        for daemon in reversed(daemons):
            daemon.kill()
        for daemon in daemons:
            daemon.wait(timeout=20)


@pytest.fixture(scope="module")
def diagnosis(cluster: Cluster) -> dict[str, Any]:
    folder = cluster.folder
    source = {"name": "ceph", "collector": "ceph", "sockets": [f"{folder}/run/ceph-osd.*.asok"], "every_seconds": 0.5}
    (folder / "sanpath.yaml").write_text(yaml.safe_dump({"sources": [source]}))
    lines = ["[global]", "ioengine=rbd", "pool=rbd", "rbdname=vol1", "time_based", "runtime=6", "ramp_time=1"]
    for name, block, depth, rate in STEPS:
        lines += [f"[{name}]", "stonewall", "rw=randread", f"bs={block}", f"iodepth={depth}", f"rate_iops={rate}"]
    (folder / "job.fio").write_text("\n".join(lines) + "\n")
    options = ["--load", "fio", "--config", "sanpath.yaml", "--into", "run.sanpath", "--format", "json"]
    command = [sys.executable, "-m", "sanpath", "run", *options, "--", "fio", "job.fio"]
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        command, cwd=folder, env={**cluster.environment, **paths}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def step(diagnosis: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [step for step in diagnosis["steps"] if step["name"].startswith(name)]
    return dict(found)


def test_the_limit_of_an_image_is_named_where_it_is_reached(diagnosis: dict[str, Any]) -> None:
    verdict = step(diagnosis, "cap")["verdict"]
    (bottleneck,) = verdict["bottlenecks"]
    assert (verdict["kind"], bottleneck["entity"]) == ("configured_cap", "volume:ceph/rbd/vol1")
    assert "2.0 MB/s" in bottleneck["because"][0]
    assert step(diagnosis, "calm")["verdict"]["kind"] != "configured_cap"
