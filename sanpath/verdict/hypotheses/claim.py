"""A claim: one explanation of what limits a load, which waits it explains, and the evidence for and against it.

Evidence is a log-likelihood ratio: how much more probable a reading is if the claim holds than if it does not. So
readings add up, and no threshold is a cliff. A value that was not read counts nothing either way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict, Unpack

from sanpath.diagnosis.experiment import SUSPECT_WORDS, VerdictKind
from sanpath.diagnosis.model import Bottleneck, Next, Suspect
from sanpath.facts.load.loads import LoadFacts
from sanpath.verdict.places.host_queues import wait_at
from sanpath.verdict.places.table import PlaceTable

Growth = Literal["saturates", "follows", "any"]
"""What throughput does with more I/Os in flight if the claim holds: it saturates, it grows with them, or either."""

UNREAD = -0.5
"""Log-odds of a place that no source reads, against a place whose own counter could have shown the limit."""
SELDOM = -1.0
"""Log-odds, before any reading, of what seldom limits: processors of a machine (strong machines test storage), a core
(adapters spread their interrupts), a hypervisor's thread (it serves some 100,000 I/Os a second), a data sheet's
promise, and a plateau that stands at a link's payload by chance."""
_TAKEN = 1.5
"""Log-likelihood ratio of what is full and shared where the test's gain is others' loss."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A reading in words, with its log-likelihood ratio as `weight`: a positive one speaks for the claim.

    `about_slots`: it says how full a queue is in one step, whatever limits below that queue.
    """

    words: str
    weight: float
    about_slots: bool = False


def weighed(weight: float, words: str) -> list[Evidence]:
    """A reading as evidence; none where it weighs nothing."""
    return [Evidence(words, weight)] if weight else []


def taken_from_others(table: PlaceTable) -> list[Evidence]:
    """Evidence for a full element that others use too: what the test gains with more I/Os in flight, they lose."""
    words = "the array as a whole does no more than at a lower load: what the test gained, others lost"
    return [Evidence(words, _TAKEN)] if table.takes_from_others else []


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a claim states once it is believed. `following`: what would limit next, None: unknown."""

    bottlenecks: tuple[Bottleneck, ...]
    because: tuple[str, ...]
    following: Next | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """One explanation of what limits a load: by default an element that is saturated.

    `explains`: indices of the segments whose wait it explains; it also explains full queues above them. `conclude`:
    gives the words and figures for the verdict, from this claim and those of its kind that cannot be separated from
    it. `prior`: log-odds before any reading. `hidden`: its wait may be where no clock measures.
    `independent_of_load`: it delays an I/O even with no other I/O in flight. `group`: claims of the same group may
    hold together, such as full links in a row; None: it stands by itself. `may_explain`: segments whose wait it may
    also account for, but not alone. `others_share`: share of what it serves that is not the test's, 0 if unknown.
    `probability`: among all claims about the load, once they are weighed against each other. `place`: where it is, in
    words, if no entity is known. `machine`: whose processors limit all together.
    """

    kind: str
    entity: str | None
    explains: frozenset[int]
    evidence: Sequence[Evidence]
    conclude: Callable[[Sequence[Claim]], Conclusion] = lambda _: Conclusion((), ())
    prior: float = 0.0
    verdict: VerdictKind = "bottleneck"
    growth: Growth = "saturates"
    hidden: bool = False
    independent_of_load: bool = False
    group: str | None = None
    may_explain: frozenset[int] = frozenset()
    others_share: float = 0.0
    probability: float = 0.0
    place: str = ""
    machine: str | None = None


def name_of(claim: Claim | Suspect) -> str:
    """The name of a suspect for people."""
    if claim.kind == "path_policy":
        return "the path policy"
    if claim.entity is not None:
        return claim.entity
    return claim.place or SUSPECT_WORDS.get(claim.verdict, "something not measured")


def probability_of(group: Sequence[Claim]) -> float:
    """The probability that one of several claims is right."""
    return sum(claim.probability for claim in group)


class StatedFields(TypedDict, total=False):
    """Fields of Bottleneck that a hypothesis states itself."""

    entity: str
    direction: str
    utilisation: float | None
    coincident: Sequence[str]
    limited_by: str | None
    wait_at: str | None
    culprit: str | None
    victims: Sequence[str]
    explains: float | None
    by_exclusion: bool


def conclusion_of(
    table: PlaceTable,
    layer: str,
    because: Sequence[str],
    overturn_if: Sequence[str],
    *,
    waits_inside: bool = False,
    ceiling_ratio: float | None = 1.0,
    following: Next | None = None,
    **stated: Unpack[StatedFields],
) -> Callable[[Sequence[Claim]], Conclusion]:
    """A function that concludes that the element of the first claim limits the load of a table, and those of the
    others with it.

    `waits_inside`: the I/Os wait in the element itself, also where a queue above it holds most of them.
    `ceiling_ratio`: throughput at the limit over what the load reached, None: not known. `following`: as of
    Conclusion. `stated`: other fields of Bottleneck, or another entity than that of the claim.
    """

    def conclude(claims: Sequence[Claim]) -> Conclusion:
        load = table.load
        entity = str(stated.get("entity", claims[0].entity))
        others = dict.fromkeys(str(claim.entity) for claim in claims if claim.entity != entity)
        fields: StatedFields = {
            "direction": load.direction,
            "coincident": tuple(others),
            "wait_at": entity if waits_inside else wait_at(table.facts, load, entity),
            **stated,
            "entity": entity,
        }
        bottleneck = Bottleneck(
            kind=claims[0].kind,
            layer=layer,
            ceiling_bytes_per_second=ceiling_ratio and (load.bytes_per_second * ceiling_ratio or None),
            ceiling_ops_per_second=ceiling_ratio and load.ops_per_second * ceiling_ratio,
            because=tuple(because),
            overturn_if=tuple(overturn_if),
            **fields,
        )
        return Conclusion((bottleneck,), tuple(because), following)

    return conclude


def of_the_load(
    verdict: VerdictKind,
    explains: frozenset[int],
    evidence: Sequence[Evidence],
    because: Sequence[str],
    growth: Growth = "saturates",
    prior: float = 0.0,
    place: str = "",
    machine: str | None = None,
) -> Claim:
    """A claim that the load, or the machine that it runs on, is the limit; it names no element."""
    conclusion = Conclusion((), tuple(because))
    return Claim(
        kind=verdict,
        entity=None,
        explains=explains,
        evidence=tuple(evidence),
        conclude=lambda _: conclusion,
        prior=prior,
        verdict=verdict,
        growth=growth,
        hidden=True,
        place=place,
        machine=machine,
    )


def share_gone(seconds: float, latency_seconds: float) -> float:
    """Share of a latency that goes if only `seconds` of it are left, 0 to 1."""
    return min(1.0, max(0.0, 1 - seconds / latency_seconds))


def next_of(load: LoadFacts, entity: str, change: str, high: float) -> Next:
    """The next limit, which lies between what the load reached and `high` operations a second."""
    low, in_flight = load.ops_per_second, load.in_flight_measured
    return Next(entity, change, (low, high), (in_flight / high, in_flight / low))


def gain_of(following: Next | None, load: LoadFacts) -> float | None:
    """Share of the latency that goes with the limit: (R - R without it) / R at the same number in flight.

    What limits next gives R without the limit. None: that is unknown.
    """
    return None if following is None else share_gone(following.predicted_latency_seconds[0], load.latency_seconds)
