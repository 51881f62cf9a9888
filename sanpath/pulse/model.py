"""The data model of a pulse: the current state of a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sanpath.model import Direction

if TYPE_CHECKING:
    from sanpath.facts.load.loads import LoadFacts


@dataclass(frozen=True, slots=True)
class Freshness:
    """The age of a source's last answer.

    `age_seconds` None: it has not answered yet. `late`: an answer is overdue.
    """

    every_seconds: float
    age_seconds: float | None
    late: bool


@dataclass(frozen=True, slots=True)
class LinkNow:
    """One direction of a link in its newest window.

    `utilisation` is bytes per second divided by the data rate of the link's speed. `began_us` and `ended_us` limit
    the window, in microseconds of the recorder's clock.
    """

    entity: str
    direction: Direction
    utilisation: float
    began_us: int
    ended_us: int


@dataclass(frozen=True, slots=True)
class Pulse:
    """The current state of a test.

    `elapsed_seconds`: since the run began. `step`: the running step; "": none. `step_seconds`: since the step began,
    including the ramp. `step_planned_seconds`: configured duration of the step, including the ramp; None: unknown.
    `step_why`: a probe's reason for the step; "": it is not a step of a probe. `loads`: facts of both directions in
    the window `began_us` to `ended_us` (0: no window yet). `loads_age_seconds`: time since the end of that window.
    `links`: busiest first. `live`: the recorder sent the data directly; False: they were read from flushed segments.
    `last_step`: while no step runs, the name of the last one that ended, `idle_seconds` ago, at `last_step_ended_us`
    on the recorder's clock. "" and 0: none has ended yet, or a step runs. `additions`: number of additions by others
    than recorders: a person's mark, an imported file.
    """

    elapsed_seconds: float
    step: str = ""
    step_seconds: float = 0.0
    step_planned_seconds: float | None = None
    step_why: str = ""
    loads: Sequence[LoadFacts] = ()
    began_us: int = 0
    ended_us: int = 0
    loads_age_seconds: float = 0.0
    links: Sequence[LinkNow] = ()
    ages: Mapping[str, Freshness] = field(default_factory=dict)
    last_step: str = ""
    last_step_ended_us: int = 0
    idle_seconds: float = 0.0
    live: bool = False
    additions: int = 0

    @property
    def current_links(self) -> Sequence[LinkNow]:
        """The links whose window began after the last step ended: older windows include that step's I/O."""
        return [link for link in self.links if link.began_us >= self.last_step_ended_us]
