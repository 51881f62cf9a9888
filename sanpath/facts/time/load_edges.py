"""Places imported files in time by the edges of the load: when throughput begins, pauses and ends.

The throughput of a file is compared with the load's, shifted by every offset up to ten minutes. The best-fitting
offset (least squares) is the result; others that fit nearly as well give its uncertainty. A plateau has no edges, and
equal pauses fit in several places: then nothing is guessed. A counter that cannot have carried the load cannot date
it. If a source counts the load's named targets, only these date it: they did the load's work, while other counters
may have done others'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from sanpath.facts.samples.clock_offsets import ClockOffset
from sanpath.facts.samples.cumulative import Numbers, Work, cumulative_work
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.topology.keys import Local

_MAX_OFFSET_SECONDS = 600.0
"""Largest offset: a file with a larger one was placed by a wrong time zone or day, which its import has reported."""
_STEP_SECONDS, _FINE_SECONDS = 0.5, 0.05
"""Distances of the offsets that are tried, coarse over the whole range and fine around the best: sanpath's own
choice, finer than the windows of most sources."""
_MIN_CORRELATION = 0.8
"""Smallest correlation at which a file counts the same work as the load."""
_FIT_TOLERANCE = 0.01
"""Another offset fits nearly as well if the variance that it leaves unexplained is at most twice that of the best
offset, plus this."""
_MAX_OUTSIDE_RATIO = 0.1
"""Largest share of a source's work outside the load's, or in another part of it, if its own times are right."""
_CLEARLY_MORE_SHARE = 0.02
"""Share of a source's work by which two placements differ: sanpath's own choice, beyond the edges of its windows."""
_TRUSTED_SECONDS = 1.0
"""Seconds below which an offset shifts nothing; neither does one below its own uncertainty."""
_PAUSE_RATIO = 0.5
"""Share of its highest throughput below which throughput has an edge."""
_SHIFTS_AT_ONCE = 100
"""Rows of windows in a matrix that is computed at a time: sanpath's own choice, for memory."""
_MAX_WINDOWS = 2000
"""Most windows that are compared at each offset: sanpath's own choice, for its computing time."""
_MIN_WINDOWS = 4
"""Fewest windows that fit in one place only: sanpath's own choice."""
_QUANTITIES = ("bytes", "ops")
"""Work that load and source both count, the best first: software below the load splits and merges I/Os, not bytes."""
_MIN_WORK_SHARE = 0.01
"""Smallest share of the load's work in the same time that a counter on its path has done: sanpath's own choice, far
below one path of many."""
_KINDS = ("switch_port", "hba", "array_port", "lun", "volume", "vdisk", "array", "path")
"""Entity kinds that count work, the best first."""

