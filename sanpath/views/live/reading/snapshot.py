"""One reading of a recording: its diagnosis, its lines over time, its path, and how fresh every source is."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache

from sanpath.errors import SanpathError
from sanpath.facts.timeline import Series, series
from sanpath.model import Poll
from sanpath.pulse.model import Freshness
from sanpath.pulse.newest import FLUSH_DELAY_SECONDS, LATE_POLLS
from sanpath.recording.reading.recording import Recording
from sanpath.recording.reading.sample_cache import SampleCache
from sanpath.recording.storage.store import Location
from sanpath.rulebook.model import Rule
from sanpath.rulebook.site import Choice, Site, rules_of
from sanpath.verdict.explanation.coverage import iso
from sanpath.verdict.model import Diagnosis
from sanpath.views.live.reading.io_path import Stop, way
from sanpath.views.live.reading.priority import Processors, processors

TICK_SECONDS = 2.0
_OF_IDLE, _OF_BUSY = 0.1, 0.02
"""Looks may cost a tenth of one processor; on a machine that is busy a fiftieth of all of them where that is less:
the load must not miss what they take."""
_BUSY = 0.5
"""A machine is busy when less than this part of it is idle: threads share a core, and one takes from the other."""
SILENT_SECONDS = 90.0
"""Without news for so long the recorder has gone: the longest back-off of a failing source is 60 s."""

LIVE_SECONDS = 3600.0
"""A look reads the last hour: it takes as long and as much memory on the second day as in the second hour."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one reading gave.

    `taken` and `newest`: epoch seconds of the reading, and of the last poll that it saw (0: none). `diagnosis` None:
    `failure` says why there is none. `ended`: every writer has ended as it should. `series`: lines over time, None
    without a diagnosis; `way`: what the test's I/O passes, from the load down. `cost_seconds`: processor
    time of the reading; `machine`: what all processors had done by then, `idle_ratio`: the part of them that was idle
    since the look before, None: not known.
    """

    taken: float
    diagnosis: Diagnosis | None
    failure: str = ""
    ended: bool = False
    newest: float = 0.0
    command: Sequence[str] = ()
    freshness: Mapping[str, Freshness] = field(default_factory=dict)
    series: Series | None = None
    way: Sequence[Stop] = ()
    cost_seconds: float = 0.0
    machine: Processors | None = None
    idle_ratio: float | None = None

    @property
    def silent(self) -> bool:
        """Whether the recorder has gone without a word, as a killed one does."""
        return not self.ended and self.newest > 0 and self.taken - self.newest > SILENT_SECONDS

    @property
    def pause_seconds(self) -> float:
        """How long to wait before the next look."""
        share = _OF_IDLE
        if self.machine is not None and self.idle_ratio is not None and self.idle_ratio < _BUSY:
            share = min(share, _OF_BUSY * self.machine.number)
        return max(TICK_SECONDS, self.cost_seconds / share)


@cache
def _rulebook(choice: Choice) -> tuple[Sequence[Rule], Site]:
    """Read once: parsing the rules costs as much as judging a minute of a test."""
    return rules_of(choice)


def prepare(choice: Choice) -> None:
    """Load what every look needs: as long as no load runs yet it costs nobody anything."""
    import sanpath.diagnose  # noqa: F401

    with suppress(SanpathError):  # Said by the first look.
        _rulebook(choice)


def look(
    folder: Location, choice: Choice | None = None, before: Look | None = None, held: SampleCache | None = None
) -> Look:
    """Read and judge the last hour of a recording, finished or growing. Whatever goes wrong is in `failure`: the next
    look may do. `before`: the last one; steps longer ago keep what it says of them. `held`: see Recording."""
    from sanpath.diagnose import conclude, judge_recording  # for whoever judges: the screen only shows looks

    taken, began, machine = time.time(), time.process_time(), processors()
    earlier = before.machine if before is not None else None
    idle = machine.idle_since(earlier) if machine is not None and earlier is not None else None
    try:
        recording = Recording(folder, LIVE_SECONDS, held)
        polls = recording.polls()
        facts, judgements = judge_recording(recording, over_time=True)
        found = conclude(recording, facts, judgements, *_rulebook(choice or Choice()))
        return Look(
            taken,
            _with_steps_of(before, found, recording.since_us),
            ended=recording.ended,
            newest=max((poll.ended for poll in polls), default=0) / 1e6,
            command=tuple(recording.load_command),
            freshness=_freshness(recording, polls, taken),
            series=series(recording, facts.topology, facts.over_time),
            way=way(facts.topology),
            cost_seconds=time.process_time() - began,
            machine=machine,
            idle_ratio=idle,
        )
    except SanpathError as error:
        failure = str(error)
    except Exception as error:  # a defect in a rule or a view of the data must not end the view of the run
        failure = f"{type(error).__name__}: {error}"
    cost = time.process_time() - began
    return Look(taken, None, failure, cost_seconds=cost, machine=machine, idle_ratio=idle)


def _with_steps_of(before: Look | None, found: Diagnosis, since_us: int | None) -> Diagnosis:
    """What was said of the steps that began before the moment from which on is read, when they were still read."""
    if since_us is None or before is None or before.diagnosis is None:
        return found
    known = {(step.name, step.start): step for step in before.diagnosis.steps if step.end < iso(since_us)}
    return replace(found, steps=tuple(known.get((step.name, step.start), step) for step in found.steps))


def _freshness(recording: Recording, polls: Iterable[Poll], taken: float) -> dict[str, Freshness]:
    answered = {poll.source: poll.ended / 1e6 for poll in polls if poll.outcome in ("ok", "partial")}
    found = {}
    for source in recording.declarations:
        waited = max(0.0, taken - answered.get(source.name, recording.started_us / 1e6))
        late = waited > LATE_POLLS * source.every_seconds + FLUSH_DELAY_SECONDS
        found[source.name] = Freshness(source.every_seconds, waited if source.name in answered else None, late)
    return found
