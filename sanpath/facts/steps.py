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
    marked: list[_Marks] = []
    running: dict[tuple[str, object], _Marks] = {}
    commands: dict[str, _Marks] = {}
    dropped = False
    for source, event in events:
        key = (source, event.detail.get("group"))
        if event.name == "step-begin":
            running[key] = _Marks(source, event)
            marked.append(running[key])
        elif event.name == "ramp-end" and key in running:
            running[key].settled = event.seen
        elif event.name == "step-end" and key in running:
            running.pop(key).ended = event.seen
        elif event.name == "load-started":
            commands[source] = _Marks(source, Event(event.seen, "step-begin", {"step": COMMAND}))
        elif event.name == "load-ended" and source in commands:
            commands[source].ended = event.seen
        elif event.name == "step-dropped":
            dropped = True
            marked = [marks for marks in marked if marks.begin.detail.get("step") != event.detail.get("step")]
    if dropped and not marked:
        return []
    marked = marked or list(commands.values())
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
    offered, block = begin.detail.get("offered"), begin.detail.get("block_bytes")
    return Step(
        str(begin.detail.get("step", "")),
        min(settled, end),
        end,
        "marks",
        (StepLoad(marks.source, entities, whole),) if entities or whole else (),
        float(offered) if isinstance(offered, int | float) else None,
        float(block) if isinstance(block, int | float) else None,
        bool(begin.detail.get("rate_limited")),
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
    )


def _named_apart(steps: list[Step]) -> list[Step]:
    seen: Counter[str] = Counter()
    named = []
    for step in sorted(steps, key=lambda s: s.start):
        seen[step.name] += 1
        named.append(step if seen[step.name] == 1 else replace(step, name=f"{step.name} ({seen[step.name]})"))
    return named
