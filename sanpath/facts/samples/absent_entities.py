"""Fills in the windows of a source in which an entity did not exist: it did nothing in them.

A device that exists only for a moment, such as a snapshot or a container's volume, is in few reports of its source.
Its rate while it existed is not the step's, and the rates of several such devices cannot be added.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sanpath.facts.samples.counters import Overall
from sanpath.facts.samples.step_samples import StepSamples


def over_whole_steps(samples: Iterable[StepSamples]) -> list[StepSamples]:
    """Return samples over the windows in which their source was read: those of its longest-lived entity. An entity
    whose windows end at other times is read separately, and is left as it is."""
    found = list(samples)
    longest: dict[tuple[str, str], StepSamples] = {}
    for sample in found:
        key = (sample.source, sample.step)
        if key not in longest or sample.length_seconds > longest[key].length_seconds:
            longest[key] = sample
    return [_filled(sample, longest[sample.source, sample.step]) for sample in found]


def _filled(sample: StepSamples, whole: StepSamples) -> StepSamples:
    if not 0 < sample.length_seconds < whole.length_seconds:
        return sample
    if not sample.seconds:
        return replace(sample, overall=_thinned(sample.overall, whole)) if sample.overall is not None else sample
    missing = dict(zip(whole.ended_us, whole.seconds, strict=True))
    if not missing.keys() >= set(sample.ended_us):
        return sample
    for ended_us in sample.ended_us:
        missing.pop(ended_us, None)
    return replace(
        sample,
        seconds=[*sample.seconds, *missing.values()],
        ended_us=[*sample.ended_us, *missing],
        rates={counter: [*rates, *(0.0 for _ in missing)] for counter, rates in sample.rates.items()},
        mean_rates={},
    )


def _thinned(overall: Overall, whole: StepSamples) -> Overall:
    share = overall.seconds / whole.length_seconds
    rates = {counter: None if rate is None else share * rate for counter, rate in overall.rates.items()}
    return replace(overall, windows=whole.windows, seconds=whole.length_seconds, rates=rates)
