"""Builds a lab and takes it down, also after errors and crashes."""

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
"""Removed with the lab, because their communities and tokens are useless without it."""


@dataclass(frozen=True, slots=True)
class Lab:
    """A running lab. `config`: sanpath.yaml. `load`: command of the load generator."""

    config: Path
    load: list[str]


def up(case: Case, folder: Path) -> Lab:
    """Build a lab in `folder`, new or empty. Raises LabError; only files are left then."""
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
    """Take down the lab of a folder, even a half-built one. A folder without a lab is ignored. Raises LabError."""
    lab = state.load(folder)
    if lab is None:
        return
    _remove(lab.lab)
    for private in PRIVATE_FOLDERS:
        shutil.rmtree(folder / private, ignore_errors=True)
    state.state_file(folder).unlink(missing_ok=True)


def down_all() -> None:
    """Take down all labs of this machine, but keep their folders. Raises LabError."""
    _remove(PREFIX)


@contextmanager
def running(case: Case, folder: Path) -> Iterator[Lab]:
    """Build a lab and take it down on exit, also after an error or a signal."""
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


def _remove(name_prefix: str) -> None:
    def remaining() -> set[int]:
        inside = (name for name in network.namespaces() if name.startswith(name_prefix))
        return processes_of(lambda lab: lab.startswith(name_prefix)).union(*map(_processes_in, inside))

    stop(remaining)
    network.remove(name_prefix)


def _processes_in(namespace: str) -> set[int]:
    with suppress(LabError):  # gone since it was listed
        return processes_in(namespace)
    return set()


@contextmanager
def terminated_is_an_exception() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the stack as Ctrl-C does."""

    def unwind(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, unwind) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
