"""A real Prometheus with node_exporter scrapes this machine while fio reads and writes a block device of its own."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from duckdb import connect
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.facts.samples.step_samples import StepSamples, step_samples
from sanpath.model import DIRECTIONS, Step
from sanpath.recording.reading.recording import Recording

PROGRAMS = ("prometheus", "prometheus-node-exporter", "fio", "losetup")
SIZE = 64 << 20
LOAD = [
    "--ioengine=libaio",
    "--direct=1",
    "--rw=randrw",
    "--rwmixread=70",
    "--bs=64k",
    # 96 I/Os at a time, four times a second: what waits in the device's queue outweighs what fio adds to it.
    "--iodepth=96",
    "--thinktime=250ms",
    "--thinktime_blocks=96",
    "--time_based",
    "--runtime=15",
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(missing := [name for name in PROGRAMS if shutil.which(name) is None]),
        reason=f"needs the programs {', '.join(missing)}",
    ),
    pytest.mark.skipif(os.geteuid() != 0, reason="a loop device needs root"),
]


@contextmanager
def loop_device(folder: Path) -> Iterator[str]:
    """A block device over a file, past the file cache: nobody else uses it. Skips where there can be none."""
    file = folder / "disk.img"
    file.write_bytes(os.urandom(SIZE))
    made = subprocess.run(
        ["losetup", "--direct-io=on", "--find", "--show", str(file)], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        pytest.skip(f"no loop device with direct I/O: {made.stderr.strip()}")
    device = made.stdout.strip()
    try:
        if Path(f"/sys/block/{Path(device).name}/queue/iostats").read_text().strip() != "1":
            pytest.skip("the kernel counts nothing of loop devices")
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


@contextmanager
def running(*command: str) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def at_once() -> list[str]:
    """What makes a program take up a completed I/O at once, on a busy machine too: fio's latency ends there."""
    real_time = ["chrt", "--fifo", "50"]
    known = shutil.which("chrt") and subprocess.run([*real_time, "true"], capture_output=True, check=False)
    return real_time if known and known.returncode == 0 else []


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def asked(url: str, query: str) -> list[Any]:
    try:
        with urllib.request.urlopen(f"{url}/api/v1/query?query={query}", timeout=5) as answer:
            result: list[Any] = json.load(answer)["data"]["result"]
            return result
    except OSError:
        return []


def wait_for(what: Callable[[], object]) -> None:
    for _ in range(300):
        if what():
            return
        time.sleep(0.1)
    pytest.fail("the server has not scraped the device in 30 s")


@contextmanager
def scraped(folder: Path, device: str) -> Iterator[str]:
    """A Prometheus that scrapes this machine once a second. Yields its address, once it knows the device."""
    exporter, server = free_port(), free_port()
    (folder / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s, scrape_timeout: 900ms}\n"
        "scrape_configs:\n"
        f"  - {{job_name: node, static_configs: [{{targets: ['127.0.0.1:{exporter}']}}]}}\n"
    )
    collectors = [f"--collector.{name}" for name in ("diskstats", "uname", "cpu", "stat", "meminfo")]
    with ExitStack() as stack:
        stack.enter_context(
            running(
                "prometheus-node-exporter",
                f"--web.listen-address=127.0.0.1:{exporter}",
                "--collector.disable-defaults",
                "--collector.diskstats.ignored-devices=^$",  # loop devices are left out otherwise
                *collectors,
            )
        )
        stack.enter_context(
            running(
                "prometheus",
                f"--config.file={folder}/prometheus.yml",
                f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address=127.0.0.1:{server}",
            )
        )
        url = f"http://127.0.0.1:{server}"
        wait_for(
            lambda: asked(url, f'node_disk_reads_completed_total{{device="{Path(device).name}"}}'.replace('"', "%22"))
        )
        yield url


def lun(folder: Path, name: str, span: Step) -> StepSamples:
    connection = connect()
    try:
        found = step_samples(Recording(folder), connection, "lun", [span])
    finally:
        connection.close()
    return next(sample for sample in found if sample.entity.endswith(f"/{name}"))


def test_an_import_reproduces_the_throughput_and_latency_of_fio(tmp_path: Path) -> None:
    with loop_device(tmp_path) as device, scraped(tmp_path, device) as url:
        began = time.time()
        time.sleep(2)  # so that a scrape before the load is there, and one after it
        fio = subprocess.run(
            [
                *at_once(),
                "fio",
                "--name=load",
                f"--filename={device}",
                f"--size={SIZE}",
                *LOAD,
                "--output-format=json",
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        time.sleep(2)
        ended = time.time()
        recording = tmp_path / "r.sanpath"
        limits = [
            f"--{name}={time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(at))}"
            for name, at in (("from", began), ("to", ended + 1))
        ]
        done = CliRunner().invoke(app, ["import", "prometheus", "--url", url, "--into", str(recording), *limits])
    assert done.exit_code == 0, done.output
    job = json.loads(fio.stdout[fio.stdout.index("{") :])["jobs"][0]
    span = Step("load", round(began * 1e6) - 1_000_000, round(ended * 1e6) + 1_000_000, "whole run", (), None)
    sample = lun(recording, Path(device).name, span)
    watched = sum(sample.seconds)
    for direction in DIRECTIONS:
        reported = job[direction]
        operations = (sample.rate(f"ops_{direction}_total") or 0.0) * watched
        moved = (sample.rate(f"bytes_{direction}_total") or 0.0) * watched
        waited = (sample.rate(f"latency_seconds_{direction}_total") or 0.0) * watched
        seconds = reported["runtime"] / 1e3
        assert operations / seconds == pytest.approx(reported["iops"], rel=0.05)
        assert moved / seconds == pytest.approx(reported["bw_bytes"], rel=0.05)
        assert waited / operations == pytest.approx(reported["lat_ns"]["mean"] / 1e9, rel=0.05)


def test_a_live_source_reads_the_same_counters(tmp_path: Path) -> None:
    with loop_device(tmp_path) as device, scraped(tmp_path, device) as url:
        config = tmp_path / "sanpath.yaml"
        config.write_text(
            "sources:\n"
            f"  - {{name: prom, collector: prometheus, url: '{url}', every_seconds: 1, profiles: [node_exporter]}}\n"
        )
        recording = tmp_path / "live.sanpath"
        load = ["fio", "--name=load", f"--filename={device}", "--size=64M", "--rw=read", "--bs=64k", "--direct=1"]
        load += ["--rate_iops=100", "--time_based", "--runtime=8", "--ioengine=psync"]
        command = ["run", "--config", str(config), "--into", str(recording), "--", *load]
        done = subprocess.run(
            [sys.executable, "-m", "sanpath", *command], capture_output=True, text=True, check=False
        )
    assert done.returncode in (0, 1, 3), done.stderr
    known = Recording(recording)
    assert [d.collector for d in known.declarations if d.name == "prom"] == ["prometheus"]
    assert not [poll for poll in known.polls() if poll.source == "prom" and poll.outcome == "failed"]
    step = Step("load", known.started_us, known.started_us + 60_000_000, "whole run", (), None)
    sample = lun(recording, Path(device).name, step)
    read = (sample.rate("ops_read_total") or 0.0) * sum(sample.seconds)
    assert read == pytest.approx(800, rel=0.25)  # the ends of the run are not scraped
