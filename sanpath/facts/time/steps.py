"""Builds load steps from the marks of loads: begin, end of ramp, end. Loads that run together share a step."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise

from sanpath.errors import RecordingError
from sanpath.facts.table import WHOLE_RUN
from sanpath.model import Event, Step, StepLoad
from sanpath.units import first_of

_RAMP_RATIO = 0.1
"""Share of a step that is left out at its start where a load with a series marks no ramp: sanpath's own choice."""
_RAMP_SECONDS = 1.0
"""Smallest ramp that is left out: sanpath's own choice, a window of most sources."""
COMMAND = "load command"
"""The step of a load command whose output no collector reads."""
MAX_STEPS = 5_000
"""Largest number of steps: a sweep of half-minute steps has as many in two days. A hostile file of some kilobytes can
mark a hundred thousand."""
_MIN_OVERLAP_RATIO = 0.1
"""Share of the shortest step involved below which an overlap is not a step: loads never begin and end at exactly the
same time."""

_NAMED = 5
"""Largest number of loads that run together whose names a step has."""

BusyUntil = Callable[[Set[str], int], int | None]
"""Sources of loads, and when a step of theirs began → when they were last busy, both in microseconds. None: not
known."""


def load_steps(
    events: Sequence[tuple[str, Event]],
    first_us: int,
    last_us: int,
    deaths: Mapping[str, Sequence[int]] | None = None,
    busy_until: BusyUntil | None = None,
) -> list[Step]:
    """Return the steps in the order in which they began; without marks, one step over the entire recording. Raises
    RecordingError for more than MAX_STEPS.

    `events`: (source, event). `first_us` and `last_us`: the recorder's clock at the first and last poll. A step
    without an end mark (the run is under way, or was killed) ends when its load was last busy: a load may report the
    end of a step only with the next step, and the pause between them belongs to neither. If `busy_until` does not
    know it, the step ends at `last_us`. `deaths`: source → when recorders that read it were killed while others went
    on; a step that the source had begun ends then. If steps of several loads overlap, the time in which the same
    loads run is one step. A load command whose output no collector reads is one step. An event can drop a step that
    an interruption cut short.
    """
    marks = StepMarks()
    for source, event in events:
        marks.add(source, event)
    if marks.dropped and not marks.marked:
        return []
    marked = marks.marked or marks.commands
    if len(marked) > MAX_STEPS:
        raise RecordingError(f"the recording marks {len(marked):,} steps: at most {MAX_STEPS:,} can be judged")
    if not marked:
        return [Step(WHOLE_RUN, first_us, last_us, "whole run", (), None)]
    if busy_until is not None and (unmarked := [marks for marks in marked if marks.ended_us is None]):
        # They share one end, because loads that run together report at different times.
        busy_us = busy_until({marks.source for marks in unmarked}, min(marks.begin.seen for marks in unmarked))
        last_us = last_us if busy_us is None else min(last_us, busy_us)
    return _with_unique_names(
        _overlapping_steps([_step(item, _end_without_mark(item, deaths or {}, last_us)) for item in marked])
    )


@dataclass(slots=True)
class _Marks:
    """The marks of one step of a load. None: not marked, or not yet. Of several ends of its ramp, the first counts: a
    load may learn later that the ramp ended earlier. One that the load calls final counts in any case."""

    source: str
    begin: Event
    ramp_end_us: int | None = None
    is_ramp_final: bool = False
    ended_us: int | None = None

    def end_ramp(self, event: Event) -> None:
        """Add an end of the ramp."""
        if event.detail.get("final") is True:
            self.ramp_end_us, self.is_ramp_final = event.seen, True
        elif not self.is_ramp_final:
            self.ramp_end_us = event.seen if self.ramp_end_us is None else min(self.ramp_end_us, event.seen)


class StepMarks:
    """Collects the marks of loads, event by event. `dropped`: whether an event has dropped a step.

    `_dropped`: name of a step → how many steps had begun when it was dropped: later ones of that name count.
    """

    NAMES = frozenset(("step-begin", "ramp-end", "step-end", "load-started", "load-ended", "step-dropped"))
    """The names of the events that are marks; all others are ignored."""

    def __init__(self) -> None:
        self.dropped = False
        self._marked: list[_Marks] = []
        self._dropped: dict[str, int] = {}
        self._running: dict[tuple[str, object], _Marks] = {}
        self._commands: dict[str, _Marks] = {}

    @property
    def marked(self) -> list[_Marks]:
        """Return the marks of steps, in the order in which they began."""
        return [
            marks
            for number, marks in enumerate(self._marked)
            if number >= self._dropped.get(str(marks.begin.detail.get("step")), 0)
        ]

    @property
    def commands(self) -> list[_Marks]:
        """Load commands as steps."""
        return list(self._commands.values())

    def add(self, source: str, event: Event) -> None:
        """Add one event."""
        key = (source, event.detail.get("group"))
        if event.name == "step-begin":
            self._running[key] = _Marks(source, event)
            self._marked.append(self._running[key])
        elif event.name == "ramp-end" and key in self._running:
            self._running[key].end_ramp(event)
        elif event.name == "step-end" and key in self._running:
            self._running.pop(key).ended_us = event.seen
        elif event.name == "load-started":
            self._commands[source] = _Marks(source, Event(event.seen, "step-begin", {"step": COMMAND}))
        elif event.name == "load-ended" and source in self._commands:
            self._commands[source].ended_us = event.seen
        elif event.name == "step-dropped":
            self.dropped = True
            self._dropped[str(event.detail.get("step"))] = len(self._marked)

    def unfinished(self, now_us: int) -> tuple[int, Step] | None:
        """Return when the unfinished step began, ramp included, and the step until now. None: there is none.

        Steps that overlap are one step; it began with the last of them."""
        unfinished = [m for m in (self.marked or self.commands) if m.ended_us is None and self._is_unfinished(m)]
        if not unfinished:
            return None
        began_us = max(marks.begin.seen for marks in unfinished)
        return began_us, _combined([_step(marks, now_us) for marks in unfinished], began_us, max(began_us, now_us))

    def last_ended(self) -> tuple[int, str] | None:
        """Return when the last step ended, and its name. None: no step has ended yet."""
        ends = [(end, marks) for marks in self.marked or self.commands if (end := self._end_us(marks)) is not None]
        if not ends:
            return None
        end, marks = max(ends, key=lambda item: item[0])
        return end, str(marks.begin.detail.get("step", ""))

    def _end_us(self, marks: _Marks) -> int | None:
        """Return when a step ended, by its own mark or with its load command. None: neither has ended."""
        if marks.ended_us is not None:
            return marks.ended_us
        command = self._commands.get(marks.source)
        ended_us = command.ended_us if command is not None else None
        return ended_us if ended_us is not None and ended_us >= marks.begin.seen else None

    def _is_unfinished(self, marks: _Marks) -> bool:
        """Return whether a step is still running: its load has neither ended nor begun the next step."""
        command = self._commands.get(marks.source)
        ended = command is not None and command.ended_us is not None and command.ended_us >= marks.begin.seen
        last = self._running.get((marks.source, marks.begin.detail.get("group")), marks)
        return not ended and last is marks


