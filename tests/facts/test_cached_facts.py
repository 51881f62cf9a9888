"""What is computed of a load once is that of these facts and of this load."""

from __future__ import annotations

from dataclasses import replace

from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.verdict.places.host_queues import host_queues
from tests.support.stories import computed


def test_it_is_computed_once_for_each_load_of_the_facts() -> None:
    asked = []

    def compute(facts: Facts, load: LoadFacts) -> int:
        asked.append((facts, load))
        return len(asked)

    facts = replace(computed("published"))
    first, second, *_ = facts.loads
    assert [facts.cached(compute, load) for load in (first, second, first, second)] == [1, 2, 1, 2]
    other = replace(facts, loads=[first])
    assert other.cached(compute, first) == 3, "other facts, although the load is the same"
    assert facts.cached(compute, replace(first)) == 4, "another load, although it is equal"
    assert [load for _, load in asked] == [first, second, first, first]


def test_changed_facts_have_the_queues_of_their_own_tables() -> None:
    facts = computed("published")
    load = facts.loads[-1]
    assert host_queues(facts, load)
    without = replace(facts, tables={**facts.tables, "plane": replace(facts.tables["plane"], rows=(), _indices={})})
    assert not host_queues(without, load)
    assert host_queues(facts, load) == host_queues(replace(facts), load)
