"""Judges a test of several hosts: each host's part by itself, and from these the test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sanpath.diagnosis.model import Suspect
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.verdict.judgement.judge import judge_all
from sanpath.verdict.model import Judgement

_AS_MANY = 0.7
"""Hosts of which one has at least this share of the other's I/Os in flight have about as many."""
_TAKES_PART = 0.1
"""Share of the I/Os in flight of the busiest host from which another host counts."""
_POSSIBLE = 0.05
"""Probability from which a host's I/Os may wait for an element."""
_NOTHING_LIMITS = ("healthy", "demand_limited", "concurrency_limited")
"""Verdicts that acquit: they need the evidence of all I/Os together."""


def judge_test(facts: Facts, loads: Sequence[LoadFacts]) -> list[Judgement]:
    """One judgement for each load, on the hosts that it ran on in its step."""
    judgements = judge_all(facts, loads)
    by_host = [(host, judge_all(own, own.loads)) for host, own in facts.hosts.items()]
    return [
        _of_test(
            judged,
            [
                (host, own)
                for host, of_host in by_host
                for own in of_host
                if (own.load.step, own.load.direction) == (judged.load.step, judged.load.direction)
            ],
        )
        for judged in judgements
    ]


def _of_test(together: Judgement, by_host: Sequence[tuple[str, Judgement]]) -> Judgement:
    """The judgement of a load from those of its hosts.

    Together they show what all of them share. What belongs to one of them, such as its queue, limits the test only if
    that host's own I/Os wait for it. `together`: as if a single host did all I/Os.
    """
    most = max((judged.load.in_flight_measured for _, judged in by_host), default=0.0)
    parts = [(host, j) for host, j in by_host if j.load.in_flight_measured >= _TAKES_PART * most]
    if len(parts) < 2:
        return together
    alike = [(host, j) for host, j in parts if j.load.in_flight_measured >= _AS_MANY * most]
    limited = [(host, j) for host, j in alike if j.bottlenecks or j.kind == "generator_limited"]
    _, decisive = max(limited or alike, key=lambda part: part[1].load.in_flight_measured)
    is_acquittal = decisive.kind in _NOTHING_LIMITS and together.kind in ("cannot_tell", *_NOTHING_LIMITS)
    if is_acquittal or _agree(together, decisive) or (decisive.kind == "cannot_tell" and _possible_for_all(together, parts)):
        found = together
    else:
        found = replace(decisive, load=together.load)
    named = {element for bottleneck in found.bottlenecks for element in bottleneck.elements}
    others = [b for _, j in parts for b in j.bottlenecks if named.isdisjoint(b.elements)] if found.bottlenecks else []
    return replace(found, bottlenecks=(*found.bottlenecks, *others))


def _agree(together: Judgement, decisive: Judgement) -> bool:
    elements = {e for b in decisive.bottlenecks for e in b.elements}
    same = not together.bottlenecks or not elements.isdisjoint(together.bottlenecks[0].elements)
    return together.kind == decisive.kind and same


def _possible_for_all(together: Judgement, parts: Sequence[tuple[str, Judgement]]) -> bool:
    first = next(iter(together.suspects), None)
    return first is None or all(_is_suspect(first, judged) for _, judged in parts)


def _is_suspect(first: Suspect, judged: Judgement) -> bool:
    return any(
        (suspect.verdict, suspect.entity) == (first.verdict, first.entity) and suspect.probability >= _POSSIBLE
        for suspect in judged.suspects
    )
