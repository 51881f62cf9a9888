"""A large recording is diagnosed on a cluster: the same answer to the last digit, whoever computes it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

from sanpath.diagnose import diagnose
from sanpath.recording.reading.recording import Recording
from sanpath.views.json import render
from tests.benchmarks.large_recording import large_recording
from tests.recorder.processes import wait_for

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address=None,
    ) as made:
        yield made


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large") / "large.sanpath"
    large_recording(folder, ports=8_000, polls=200)
    return folder


@pytest.fixture(scope="module")
def alone(large: Path) -> str:
    """What this machine says by itself."""
    return render(diagnose(Recording(large)))


def sanpath(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "sanpath", *arguments], capture_output=True, text=True, check=False)


def test_a_cluster_says_the_same_to_the_last_digit(cluster: LocalCluster, large: Path, alone: str) -> None:
    result = sanpath("diagnose", str(large), "--format", "json", "--cluster", cluster.scheduler_address)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == alone


def test_a_worker_that_is_killed_changes_nothing(cluster: LocalCluster, large: Path, alone: str) -> None:
    with Client(cluster.scheduler_address, set_as_default=False) as client:
        pids = client.run(os.getpid)
        found: list[str] = []

        def work() -> None:
            found.append(render(diagnose(Recording(large), executor=client.get_executor(pure=False))))

        asked = threading.Thread(target=work)
        asked.start()
        victim = wait_for(lambda: next((w for w, tasks in client.processing().items() if tasks), None))
        os.kill(pids[victim], signal.SIGKILL)
        asked.join()
    assert found == [alone]


def test_processes_of_this_machine_say_the_same(large: Path, alone: str) -> None:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        assert render(diagnose(Recording(large), executor=pool)) == alone


def test_no_scheduler_is_told_in_one_line(large: Path) -> None:
    result = sanpath("diagnose", str(large), "--cluster", "tcp://127.0.0.1:9")
    assert result.returncode == 2
    assert result.stderr == "sanpath: --cluster tcp://127.0.0.1:9: no scheduler of dask answers there\n"


def test_a_cluster_without_workers_is_told_in_one_line(large: Path) -> None:
    with LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0") as empty:
        result = sanpath("report", str(large), "--cluster", empty.scheduler_address)
    assert result.returncode == 2
    assert result.stderr.endswith(f"it has no workers; start some with dask worker {empty.scheduler_address}\n")


def test_the_lab_is_scored_on_it_as_well(cluster: LocalCluster, tmp_path: Path) -> None:
    asked = ("lab", "score", "--families", "concurrency", "--seeds", "1", "--keep")
    here = sanpath(*asked, str(tmp_path / "here"), "--workers", "1")
    there = sanpath(*asked, str(tmp_path / "there"), "--cluster", cluster.scheduler_address)
    assert (there.returncode, there.stdout) == (0, here.stdout)
