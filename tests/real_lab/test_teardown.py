"""Nothing is left behind, however the lab ended, and labs do not disturb each other."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.real_lab.support import (
    RunningLab,
    bring_up,
    lab_command,
    lab_environment,
    lab_name,
    left_of,
    processes_of,
    run_lab,
    skip_unless_labs_can_be_built,
)

pytestmark = pytest.mark.slow

PATIENCE_SECONDS = 60

FIRST_LOG = "array/CT0.ETH0-vol1.log"
"""What the array's first volume writes on its first port."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    skip_unless_labs_can_be_built()
    folder = tmp_path / "lab"
    try:
        yield folder
    finally:
        run_lab("down", "--folder", str(folder))


@pytest.fixture
def slow_port_lab(folder: Path) -> RunningLab:
    """A lab for one test alone, since each takes it down."""
    return bring_up(folder)


def wait_for(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        assert time.monotonic() < deadline, "never happened"
        time.sleep(0.002)


def test_down_ends_a_load_that_is_running(slow_port_lab: RunningLab) -> None:
    lab = lab_name(slow_port_lab.folder)
    load = subprocess.Popen(slow_port_lab.load, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    log = slow_port_lab.folder / FIRST_LOG
    wait_for(lambda: b" Read " in log.read_bytes())
    run_lab("down", "--folder", str(slow_port_lab.folder))
    assert load.wait(timeout=PATIENCE_SECONDS) != 0
    assert left_of(lab) == []
    assert not (slow_port_lab.folder / "secrets").exists()


@pytest.mark.parametrize("moment", ["state.json", FIRST_LOG, "agent/snmp.conf", "logs/front-end.log"])
def test_down_clears_what_a_killed_up_left(folder: Path, moment: str) -> None:
    building = subprocess.Popen(
        lab_command("up", "--case", "slow-port", "--folder", str(folder)),
        env=lab_environment(),
        stdout=subprocess.DEVNULL,
    )
    wait_for((folder / moment).exists)
    if moment == "state.json":
        lab = lab_name(folder)
        wait_for(lambda: left_of(lab) != [])
    building.send_signal(signal.SIGKILL)
    building.wait()
    lab = lab_name(folder)
    assert left_of(lab) != []
    run_lab("down", "--folder", str(folder))
    assert left_of(lab) == []


def test_an_interrupted_up_clears_up_itself(folder: Path) -> None:
    building = subprocess.Popen(
        lab_command("up", "--case", "slow-port", "--folder", str(folder)),
        env=lab_environment(),
        stdout=subprocess.DEVNULL,
    )
    wait_for((folder / "state.json").exists)
    lab = lab_name(folder)
    wait_for(lambda: left_of(lab) != [])
    building.send_signal(signal.SIGTERM)
    assert building.wait(timeout=PATIENCE_SECONDS) != 0
    assert left_of(lab) == []
    assert not (folder / "state.json").exists()


def test_down_after_the_labs_processes_were_killed(slow_port_lab: RunningLab) -> None:
    lab = lab_name(slow_port_lab.folder)
    for process in processes_of(lab):
        os.kill(process, signal.SIGKILL)
    run_lab("down", "--folder", str(slow_port_lab.folder))
    assert left_of(lab) == []


def test_two_labs_stand_side_by_side(slow_port_lab: RunningLab, tmp_path: Path) -> None:
    other_folder = tmp_path / "other"
    first = lab_name(slow_port_lab.folder)
    try:
        other = bring_up(other_folder)
        second = lab_name(other_folder)
        assert first != second
        assert slow_port_lab.config.read_text() != other.config.read_text()
        present = left_of(first)
    finally:
        run_lab("down", "--folder", str(other_folder))
    assert left_of(second) == []
    assert sorted(left_of(first)) == sorted(present)
