"""The differences between numbered steps, such as those of many files whose jobs have one name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.units import kibibytes

_MAX_TARGETS = 2
"""Largest number of files or devices by which a step is described: sanpath's own choice, for the width of a table."""


def step_differences(facts: Facts) -> Mapping[str, str]:
    """Step → its difference from the other steps of its name, in words, besides direction and outstanding I/Os. "":
    no known difference."""
    loads: dict[str, list[LoadFacts]] = {step.name: [] for step in facts.steps}
    for load in facts.loads:
        loads.setdefault(load.step, []).append(load)
    described = {name: _description(facts, of_step) for name, of_step in loads.items()}
    groups: dict[str, list[str]] = {}
    for name in described:
        groups.setdefault(re.sub(r" \(\d+\)$", "", name), []).append(name)
    words = {}
    for names in groups.values():
        columns = zip(*(described[name] for name in names), strict=True)
        differ = [len(set(column)) > 1 for column in columns]
        for name in names:
            differing = (word for word, is_other in zip(described[name], differ, strict=True) if is_other and word)
            words[name] = ", ".join(differing)
    return words


def _description(facts: Facts, loads: Sequence[LoadFacts]) -> tuple[str, ...]:
    """Block size, access, flushes and targets, each in words; "": not known."""
    sizes = dict.fromkeys(kibibytes(size) for load in loads if (size := load.operation_bytes))
    random = {load.access.random_ratio for load in loads}
    access = "random" if random == {1.0} else "sequential" if random == {0.0} else ""
    flushed = "with flushes" if any(load.flushes_in_flight for load in loads) else ""
    jobs = dict.fromkeys(job for load in loads for job in (load.jobs or load.roots))
    targets = dict.fromkeys(target for job in jobs for target in _targets(facts, job))
    accessed = " and ".join(targets) if len(targets) <= _MAX_TARGETS else ""
    return " and ".join(sizes), access, flushed, accessed


def _targets(facts: Facts, job: str) -> list[str]:
    """The names of the files and devices that a job accesses, or that all jobs of its load do."""
    topology = facts.topology
    of_job = topology.related(job, "targets") or topology.related(job.partition("/")[0], "targets")
    return [topology.entities[target].label for target in of_job if target in topology.entities]
