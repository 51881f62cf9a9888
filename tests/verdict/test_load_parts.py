"""What parts of a load show, as the verdict of the whole."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from sanpath.diagnosis.experiment import VerdictKind
from sanpath.diagnosis.model import Bottleneck, Grade
from sanpath.model import Layer
from sanpath.topology.topology import Topology
from sanpath.verdict.judgement.load_parts import _combined
from sanpath.verdict.model import Judgement


def judgement(in_flight: float, kind: VerdictKind, grade: Grade, *named: Bottleneck) -> Judgement:
    rates = {"ops_per_second": 1e3, "bytes_per_second": 1e6, "latency_seconds": 1e-3}
    load = SimpleNamespace(in_flight_measured=in_flight, jobs=(), roots=(), **rates)
    return Judgement(cast(Any, load), kind, grade, named)


def bottleneck(entity: str, layer: Layer) -> Bottleneck:
    return Bottleneck(entity, entity.partition(":")[0], layer, "read")


@pytest.mark.parametrize(("open_ios", "grade"), [(0.0, "A"), (5.0, "A"), (20.0, "B"), (30.0, "B"), (45.0, "C")])
def test_what_is_open_of_a_part_lowers_the_confidence_that_nothing_limits_the_whole(
    open_ios: float, grade: Grade
) -> None:
    """So many of 100 outstanding I/Os wait for something that is not known; the others for nothing."""
    whole = judgement(100, "concurrency_limited", "A")
    parts = [judgement(100 - open_ios, "concurrency_limited", "A")]
    parts += [judgement(open_ios, "cannot_tell", "C")] if open_ios else []
    found = _combined(cast(Any, None), whole, parts, timed_together=False)
    if not open_ios:
        assert found == whole
    assert (found.kind, found.grade) == ("concurrency_limited", grade)


@pytest.mark.parametrize(("grade", "first"), [("A", "array:fa1"), ("B", "array:fa1"), ("C", "cgroup:db1/a")])
def test_a_full_array_that_serves_all_stands_before_limits_of_single_hosts(grade: Grade, first: str) -> None:
    """Two of three hosts are at limits of their own: without these they take from the third, which waits in the
    array."""
    array = bottleneck("array:fa1", "array_back")
    whole = judgement(100, "bottleneck", grade, array)
    parts = [judgement(35, "configured_cap", "A", bottleneck("cgroup:db1/a", "host"))]
    parts += [judgement(35, "configured_cap", "A", bottleneck("cgroup:db2/a", "host"))]
    parts += [judgement(30, "bottleneck", "A", array)]
    found = _combined(cast(Any, SimpleNamespace(topology=Topology())), whole, parts, timed_together=False)
    assert found.bottlenecks[0].entity == first
    assert {each.entity for each in found.bottlenecks} == {"array:fa1", "cgroup:db1/a", "cgroup:db2/a"}


def test_a_part_that_is_most_of_the_load_stands_before_an_array_that_others_fill() -> None:
    whole = judgement(100, "bottleneck", "A", bottleneck("array:fa1", "array_back"))
    own = bottleneck("cgroup:db1/a", "host")
    parts = [judgement(70, "configured_cap", "A", own), judgement(30, "bottleneck", "A", *whole.bottlenecks)]
    found = _combined(cast(Any, SimpleNamespace(topology=Topology())), whole, parts, timed_together=False)
    assert found.bottlenecks[0].entity == "cgroup:db1/a"


def combined_with_limits(shared: Bottleneck, grade: Grade) -> Judgement:
    """The judgement of a load that all I/Os together show to be limited by `shared`. Nine tenths of them wait for
    limits of two hosts."""
    limits = [bottleneck(f"cgroup:db{n}/a", "host") for n in (1, 2)]
    parts = [judgement(45, "configured_cap", "A", each) for each in limits]
    parts.append(judgement(10, "bottleneck", "A", shared))
    whole = judgement(100, "bottleneck", grade, shared)
    return _combined(cast(Any, SimpleNamespace(topology=Topology())), whole, parts, timed_together=False)


def test_an_array_that_stands_for_all_is_as_sure_as_the_parts_that_show_it() -> None:
    found = combined_with_limits(bottleneck("array:fa1", "array_back"), "A")
    assert (found.bottlenecks[0].entity, found.grade) == ("array:fa1", "C")


def test_a_full_port_of_an_array_does_not_serve_all_hosts() -> None:
    found = combined_with_limits(bottleneck("link:sw1/p1--fa1/CT0.FC0", "array_front"), "B")
    assert found.bottlenecks[0].kind == "cgroup"
