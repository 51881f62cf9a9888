"""Draws random cases: topology x load x fault x decoys x sources read. The simulation confirms each label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from sanpath_lab.families.san import San
from sanpath_lab.generator.baseline import draw_baseline
from sanpath_lab.generator.confirm import Confirmation, confirm
from sanpath_lab.generator.decoys import add_decoys
from sanpath_lab.generator.faults import FAULTS, can_diagnose
from sanpath_lab.generator.reading import Reading, draw_reading
from sanpath_lab.scenario import Scenario

FAMILY, PREFIX = "draw", "draw:"
"""The name of a draw holds its seed: draw:17."""
_TRIES = 40
_TRIES_EACH = 8
"""After so many draws of one fault that were not confirmed, another fault is drawn."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A draw that the simulation has confirmed.

    `fault`: name of the fault that limits the test. `tries`: number of drafts until one was confirmed.
    `diagnosable`: whether the sources that are read can show the fault.
    """

    seed: int
    fault: str
    scenario: Scenario
    reading: Reading
    diagnosable: bool
    tries: int
    confirmation: Confirmation

    @property
    def reached(self) -> float | None:
        """Operations a second of the relieved scenario.

        None: the load is mixed, or relieving the fault is not a single change at one place.
        """
        single_change = FAULTS[self.fault].single_change and self.scenario.load.direction != "mixed"
        return self.confirmation.relieved if single_change else None


class NotConfirmedError(Exception):
    """The simulation confirmed none of the drafts of a seed."""


@lru_cache(maxsize=8)
def draw(seed: int) -> Drawn:
    """Return the case of a seed, the same one every time. Raises NotConfirmedError."""
    for tries, (fault, reading, scenario) in enumerate(drafts(seed), 1):
        if (confirmation := confirm(scenario, FAULTS[fault].relief, FAULTS[fault].latency_bound)) is not None:
            return Drawn(seed, fault, scenario, reading, can_diagnose(fault, reading, scenario), tries, confirmation)
    raise NotConfirmedError(f"draw {seed}: none of {_TRIES} was confirmed")


def draw_by_name(name: str) -> Drawn | None:
    """Return the draw named draw:SEED. None: the name has another form.

    Raises FileNotFoundError: what follows "draw:" is no seed.
    """
    if not name.startswith(PREFIX):
        return None
    seed = name.removeprefix(PREFIX)
    if not seed.isdecimal():
        raise FileNotFoundError(f"{name}: a draw is called by its seed, as in {PREFIX}17")
    return draw(int(seed))


def _fault(seed: int, change: int) -> str:
    """Return the fault of a seed. `change`: number of faults that were given up before.

    Each fault comes once in every len(FAULTS) consecutive seeds.
    """
    block, place = divmod(seed, len(FAULTS))
    order = sorted(FAULTS)
    Random(f"faults/{block}").shuffle(order)  # noqa: S311  a drawing, not secrets
    return order[(place + change) % len(order)]


def drafts(seed: int) -> Iterator[tuple[str, Reading, Scenario]]:
    """Yield the drafts of a seed as (fault, reading, scenario). The caller takes the first that is confirmed."""
    for attempt in range(_TRIES):
        fault = _fault(seed, attempt // _TRIES_EACH)
        san = San("draw", seed, f"/{attempt}/ground")
        reading = draw_reading(san.random)
        baseline = draw_baseline(san, reading)
        truth = FAULTS[fault].make(san, baseline)
        add_decoys(san, baseline, FAULTS[fault].decoys)
        scenario = san.scenario(truth)
        title = f"draw {seed}: {fault.replace('-', ' ')}"
        yield fault, reading, scenario.model_copy(update={"title": title})
