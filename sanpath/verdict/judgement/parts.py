"""Judges a load as a whole and by its parts: what one host or device waits for need not limit the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sanpath.diagnosis.model import Bottleneck, Grade
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.load_volumes import array_side, array_time
from sanpath.topology.paths import hosts_of_all
from sanpath.units import count, duration, outstanding
from sanpath.verdict.hypotheses.claim import name_of
from sanpath.verdict.judgement.judge import judge_all
from sanpath.verdict.model import Judgement

_AS_MANY = 0.7
"""Parts that have at least this share of the I/Os in flight of others have about as many."""
_COUNTS = 0.1
"""Share of the I/Os in flight of the part with the most from which another part counts."""
_MOST, _ALL = 0.6, 0.99
"""Shares of the I/Os in flight from which a part is most of the load, clearly more than half of it, and all of it."""
_LEAST_SHARE: dict[Grade, float] = {"A": 0.9, "B": _MOST}
"""The share of the I/Os in flight that parts need for a grade of what they show; less is C. sanpath's own choice."""
_POSSIBLE = 0.05
"""Probability from which I/Os may wait for a suspect."""
_NOTHING_LIMITS = ("healthy", "demand_limited", "concurrency_limited")
"""Verdicts that acquit."""


def judge_parts(facts: Facts, loads: Sequence[LoadFacts]) -> list[Judgement]:
    """One judgement for each load, on the hosts that it ran on in its step."""
    if facts.parts_left_out:
        words = f"all hosts and targets together: {facts.parts_left_out} are too many to judge each"
        return [replace(j, because=(*j.because, words)) for j in judge_all(facts, loads)]
    of_parts = [(part, judged) for part in facts.parts for judged in judge_all(part, part.loads)]
    result = []
    for together in judge_all(facts, loads):
        own = [(part, judged) for part, judged in of_parts if judged.load.whole == together.load]
        sees_less = _times_array(facts, together) and not any(_times_array(*each) for each in own)
        result.append(_of_all(facts, together, [judged for _, judged in own], sees_less=sees_less))
    return result


def _times_array(facts: Facts, judged: Judgement) -> bool:
    """Whether an array's own clock times the I/Os of a judgement, and no others."""
    load = judged.load
    return array_time(load, array_side(facts.topology, load, facts.tables)) is not None


def _of_all(facts: Facts, together: Judgement, parts: Sequence[Judgement], *, sees_less: bool) -> Judgement:
    """The judgement of a load from that of all its I/Os together and those of its parts.

    The means of all I/Os show what all parts share. What belongs to one of them, such as its queue, is the limit only
    if the I/Os of that part wait for it. What holds for most I/Os in flight decides: that something limits them, that
    nothing does, or that it is open. `sees_less`: the array times all I/Os together, and not those of any part, whose
    queues may be full because of it: what all show stands, unless they show nothing and a part is sure.
    """
    most = max((part.load.in_flight_measured for part in parts), default=0.0)
    parts = [part for part in parts if part.load.in_flight_measured >= _COUNTS * most]
    limited = [part for part in parts if is_limited(part)]
    acquitted = [part for part in parts if part.kind in _NOTHING_LIMITS]
    undecided = [part for part in parts if not is_limited(part) and part.kind not in _NOTHING_LIMITS]
    if not parts or most >= _ALL * together.load.in_flight_measured:
        return together
    if sees_less and (together.bottlenecks or all(part.grade == "C" for part in limited)):
        return together
    if limited and _in_flight(limited) >= _AS_MANY * max(_in_flight(acquitted), _in_flight(undecided)):
        return _of_limited(facts, together, limited, acquitted, undecided)
    if _in_flight(acquitted) >= _in_flight(undecided):
        found = _of_acquitted(facts, together, acquitted)
        grade = "C" if limited else max(found.grade, _grade_of_share(acquitted, undecided))
        return _with_words(facts, replace(found, grade=grade), limited)
    largest = _AS_MANY * max(part.load.in_flight_measured for part in undecided)
    if any(name_the_same(together, part) and part.load.in_flight_measured >= largest for part in limited):
        return replace(together, grade="C")  # What is open of the other parts does not contradict it.
    # Of parts with about as many I/Os in flight, those wait that take longer.
    deciding = max(_about_as_many(undecided), key=lambda part: part.load.latency_seconds)
    stands = _stands_open(facts, together, deciding, parts)
    return _with_words(facts, together if stands else _of_part(facts, together, deciding), limited)


