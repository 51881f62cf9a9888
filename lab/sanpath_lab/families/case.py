"""A case of the test bed: a scenario of a family with its label, and the same scenario with its limit relieved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sanpath_lab.families.san import San
from sanpath_lab.scenario import Scenario

Relief = Mapping[str, Any]
"""Attributes of a SAN without its limit."""


@dataclass(frozen=True, slots=True)
class Case:
    """A case. `relieved`: the same SAN with a faster link, or without the limit of its queue or volume.

    None: the limit of this family cannot be relieved.
    """

    family: str
    seed: int
    scenario: Scenario
    relieved: Scenario | None = None


Label = tuple[dict[str, object], Relief | None]
"""The label of a drawn SAN, and what relieves its limit; None: it cannot be relieved."""
Draw = Callable[[San], Label]
"""Makes the fault of a family in a SAN."""


def drawn(family: str, seed: int, draw: Draw) -> Case:
    """Return the case of a family with a seed, the same one every time."""
    san = San(family, seed)
    truth, relief = draw(san)
    scenario = san.scenario(truth)
    if relief is None:
        return Case(family, seed, scenario)
    for name, value in relief.items():
        getattr(san, name)  # A misspelt name would relieve nothing.
        setattr(san, name, value)
    return Case(family, seed, scenario, san.scenario(truth))
