"""Judges a step by its slow periods: a limit that acts only for a while does not show in the mean of the step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sanpath.diagnosis.model import Bottleneck
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.time.slow_periods import SlowPeriods
from sanpath.units import duration, percent
from sanpath.verdict.judgement.load_parts import is_limited, judge_parts, same_verdict
from sanpath.verdict.model import Judgement

_DECIDING_RATIO = 0.2
"""Share of the mean latency that slow periods must cause before their limit becomes the limit of the step: sanpath's
own choice."""


def judge_loads(facts: Facts, loads: Sequence[LoadFacts]) -> list[Judgement]:
    """One judgement for each load, on the hosts that it ran on in its step."""
    judgements = judge_parts(facts, loads)
    if facts.slowed is None:
        return judgements
    of_slowed = {_key(judgement.load): judgement for judgement in judge_parts(facts.slowed, facts.slowed.loads)}
    periods = {each.step.name: each for each in facts.slow_periods}
    return [
        _judge_step(judgement, of_slowed.get(_key(judgement.load)), periods.get(judgement.load.step))
        for judgement in judgements
    ]


def _key(load: LoadFacts) -> tuple[str, str, str]:
    return load.step, load.entity, load.direction


def _judge_step(judgement: Judgement, slowed: Judgement | None, periods: SlowPeriods | None) -> Judgement:
    """The judgement of a step: the limit of its slow periods, unless the whole step shows another limit."""
    if slowed is None or periods is None or periods.latency_ratio < _DECIDING_RATIO or not is_limited(slowed):
        return judgement
    if is_limited(judgement) and not (same_verdict(judgement, slowed) and judgement.grade == "C"):
        return judgement
    words = (
        f"I/Os take {duration(slowed.load.latency_seconds)} for {percent(periods.time_ratio)} of the time and "
        f"{duration(judgement.load.latency_seconds)} on average, with the same number outstanding: judged by "
        "the slow periods"
    )
    return replace(
        slowed,
        load=judgement.load,
        grade=max("B", slowed.grade),
        because=(*slowed.because[:1], words, *slowed.because[1:]),
        bottlenecks=tuple(_bottleneck_of_step(each, words, periods) for each in slowed.bottlenecks),
        following=None,
        wait_seconds=slowed.wait_seconds and periods.latency_ratio * judgement.load.latency_seconds,
    )


def _bottleneck_of_step(bottleneck: Bottleneck, words: str, periods: SlowPeriods) -> Bottleneck:
    """A bottleneck of slow periods as a bottleneck of the step. It limits only for a while, so it has no ceiling:
    without it, the load would always reach the throughput of the rest of the step."""
    return replace(
        bottleneck,
        ceiling_bytes_per_second=None,
        ceiling_ops_per_second=None,
        explains=periods.latency_ratio,
        because=(*bottleneck.because[:1], words, *bottleneck.because[1:]),
        time_ratio=periods.time_ratio,
    )
