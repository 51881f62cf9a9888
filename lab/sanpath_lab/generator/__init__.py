"""Cases drawn at random: topology x load x fault x decoys x what is read, each confirmed by the simulation itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from sanpath_lab.families.san import San
from sanpath_lab.generator.confirm import Confirmed, confirmed
from sanpath_lab.generator.decoys import add_decoys
from sanpath_lab.generator.faults import FAULTS, tells
from sanpath_lab.generator.grounds import grounds
from sanpath_lab.generator.reading import Reading, read_how
from sanpath_lab.scenario import Scenario

FAMILY, PREFIX = "draw", "draw:"
"""A draw is called by its seed: draw:17."""
_TRIES = 40
_TRIES_EACH = 8
"""After so many draws of one fault that were not confirmed, another fault is drawn."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A draw that the simulation has confirmed.

    `fault`: the name of what limits; `tries`: how many draws it took. `tellable`: whether what is read can show it.
    `reached`: operations a second once the label's limit is gone, None where that is not one change of one place.
    """

    seed: int
    fault: str
    scenario: Scenario
    reading: Reading
    tellable: bool
    tries: int
    confirmed: Confirmed

    @property
    def reached(self) -> float | None:
        """What the relieved scenario gave, of a load in one direction."""
        one = FAULTS[self.fault].one_change and self.scenario.load.direction != "mixed"
        return self.confirmed.relieved if one else None


class NotConfirmedError(Exception):
    """No draw of a seed was confirmed."""


@lru_cache(maxsize=8)
def draw(seed: int) -> Drawn:
    """The case of a seed: the same one every time. Raises NotConfirmedError."""
    for tries, (fault, reading, scenario) in enumerate(drafts(seed), 1):
        if (found := confirmed(scenario, FAULTS[fault].relief, FAULTS[fault].waits)) is not None:
            return Drawn(seed, fault, scenario, reading, tells(fault, reading, scenario), tries, found)
    raise NotConfirmedError(f"draw {seed}: none of {_TRIES} was confirmed")


def called(name: str) -> Drawn | None:
    """The draw of a name, draw:SEED; None: it is the name of something else. Raises FileNotFoundError: not a seed."""
    if not name.startswith(PREFIX):
        return None
    seed = name.removeprefix(PREFIX)
    if not seed.isdecimal():
        raise FileNotFoundError(f"{name}: a draw is called by its seed, as in {PREFIX}17")
    return draw(int(seed))


def _fault(seed: int, change: int) -> str:
    """The fault of a seed; `change`: how many others were given up. Each comes once in as many seeds as there are."""
    block, place = divmod(seed, len(FAULTS))
    order = sorted(FAULTS)
    Random(f"faults/{block}").shuffle(order)  # noqa: S311  a drawing, not secrets
    return order[(place + change) % len(order)]


def drafts(seed: int) -> Iterator[tuple[str, Reading, Scenario]]:
    """What is drawn for a seed, one after the other, until one is confirmed: fault, what is read, scenario."""
    for attempt in range(_TRIES):
        fault = _fault(seed, attempt // _TRIES_EACH)
        san = San("draw", seed, f"/{attempt}/ground")
        reading = read_how(san.random)
        ground = grounds(san, reading)
        truth = FAULTS[fault].make(san, ground)
        add_decoys(san, ground, FAULTS[fault].decoys)
        scenario = san.scenario(truth)
        title = f"draw {seed}: {fault.replace('-', ' ')}"
        yield fault, reading, scenario.model_copy(update={"title": title})
