"""Times and loads of peers, window by window: from counters in one step, from averages over all steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sanpath.facts.peers.excess_latency import Floats
from sanpath.facts.samples.step_samples import MIN_OPERATIONS, StepSamples
from sanpath.model import DIRECTIONS

_MAX_COMPARISONS = 1_500_000
"""Largest number of windows times pairs of peers: 0.4 s of a processor. With more windows, only every n-th one is
used."""
_COARSEST = 0.25
"""An average that may be off by this share of itself is left out."""
_TIMES = ("latency_seconds_mean", "guest_seconds_mean", "device_seconds_mean")
"""Averages of the time of an I/O; the first one that a source reports is used."""


@dataclass(frozen=True, slots=True)
class Windows:
    """A row for each peer and a column for each window, as `compare_peers` takes it."""

    members: tuple[str, ...]
    seconds: Floats
    loads: tuple[Floats, ...]


def windows_from_counters(samples: Mapping[str, Sequence[StepSamples]], direction: str) -> Windows | None:
    """Return the windows of one step, computed from counters. `samples`: peer → its samples in it. None: fewer than
    two count times."""
    ops, spent = f"ops_{direction}_total", f"latency_seconds_{direction}_total"
    chosen = {
        member: sample
        for member, member_samples in samples.items()
        if (sample := next((s for s in member_samples if ops in s.rates and spent in s.rates), None)) is not None
    }
    if len(chosen) < 2:
        return None
    longest = max(chosen.values(), key=lambda sample: len(sample.seconds))
    ended, length = np.array(longest.ended_us, dtype=float), np.array(longest.seconds)
    every = -(-len(ended) * len(chosen) ** 2 // _MAX_COMPARISONS)
    ended, length = ended[:: max(1, every)], length[:: max(1, every)]
    if not len(ended):
        return None

    def rates(counter: str) -> Floats:
        return np.stack([_aligned(sample, counter, ended, length) for sample in chosen.values()])

    completed, waited = rates(ops), rates(spent)
    total = np.nansum([rates(f"ops_{one}_total") for one in DIRECTIONS], axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        seconds = np.where(completed * length >= MIN_OPERATIONS, waited / completed, np.nan)
        moved, size = rates(f"bytes_{direction}_total"), rates(f"bytes_{direction}_total") / completed
    both = np.nansum([rates(f"bytes_{one}_total") for one in DIRECTIONS], axis=0)
    loads = (total,) if np.isnan(moved).all(axis=1).any() else (total, both, size)
    return Windows(tuple(chosen), seconds, loads)


def windows_from_averages(samples: Sequence[Mapping[str, Sequence[StepSamples]]], direction: str) -> Windows | None:
    """Return one window for each step, computed from averages. `samples`: for each step, peer → its samples.

    None: fewer than two peers report averages, or they have counters, which are more precise.
    """
    members = sorted({member for step in samples for member in step})
    seconds, rates = np.full((2, len(members), len(samples)), np.nan)
    for column, step in enumerate(samples):
        for row, member in enumerate(members):
            of_member = step.get(member, ())
            if any(f"latency_seconds_{direction}_total" in sample.rates for sample in of_member):
                return None
            if (time := _average_seconds(of_member, direction)) is not None and _rate(of_member, direction):
                seconds[row, column] = time
                rates[row, column] = sum(_rate(of_member, one) for one in DIRECTIONS)
    seconds[~(rates > 0)] = np.nan
    known = ~np.isnan(seconds).all(axis=1)
    if known.sum() < 2:
        return None
    names = tuple(member for member, is_known in zip(members, known, strict=True) if is_known)
    return Windows(names, seconds[known], (rates[known],))


def _aligned(sample: StepSamples, counter: str, ended_us: Floats, seconds: Floats) -> Floats:
    """Return the rates in the windows that end at the given times, or less than half a window from them; NaN where
    there is none."""
    values = np.array([np.nan if rate is None else rate for rate in sample.rates.get(counter, ())], dtype=float)
    ends = np.array(sample.ended_us[: len(values)], dtype=float)
    if not len(ends):
        return np.full(len(ended_us), np.nan)
    right = np.clip(np.searchsorted(ends, ended_us), 0, len(ends) - 1)
    left = np.maximum(right - 1, 0)
    nearest = np.where(np.abs(ends[left] - ended_us) < np.abs(ends[right] - ended_us), left, right)
    near = np.abs(ends[nearest] - ended_us) * 2 < seconds * 1e6
    return np.where(near, values[nearest], np.nan)


def _average_seconds(samples: Sequence[StepSamples], direction: str) -> float | None:
    for sample in samples:
        for name in (f"{time}{suffix}" for time in _TIMES for suffix in (f"_{direction}", "")):
            value = sample.means.get(name)
            if value and sample.resolutions.get(name, 0.0) <= _COARSEST * value:
                return value
    return None


def _rate(samples: Sequence[StepSamples], direction: str) -> float:
    for sample in samples:
        rate = sample.means.get(f"ops_per_second_{direction}")
        rate = sample.rate(f"ops_{direction}_total") if rate is None else rate
        if rate is not None:
            return rate
    return 0.0
