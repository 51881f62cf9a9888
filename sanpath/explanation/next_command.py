"""The command line of the step that an experiment proposes: the load's reads with more, fewer or smaller I/Os."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sanpath.diagnosis.experiment import Action
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts, job_attributes
from sanpath.model import Scalar
from sanpath.verdict.model import Judgement

_STEP_SECONDS = 60
"""Twelve polls of the slowest usual source."""
_ENGINE = re.compile(r"[a-z0-9_-]+")
_DEVICE = re.compile(r"[\w+@-][\w.+@-]*(/[\w+@-][\w.+@-]*)*")
"""Names that a shell does not interpret: people copy the command."""

_ARGUMENTS: Mapping[Action, Mapping[str, Any]] = {
    "more_in_flight": {},
    "fewer_in_flight": {},
    "one_in_flight": {},
    "smaller_blocks": {"times_size": 0.5},
}
"""Experiments that a command line can run, with their arguments for `repeat_command`."""


def with_commands(facts: Facts, judgement: Judgement) -> Judgement:
    """The judgement, with the command lines of its experiments. `facts`: those that hold in its step."""
    experiments = (
        replace(each, command=repeat_command(facts, judgement.load, each.in_flight, **_ARGUMENTS[each.action]))
        if each.action in _ARGUMENTS
        else each
        for each in judgement.experiments
    )
    return replace(judgement, experiments=tuple(experiments))


def repeat_command(
    facts: Facts, load: LoadFacts, in_flight: float | None = None, times_size: float = 1.0
) -> str | None:
    """The fio command line that repeats the load's reads. None: the load was not fio, it also wrote, or its device is
    unknown.

    `in_flight`: I/Os in flight, None: unchanged. `times_size`: factor on the block size.
    """
    job = job_attributes(facts.topology, load)
    device = _device(facts, load)
    size = job.get("block_bytes")
    if (
        job.get("engine") != "fio"
        or job.get("read_ratio") != 1
        or device is None
        or not isinstance(size, int | float)
    ):
        return None
    total = max(
        1, round(in_flight if in_flight is not None else load.in_flight_configured or load.in_flight_measured)
    )
    # With a synchronous engine, each process has one I/O outstanding, whatever its queue depth.
    threads = total if job.get("synchronous") else min(total, max(1, int(job.get("threads") or 1)))
    working_set = job.get("working_set_bytes")
    words = [
        "sanpath run -- fio --name=decide",
        f"--filename={device}",
        "--readonly",
        f"--rw={'randread' if job.get('random_ratio') else 'read'}",
        f"--bs={max(512, round(size * times_size / 512) * 512)}",
        f"--ioengine={_ioengine(job)}",
        f"--direct={int(bool(job.get('direct', True)))}",
        f"--numjobs={threads}",
        f"--iodepth={max(1, round(total / threads))}",
        *([f"--size={round(working_set)}"] if isinstance(working_set, int | float) and job.get("files") == 1 else []),
        f"--time_based --runtime={_STEP_SECONDS} --group_reporting",
    ]
    return " ".join(words)


def _ioengine(job: dict[str, Scalar]) -> str:
    """The name of fio's engine. A recording is not trusted, and fio also loads engines from files."""
    name = str(job.get("ioengine") or "")
    return name if _ENGINE.fullmatch(name) else "libaio"


def _device(facts: Facts, load: LoadFacts) -> str | None:
    luns = {lun for root in load.roots for lun in facts.topology.related(root, "targets", "lun")}
    names = [name for lun in luns for name in facts.topology.entities[lun].ids.get("device", ())]
    return f"/dev/{names[0]}" if len(luns) == 1 and names and _DEVICE.fullmatch(names[0]) else None
