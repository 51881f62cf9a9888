"""Builds a lab and takes it down, also after errors."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernel_lab import machines, network
from kernel_lab.agent import start_agents
from kernel_lab.cases import Case
from kernel_lab.configuration import write_configuration, write_job, write_neighbours_job
from kernel_lab.images import images
from real_lab import lifecycle, state
from real_lab.network import choosing_a_network
from real_lab.state import LabError, State


@dataclass(frozen=True, slots=True)
class Lab:
    """A running lab. `config`: sanpath.yaml. `load`: command of the load generator on host1."""

    config: Path
    load: tuple[str, ...] = ("fio", "/lab/job.fio")


@contextmanager
def running(case: Case, folder: Path) -> Iterator[Lab]:
    """Build a lab in `folder`, new or empty, and take it down on exit. Raises LabError."""
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    if any(folder.iterdir()):
        raise LabError(f"{folder} is not empty: give each lab a new folder")
    try:
        with lifecycle.terminated_is_an_exception():
            yield _build(case, folder)
    finally:
        lifecycle.down(folder)
        for private in (*folder.glob("agent-?"), folder / "disks"):
            shutil.rmtree(private, ignore_errors=True)
        for disk in (*folder.glob("*.tar"), *folder.glob("*.disk")):
            disk.unlink()


def _build(case: Case, folder: Path) -> Lab:
    guest_images = images()
    with choosing_a_network() as management_network:
        lab = State(state.new_lab_name(), case.name, management_network)
        state.save(lab, folder)
        network.build(case, lab)
    (folder / "logs").mkdir()
    machines.make_keys(folder)
    jobs = {"neighbour": write_neighbours_job(case, folder)}
    job = write_job(case, folder)
    for side in network.sides(case):
        machines.boot(case, lab, side, guest_images, jobs.get(side, job), folder)
    start_agents(case, lab, folder)
    config = write_configuration(case, lab, folder)
    for side in network.sides(case):
        machines.wait_ready(side, folder)
    return Lab(config)
