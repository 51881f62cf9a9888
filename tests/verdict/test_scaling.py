"""What a fall of throughput from one step to another says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sanpath.facts.load.loads import LoadFacts
from sanpath.verdict.places.scaling import has_changed, slopes, throughput_in_words


def step(name: str, ops: float, in_flight: float, configured: float | None) -> LoadFacts:
    return LoadFacts(("load:fio",), name, "read", 9, ops, 4096 * ops, in_flight / ops, configured, in_flight, None)


@pytest.mark.parametrize(
    ("configured", "measured", "words"),
    [
        ((64, 128), (60, 55), "it collapses under load"),
        ((128, 128), (120, 127), None),
        ((None, None), (32, 64), "it collapses under load"),
        ((None, None), (64, 62), "or the loads differ"),
        ((None, None), (64, 32), None),
    ],
    ids=["more given", "as many given", "more measured", "as many measured", "fewer measured"],
)
def test_only_more_load_makes_throughput_collapse(
    configured: tuple[float | None, float | None], measured: tuple[float, float], words: str | None
) -> None:
    loads = [step("a", 1000, measured[0], configured[0]), step("b", 400, measured[1], configured[1])]
    said = list(throughput_in_words(loads, loads[0]))
    assert [words in text for text in said] == [True] if words else said == []


def test_a_load_that_waits_for_flushes_has_as_many_more_outstanding_as_writers() -> None:
    """1 and 16 writers of 132 IOPS, each of which waits for its flush: 16 times as many bring nothing."""
    few, many = (
        replace(step(f"w{n}", 132, 0.0132, n), direction="write", flushes_in_flight=n - 0.0132) for n in (1, 16)
    )
    towards_fewer, _ = slopes(many, [few])
    assert towards_fewer is not None
    assert towards_fewer.elasticity == pytest.approx(0, abs=0.01)


def network(in_flight: float, service_seconds: float, ceiling: float) -> LoadFacts:
    """A step of a closed network at its lower bound of throughput (balanced job bounds)."""
    ops = in_flight / (service_seconds + (in_flight - 1) / ceiling)
    return step(f"n{in_flight:g}", ops, in_flight, in_flight)


@pytest.mark.parametrize("in_flight", [(1, 2, 4), (4, 16, 64), (1, 8, 64, 512)])
@pytest.mark.parametrize("ceiling", [2_500, 10_000, 1_000_000])
def test_a_system_of_fixed_service_times_has_not_changed(in_flight: tuple[float, ...], ceiling: float) -> None:
    loads = [network(each, 0.0005, ceiling) for each in in_flight]
    plateau = [step(f"p{each:g}", min(each / 0.0005, ceiling), each, each) for each in in_flight]
    assert not has_changed(loads)
    assert not has_changed(plateau)
    assert not has_changed([*loads, step("falls", loads[-1].ops_per_second / 3, 2 * in_flight[-1], None)])


@pytest.mark.parametrize("slower", [0.5, 0.7])
def test_a_step_that_is_slower_than_fewer_and_more_ios_allow_shows_a_change(slower: float) -> None:
    loads = [network(each, 0.0005, 20_000) for each in (4, 16, 64)]
    middle = replace(loads[1], ops_per_second=slower * loads[1].ops_per_second)
    assert has_changed([loads[0], middle, loads[2]])


@pytest.mark.parametrize(("spread", "is_change"), [(None, True), (0.01, True), (0.06, False)])
def test_a_step_that_is_slower_by_no_more_than_throughput_scatters_shows_no_change(
    spread: float | None, is_change: bool
) -> None:
    """10 % below the bound: more than two standard errors of 1 % each, and less than those of 6 % each."""
    loads = [network(each, 0.0005, 20_000) for each in (4, 16, 64)]
    loads[1] = replace(loads[1], ops_per_second=0.75 * loads[1].ops_per_second)
    assert has_changed([replace(load, throughput_spread=spread) for load in loads]) is is_change


@pytest.mark.parametrize(
    ("targets", "is_comparable"),
    [
        (({"a": 1.0}, {"a": 5.0}), True),
        (({"a": 1.0}, {"b": 1.0}), False),
        (({"a": 1.0}, {"a": 2.0, "b": 2.2}), True),
        (({"a": 1.0}, {"a": 1.0, "b": 9.0}), False),
        (({"a": 1.0, "b": 1.0}, {"a": 1.0, "c": 1.0}), False),
        (({}, {"a": 1.0}), True),
    ],
    ids=["slower", "another", "one more", "one more of another kind", "one exchanged", "not known"],
)
def test_steps_are_compared_where_they_use_the_same_targets(
    targets: tuple[dict[str, float], dict[str, float]], is_comparable: bool
) -> None:
    first, second = (
        replace(step(str(n), 1000, 8, 8), latency_of_targets={(name,): each for name, each in named.items()})
        for n, named in enumerate(targets)
    )
    assert first.comparable(second) == second.comparable(first) == is_comparable
