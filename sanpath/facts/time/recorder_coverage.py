"""Several recorders of one recording: when each was there, which steps it missed, and how well its clock is known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sanpath.model import Step
from sanpath.recording.format.writers import Start, latest
from sanpath.recording.reading.alignment import reference_start
from sanpath.recording.reading.recording import Recording

_LATE_POLLS = 3.0
_WRITTEN_US = 6_000_000
"""A recorder writes every five seconds: until then it may only not have written yet."""
_DOUBTFUL_SECONDS = 2.0
"""An offset of two recorders that is known less well than this may book a window to the step before or after."""

Way = Literal["joined", "restarted", "stopped", "ended"]


@dataclass(frozen=True, slots=True)
class Absence:
    """Time in which nobody recorded some sources. `until` None: their recorder never came back.
    `way`: it joined late; it was killed or cut off and started again, or not; it was ended before the load."""

    recorder: str
    sources: tuple[str, ...]
    since: int
    until: int | None
    way: Way


@dataclass(frozen=True, slots=True)
class Presence:
    """One recorder. `starts`: how often it was started; `began` and `last`: its first and last sign of life;
    `ended`: it ended as it should. `offset_seconds`: its clock minus that of the recording, give or take
    `uncertainty_seconds`; None: they were not compared."""

    name: str
    host: str
    sources: tuple[str, ...]
    starts: int
    began: int
    last: int
    ended: bool
    offset_seconds: float | None
    uncertainty_seconds: float | None

    @property
    def doubtful(self) -> bool:
        """Whether its clock may be off by more than a window."""
        return self.uncertainty_seconds is None or self.uncertainty_seconds > _DOUBTFUL_SECONDS


def presences(recording: Recording) -> list[Presence]:
    """One for each recorder, in the order in which they began."""
    by_name: dict[str, list[Start]] = defaultdict(list)
    for start in recording.starts:
        if start.header.recorder:
            by_name[start.header.recorder].append(start)
    reference = reference_start(recording.starts)
    found = []
    for name, starts in by_name.items():
        limits = [_limits(recording, start) for start in starts]
        known = [recording.alignment.get(start.writer) for start in starts]
        worst = max((a for a in known if a is not None), key=lambda a: a.uncertainty_seconds, default=None)
        alone = starts == [reference]
        told = worst if worst is not None and None not in known else None
        found.append(
            Presence(
                name,
                starts[-1].header.host,
                tuple(dict.fromkeys(source.name for start in starts for source in start.header.sources)),
                len(starts),
                min(began for began, _ in limits),
                max(last for _, last in limits),
                max(starts, key=lambda s: s.header.started_us).ending is not None,
                0.0 if alone else told.seconds if told is not None else None,
                0.0 if alone else told.uncertainty_seconds if told is not None else None,
            )
        )
    return sorted(found, key=lambda p: p.began)


def read_by_strangers(recording: Recording) -> Mapping[str, str]:
    """Source → its recorder, where the clock of that is not known well enough to say to which step samples belong."""
    return {source: who.name for who in presences(recording) if who.doubtful for source in who.sources}


def absences(recording: Recording, steps: Sequence[Step]) -> list[Absence]:
    """What of the steps was not recorded because a recorder was not there, in the order of time."""
    newest = max((last for _, last in recording.signs_of_life.values()), default=0)
    together: dict[tuple[str, int, int | None, Way], list[str]] = defaultdict(list)
    for source, starts in _by_source(recording).items():
        every_us = 1e6 * max(d.every_seconds for s in starts for d in s.header.sources if d.name == source)
        for since, until, way in _missing(recording, starts, steps, newest, every_us):
            together[starts[-1].header.recorder, since, until, way].append(source)
    found = [
        Absence(who, tuple(sources), since, until, way) for (who, since, until, way), sources in together.items()
    ]
    return sorted(found, key=lambda a: a.since)


def deaths(recording: Recording) -> Mapping[str, Sequence[int]]:
    """Source → the last signs of life of its recorders that were killed or cut off while others went on."""
    found: dict[str, list[int]] = defaultdict(list)
    if len(recording.starts) > 1:
        for source, starts in _by_source(recording).items():
            found[source] += [_limits(recording, start)[1] for start in starts if start.ending is None]
    return found


def _by_source(recording: Recording) -> dict[str, list[Start]]:
    """Source → the starts of recorders that read it, by time."""
    found: dict[str, list[Start]] = defaultdict(list)
    for start in sorted(recording.starts, key=lambda s: s.header.started_us + recording.shift_us(s.writer)):
        for source in start.header.sources if start.header.recorder else ():
            found[source.name].append(start)
    return found


def _limits(recording: Recording, start: Start) -> tuple[int, int]:
    """First and last sign of life of a start."""
    shift = recording.shift_us(start.writer)
    began = start.header.started_us + shift
    if start.ending is not None:
        return began, start.ending.ended_us + shift
    return began, max(began, recording.signs_of_life.get(start.writer, (began, began))[1])


def _missing(
    recording: Recording, starts: Sequence[Start], steps: Sequence[Step], newest: int, every_us: float
) -> Iterator[tuple[int, int | None, Way]]:
    """(since, until, way) of every time in which none of these starts of a source's recorders was there."""
    there = [_limits(recording, start) for start in starts]
    first, last = min((s.start for s in steps), default=0), max((s.end for s in steps), default=0)
    if there[0][0] > first + every_us:
        yield first, there[0][0], "joined"
    so_far, ended = there[0][1], starts[0].ending is not None
    for start, (began, until) in zip(starts[1:], there[1:], strict=True):
        # Between the steps of a test that was interrupted and taken up again nothing was missed.
        if began > so_far and (not ended or any(s.start < began and so_far < s.end for s in steps)):
            yield so_far, began, "restarted"
        so_far, ended = max(so_far, until), start.ending is not None
    if ended and last > so_far + every_us:
        yield so_far, None, "ended"
    # Until others have ended it may only not have written yet.
    alone = all(
        other.ending is not None for other in latest(recording.starts) if other.recorder_id != starts[-1].recorder_id
    )
    if not ended and (newest > so_far + _LATE_POLLS * every_us + _WRITTEN_US or (alone and last > so_far + every_us)):
        yield so_far, None, "stopped"
