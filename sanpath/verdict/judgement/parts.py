"""Judges a load as a whole and by its parts: what one host or device waits for need not limit the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sanpath.diagnosis.model import Bottleneck
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.topology.paths import hosts_of
from sanpath.units import count, duration, outstanding
from sanpath.verdict.judgement.judge import judge_all
from sanpath.verdict.model import Judgement

_AS_MANY = 0.7
"""Parts of which one has at least this share of the other's I/Os in flight have about as many."""
_COUNTS = 0.1
"""Share of the I/Os in flight of the part with the most from which another part counts."""
_MOST = 0.6
"""Share of the I/Os in flight beyond which a part is most of the load: clearly more than half of it."""
_POSSIBLE = 0.05
"""Probability from which I/Os may wait for a suspect."""
_NOTHING_LIMITS = ("healthy", "demand_limited", "concurrency_limited")
"""Verdicts that acquit: these need all I/Os together."""


def judge_parts(facts: Facts, loads: Sequence[LoadFacts]) -> list[Judgement]:
    """One judgement for each load, on the hosts that it ran on in its step."""
    of_parts = [judged for part in facts.parts for judged in judge_all(part, part.loads)]
    return [
        _of_all(facts, judged, [part for part in of_parts if part.load.whole is judged.load])
        for judged in judge_all(facts, loads)
    ]


def _of_all(facts: Facts, together: Judgement, parts: Sequence[Judgement]) -> Judgement:
    """The judgement of a load from that of all its I/Os together and those of its parts.

    The means of all I/Os show what all parts share. What belongs to one of them, such as its queue, is the limit only
    if the I/Os of that part wait for it. The part with the most I/Os in flight decides, of several with about as many
    one that is limited.
    """
    most = max((part.load.in_flight_measured for part in parts), default=0.0)
    parts = [part for part in parts if part.load.in_flight_measured >= _COUNTS * most]
    if not parts:
        return together
    alike = [part for part in parts if part.load.in_flight_measured >= _AS_MANY * most]
    limited = [part for part in alike if part.bottlenecks or part.kind == "generator_limited"] or alike
    deciding = max(limited, key=lambda part: part.load.in_flight_measured)
    stands = _is_named_by_any(together, limited) or _stands_open(facts, together, deciding, parts)
    found = together if stands else _of_part(facts, together, deciding)
    named = {element for bottleneck in found.bottlenecks for element in bottleneck.elements}
    others = (
        _in_all(bottleneck, part.load, together.load)
        for part in parts
        for bottleneck in part.bottlenecks
        if named and named.isdisjoint(bottleneck.elements)
    )
    return replace(found, bottlenecks=(*found.bottlenecks, *others))


def _is_named_by_any(together: Judgement, parts: Sequence[Judgement]) -> bool:
    """Whether a part by itself is judged as all I/Os together are."""
    first = {element for bottleneck in together.bottlenecks[:1] for element in bottleneck.elements}
    return together.kind != "cannot_tell" and any(
        part.kind == together.kind and (not first or any(not first.isdisjoint(b.elements) for b in part.bottlenecks))
        for part in parts
    )


def _stands_open(facts: Facts, together: Judgement, deciding: Judgement, parts: Sequence[Judgement]) -> bool:
    """Whether the judgement of all I/Os stands although the part that decides does not confirm it.

    That part finds that nothing limits, and neither do all I/Os show a limit. Or it leaves open what is possible for
    it, where it is most of the load, or for all parts, or what the parts share: they are of one host.
    """
    if deciding.kind in _NOTHING_LIMITS:
        return together.kind in ("cannot_tell", *_NOTHING_LIMITS)
    if deciding.kind != "cannot_tell":
        return False
    if deciding.load.in_flight_measured > _MOST * together.load.in_flight_measured:
        return together.kind != "cannot_tell" and _is_possible(together, deciding)
    return len(_hosts_of(facts, together.load)) < 2 or all(_is_possible(together, part) for part in parts)


def _is_possible(together: Judgement, part: Judgement) -> bool:
    """Whether the I/Os of a part may wait for what all I/Os together most probably wait for."""
    first = next(((s.verdict, s.entity) for s in together.suspects), None)
    return any((s.verdict, s.entity) == first and s.probability >= _POSSIBLE for s in part.suspects)


def _hosts_of(facts: Facts, load: LoadFacts) -> list[str]:
    return list(dict.fromkeys(host for root in load.roots for host in hosts_of(facts.topology, root)))


def _of_part(facts: Facts, together: Judgement, part: Judgement) -> Judgement:
    """The judgement of a part as that of all."""
    load, entities = part.load, facts.topology.entities
    own_hosts, all_hosts = _hosts_of(facts, load), _hosts_of(facts, together.load)
    names = own_hosts if own_hosts and len(own_hosts) < len(all_hosts) else load.jobs
    labels = ", ".join(entities[name].label.rpartition("/")[2] for name in names if name in entities)
    words = (
        f"judged by {labels}: {count(load.in_flight_measured)} of {outstanding(together.load.in_flight_measured)}, "
        f"at {duration(load.latency_seconds)} each"
    )
    because = (*part.because[:1], words, *part.because[1:])
    bottlenecks = tuple(_in_all(bottleneck, load, together.load) for bottleneck in part.bottlenecks)
    return replace(part, load=together.load, because=because, bottlenecks=bottlenecks, following=None)


def _in_all(bottleneck: Bottleneck, part: LoadFacts, load: LoadFacts) -> Bottleneck:
    """The bottleneck of a part as one of the load: while the other parts go on, and for all I/Os on average."""
    of_bytes, of_ops, gone = (
        bottleneck.ceiling_bytes_per_second,
        bottleneck.ceiling_ops_per_second,
        bottleneck.explains,
    )
    return replace(
        bottleneck,
        ceiling_bytes_per_second=of_bytes and of_bytes + load.bytes_per_second - part.bytes_per_second,
        ceiling_ops_per_second=of_ops and of_ops + load.ops_per_second - part.ops_per_second,
        explains=gone and gone * part.in_flight_measured / load.in_flight_measured,
    )
