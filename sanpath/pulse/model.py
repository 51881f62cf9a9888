"""What a pulse says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sanpath.facts.load.loads import LoadFacts
from sanpath.model import Direction


@dataclass(frozen=True, slots=True)
class Freshness:
    """How old the last answer of a source is. `age_seconds` None: it has not answered yet. `late`: an answer is
    overdue."""

    every_seconds: float
    age_seconds: float | None
    late: bool


@dataclass(frozen=True, slots=True)
class LinkNow:
    """One direction of a link in its newest window. `utilisation`: bytes a second over the data rate of its speed;
    the window is on the recorder's clock, microseconds."""

    entity: str
    direction: Direction
    utilisation: float
    bytes_per_second: float
    speed: str
    began_us: int
    ended_us: int


@dataclass(frozen=True, slots=True)
class Pulse:
    """What happens now.

    `elapsed_seconds`: since the run began; `step` "": none is under way; `step_seconds`: since it began, its ramp
    with it; `step_planned_seconds`: how long it was told to take, its ramp with it, None: not known. `loads`: both
    directions, as facts of the window `began_us` to `ended_us` (0: there was none yet); `loads_age_seconds`: how long
    ago that ended.
    `last_step`: while no step is under way, the name of the last that ended, `idle_seconds` ago, at
    `last_step_ended_us` on the recorder's clock. "" and 0: none has ended yet, or a step is under way.
    `links`: the busiest first. `at_once`: by the recorder's own hand; False: as far as it has been flushed.
    """

    elapsed_seconds: float
    step: str = ""
    step_seconds: float = 0.0
    step_planned_seconds: float | None = None
    loads: Sequence[LoadFacts] = ()
    began_us: int = 0
    ended_us: int = 0
    loads_age_seconds: float = 0.0
    links: Sequence[LinkNow] = ()
    ages: Mapping[str, Freshness] = field(default_factory=dict)
    last_step: str = ""
    last_step_ended_us: int = 0
    idle_seconds: float = 0.0
    at_once: bool = False

    @property
    def current_links(self) -> Sequence[LinkNow]:
        """The links whose window began after the last step ended: between steps, older windows count its I/O."""
        return [link for link in self.links if link.began_us >= self.last_step_ended_us]
