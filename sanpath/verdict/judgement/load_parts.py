"""Judges a load as a whole and by its parts: what limits one host or device need not limit the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sanpath.diagnosis.model import Bottleneck, Grade
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.load_volumes import array_side, array_time
from sanpath.topology.paths import hosts_of_all
from sanpath.units import count, duration, outstanding
from sanpath.verdict.hypotheses.claim import suspect_name
from sanpath.verdict.judgement.judge import judge_all
from sanpath.verdict.model import Judgement

_SIMILAR_RATIO = 0.7
"""Ratio of the I/Os in flight from which two groups of parts are about equally large."""
_COUNTING_RATIO = 0.1
"""Share of the largest part's I/Os in flight from which another part counts."""
_MOST_RATIO, _ALL_RATIO = 0.6, 0.99
"""Shares of the I/Os in flight from which a part is most of the load (clearly more than half), and all of it."""
_MIN_SHARE_BY_GRADE: dict[Grade, float] = {"A": 0.9, "B": _MOST_RATIO}
"""Share of the I/Os in flight that parts need for a grade of their verdict; with less it is C. sanpath's own
choice."""
_POSSIBLE_PROBABILITY = 0.05
"""Probability from which I/Os may be waiting for a suspect."""
_NOTHING_LIMITS = ("healthy", "demand_limited", "concurrency_limited")
"""Verdicts that nothing limits."""


def judge_parts(facts: Facts, loads: Sequence[LoadFacts]) -> list[Judgement]:
    """One judgement for each load, on the hosts that it ran on in its step."""
    if facts.parts_left_out:
        words = f"judged together: {facts.parts_left_out} hosts and targets are too many to judge separately"
        return [replace(j, because=(*j.because, words)) for j in judge_all(facts, loads)]
    of_parts = [(part, judgement) for part in facts.parts for judgement in judge_all(part, part.loads)]
    result = []
    for together in judge_all(facts, loads):
        own = [(part, judgement) for part, judgement in of_parts if judgement.load.whole == together.load]
        timed_together = _times_array(facts, together) and not any(_times_array(*each) for each in own)
        result.append(_combined(facts, together, [judgement for _, judgement in own], timed_together=timed_together))
    return result


def _times_array(facts: Facts, judgement: Judgement) -> bool:
    """Whether an array's own clock times the I/Os of a judgement, and no others."""
    load = judgement.load
    return array_time(load, array_side(facts.topology, load, facts.tables)) is not None


def _combined(facts: Facts, together: Judgement, parts: Sequence[Judgement], *, timed_together: bool) -> Judgement:
    """The judgement of a load, from the judgement of all its I/Os together and those of its parts.

    The means of all I/Os show what the parts share. An element that belongs to one part, such as its queue, is the
    limit only if that part's I/Os wait for it. The verdict of most I/Os in flight decides: something limits them,
    nothing does, or it is undecided. `timed_together`: the array times all I/Os together, but not those of any part.
    A part's queue may then be full because of the array, so the judgement of all I/Os stands, unless it names nothing
    and a part is certain.
    """
    most = max((part.load.in_flight_measured for part in parts), default=0.0)
    parts = [part for part in parts if part.load.in_flight_measured >= _COUNTING_RATIO * most]
    limited = [part for part in parts if is_limited(part)]
    acquitted = [part for part in parts if part.kind in _NOTHING_LIMITS]
    undecided = [part for part in parts if not is_limited(part) and part.kind not in _NOTHING_LIMITS]
    if not parts or most >= _ALL_RATIO * together.load.in_flight_measured:
        return together
    if timed_together and (together.bottlenecks or all(part.grade == "C" for part in limited)):
        return together
    if limited and _in_flight(limited) >= _SIMILAR_RATIO * max(_in_flight(acquitted), _in_flight(undecided)):
        return _combined_limit(facts, together, limited, acquitted, undecided)
    if _in_flight(acquitted) >= _in_flight(undecided):
        found = _combined_acquittal(facts, together, acquitted)
        grade = "C" if limited else max(found.grade, _best_grade(acquitted, undecided))
        return _with_words(facts, replace(found, grade=grade), limited)
    largest = _SIMILAR_RATIO * max(part.load.in_flight_measured for part in undecided)
    if any(same_verdict(together, part) and part.load.in_flight_measured >= largest for part in limited):
        return replace(together, grade="C")  # An undecided part does not contradict this verdict.
    # Of parts with about the same number of I/Os in flight, the slower ones wait.
    deciding = max(_largest_parts(undecided), key=lambda part: part.load.latency_seconds)
    stands = _undecided_stands(facts, together, deciding, parts)
    return _with_words(facts, together if stands else _part_as_whole(facts, together, deciding), limited)


