"""When the next verdict is due: soon while something changes, rarely while nothing does and the machine is busy."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sanpath.pulse.model import Pulse
    from sanpath.views.live.reading.shown_verdict import DebouncedVerdict
    from sanpath.views.live.reading.snapshot import Snapshot

LOOK_SECONDS = 1.0
"""How often the pulse is looked at."""
_MIN_LOOKS = 5
"""Number of looks whose median counts: one late poll, or one second with other figures, is not a change."""
_GROWTH_RATIO = 0.5
"""A verdict on twice as long a time without a change is worth half as much as a new one: the pause grows with it."""
_QUIET_SHARE = 0.0015
"""Share of all processors that verdicts may cost while nothing changes: pulse and drawing cost as much again."""
_MAX_PAUSE_SECONDS = 60.0
"""Maximum pause for a run that has not changed for hours, unless the shortest pause is longer."""
_MOVED_RATIO = 0.25
"""A figure has changed if it differs by more than this ratio from its value at the last verdict."""
_MIN_UTILISATION = 0.5
"""Lower utilisations are compared as if one of them was this: smaller changes do not count."""


@dataclass(frozen=True, slots=True)
class _Look:
    """The values of a pulse that show a change. `figures`: name → (value, least value for the comparison)."""

    figures: Mapping[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    late: frozenset[str] = frozenset()


class Pace:
    """Waits between verdicts. `pulse`: the current state of the run, None without one. `clock`: monotonic seconds."""

    def __init__(self, pulse: Callable[[], Pulse | None], clock: Callable[[], float] = time.monotonic) -> None:
        self._pulse, self._clock = pulse, clock
        self._changed_at = clock()
        self._due = 0.0
        self._soon_seconds = 0.0
        self._verdict: tuple[object, ...] | None = None
        self._phase: tuple[object, ...] | None = None
        self._looks: deque[_Look] = deque(maxlen=_MIN_LOOKS)
        self._reference: _Look | None = None

    async def wait(self, snapshot: Snapshot, verdict: DebouncedVerdict) -> None:
        """Wait until the next verdict is due. `snapshot`: the last one; `verdict`: the shown verdict."""
        judged_at = self._clock()
        if self._is_news(snapshot, verdict):
            self._changed_at = judged_at
        self._soon_seconds = snapshot.pause_seconds
        self._due = judged_at + self._pause_seconds(snapshot, judged_at - self._changed_at)
        self._reference = self._usual()
        while (seconds := self._due - self._clock()) > 0:
            await asyncio.sleep(min(LOOK_SECONDS, seconds))
            self.look()

    def look(self) -> None:
        """Look at the pulse: a change in it is judged soon.

        A new step or a mark also resets the length of the pauses. Other figures do so only if they change the
        verdict: the throughput of a shared machine never stands still.
        """
        pulse = self._pulse()
        phase = (pulse.step, pulse.last_step, pulse.additions) if pulse is not None else None
        changed, self._phase = phase != self._phase, phase
        if changed:
            self._looks.clear()
        if pulse is not None:
            self._looks.append(_look_at(pulse))
        usual = self._usual()
        if self._reference is None:
            self._reference = usual
        if changed:
            self.renew()
        elif usual is not None and self._reference is not None and _is_changed(self._reference, usual):
            self._judge_soon()

    def renew(self) -> None:
        """Something has changed: let a verdict follow soon, and shorten the pauses after it."""
        self._changed_at = self._clock()
        self._judge_soon()

    def _judge_soon(self) -> None:
        self._reference = None
        self._due = min(self._due, self._clock() + self._soon_seconds)

    def _pause_seconds(self, snapshot: Snapshot, quiet_seconds: float) -> float:
        """How long to wait after a snapshot. `quiet_seconds`: how long nothing has changed."""
        soon = snapshot.pause_seconds
        if snapshot.machine is None or not snapshot.is_busy or self._phase is None:
            return soon
        allowed_seconds = snapshot.cost_seconds / (_QUIET_SHARE * snapshot.machine.number)
        return max(soon, min(_GROWTH_RATIO * quiet_seconds, allowed_seconds, _MAX_PAUSE_SECONDS))

    def _is_news(self, snapshot: Snapshot, verdict: DebouncedVerdict) -> bool:
        """Whether a snapshot gives a different verdict than the one before, or must soon be confirmed."""
        shown = verdict.shown
        before = self._verdict
        self._verdict = (*shown.key, shown.step.name, shown.step.verdict.grade) if shown is not None else None
        unconfirmed = snapshot.diagnosis is None or verdict.candidate is not None
        return unconfirmed or self._verdict is None or self._verdict != before

    def _usual(self) -> _Look | None:
        """The usual values of the last looks. None: too few looks."""
        if len(self._looks) < _MIN_LOOKS:
            return None
        names = {name for look in self._looks for name in look.figures}
        values = {name: [look.figures[name] for look in self._looks if name in look.figures] for name in names}
        figures = {name: (median(value for value, _ in entries), entries[0][1]) for name, entries in values.items()}
        sources = frozenset().union(*(look.late for look in self._looks))
        late = (source for source in sources if 2 * sum(source in look.late for look in self._looks) > _MIN_LOOKS)
        return _Look(figures, frozenset(late))


def _look_at(pulse: Pulse) -> _Look:
    late = frozenset(name for name, source in pulse.ages.items() if source.late)
    return _Look(dict(_figures(pulse)), late)


def _figures(pulse: Pulse) -> Iterator[tuple[tuple[str, str], tuple[float, float]]]:
    """Yield the load's throughput and latency, and the utilisation of its busiest link."""
    for load in pulse.loads:
        yield (load.direction, "ops"), (load.ops_per_second, 0.0)
        if load.latency_seconds is not None:
            yield (load.direction, "latency"), (load.latency_seconds, 0.0)
    if links := pulse.current_links:
        yield ("busiest", "link"), (max(link.utilisation for link in links), _MIN_UTILISATION)


def _is_changed(before: _Look, after: _Look) -> bool:
    """Whether a source has become late or answers again, or a figure has changed."""
    if before.late != after.late or before.figures.keys() != after.figures.keys():
        return True
    return any(
        abs(value - before.figures[name][0]) > _MOVED_RATIO * max(value, before.figures[name][0], floor)
        for name, (value, floor) in after.figures.items()
    )
