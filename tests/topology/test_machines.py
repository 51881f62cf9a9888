"""The machines of a load are those of its jobs, however many there are."""

from __future__ import annotations

import pytest

from sanpath.model import Entity, Link
from sanpath.topology import paths
from sanpath.topology.paths import machines_of
from sanpath.topology.topology import Topology

JOBS, HOSTS, QUESTIONS = 500, 20, 50


def entity(kind: str, name: str) -> Entity:
    return Entity(f"{kind}:{name}", kind, name, {}, {}, ())


def job_on(topology: Topology, job: int, host: int) -> None:
    for each in (entity("load", f"job{job}"), entity("host", f"host{host}")):
        topology.entities[each.id] = each
    topology.add_link(Link("member_of", f"load:job{job}", "load:test", ("said",)))
    topology.add_link(Link("runs_on", f"load:job{job}", f"host:host{host}", ("said",)))


@pytest.fixture
def topology() -> Topology:
    found = Topology({"load:test": entity("load", "test")})
    for job in range(JOBS):
        job_on(found, job, job % HOSTS)
    return found


def test_a_job_that_is_added_later_is_one_of_them(topology: Topology) -> None:
    assert len(machines_of(topology, "load:test")) == HOSTS
    job_on(topology, JOBS, HOSTS)
    assert f"host:host{HOSTS}" in machines_of(topology, "load:test")


def test_what_a_caller_does_to_its_answer_changes_no_other(topology: Topology) -> None:
    machines_of(topology, "load:test").clear()
    assert len(machines_of(topology, "load:test")) == HOSTS


def test_jobs_are_not_asked_again_for_each_question(topology: Topology, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    original = paths.machine_of

    def machine_of(topology: Topology, load: str) -> str | None:
        asked.append(load)
        return original(topology, load)

    monkeypatch.setattr(paths, "machine_of", machine_of)
    for _ in range(QUESTIONS):
        machines_of(topology, "load:test")
    assert len(asked) <= JOBS + 2 * QUESTIONS