def _combined_acquittal(facts: Facts, together: Judgement, acquitted: Sequence[Judgement]) -> Judgement:
    """The judgement of a load if nothing limits most of its I/Os."""
    if together.kind in ("cannot_tell", *_NOTHING_LIMITS):
        return together
    return _part_as_whole(facts, together, max(acquitted, key=lambda part: part.load.in_flight_measured))


def _combined_limit(
    facts: Facts,
    together: Judgement,
    limited: Sequence[Judgement],
    acquitted: Sequence[Judgement],
    undecided: Sequence[Judgement],
) -> Judgement:
    """The judgement of a load if most of its parts are limited. The limits of the largest parts come first. Undecided
    parts do not contradict what all I/Os together show."""

    def held_with(part: Judgement) -> float:
        return _in_flight([each for each in limited if same_verdict(part, each)])

    deciding = max(limited, key=lambda part: (held_with(part), part.load.in_flight_measured))
    first = [part for part in limited if held_with(part) >= _SIMILAR_RATIO * held_with(deciding)]
    is_most = deciding.load.in_flight_measured > _MOST_RATIO * together.load.in_flight_measured
    # An element that only one part names, such as its queue, is judged by that part's I/Os. A full array serves all:
    # without a limit of its own, a part only takes from the others.
    is_shared = together.grade != "C" and _is_full_array(together)
    agreeing = [part for part in (limited if is_shared else first) if same_verdict(together, part)]
    stands = not is_most and len(agreeing) > (0 if is_shared else 1)
    found = together if stands else _part_as_whole(facts, together, deciding)
    others = [*acquitted, *(() if stands else undecided)]
    if stands and is_shared:
        others += [part for part in limited if not same_verdict(together, part)]
    grade = max(found.grade, _best_grade(agreeing if stands and is_shared else limited, others))
    named = {element for bottleneck in found.bottlenecks for element in bottleneck.elements}
    listed = [
        _bottleneck_of_load(bottleneck, part.load, together.load)
        for part in limited
        for bottleneck in part.bottlenecks
        if named.isdisjoint(bottleneck.elements)
    ]
    found = replace(found, grade=grade, bottlenecks=(*found.bottlenecks, *(listed if named else ())))
    # The load itself is not an element that the verdict could list.
    return _with_words(facts, found, [part for part in limited if not part.bottlenecks and part.kind != found.kind])


def _is_full_array(judgement: Judgement) -> bool:
    """Whether the first bottleneck of a judgement is a saturated array."""
    return judgement.kind == "bottleneck" and [each.kind for each in judgement.bottlenecks[:1]] == ["array"]


def _best_grade(decided: Sequence[Judgement], others: Sequence[Judgement]) -> Grade:
    """The best grade that some parts support, given their share of the I/Os in flight. `others`: the parts that do
    not show the limit: an undecided part may hold the limit of all."""
    share = _in_flight(decided) / _in_flight([*decided, *others])
    return next((grade for grade, least in _MIN_SHARE_BY_GRADE.items() if share >= least), "C")


def is_limited(judgement: Judgement) -> bool:
    """Whether something limits the I/Os of a judgement, the load itself included."""
    return bool(judgement.bottlenecks) or judgement.kind == "generator_limited"


def _in_flight(parts: Sequence[Judgement]) -> float:
    return sum(part.load.in_flight_measured for part in parts)


def _largest_parts(parts: Sequence[Judgement]) -> list[Judgement]:
    """The parts with about as many I/Os in flight as the largest one."""
    most = max(part.load.in_flight_measured for part in parts)
    return [part for part in parts if part.load.in_flight_measured >= _SIMILAR_RATIO * most]


