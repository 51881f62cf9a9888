"""Load steps from what the load itself said: begin, end of ramp, end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sanpath.model import Event, Step

_RAMP_RATIO = 0.1
_RAMP_SECONDS = 1.0
"""Left out at the start of a step whose load has no ramp of its own: a tenth, at least a second."""


def load_steps(events: Sequence[tuple[str, Event]], first_us: int, last_us: int) -> list[Step]:
    """The steps in the order they began; without marks one step, the whole of what was recorded.

    `first_us` and `last_us` are the recorder's clock at the first and last poll; a step that has not ended (the run
    is under way, or was killed) ends at `last_us`.
    """
    marked: list[_Marks] = []
    running: dict[tuple[str, object], _Marks] = {}
    for source, event in events:
        key = (source, event.detail.get("group"))
        if event.name == "step-begin":
            running[key] = _Marks(event)
            marked.append(running[key])
        elif event.name == "ramp-end" and key in running:
            running[key].settled = event.seen
        elif event.name == "step-end" and key in running:
            running.pop(key).ended = event.seen
    if not marked:
        return [Step("whole run", first_us, last_us, "whole run", (), None)]
    return _named_apart([_step(marks, last_us) for marks in marked])


@dataclass(slots=True)
class _Marks:
    """What a load said of one step; None: it has not said so (yet)."""

    begin: Event
    settled: int | None = None
    ended: int | None = None


def _step(marks: _Marks, last_us: int) -> Step:
    begin, settled = marks.begin, marks.settled
    end = max(begin.seen, last_us) if marks.ended is None else marks.ended
    if settled is None:
        settled = begin.seen + round(max(_RAMP_SECONDS * 1e6, _RAMP_RATIO * (end - begin.seen)))
    offered, block = begin.detail.get("offered"), begin.detail.get("block_bytes")
    return Step(
        str(begin.detail.get("step", "")),
        min(settled, end),
        end,
        "marks",
        tuple(filter(None, str(begin.detail.get("loads") or "").split(","))),
        float(offered) if isinstance(offered, int | float) else None,
        float(block) if isinstance(block, int | float) else None,
        bool(begin.detail.get("rate_limited")),
    )


def _named_apart(steps: list[Step]) -> list[Step]:
    seen: Counter[str] = Counter()
    named = []
    for step in sorted(steps, key=lambda s: s.start):
        seen[step.name] += 1
        named.append(step if seen[step.name] == 1 else replace(step, name=f"{step.name} ({seen[step.name]})"))
    return named