Samples = Callable[[str], Sequence[StepSamples]]
"""Entity kind → its samples over the entire recording, window by window."""


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A file, or a source of another recorder, whose clock could not be checked, and the reason.

    `left_out`: whether its samples are excluded from every judgement because of that."""

    source: str
    reason: str
    left_out: bool = False


def edge_offsets(
    imported: Sequence[str], samples: Samples, kinds: Sequence[str], targets: Set[Local] = frozenset()
) -> tuple[Mapping[str, ClockOffset], Sequence[Unplaced]]:
    """Return the offsets of imported sources, and the sources whose offset cannot be determined. `targets`: what the
    loads name as such.

    If the only load was imported and other sources were read live, the load is shifted. Otherwise the imported
    sources below the load are shifted to fit it."""
    loads = [source_name for source_name in samples("load") if source_name.seconds] if "load" in kinds else []
    sources = dict.fromkeys(source_name.source for source_name in loads)
    imported_loads = [source for source in sources if source in imported]
    offsets: dict[str, ClockOffset] = {}
    unplaced: list[Unplaced] = []
    load_works = {name: work for name in _QUANTITIES if (work := cumulative_work(loads, name)) is not None}
    below = {
        source_name: works
        for source_name in _sources(samples, kinds)
        if source_name not in sources
        and (works := _compared(source_name, samples, kinds, load_works, targets)) is not None
    }
    late_seconds = 0.0
    live_works = [works for source_name, works in below.items() if works and source_name not in imported]
    if len(imported_loads) == len(sources) == 1 and live_works:
        # If the load is early by some time, the live sources are late by the same time.
        result = _offset_by_any(max(live_works, key=lambda works: len(works[0][1].limits)))
        if isinstance(result, ClockOffset):
            offsets[imported_loads[0]] = ClockOffset(-result.seconds, result.uncertainty_seconds, "load_edges")
            late_seconds = result.seconds if is_significant(result) else 0.0
        else:
            unplaced.append(Unplaced(imported_loads[0], result))
    for source, works in below.items():
        if source in imported:
            result = _offset_by_any([(Work(load.limits + late_seconds, load.until), own) for load, own in works])
            if isinstance(result, ClockOffset):
                offsets[source] = result
            else:
                unplaced.append(Unplaced(source, result))
    return offsets, unplaced


def is_significant(offset: ClockOffset) -> bool:
    """Return whether an offset is large enough to shift a source."""
    return abs(offset.seconds) > max(_TRUSTED_SECONDS, offset.uncertainty_seconds)


def _offset_by_any(works: Sequence[tuple[Work, Work]]) -> ClockOffset | str:
    """Return the offset from the first of a source's series of work that fits the load's, or the reason why the first
    one does not: its ports and disks may carry other I/O."""
    reason = "" if works else "it counts far less than the load did"
    for load, source_work in works:
        result = offset(load, source_work)
        if isinstance(result, ClockOffset):
            return result
        reason = reason or result
    return reason


def offset(load: Work, source_work: Work) -> ClockOffset | str:
    """Return how far a source's clock is ahead of the load's, or the reason why that cannot be determined."""
    step = max(1, (len(source_work.limits) - 1) // _MAX_WINDOWS)
    limits = source_work.limits[::step]
    if len(limits) <= _MIN_WINDOWS:
        return "it has too few windows"
    rates = source_work.rates(limits)
    if rates.min() > _PAUSE_RATIO * rates.max() or not rates.any():
        return "its throughput is constant, so it fits the load's at any offset"
    shifts = np.arange(-_MAX_OFFSET_SECONDS, _MAX_OFFSET_SECONDS + _STEP_SECONDS, _STEP_SECONDS)
    unexplained = _unexplained(load, limits, rates, shifts)
    best = int(np.argmin(unexplained))
    if unexplained[best] > 1 - _MIN_CORRELATION**2:
        parts = _parts(load)
        if len(parts) > 1 and _misplaced(load, parts, source_work, 0.0) <= _MAX_OUTSIDE_RATIO:
            return ClockOffset(0.0, min(end - begin for begin, end in parts) / 2, "load_edges")
        return "its throughput fits the load's at no offset"
    candidates = np.flatnonzero(unexplained <= 2 * unexplained[best] + _FIT_TOLERANCE)
    if np.any(np.diff(candidates) > 1):
        return "its throughput fits the load's at several offsets: all steps and pauses have the same length"
    if candidates[0] == 0 or candidates[-1] == len(shifts) - 1:
        return "its throughput fits the load's best at the largest offset tried, ten minutes"
    uncertainty = max(shifts[best] - shifts[candidates[0]], shifts[candidates[-1]] - shifts[best]) + _STEP_SECONDS / 2
    fine_shifts = shifts[best] + np.arange(-_STEP_SECONDS, _STEP_SECONDS + _FINE_SECONDS, _FINE_SECONDS)
    best_fine = fine_shifts[np.argmin(_unexplained(load, limits, rates, fine_shifts))]
    if _is_on_time(load, source_work, float(best_fine)):
        return ClockOffset(0.0, float(uncertainty), "load_edges")
    return ClockOffset(round(float(best_fine), 3), float(uncertainty), "load_edges")


def _is_on_time(load: Work, source_work: Work, shift: float) -> bool:
    """Return whether a source, by its own times, worked when the load did, while `shift` would move its work into
    other parts of the load, or clearly more of it out of all of them.

    The load may report one figure for each part between two pauses. A device that works unevenly within a part then
    fits best at a wrong offset, for example where the part begins with its fast time.
    """
    parts = _parts(load)
    if not parts or (now := _misplaced(load, parts, source_work, 0.0)) > _MAX_OUTSIDE_RATIO:
        return False
    moves_on = abs(shift) >= min(end - begin for begin, end in parts) / 2
    return moves_on or _misplaced(load, parts, source_work, shift) > now + _CLEARLY_MORE_SHARE


def _misplaced(load: Work, parts: Sequence[tuple[float, float]], source_work: Work, shift: float) -> float:
    """Return the share of a source's work that is in another part of the load, or in none, if its clock is ahead by
    `shift`."""
    limits = source_work.limits - shift
    begins, ends, done = limits[:-1], limits[1:], np.diff(source_work.until)
    # A window counts as a whole for the part that it mostly covers: one after a pause may contain the pause.
    slack = float(np.median(ends - begins))
    overlaps = np.array([np.minimum(ends, end) - np.maximum(begins, begin) for begin, end in parts])
    inside = overlaps.max(axis=0) > -slack
    own = np.bincount(overlaps.argmax(axis=0)[inside], done[inside], len(parts))
    theirs = np.array([_work_in(load, begin, end) for begin, end in parts])
    if not own.sum():
        return 1.0
    elsewhere = float(np.abs(theirs / theirs.sum() - own / own.sum()).sum()) / 2
    return max(elsewhere, 1 - float(own.sum() / done.sum()))


def _parts(load: Work) -> list[tuple[float, float]]:
    """Return begin and end of each part of a load between two pauses."""
    rates = load.rates(load.limits)
    is_active = rates > _PAUSE_RATIO * float(np.median(rates[rates > 0])) if rates.any() else rates > 0
    edges = np.flatnonzero(np.diff(np.concatenate(([0], is_active.astype(int), [0]))))
    return [(float(load.limits[a]), float(load.limits[b])) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _work_in(work: Work, begin: float, end: float) -> float:
    """Return the work done between two times."""
    return float(work.rates(np.array([begin, end]))[0]) * (end - begin)


def _unexplained(load: Work, limits: Numbers, rates: Numbers, shifts: Numbers) -> Numbers:
    """Return the share of the variance of `rates` that the load, shifted, leaves unexplained; one value for each
    shift."""
    weights = np.diff(limits) / (limits[-1] - limits[0])
    deviations = rates - rates @ weights
    of_source = np.square(deviations) @ weights
    unexplained = []
    for part in np.array_split(shifts, 1 + len(shifts) // _SHIFTS_AT_ONCE):
        of_load = load.rates(limits - part[:, np.newaxis])
        of_load -= (of_load @ weights)[:, np.newaxis]
        spread = np.sqrt((np.square(of_load) @ weights) * of_source)
        correlation = np.divide((of_load * deviations) @ weights, spread, np.zeros_like(spread), where=spread > 0)
        unexplained.append(1 - np.square(np.maximum(0.0, correlation)))
    return np.concatenate(unexplained)


def _sources(samples: Samples, kinds: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(sample.source for kind in _KINDS if kind in kinds for sample in samples(kind)))


def _compared(
    source: str, samples: Samples, kinds: Sequence[str], load_works: Mapping[str, Work], targets: Set[Local]
) -> list[tuple[Work, Work]] | None:
    """Return the work of the load and of a source for each entity kind that may have carried it, the best first, in
    the same quantity if both count one. Among targets of the load, only theirs. None: no kind counts any."""
    of_source = {
        kind: [sample for sample in samples(kind) if sample.source == source and sample.seconds]
        for kind in _KINDS
        if kind in kinds
    }
    named = {kind: [s for s in of_kind if (source, kind, s.entity) in targets] for kind, of_kind in of_source.items()}
    pairs = list(_pairs(of_source, load_works))
    may_carry = [pair for pair, is_enough in pairs if is_enough]
    of_targets = [pair for pair, is_enough in _pairs(named, load_works) if is_enough]
    return (of_targets or may_carry) if pairs else None


def _pairs(
    samples: Mapping[str, Sequence[StepSamples]], load_works: Mapping[str, Work]
) -> Iterator[tuple[tuple[Work, Work], bool]]:
    """Yield the work of the load and that of each kind that counts any, and whether it is enough to have carried it:
    known where both count the same quantity."""
    for of_kind in samples.values():
        works = {name: work for name in _QUANTITIES if (work := cumulative_work(of_kind, name)) is not None}
        common = [(work, works[name]) for name, work in load_works.items() if name in works]
        if common:
            yield common[0], _may_carry(*common[0])
        elif works and load_works:
            yield (next(iter(load_works.values())), next(iter(works.values()))), True


def _may_carry(load: Work, source_work: Work) -> bool:
    """Return whether a counter did enough, while it was read, to be below the load."""
    load_seconds, source_seconds = (float(work.limits[-1] - work.limits[0]) for work in (load, source_work))
    of_load = float(load.until[-1]) * min(1.0, source_seconds / load_seconds)
    return float(source_work.until[-1]) >= _MIN_WORK_SHARE * of_load
