"""Load steps from what the loads themselves said: begin, end of ramp, end; loads that run together share a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from sanpath.model import Event, Step, StepLoad

_RAMP_RATIO = 0.1
_RAMP_SECONDS = 1.0
"""Left out at the start of a step whose load has no ramp of its own: a tenth, at least a second."""
COMMAND = "load command"
"""The step of a load whose output nobody reads."""
_SLIVER = 0.1
"""Loads never begin and end at the same moment: a part of a step that is shorter than this share of each of the steps
that it belongs to is no step of its own."""


def load_steps(
    events: Sequence[tuple[str, Event]],
    first_us: int,
    last_us: int,
    deaths: Mapping[str, Sequence[int]] | None = None,
) -> list[Step]:
    """The steps in the order they began; without marks one step, the whole of what was recorded.

    `events`: (source, event). `first_us` and `last_us` are the recorder's clock at the first and last poll; a step
    that has not ended (the run is under way, or was killed) ends at `last_us`. `deaths`: source → when recorders that
    read it were killed while others went on; what it had begun ends there. Where steps of several loads overlap,
    the time in which the same loads run is one step. A load command whose output nobody reads is one step.
    A step that was cut short by an interruption is dropped by an event that names it.
    """
    told = StepMarks()
    for source, event in events:
        told.take(source, event)
    if told.dropped and not told.marked:
        return []
    marked = told.marked or told.commands
    if not marked:
        return [Step("whole run", first_us, last_us, "whole run", (), None)]
    return _named_apart(_overlaid([_step(marks, _until(marks, deaths or {}, last_us)) for marks in marked]))


@dataclass(slots=True)
class _Marks:
    """What a load said of one step; None: it has not said so (yet)."""

    source: str
    begin: Event
    settled: int | None = None
    ended: int | None = None


class StepMarks:
    """What loads say of their steps, one event after the other. `dropped`: whether one was taken back."""

    NAMES = frozenset(("step-begin", "ramp-end", "step-end", "load-started", "load-ended", "step-dropped"))
    """The events that it is made of; others are passed over."""

    def __init__(self) -> None:
        self.marked: list[_Marks] = []
        self.dropped = False
        self._running: dict[tuple[str, object], _Marks] = {}
        self._commands: dict[str, _Marks] = {}

    @property
    def commands(self) -> list[_Marks]:
        """Load commands as steps."""
        return list(self._commands.values())

    def take(self, source: str, event: Event) -> None:
        """One more event."""
        key = (source, event.detail.get("group"))
        if event.name == "step-begin":
            self._running[key] = _Marks(source, event)
            self.marked.append(self._running[key])
        elif event.name == "ramp-end" and key in self._running:
            self._running[key].settled = event.seen
        elif event.name == "step-end" and key in self._running:
            self._running.pop(key).ended = event.seen
        elif event.name == "load-started":
            self._commands[source] = _Marks(source, Event(event.seen, "step-begin", {"step": COMMAND}))
        elif event.name == "load-ended" and source in self._commands:
            self._commands[source].ended = event.seen
        elif event.name == "step-dropped":
            self.dropped = True
            name = event.detail.get("step")
            self.marked = [marks for marks in self.marked if marks.begin.detail.get("step") != name]

    def under_way(self, now_us: int) -> tuple[int, Step] | None:
        """When the step that has not ended began, its ramp with it, and the step until now; None: there is none.
        Steps that overlap are one, which began with the last of them."""
        going = [m for m in (self.marked or self.commands) if m.ended is None and self._goes_on(m)]
        if not going:
            return None
        began = max(marks.begin.seen for marks in going)
        return began, _together([_step(marks, now_us) for marks in going], began, max(began, now_us))

    def last_ended(self) -> tuple[int, str] | None:
        """When the last step ended, and its name. None: no step has ended yet."""
        ends = [(end, marks) for marks in self.marked or self.commands if (end := self._end_us(marks)) is not None]
        if not ends:
            return None
        end, marks = max(ends, key=lambda item: item[0])
        return end, str(marks.begin.detail.get("step", ""))

    def _end_us(self, marks: _Marks) -> int | None:
        """When a step ended, by its own mark or with its load command. None: neither has ended."""
        if marks.ended is not None:
            return marks.ended
        command = self._commands.get(marks.source)
        ended = command.ended if command is not None else None
        return ended if ended is not None and ended >= marks.begin.seen else None

    def _goes_on(self, marks: _Marks) -> bool:
        """A load that has ended, whatever it said last, has no step under way; nor one that began the next."""
        command = self._commands.get(marks.source)
        ended = command is not None and command.ended is not None and command.ended >= marks.begin.seen
        last = self._running.get((marks.source, marks.begin.detail.get("group")), marks)
        return not ended and last is marks


def _until(marks: _Marks, deaths: Mapping[str, Sequence[int]], last_us: int) -> int:
    """When a step that has not ended was last seen."""
    return min((d for d in deaths.get(marks.source, ()) if d >= marks.begin.seen), default=last_us)


def _step(marks: _Marks, last_us: int) -> Step:
    begin, settled = marks.begin, marks.settled
    end = max(begin.seen, last_us) if marks.ended is None else marks.ended
    if settled is None:
        settled = begin.seen + round(max(_RAMP_SECONDS * 1e6, _RAMP_RATIO * (end - begin.seen)))
    entities = tuple(filter(None, str(begin.detail.get("loads") or "").split(",")))
    whole = (begin.seen, end) if begin.detail.get("summary") else None
    offered, block, planned = (begin.detail.get(name) for name in ("offered", "block_bytes", "planned_seconds"))
    return Step(
        str(begin.detail.get("step", "")),
        min(settled, end),
        end,
        "marks",
        (StepLoad(marks.source, entities, whole),) if entities or whole else (),
        float(offered) if isinstance(offered, int | float) else None,
        float(block) if isinstance(block, int | float) else None,
        bool(begin.detail.get("rate_limited")),
        float(planned) if isinstance(planned, int | float) else None,
    )


def _overlaid(steps: Sequence[Step]) -> list[Step]:
    """The parts of time in which the same steps run."""
    found = []
    for start, end in pairwise(sorted({edge for step in steps for edge in (step.start, step.end)})):
        here = [step for step in steps if step.start <= start and end <= step.end]
        if here and end - start >= _SLIVER * min(step.end - step.start for step in here):
            found.append(_together(here, start, end))
    # A step without a length has no part of time; it is there all the same.
    return found + [step for step in steps if step.start == step.end]


def _together(steps: Sequence[Step], start: int, end: int) -> Step:
    offered = [step.offered for step in steps if step.offered is not None]
    sizes = {step.block_bytes for step in steps}
    return Step(
        " + ".join(dict.fromkeys(step.name for step in steps)),
        start,
        end,
        "marks",
        tuple(load for step in steps for load in step.loads) if all(step.loads for step in steps) else (),
        sum(offered) if len(offered) == len(steps) else None,
        sizes.pop() if len(sizes) == 1 else None,
        any(step.rate_limited for step in steps),
        steps[0].planned_seconds if len(steps) == 1 else None,
    )


def _named_apart(steps: list[Step]) -> list[Step]:
    seen: Counter[str] = Counter()
    named = []
    for step in sorted(steps, key=lambda s: s.start):
        seen[step.name] += 1
        named.append(step if seen[step.name] == 1 else replace(step, name=f"{step.name} ({seen[step.name]})"))
    return named
