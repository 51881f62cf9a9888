"""A case of the test bed: a scenario drawn from a family, with its label, and the same one with its limit gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sanpath_lab.families.san import San
from sanpath_lab.scenario import Scenario

Relief = Callable[[San], None]


@dataclass(frozen=True, slots=True)
class Case:
    """`relieved`: the same SAN with faster links where one is full, or without the limit of its queue or
    volume; None: this family has no such thing."""

    family: str
    seed: int
    scenario: Scenario
    relieved: Scenario | None = None


Label = tuple[dict[str, object], Relief | None]
"""What is true of a drawn SAN, and how its limit is relieved."""
Draw = Callable[[San], Label]
"""Makes the fault of a family in a SAN."""


def drawn(family: str, seed: int, draw: Draw) -> Case:
    """The case of a family with a seed: the same one every time."""
    san = San(family, seed)
    truth, relief = draw(san)
    scenario = san.scenario(truth)
    if relief is None:
        return Case(family, seed, scenario)
    relief(san)
    return Case(family, seed, scenario, san.scenario(truth))
