"""A load on several hosts in lock-step: this machine by SSH, more than once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from sanpath.cli.sessions.child_process import environment
from sanpath.model import SourceLink
from sanpath.recording.reading.recording import Recording
from tests.recorder.processes import PATIENCE_SECONDS, command, is_alive, sanpath, wait_for
from tests.support import simulated_diskspd, simulated_vdbench
from tests.transport.sshd import Server, running

pytestmark = pytest.mark.usefixtures("config")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    folder = tmp_path / "sshd"
    folder.mkdir()
    with running(folder) as found:
        yield found


@pytest.fixture
def config(tmp_path: Path, server: Server) -> Path:
    """Two names of the same machine."""
    host = {
        "address": "127.0.0.1",
        "port": server.port,
        "key_file": str(server.key_file),
        "known_hosts": str(server.known_hosts),
    }
    file = tmp_path / "sanpath.yaml"
    file.write_text(yaml.safe_dump({"hosts": {"db1": host, "db2": dict(host)}}))
    return file


def fio_words(fio: str, folder: Path, seconds: int, *more: str) -> list[str]:
    data = folder / "data"
    data.write_bytes(os.urandom(1 << 20))
    options = ["--name=probe", f"--filename={data}", "--rw=randread", "--bs=4k", "--ioengine=libaio", "--iodepth=3"]
    return [fio, *options, "--rate_iops=300", "--time_based", f"--runtime={seconds}", *more]


def events(folder: Path, name: str) -> list[tuple[str, dict[str, Any]]]:
    result = Recording(folder / "r.sanpath").events()
    return [(source, dict(event.detail)) for source, event in result if event.name == name]


def marked_processes(data: Path) -> list[int]:
    """Processes that have the data file on their command line and are no shell or ssh of ours."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"fio") and f"--filename={data}".encode() in words:
            found.append(int(file.parent.name))
    return found


