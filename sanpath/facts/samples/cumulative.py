"""Cumulative work: the total of counters of many entities at each moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sanpath.facts.samples.step_samples import StepSamples

Numbers = npt.NDArray[np.float64]

_MAX_LIMITS = 20_000
"""Largest number of windows that work is divided into: sanpath's own choice, for computing time and memory."""
_MIN_WINDOW_SECONDS = 1e-3
"""The resolution of most time stamps: a shorter window is a rounding error."""
_ENDINGS = ("", "_read", "_write", "_rx", "_tx")
"""Counters of both directions together or of one. Merged, discarded and flushed I/Os are not among the work."""


@dataclass(frozen=True, slots=True)
class Work:
    """Work done until each limit of a series of windows.

    `limits`: seconds on the recorder's clock, ascending. `until`: the total at each, in the counters' base unit."""

    limits: Numbers
    until: Numbers

    def rates(self, limits: Numbers) -> Numbers:
        """Mean rate between each two neighbouring limits, of each row. Outside of all windows no work is done."""
        return np.asarray(np.diff(np.interp(limits, self.limits, self.until)) / np.diff(limits))


def cumulative_work(samples: Sequence[StepSamples], quantity: str) -> Work | None:
    """Work of all entities and both directions together, by the counters of a quantity, such as `ops`.

    None: no entity has such a counter, or none has grown."""
    works = [entity_work for sample in samples if (entity_work := _work_of_entity(sample, quantity)) is not None]
    if not works:
        return None
    limits = np.unique(np.concatenate([entity_work.limits for entity_work in works]))
    # Windows that begin where the previous one ended, except for rounding, have no window in between.
    limits = limits[np.append(np.diff(limits) >= _MIN_WINDOW_SECONDS, True)]
    limits = np.append(limits[: -1 : 1 + len(limits) // _MAX_LIMITS], limits[-1])
    return Work(
        limits,
        sum(
            (np.interp(limits, entity_work.limits, entity_work.until) for entity_work in works), np.zeros_like(limits)
        ),
    )


def _work_of_entity(sample: StepSamples, quantity: str) -> Work | None:
    counters = [name for ending in _ENDINGS if (name := f"{quantity}{ending}_total") in sample.rates]
    rates = np.sum([[rate or 0.0 for rate in sample.rates[name]] for name in counters], axis=0)
    if not counters or not np.any(rates):
        return None
    ended_seconds, seconds = np.array(sample.ended_us) / 1e6, np.array(sample.seconds)
    began_seconds = np.maximum(ended_seconds - seconds, np.concatenate(([-np.inf], ended_seconds[:-1])))
    limits = np.column_stack((began_seconds, ended_seconds)).ravel()
    done = np.column_stack((np.zeros_like(rates), rates * (ended_seconds - began_seconds))).ravel()
    return Work(limits, np.asarray(np.cumsum(done)))