def same_verdict(judgement: Judgement, part: Judgement) -> bool:
    """Whether two judgements, of all I/Os and of some, come to the same verdict about an element that both name."""
    first = {element for bottleneck in judgement.bottlenecks[:1] for element in bottleneck.elements}
    named = {element for bottleneck in part.bottlenecks for element in bottleneck.elements}
    return judgement.kind == part.kind and (not first or not first.isdisjoint(named))


def _undecided_stands(facts: Facts, together: Judgement, deciding: Judgement, parts: Sequence[Judgement]) -> bool:
    """Whether the judgement of all I/Os stands although the deciding parts are undecided.

    If such a part is most of the load, the judgement stands if it names something possible for that part. Otherwise
    it stands if its first suspect is possible for all parts; or for none, if they are of one host and share what no
    part shows.
    """
    if deciding.load.in_flight_measured > _MOST_RATIO * together.load.in_flight_measured:
        return together.kind != "cannot_tell" and _is_possible(together, deciding)
    possible = [_is_possible(together, part) for part in parts]
    return all(possible) or (not any(possible) and len(_hosts_of(facts, together.load)) < 2)


def _is_possible(together: Judgement, part: Judgement) -> bool:
    """Whether a part's I/Os may wait for the first suspect of all I/Os."""
    return any(
        suspect.verdict == first.verdict
        and suspect.place == first.place
        and suspect.entity in (first.entity, *first.coincident)
        and suspect.probability >= _POSSIBLE_PROBABILITY
        for first in together.suspects[:1]
        for suspect in part.suspects
    )


def _hosts_of(facts: Facts, load: LoadFacts) -> list[str]:
    return hosts_of_all(facts.topology, load.roots)


def _part_as_whole(facts: Facts, together: Judgement, part: Judgement) -> Judgement:
    """The judgement of a part, as the judgement of the whole load."""
    load = part.load
    words = (
        f"judged by {_label(facts, together, part)}: {count(load.in_flight_measured)} of "
        f"{outstanding(together.load.in_flight_measured)}, at {duration(load.latency_seconds)} each"
    )
    own = (_bottleneck_of_load(bottleneck, load, together.load) for bottleneck in part.bottlenecks)
    return replace(
        part,
        load=together.load,
        because=(*part.because[:1], words, *part.because[1:]),
        part=words,
        wait_seconds=_mean_over_all_ios(part.wait_seconds, load, together.load),
        bottlenecks=tuple(replace(b, because=(*b.because[:1], words, *b.because[1:])) for b in own),
        following=None,
        # The proposed number of outstanding I/Os would be the part's.
        experiments=tuple(e for e in part.experiments if e.in_flight is None) or together.experiments,
    )


def _mean_over_all_ios(seconds: float | None, part: LoadFacts, load: LoadFacts) -> float | None:
    """The wait of a part's I/O as a mean over all I/Os of the load."""
    return None if seconds is None else seconds * part.ops_per_second / load.ops_per_second


def _with_words(facts: Facts, judgement: Judgement, limited: Sequence[Judgement]) -> Judgement:
    """A judgement with words for the limited parts, if other parts are not limited."""
    words = (
        f"{name} limits {_label(facts, judgement, part)}: {count(part.load.in_flight_measured)} of "
        f"{outstanding(judgement.load.in_flight_measured)}"
        for part in limited
        for name in _limiter_name(part)
    )
    return replace(judgement, because=(*judgement.because, *words))


def _limiter_name(part: Judgement) -> Iterator[str]:
    if not part.bottlenecks and part.suspects:
        yield suspect_name(part.suspects[0])
    yield from (bottleneck.entity for bottleneck in part.bottlenecks)


def _label(facts: Facts, together: Judgement, part: Judgement) -> str:
    """The name of a part: its hosts, if the other parts have others; else its jobs."""
    entities, hosts = facts.topology.entities, _hosts_of(facts, part.load)
    names = hosts if 0 < len(hosts) < len(_hosts_of(facts, together.load)) else part.load.jobs
    return ", ".join(entities[name].label.rpartition("/")[2] for name in names if name in entities)


def _bottleneck_of_load(bottleneck: Bottleneck, part: LoadFacts, load: LoadFacts) -> Bottleneck:
    """A part's bottleneck as a bottleneck of the load: while the other parts go on, and averaged over all I/Os."""

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