def _of_acquitted(facts: Facts, together: Judgement, acquitted: Sequence[Judgement]) -> Judgement:
    """The judgement of a load of whose I/Os nothing limits most."""
    if together.kind in ("cannot_tell", *_NOTHING_LIMITS):
        return together
    return _of_part(facts, together, max(acquitted, key=lambda part: part.load.in_flight_measured))


def _of_limited(
    facts: Facts,
    together: Judgement,
    limited: Sequence[Judgement],
    acquitted: Sequence[Judgement],
    undecided: Sequence[Judgement],
) -> Judgement:
    """The judgement of a load most of whose parts are limited. What limits the parts with the most I/Os in flight
    comes first. What is open of other parts does not contradict what all I/Os together show."""

    def held_with(part: Judgement) -> float:
        return _in_flight([each for each in limited if name_the_same(part, each)])

    deciding = max(limited, key=lambda part: (held_with(part), part.load.in_flight_measured))
    first = [part for part in limited if held_with(part) >= _AS_MANY * held_with(deciding)]
    is_most = deciding.load.in_flight_measured > _MOST * together.load.in_flight_measured
    # What one part alone names, such as its queue, is judged by its own I/Os.
    stands = not is_most and sum(name_the_same(together, part) for part in first) > 1
    found = together if stands else _of_part(facts, together, deciding)
    grade = max(found.grade, _grade_of_share(limited, [*acquitted, *(() if stands else undecided)]))
    named = {element for bottleneck in found.bottlenecks for element in bottleneck.elements}
    others = [
        _in_all(bottleneck, part.load, together.load)
        for part in limited
        for bottleneck in part.bottlenecks
        if named.isdisjoint(bottleneck.elements)
    ]
    found = replace(found, grade=grade, bottlenecks=(*found.bottlenecks, *(others if named else ())))
    # The load's own side is no element that the verdict could list.
    return _with_words(facts, found, [part for part in limited if not part.bottlenecks and part.kind != found.kind])


def _grade_of_share(decided: Sequence[Judgement], others: Sequence[Judgement]) -> Grade:
    """The best grade of what some parts show, by their share of the I/Os in flight. `others`: those that do not show
    it: what is open of a part may be what limits all."""
    share = _in_flight(decided) / _in_flight([*decided, *others])
    return next((grade for grade, least in _LEAST_SHARE.items() if share >= least), "C")


def is_limited(judged: Judgement) -> bool:
    """Whether something limits the I/Os of a judgement, be it the load's own side."""
    return bool(judged.bottlenecks) or judged.kind == "generator_limited"


def _in_flight(parts: Sequence[Judgement]) -> float:
    return sum(part.load.in_flight_measured for part in parts)


def _about_as_many(parts: Sequence[Judgement]) -> list[Judgement]:
    """The parts with about as many I/Os in flight as the one with the most."""
    most = max(part.load.in_flight_measured for part in parts)
    return [part for part in parts if part.load.in_flight_measured >= _AS_MANY * most]


def name_the_same(judged: Judgement, part: Judgement) -> bool:
    """Whether a judgement comes to the same verdict as that of some of its I/Os, about an element that both name."""
    first = {element for bottleneck in judged.bottlenecks[:1] for element in bottleneck.elements}
    named = {element for bottleneck in part.bottlenecks for element in bottleneck.elements}
    return judged.kind == part.kind and (not first or not first.isdisjoint(named))


