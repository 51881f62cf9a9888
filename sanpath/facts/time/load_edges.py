"""Where an imported file belongs in time, by the edges of the load: when its throughput begins, pauses and ends.

What a file counts is laid beside what the load did, shifted by every offset up to ten minutes; the one that fits best
(least squares) is its offset, the others that fit nearly as well its uncertainty. A plateau has no edges and equal
pauses fit in several places: then nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sanpath.facts.samples.clock_offsets import ClockOffset
from sanpath.facts.samples.cumulative import Numbers, Work, work
from sanpath.facts.samples.step_samples import StepSamples

_FURTHEST_SECONDS = 600.0
"""A file that is further off was placed by a wrong time zone or day, which its import has said."""
_STEP_SECONDS, _FINE_SECONDS = 0.5, 0.05
_FIT = 0.8
"""Correlation from which on a file is taken to count the same work as the load."""
_NEARLY = 0.01
"""Of the variance that may be left unexplained beside twice that of the best offset, for another to fit as well."""
_TRUSTED_SECONDS = 1.0
"""An offset within this, or within its own uncertainty, moves nothing."""
_PAUSE = 0.5
"""Throughput has an edge where it falls below this share of its highest."""
_MOST_WINDOWS = 2000
_FEWEST_WINDOWS = 4
_COUNTED = (("bytes", ("switch_port", "hba", "array_port")), ("ops", ("lun", "volume", "vdisk", "array", "path")))
"""What tells work best, and the kinds that count it, in the order in which they are looked at."""

Samples = Callable[[str], Sequence[StepSamples]]
"""Entity kind → what was sampled of it over the whole recording, one window after the other."""


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A file, or a source of another recorder, whose clock could not be checked, and why. `left_out`: so its samples
    are judged nowhere."""

    source: str
    why: str
    left_out: bool = False


def edge_offsets(
    imported: Sequence[str], samples: Samples, kinds: Sequence[str]
) -> tuple[Mapping[str, ClockOffset], Sequence[Unplaced]]:
    """The offsets of imported sources, and those that cannot be told. Where something below the load was read while
    it ran, an imported load is the one that is moved; else what was imported beside the load."""
    loads = [s for s in samples("load") if s.seconds] if "load" in kinds else []
    sources = dict.fromkeys(s.source for s in loads)
    foreign = [source for source in sources if source in imported]
    found: dict[str, ClockOffset] = {}
    unplaced: list[Unplaced] = []
    done = work(loads, "bytes") or work(loads, "ops")
    if done is None:
        return found, unplaced
    below = [
        (s, w) for s in _sources(samples, kinds) if s not in sources and (w := _of(s, samples, kinds)) is not None
    ]
    read = [w for s, w in below if s not in imported]
    if len(foreign) == len(sources) == 1 and read:
        # Seen from the load everything that was read is late by as much as the load is early.
        told = offset(done, max(read, key=lambda w: len(w.limits)))
        if isinstance(told, ClockOffset):
            found[foreign[0]] = ClockOffset(-told.seconds, told.uncertainty_seconds, "load_edges")
            if moves(told):
                done = Work(done.limits + told.seconds, done.until)
        else:
            unplaced.append(Unplaced(foreign[0], told))
    for source, there in below:
        if source in imported:
            told = offset(done, there)
            if isinstance(told, ClockOffset):
                found[source] = told
            else:
                unplaced.append(Unplaced(source, told))
    return found, unplaced


def moves(told: ClockOffset) -> bool:
    """Whether an offset is beyond what may be none."""
    return abs(told.seconds) > max(_TRUSTED_SECONDS, told.uncertainty_seconds)


def offset(load: Work, other: Work) -> ClockOffset | str:
    """By how much the other's clock is ahead of the load's; why it cannot be told."""
    step = max(1, (len(other.limits) - 1) // _MOST_WINDOWS)
    limits = other.limits[::step]
    if len(limits) <= _FEWEST_WINDOWS:
        return "it has too few windows"
    seen = other.rates(limits)
    if seen.min() > _PAUSE * seen.max() or not seen.any():
        return "its throughput has no edge: a plateau fits anywhere"
    shifts = np.arange(-_FURTHEST_SECONDS, _FURTHEST_SECONDS + _STEP_SECONDS, _STEP_SECONDS)
    left = _unexplained(load, limits, seen, shifts)
    best = int(np.argmin(left))
    if left[best] > 1 - _FIT**2:
        return "it does not rise and fall with the load"
    near = np.flatnonzero(left <= 2 * left[best] + _NEARLY)
    if np.any(np.diff(near) > 1):
        return "its throughput fits the load's at several times: steps and pauses are all of one length"
    if near[0] == 0 or near[-1] == len(shifts) - 1:
        return "its throughput fits the load's only at the end of what was tried, ten minutes"
    within = max(shifts[best] - shifts[near[0]], shifts[near[-1]] - shifts[best]) + _STEP_SECONDS / 2
    closer = shifts[best] + np.arange(-_STEP_SECONDS, _STEP_SECONDS + _FINE_SECONDS, _FINE_SECONDS)
    exact = closer[np.argmin(_unexplained(load, limits, seen, closer))]
    return ClockOffset(round(float(exact), 3), float(within), "load_edges")


def _unexplained(load: Work, limits: Numbers, seen: Numbers, shifts: Numbers) -> Numbers:
    """Share of the variance of what was seen that the load, shifted, leaves unexplained."""
    fits = [max(0.0, _correlation(load.rates(limits - shift), seen)) for shift in shifts]
    return np.asarray(1 - np.square(fits))


def _correlation(first: Numbers, second: Numbers) -> float:
    deviations = first - first.mean(), second - second.mean()
    spread = float(np.sqrt(np.square(deviations[0]).sum() * np.square(deviations[1]).sum()))
    return float((deviations[0] * deviations[1]).sum()) / spread if spread else 0.0


def _sources(samples: Samples, kinds: Sequence[str]) -> list[str]:
    there = [kind for _, some in _COUNTED for kind in some if kind in kinds]
    return list(dict.fromkeys(s.source for kind in there for s in samples(kind)))


def _of(source: str, samples: Samples, kinds: Sequence[str]) -> Work | None:
    """The work of a source, by the first kind that counts any. None: it counts none."""
    for what, some in _COUNTED:
        for kind in (kind for kind in some if kind in kinds):
            own = [s for s in samples(kind) if s.source == source and s.seconds]
            if own and (done := work(own, what)) is not None:
                return done
    return None
