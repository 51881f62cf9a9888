"""Builds a lab and takes it down, whatever happened in between."""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from real_lab import network, state
from real_lab.agent import start_agent
from real_lab.cases import Case
from real_lab.files import Secrets, write_configuration, write_job, write_secrets
from real_lab.nbd_target import start_targets
from real_lab.state import PREFIX, LabError, State
from real_lab.system import processes_in, processes_of, start, stop, wait_until

PRIVATE_FOLDERS = ("secrets", "agent")
"""Removed with the lab: their communities and tokens open nothing any more."""


@dataclass(frozen=True, slots=True)
class Lab:
    """A lab that is up: the configuration that reads it and the command that loads it."""

    config: Path
    load: list[str]


def up(case: Case, folder: Path) -> Lab:
    """Build a lab in `folder`, new or empty. Raises LabError; then nothing but files is left of it."""
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    if any(folder.iterdir()):
        raise LabError(f"{folder} is not empty: take down what is in it, and give each lab a new folder")
    try:
        with terminated_is_an_exception():
            return _build(case, folder)
    except BaseException:
        down(folder)
        raise


def down(folder: Path) -> None:
    """Take down the lab of a folder, also a half-built one; nothing happens where there is none. Raises LabError."""
    found = state.load(folder)
    if found is None:
        return
    _remove(found.lab)
    for private in PRIVATE_FOLDERS:
        shutil.rmtree(folder / private, ignore_errors=True)
    state.state_file(folder).unlink(missing_ok=True)


def down_all() -> None:
    """Take down every lab of this machine, whoever built it; their folders stay as they are. Raises LabError."""
    _remove(PREFIX)


@contextmanager
def running(case: Case, folder: Path) -> Iterator[Lab]:
    """A lab that is gone afterwards, also after an error or a signal."""
    lab = up(case, folder)
    try:
        with terminated_is_an_exception():
            yield lab
    finally:
        down(folder)


def _build(case: Case, folder: Path) -> Lab:
    with network.choosing_a_network() as management_network:
        lab = State(state.new_lab_name(), case.name, management_network)
        state.save(lab, folder)
        network.build(case, lab)
    (folder / "logs").mkdir()
    secret = Secrets()
    write_secrets(secret, folder)
    start_targets(case, lab, folder)
    start_agent(case, lab, secret, folder)
    endpoint = _start_front_end(lab, folder)
    config = write_configuration(case, lab, endpoint, folder)
    job = write_job(case, folder)
    return Lab(config, ["ip", "netns", "exec", lab.namespaces["host"], "fio", str(job)])


def _start_front_end(lab: State, folder: Path) -> str:
    log, endpoint = folder / "logs" / "front-end.log", folder / "endpoint"
    start([sys.executable, "-m", "real_lab.front_end", str(folder)], lab=lab.lab, log_file=log)
    wait_until(endpoint.exists, f"the array's REST server, see {log}", seconds=30)
    return endpoint.read_text().strip()


def _remove(of_lab: str) -> None:
    def left() -> set[int]:
        inside = (name for name in network.namespaces() if name.startswith(of_lab))
        return processes_of(lambda lab: lab.startswith(of_lab)).union(*map(_processes_in, inside))

    stop(left)
    network.remove(of_lab)


def _processes_in(namespace: str) -> set[int]:
    with suppress(LabError):  # gone since it was listed
        return processes_in(namespace)
    return set()


@contextmanager
def terminated_is_an_exception() -> Iterator[None]:
    """SIGTERM and SIGHUP unwind the stack as Ctrl-C does."""

    def unwind(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, unwind) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