def _stands_open(facts: Facts, together: Judgement, deciding: Judgement, parts: Sequence[Judgement]) -> bool:
    """Whether the judgement of all I/Os stands although a part leaves open what limits it.

    Where that part is most of the load, it stands if it names what is possible for the part. Else it stands if what
    it says first is possible for all parts; or for none, if these are of one host and share what no part shows.
    """
    if deciding.load.in_flight_measured > _MOST * together.load.in_flight_measured:
        return together.kind != "cannot_tell" and _is_possible(together, deciding)
    possible = [_is_possible(together, part) for part in parts]
    return all(possible) or (not any(possible) and len(_hosts_of(facts, together.load)) < 2)


def _is_possible(together: Judgement, part: Judgement) -> bool:
    """Whether the I/Os of a part may wait for what all I/Os together most probably wait for."""
    return any(
        suspect.verdict == first.verdict
        and suspect.place == first.place
        and suspect.entity in (first.entity, *first.coincident)
        and suspect.probability >= _POSSIBLE
        for first in together.suspects[:1]
        for suspect in part.suspects
    )


def _hosts_of(facts: Facts, load: LoadFacts) -> list[str]:
    return hosts_of_all(facts.topology, load.roots)


def _of_part(facts: Facts, together: Judgement, part: Judgement) -> Judgement:
    """The judgement of a part as that of all."""
    load = part.load
    words = (
        f"judged by {_label(facts, together, part)}: {count(load.in_flight_measured)} of "
        f"{outstanding(together.load.in_flight_measured)}, at {duration(load.latency_seconds)} each"
    )
    own = (_in_all(bottleneck, load, together.load) for bottleneck in part.bottlenecks)
    return replace(
        part,
        load=together.load,
        because=(*part.because[:1], words, *part.because[1:]),
        part=words,
        wait_seconds=_of_all_ios(part.wait_seconds, load, together.load),
        bottlenecks=tuple(replace(b, because=(*b.because[:1], words, *b.because[1:])) for b in own),
        following=None,
        # A number of outstanding I/Os would be that of the part.
        experiments=tuple(e for e in part.experiments if e.in_flight is None) or together.experiments,
    )


def _of_all_ios(seconds: float | None, part: LoadFacts, load: LoadFacts) -> float | None:
    """What an I/O of a part waits, as the mean over all I/Os."""
    return None if seconds is None else seconds * part.ops_per_second / load.ops_per_second


def _with_words(facts: Facts, judged: Judgement, limited: Sequence[Judgement]) -> Judgement:
    """A judgement with words for the parts that are limited although the others are not."""
    words = (
        f"{name} limits {_label(facts, judged, part)}: {count(part.load.in_flight_measured)} of "
        f"{outstanding(judged.load.in_flight_measured)}"
        for part in limited
        for name in _limits(part)
    )
    return replace(judged, because=(*judged.because, *words))


def _limits(part: Judgement) -> Iterator[str]:
    if not part.bottlenecks and part.suspects:
        yield name_of(part.suspects[0])
    yield from (bottleneck.entity for bottleneck in part.bottlenecks)


def _label(facts: Facts, together: Judgement, part: Judgement) -> str:
    """The name of a part: that of its hosts, where others have the other parts, else of its jobs."""
    entities, hosts = facts.topology.entities, _hosts_of(facts, part.load)
    names = hosts if 0 < len(hosts) < len(_hosts_of(facts, together.load)) else part.load.jobs
    return ", ".join(entities[name].label.rpartition("/")[2] for name in names if name in entities)


def _in_all(bottleneck: Bottleneck, part: LoadFacts, load: LoadFacts) -> Bottleneck:
    """The bottleneck of a part as one of the load: while the other parts go on, and for all I/Os on average."""

    def with_others(ceiling: float | None, of_load: float, of_part: float) -> float | None:
        return None if ceiling is None else ceiling + of_load - of_part

    share = part.in_flight_measured / load.in_flight_measured
    return replace(
        bottleneck,
        ceiling_bytes_per_second=with_others(
            bottleneck.ceiling_bytes_per_second, load.bytes_per_second, part.bytes_per_second
        ),
        ceiling_ops_per_second=with_others(
            bottleneck.ceiling_ops_per_second, load.ops_per_second, part.ops_per_second
        ),
        explains=None if bottleneck.explains is None else bottleneck.explains * share,
    )
