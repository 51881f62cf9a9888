"""Variants of a draw: other hosts, another cut of the load, other names, and the truth as it was."""

from __future__ import annotations

from random import Random

import pytest

from sanpath_lab.families import case
from sanpath_lab.generator.confirm import throughput
from sanpath_lab.generator.variants import VARIANTS, new_names, renamed
from sanpath_lab.scenario import Scenario


def in_flight(scenario: Scenario) -> int:
    load = scenario.load
    return load.jobs * load.threads[-1] * load.outstanding_per_thread


@pytest.fixture(name="link")
def full_link() -> Scenario:
    """Its host's links are full."""
    return case("slow-host-edge", 3).scenario


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_holds_together_and_is_another_scenario(name: str, link: Scenario) -> None:
    variant = VARIANTS[name](link, Random(1))
    assert variant is not None
    assert variant != link
    assert Scenario.model_validate(variant.model_dump()) == variant


@pytest.mark.parametrize("name", ["split on one volume", "split on two volumes"])
def test_a_split_load_has_as_much_in_flight(name: str, link: Scenario) -> None:
    variant = VARIANTS[name](link, Random(1))
    assert variant is not None
    assert in_flight(variant) == in_flight(link)
    assert variant.load.jobs == 2 * link.load.jobs


def test_a_limit_of_the_volume_is_one_of_both_where_there_are_two() -> None:
    variant = VARIANTS["split on two volumes"](case("qos", 3).scenario, Random(1))
    assert variant is not None
    assert {f"volume:fa1/{volume.name}" for _, volume in variant.disks} == set(variant.truth.bottlenecks)
    assert all(volume.limited for _, volume in variant.disks)


def test_twice_as_fast_does_twice_as_much(link: Scenario) -> None:
    fast = VARIANTS["twice as fast"](link, Random(1))
    assert fast is not None
    assert throughput(fast, 1.5)[0] == pytest.approx(2 * throughput(link, 1.5)[0], rel=0.02)


def test_other_names_change_nothing_but_names(link: Scenario) -> None:
    names = new_names(link)
    other = renamed(link, names)
    assert not {switch.name for switch in other.switches} & set(names)
    assert other.truth.bottlenecks != link.truth.bottlenecks
    assert renamed(other, {new: old for old, new in names.items()}) == link
    assert throughput(other, 1.5) == throughput(link, 1.5)
