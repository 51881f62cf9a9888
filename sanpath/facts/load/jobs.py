"""What the job of a load is, as its source describes it."""

from __future__ import annotations

from sanpath.facts.load.loads import LoadFacts
from sanpath.model import Scalar
from sanpath.topology.identity import Topology


def job_attributes(topology: Topology, load: LoadFacts) -> dict[str, Scalar]:
    """The attributes of the step's job. Empty: there are several jobs, or no source describes one."""
    entities = topology.entities
    jobs = [f"{root}/{load.step}" for root in load.roots if f"{root}/{load.step}" in entities] or list(load.roots)
    return dict(entities[jobs[0]].attributes) if len(jobs) == 1 and jobs[0] in entities else {}
