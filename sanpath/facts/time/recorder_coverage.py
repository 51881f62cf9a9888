"""Several recorders of one recording: when each was active, what it missed, and how well its clock is known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sanpath.model import Step
from sanpath.recording.format.recorder_starts import Start, latest
from sanpath.recording.reading.alignment import reference_start
from sanpath.recording.reading.recording import Recording

_LATE_POLLS = 3.0
"""Poll intervals without a poll after which a source counts as not recorded: sanpath's own choice, because one poll
may be lost and one late."""
_WRITTEN_US = 6_000_000
"""A recorder writes every five seconds: within this time, a missing write means nothing."""
_DOUBTFUL_SECONDS = 2.0
"""Uncertainty of a recorder's clock from which a window may be booked to the step before or after."""

AbsenceKind = Literal["joined", "restarted", "stopped", "ended"]


@dataclass(frozen=True, slots=True)
class RecorderAbsence:
    """A period in which some sources were not recorded. Times in microseconds of the recording's clock.

    `until_us` None: their recorder never came back. `kind`: it joined late; it was killed or cut off, and was
    restarted or stayed stopped; it ended before the load."""

    recorder: str
    sources: tuple[str, ...]
    since_us: int
    until_us: int | None
    kind: AbsenceKind


@dataclass(frozen=True, slots=True)
class RecorderPresence:
    """One recorder. `starts`: how often it was started. `first_us` and `last_us`: its first and last sign of life.

    `ended`: whether it ended cleanly. `offset_seconds`: its clock minus that of the recording, give or take
    `uncertainty_seconds`; None: they were not compared."""

    name: str
    host: str
    sources: tuple[str, ...]
    starts: int
    first_us: int
    last_us: int
    ended: bool
    offset_seconds: float | None
    uncertainty_seconds: float | None

    @property
    def has_uncertain_clock(self) -> bool:
        """Whether its clock may be wrong by more than a window."""
        return self.uncertainty_seconds is None or self.uncertainty_seconds > _DOUBTFUL_SECONDS


def presences(recording: Recording) -> list[RecorderPresence]:
    """Return one entry for each recorder, in the order in which they began."""
    by_name: dict[str, list[Start]] = defaultdict(list)
    for start in recording.starts:
        if start.header.recorder:
            by_name[start.header.recorder].append(start)
    reference = reference_start(recording.starts)
    result = []
    for name, starts in by_name.items():
        limits = [_limits(recording, start) for start in starts]
        alignments = [recording.alignment.get(start.writer) for start in starts]
        worst = max(
            (alignment for alignment in alignments if alignment is not None),
            key=lambda alignment: alignment.uncertainty_seconds,
            default=None,
        )
        is_reference = starts == [reference]
        alignment = worst if worst is not None and None not in alignments else None
        result.append(
            RecorderPresence(
                name,
                starts[-1].header.host,
                tuple(dict.fromkeys(source.name for start in starts for source in start.header.sources)),
                len(starts),
                min(first for first, _ in limits),
                max(latest_sign for _, latest_sign in limits),
                max(starts, key=lambda start: start.header.started_us).ending is not None,
                0.0 if is_reference else alignment.seconds if alignment is not None else None,
                0.0 if is_reference else alignment.uncertainty_seconds if alignment is not None else None,
            )
        )
    return sorted(result, key=lambda presence: presence.first_us)


def sources_with_uncertain_clock(recording: Recording) -> Mapping[str, str]:
    """Return source → its recorder, where the recorder's clock is too uncertain to assign samples to steps."""
    return {
        source: recorder.name
        for recorder in presences(recording)
        if recorder.has_uncertain_clock
        for source in recorder.sources
    }


def absences(recording: Recording, steps: Sequence[Step]) -> list[RecorderAbsence]:
    """Return the periods of the steps in which a recorder was not active, in the order of time."""
    newest = max((last for _, last in recording.signs_of_life.values()), default=0)
    sources_by_absence: dict[tuple[str, int, int | None, AbsenceKind], list[str]] = defaultdict(list)
    for source, starts in _by_source(recording).items():
        every_us = 1e6 * max(d.every_seconds for s in starts for d in s.header.sources if d.name == source)
        for since_us, until_us, kind in _missing(recording, starts, steps, newest, every_us):
            sources_by_absence[starts[-1].header.recorder, since_us, until_us, kind].append(source)
    result = [
        RecorderAbsence(recorder, tuple(sources), since_us, until_us, kind)
        for (recorder, since_us, until_us, kind), sources in sources_by_absence.items()
    ]
    return sorted(result, key=lambda absence: absence.since_us)


def deaths(recording: Recording) -> Mapping[str, Sequence[int]]:
    """Return source → the last signs of life of its recorders that were killed or cut off while others went on."""
    result: dict[str, list[int]] = defaultdict(list)
    if len(recording.starts) > 1:
        for source, starts in _by_source(recording).items():
            result[source] += [_limits(recording, start)[1] for start in starts if start.ending is None]
    return result


def _by_source(recording: Recording) -> dict[str, list[Start]]:
    """Return source → the starts of recorders that read it, by time."""
    result: dict[str, list[Start]] = defaultdict(list)
    for start in sorted(recording.starts, key=lambda s: s.header.started_us + recording.shift_us(s.writer)):
        for source in start.header.sources if start.header.recorder else ():
            result[source.name].append(start)
    return result


def _limits(recording: Recording, start: Start) -> tuple[int, int]:
    """Return the first and the last sign of life of a recorder since a start, microseconds of the recording's
    clock."""
    shift = recording.shift_us(start.writer)
    began_us = start.header.started_us + shift
    if start.ending is not None:
        return began_us, start.ending.ended_us + shift
    return began_us, max(began_us, recording.signs_of_life.get(start.writer, (began_us, began_us))[1])


def _missing(
    recording: Recording, starts: Sequence[Start], steps: Sequence[Step], newest: int, every_us: float
) -> Iterator[tuple[int, int | None, AbsenceKind]]:
    """Yield (since, until, kind) of every period in which no recorder of a source was active."""
    limits = [_limits(recording, start) for start in starts]
    first, last = min((s.start for s in steps), default=0), max((s.end for s in steps), default=0)
    if limits[0][0] > first + every_us:
        yield first, limits[0][0], "joined"
    active_until_us, ended = limits[0][1], starts[0].ending is not None
    for start, (began, until) in zip(starts[1:], limits[1:], strict=True):
        # Nothing was missed between the steps of a test that was interrupted and resumed.
        if began > active_until_us and (not ended or any(s.start < began and active_until_us < s.end for s in steps)):
            yield active_until_us, began, "restarted"
        active_until_us, ended = max(active_until_us, until), start.ending is not None
    if ended and last > active_until_us + every_us:
        yield active_until_us, None, "ended"
    # Until the others have ended, a recorder may just not have written yet; without others, nothing shows that it
    # did.
    others = [start for start in latest(recording.starts) if start.recorder_id != starts[-1].recorder_id]
    others_ended = bool(others) and all(start.ending is not None for start in others)
    if not ended and (
        newest > active_until_us + _LATE_POLLS * every_us + _WRITTEN_US
        or (others_ended and last > active_until_us + every_us)
    ):
        yield active_until_us, None, "stopped"