def _end_without_mark(marks: _Marks, deaths: Mapping[str, Sequence[int]], last_us: int) -> int:
    """Return when a step without an end mark ended: when its recorder was killed, else at `last_us`."""
    return min((d for d in deaths.get(marks.source, ()) if d >= marks.begin.seen), default=last_us)


def _step(marks: _Marks, last_us: int) -> Step:
    begin, ramp_end_us = marks.begin, marks.ramp_end_us
    end = max(begin.seen, last_us) if marks.ended_us is None else marks.ended_us
    if ramp_end_us is None:
        # A single figure is the mean over the whole step. So are the figures that it is compared with.
        ramp_ratio = 0.0 if begin.detail.get("summary") else _RAMP_RATIO
        ramp_end_us = begin.seen + round(max(_RAMP_SECONDS * 1e6, ramp_ratio * (end - begin.seen)))
    entities = tuple(filter(None, str(begin.detail.get("loads") or "").split(",")))
    summary_window = (begin.seen, end) if begin.detail.get("summary") else None
    own_clock = begin.detail.get("device_time") is not None
    names = ("offered", "block_bytes", "planned_seconds", "random_ratio", "read_ratio", "align_bytes")
    in_flight, size, seconds, *access = (
        float(value) if isinstance(value := begin.detail.get(name), int | float) else None for name in names
    )
    is_limited = bool(begin.detail.get("rate_limited"))
    load = StepLoad(marks.source, entities, summary_window, own_clock, in_flight, size, is_limited, *access)
    return Step(
        str(begin.detail.get("step", "")),
        min(ramp_end_us, end),
        end,
        "marks",
        (load,) if entities or summary_window else (),
        in_flight,
        size,
        is_limited,
        seconds,
        str(begin.detail.get("experiment") or ""),
        str(begin.detail.get("why") or ""),
        begin.seen if marks.ramp_end_us is None and summary_window is None else None,
        marks.ended_us is None,
    )


def _overlapping_steps(steps: Sequence[Step]) -> list[Step]:
    """Return a step for each period in which the same steps run."""
    result = []
    beginning, ending = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for number, step in enumerate(steps):
        beginning[step.start].append(number)
        ending[step.end].append(number)
    numbers: set[int] = set()
    for start, end in pairwise(sorted({*beginning, *ending})):
        numbers.update(beginning[start])
        numbers.difference_update(ending[start])
        running = [steps[number] for number in sorted(numbers)]
        if running and end - start >= _MIN_OVERLAP_RATIO * min(step.end - step.start for step in running):
            result.append(_combined(running, start, end))
    # A step of zero length fills no period, but is retained.
    return result + [step for step in steps if step.start == step.end]


def _combined(steps: Sequence[Step], start: int, end: int) -> Step:
    offered = [step.offered for step in steps if step.offered is not None]
    sizes = {step.block_bytes for step in steps}
    return Step(
        first_of(list(dict.fromkeys(step.name for step in steps)), _NAMED, " + "),
        start,
        end,
        "marks",
        tuple(load for step in steps for load in step.loads) if all(step.loads for step in steps) else (),
        sum(offered) if len(offered) == len(steps) else None,
        sizes.pop() if len(sizes) == 1 else None,
        any(step.rate_limited for step in steps),
        steps[0].planned_seconds if len(steps) == 1 else None,
        steps[0].experiment,
        steps[0].why,
        steps[0].began if len(steps) == 1 and start == steps[0].start else None,
        all(step.is_open and end == step.end for step in steps),
    )


def _with_unique_names(steps: list[Step]) -> list[Step]:
    counts: Counter[str] = Counter()
    named = []
    for step in sorted(steps, key=lambda s: s.start):
        counts[step.name] += 1
        named.append(step if counts[step.name] == 1 else replace(step, name=f"{step.name} ({counts[step.name]})"))
    return named
