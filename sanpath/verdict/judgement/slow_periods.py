"""Judges a step by its slow periods: what holds as many I/Os for longer, and for a while only, hides in a mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sanpath.diagnosis.model import Bottleneck
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.time.slow_periods import SlowPeriods
from sanpath.units import duration, percent
from sanpath.verdict.judgement.parts import is_limited, judge_parts, name_the_same
from sanpath.verdict.model import Judgement

_DECIDES = 0.2
"""Share of the mean latency that passes because of slow periods, from which what limits them limits the step:
sanpath's own choice."""


def judge_loads(facts: Facts, loads: Sequence[LoadFacts]) -> list[Judgement]:
    """One judgement for each load, on the hosts that it ran on in its step."""
    judgements = judge_parts(facts, loads)
    if facts.slowed is None:
        return judgements
    of_slowed = {_key(judged.load): judged for judged in judge_parts(facts.slowed, facts.slowed.loads)}
    periods = {each.step.name: each for each in facts.slow_periods}
    return [
        _of_step(judged, of_slowed.get(_key(judged.load)), periods.get(judged.load.step)) for judged in judgements
    ]


def _key(load: LoadFacts) -> tuple[str, str, str]:
    return load.step, load.entity, load.direction


def _of_step(judged: Judgement, slowed: Judgement | None, periods: SlowPeriods | None) -> Judgement:
    """The judgement of a step: what limits its slow periods, unless all of it shows something else that does."""
    if slowed is None or periods is None or periods.latency_ratio < _DECIDES or not is_limited(slowed):
        return judged
    if is_limited(judged) and not (name_the_same(judged, slowed) and judged.grade == "C"):
        return judged
    words = (
        f"in {percent(periods.time_ratio)} of the time as many I/Os take {duration(slowed.load.latency_seconds)}, "
        f"{duration(judged.load.latency_seconds)} in the mean: judged by that time"
    )
    return replace(
        slowed,
        load=judged.load,
        grade=max("B", slowed.grade),
        because=(*slowed.because[:1], words, *slowed.because[1:]),
        bottlenecks=tuple(_in_step(each, words, periods) for each in slowed.bottlenecks),
        following=None,
        wait_seconds=slowed.wait_seconds and periods.latency_ratio * judged.load.latency_seconds,
    )


def _in_step(bottleneck: Bottleneck, words: str, periods: SlowPeriods) -> Bottleneck:
    """The bottleneck of slow periods as one of the step. It limits for a while only, so that it has no ceiling, and
    without it the load would have what it has in the rest of the time."""
    return replace(
        bottleneck,
        ceiling_bytes_per_second=None,
        ceiling_ops_per_second=None,
        explains=periods.latency_ratio,
        because=(*bottleneck.because[:1], words, *bottleneck.because[1:]),
        time_ratio=periods.time_ratio,
    )
