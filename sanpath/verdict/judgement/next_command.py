"""The command of the step that an experiment asks for: the load's reads again, deeper, shallower or smaller."""

from __future__ import annotations

from sanpath.facts.compute import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.model import Scalar

_SECONDS = 60
"""Twelve polls of the slowest usual source."""


def repeated(facts: Facts, load: LoadFacts, in_flight: float | None = None, times_size: float = 1.0) -> str | None:
    """A fio command line that reads as the load did, `in_flight` I/Os at once (None: as many as it was), blocks that
    many times as large. None: it was not fio, it wrote as well, or on which device it worked is not known."""
    job = _job(facts, load)
    device = _device(facts, load)
    size = job.get("block_bytes")
    if (
        job.get("engine") != "fio"
        or job.get("read_ratio") != 1
        or device is None
        or not isinstance(size, int | float)
    ):
        return None
    total = round(in_flight if in_flight is not None else load.in_flight_configured or load.in_flight_measured)
    threads = max(1, min(total, int(job.get("threads") or 1)))
    words = [
        "sanpath run -- fio --name=decide",
        f"--filename={device}",
        "--readonly",
        f"--rw={'randread' if job.get('random_ratio') else 'read'}",
        f"--bs={max(512, round(size * times_size / 512) * 512)}",
        f"--ioengine={job.get('ioengine') or 'libaio'}",
        f"--direct={int(bool(job.get('direct', True)))}",
        f"--numjobs={threads}",
        f"--iodepth={max(1, round(total / threads))}",
        f"--time_based --runtime={_SECONDS} --group_reporting",
    ]
    return " ".join(words)


def _job(facts: Facts, load: LoadFacts) -> dict[str, Scalar]:
    """What the job of the step says of itself; {}: there are several, or none says anything."""
    told = facts.topology.entities
    jobs = [f"{root}/{load.step}" for root in load.roots if f"{root}/{load.step}" in told] or list(load.roots)
    return dict(told[jobs[0]].attributes) if len(jobs) == 1 and jobs[0] in told else {}


def _device(facts: Facts, load: LoadFacts) -> str | None:
    luns = {lun for root in load.roots for lun in facts.topology.related(root, "targets", "lun")}
    names = [name for lun in luns for name in facts.topology.entities[lun].ids.get("device", ())]
    return f"/dev/{names[0]}" if len(luns) == 1 and names else None