def test_the_same_load_on_two_hosts_is_one_step(tmp_path: Path, fio: str) -> None:
    load = fio_words(fio, tmp_path, 6)
    done = sanpath("run", "--on", "db1,db2", "--into", "r.sanpath", "--format", "json", "--", *load, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    [step] = json.loads(done.stdout)["steps"]
    assert step["in_flight"]["configured"] == 6
    assert step["directions"]["read"]["ops_per_second"] == pytest.approx(600, rel=0.1)
    recording = Recording(tmp_path / "r.sanpath")
    links = [item for _, _, item in recording.inventory() if isinstance(item, SourceLink)]
    assert {(link.from_end, link.to_end) for link in links if link.relation == "runs_on"} == {
        (("load", "db1/fio"), ("host", "db1")),
        (("load", "db2/fio"), ("host", "db2")),
    }
    assert {declaration.name for declaration in recording.declarations} == {"db1/fio", "db2/fio"}


def test_the_barrier_and_the_clocks_are_recorded(tmp_path: Path, fio: str) -> None:
    load = fio_words(fio, tmp_path, 2)
    assert sanpath("run", "--on", "db1,local", "--into", "r.sanpath", "--", *load, cwd=tmp_path).returncode == 0
    [(_, barrier)] = events(tmp_path, "barrier")
    assert barrier["hosts"] == "db1,local"
    assert 0 <= barrier["spread_seconds"] < 1
    clocks = dict(events(tmp_path, "clock"))
    assert clocks.keys() == {"db1/fio", "local/fio"}
    for clock in clocks.values():
        # The same machine: our own clock.
        assert abs(clock["offset_seconds"]) <= clock["uncertainty_seconds"] + 0.05
    assert {source for source, _ in events(tmp_path, "step-begin")} == {"db1/fio", "local/fio"}


def test_the_output_of_each_host_is_kept_byte_for_byte(tmp_path: Path) -> None:
    script = "printf 'a\\000b\\r\\n'; printf oops >&2"
    done = sanpath("run", "--on", "db1,db2", "--into", "r.sanpath", "--", "sh", "-c", script, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    outputs = sorted((tmp_path / "r.sanpath" / "load").glob("*/output"))
    assert [output.parent.name.rpartition(".")[2] for output in outputs] == ["db1", "db2"]
    assert {output.read_bytes() for output in outputs} == {b"a\0b\r\n"}
    assert {output.with_name("errors").read_bytes() for output in outputs} == {b"oops"}


def test_when_one_load_fails_the_other_goes_on_and_it_is_said(tmp_path: Path) -> None:
    once = tmp_path / "once"
    script = f"mkdir {once} || exit 7; sleep 1; echo end"
    done = sanpath("run", "--on", "db1,db2", "--into", "r.sanpath", "--", "sh", "-c", script, cwd=tmp_path)
    assert done.returncode == 4
    assert "it ended with exit code 7" in done.stderr
    codes = sorted(detail["exit_code"] for _, detail in events(tmp_path, "load-ended"))
    assert codes == [0, 7]
    kept = [file.read_bytes() for file in (tmp_path / "r.sanpath" / "load").glob("*/output")]
    assert sorted(kept) == [b"", b"end\n"]


def started(tmp_path: Path, load: list[str]) -> subprocess.Popen[bytes]:
    with (tmp_path / "err").open("wb") as err:
        return subprocess.Popen(
            command("run", "--on", "db1,db2", "--into", "r.sanpath", "--", *load),
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=err,
            start_new_session=True,
        )


def test_ctrl_c_ends_the_load_on_every_host(tmp_path: Path, fio: str) -> None:
    screen = started(tmp_path, fio_words(fio, tmp_path, 500))
    try:
        load = wait_for(lambda: found if len(found := marked_processes(tmp_path / "data")) >= 4 else None) or []
        os.killpg(screen.pid, signal.SIGINT)
        assert screen.wait(PATIENCE_SECONDS) == 130
        assert not [process for process in load if is_alive(process)]
        assert "Traceback" not in (tmp_path / "err").read_text()
    finally:
        for process in marked_processes(tmp_path / "data"):
            os.kill(process, signal.SIGKILL)
        screen.kill()


def test_a_lost_connection_ends_the_load_there(tmp_path: Path, server: Server, fio: str) -> None:
    screen = started(tmp_path, fio_words(fio, tmp_path, 500))
    try:
        load = wait_for(lambda: found if len(found := marked_processes(tmp_path / "data")) >= 4 else None) or []
        time.sleep(0.5)
        server.drop_connections()
        wait_for(lambda: not [process for process in load if is_alive(process)])
        assert screen.wait(PATIENCE_SECONDS) == 4
        assert "the load on host db1: its connection was lost" in (tmp_path / "err").read_text()
    finally:
        for process in marked_processes(tmp_path / "data"):
            os.kill(process, signal.SIGKILL)
        screen.kill()


def test_a_host_that_does_not_let_us_in_is_one_line(tmp_path: Path, config: Path) -> None:
    text = yaml.safe_load(config.read_text())
    (tmp_path / "nobody").write_text("")
    text["hosts"]["db2"]["known_hosts"] = str(tmp_path / "nobody")
    config.write_text(yaml.safe_dump(text))
    done = sanpath("run", "--on", "db1,db2", "--into", "r.sanpath", "--", "sleep", "50", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("sanpath: host db2: 127.0.0.1:")
    assert done.stderr.count("\n") == 1
    assert "ssh-keyscan" in done.stderr or "host key" in done.stderr


def test_an_unknown_host_is_a_mistake(tmp_path: Path) -> None:
    done = sanpath("run", "--on", "db3", "--into", "r.sanpath", "--", "sleep", "1", cwd=tmp_path)
    assert done.returncode == 2
    assert "no host is called 'db3' under hosts in sanpath.yaml; there are: local, db1, db2" in done.stderr
    assert not (tmp_path / "r.sanpath").exists()


@pytest.mark.parametrize(("engine", "generator"), [("diskspd", simulated_diskspd), ("vdbench", simulated_vdbench)])
def test_a_sweep_runs_a_generator_on_every_host_and_each_step_twice(
    tmp_path: Path, engine: str, generator: ModuleType
) -> None:
    plan = {
        "engine": engine,
        "command": f"{sys.executable} {generator.__file__}",
        "hosts": ["db1", "db2"],
        "target": {"filename": "test.dat"},
        "seconds": 8,  # On a busy machine one host's process ends seconds after the other's.
        "warmup_seconds": 0,
        "repeats": 2,
        "matrix": {"in_flight": 8},
    }
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(plan))
    done = sanpath("sweep", "plan.yaml", "--into", "r.sanpath", "--format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    steps = json.loads(done.stdout)["steps"]
    assert [step["name"] for step in steps] == [
        "64 KiB random read, 8 outstanding a host",
        "64 KiB random read, 8 outstanding a host (2)",
    ]
    for step in steps:
        assert step["in_flight"]["configured"] == 16
        expected = 2 * generator.operations_per_second(8, 65536)
        assert step["directions"]["read"]["ops_per_second"] == pytest.approx(expected, rel=0.01)


def test_a_sweep_runs_on_every_host(tmp_path: Path, fio: str) -> None:
    data = tmp_path / "data"
    data.write_bytes(os.urandom(1 << 20))
    plan = {
        "command": fio,
        "hosts": ["db1", "db2"],
        "target": {"filename": str(data)},
        "seconds": 5,
        "warmup_seconds": 0,
        "matrix": {"block_bytes": "4k", "in_flight": [1, 2]},
        "fio": {"direct": 0, "rate_iops": 300},
    }
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(plan))
    done = sanpath("sweep", "plan.yaml", "--into", "r.sanpath", "--format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    steps = json.loads(done.stdout)["steps"]
    assert [step["name"] for step in steps] == [f"4 KiB random read, {n} outstanding a host" for n in (1, 2)]
    assert [step["in_flight"]["configured"] for step in steps] == [2, 4]
