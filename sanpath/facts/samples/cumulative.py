"""Work over time: what counters have counted until each moment, of many entities together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sanpath.facts.samples.step_samples import StepSamples

Numbers = npt.NDArray[np.float64]

_MOST_LIMITS = 20_000


@dataclass(frozen=True, slots=True)
class Work:
    """Work done until each limit of a series of windows; limits in seconds."""

    limits: Numbers
    until: Numbers

    def rates(self, limits: Numbers) -> Numbers:
        """Mean rate between each two limits; before the first window and after the last one nothing is done."""
        return np.asarray(np.diff(np.interp(limits, self.limits, self.until)) / np.diff(limits))


def work(samples: Sequence[StepSamples], counted: str) -> Work | None:
    """What all entities together have done, both directions, by the counters that begin with `counted`. None: none of
    them counts it, or nothing was done."""
    told = [one for sample in samples if (one := _one(sample, counted)) is not None]
    if not told:
        return None
    limits = np.unique(np.concatenate([one.limits for one in told]))
    limits = np.append(limits[: -1 : 1 + len(limits) // _MOST_LIMITS], limits[-1])
    return Work(limits, sum((np.interp(limits, one.limits, one.until) for one in told), np.zeros_like(limits)))


def _one(sample: StepSamples, counted: str) -> Work | None:
    counters = [name for name in sample.rates if name.startswith(f"{counted}_") and name.endswith("_total")]
    rates = np.sum([[rate or 0.0 for rate in sample.rates[name]] for name in counters], axis=0)
    if not counters or not np.any(rates):
        return None
    ended, seconds = np.array(sample.ended) / 1e6, np.array(sample.seconds)
    began = np.maximum(ended - seconds, np.concatenate(([-np.inf], ended[:-1])))
    limits = np.column_stack((began, ended)).ravel()
    done = np.column_stack((np.zeros_like(rates), rates * (ended - began))).ravel()
    return Work(limits, np.asarray(np.cumsum(done)))
