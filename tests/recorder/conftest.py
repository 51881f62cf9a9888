from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.recorder.processes import Run

SIZE = "16m"


@pytest.fixture(scope="session")
def fio() -> str:
    """The real fio. Its load is read from a file that the page cache holds."""
    found = shutil.which("fio")
    if found is None:
        pytest.skip("fio is not installed")
    return found


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Start `sanpath run` in an empty folder; what is left of it at the end of the test is killed."""
    if not sys.platform.startswith("linux"):
        pytest.skip("looks at processes in /proc")
    started: list[Run] = []

    def start(*arguments: str | Path, stderr: int | None = None) -> Run:
        started.append(Run(tmp_path, *arguments, stderr=stderr))
        return started[-1]

    yield start
    for run in started:
        run.kill()


def job_file(folder: Path, seconds: float) -> Path:
    """Two steps: one process that waits for each I/O, then two that keep four in flight each."""
    file = folder / "job.fio"
    file.write_text(
        f"""
        [global]
        filename={folder / "data"}
        size={SIZE}
        direct=0
        time_based
        runtime={seconds}
        rate_iops=2000
        [small]
        rw=randread
        bs=4k
        ioengine=psync
        [deep]
        stonewall
        rw=randread
        bs=64k
        ioengine=libaio
        iodepth=4
        numjobs=2
        """
    )
    return file
