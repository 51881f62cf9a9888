"""A claim: one explanation of what limits a load, the waits that it explains, and the evidence for and against it.

Evidence is a log-likelihood ratio: how much more probable a reading is if the claim holds than if it does not. So
readings add up, and no threshold decides alone. A value that was not read counts neither way.
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
"""How throughput responds to more I/Os in flight if the claim holds: it saturates, it follows them, or either."""

UNREAD = -0.5
"""Log-odds of a place that no source reads, relative to a place whose own counter could have shown the limit."""
SELDOM = -1.0
"""Log-odds, before any reading, of things that rarely limit: processors of a machine (strong machines test storage),
a single core (adapters spread their interrupts), a hypervisor's thread (it serves some 100,000 I/Os a second), a data
sheet's figure, and a plateau that matches a link's payload by chance."""
_TAKEN_WEIGHT = 1.5
"""Log-likelihood ratio of a full, shared element if the test's gain was a loss of others."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A reading in words, with its log-likelihood ratio as `weight`: a positive one supports the claim.

    `about_slots`: the reading says how full a queue is in one step, whatever limits below that queue.
    """

    words: str
    weight: float
    about_slots: bool = False


def weighed(weight: float, words: str) -> list[Evidence]:
    """A reading as evidence; nothing if its weight is zero."""
    return [Evidence(words, weight)] if weight else []


def taken_from_others(table: PlaceTable) -> list[Evidence]:
    """Evidence for a full element that others use too: what the test gains with more I/Os in flight, the others
    lose."""
    words = "the array as a whole does no more than at a lower load: what the test gained, others lost"
    return [Evidence(words, _TAKEN_WEIGHT)] if table.takes_from_others else []


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a claim states if it is believed. `following`: what would limit next, None: unknown."""

    bottlenecks: tuple[Bottleneck, ...]
    because: tuple[str, ...]
    following: Next | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """One explanation of what limits a load: by default, a saturated element.

    `explains`: indices of the segments whose wait it explains; it also explains full queues above them. `conclude`:
    gives the words and figures for the verdict, from this claim and those of the same kind that cannot be separated
    from it. `prior`: log-odds before any reading. `hidden`: its wait may be at a place that no clock measures.
    `independent_of_load`: it delays an I/O even if no other I/O is in flight. `group`: claims of one group may hold
    together, such as full links in series; None: it is its own group. `may_explain`: segments whose wait it may
    explain in part, but not alone. `others_share`: share of the work that it does for others, 0 if unknown.
    `probability`: among all claims about the load, after weighing. `place`: where it is, in words, if no entity is
    known. `machine`: the machine whose processors limit as a whole.
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


def suspect_name(claim: Claim | Suspect) -> str:
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
    """Fields of Bottleneck that a hypothesis sets itself."""

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
    """Return a function that concludes that the elements of these claims limit the load, the first claim's element
    first.

    `waits_inside`: the I/Os wait in the element itself, even if a queue above it holds most of them. `ceiling_ratio`:
    throughput at the limit over the reached throughput, None: not known. `following`: as in Conclusion. `stated`:
    other fields of Bottleneck, or an entity other than the claim's.
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


def load_claim(
    verdict: VerdictKind,
    explains: frozenset[int],
    evidence: Sequence[Evidence],
    because: Sequence[str],
    growth: Growth = "saturates",
    prior: float = 0.0,
    place: str = "",
    machine: str | None = None,
) -> Claim:
    """A claim that the load, or the machine that it runs on, is the limit. It names no element."""
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
    """Share of a latency that disappears if only `seconds` of it are left, 0 to 1."""
    return min(1.0, max(0.0, 1 - seconds / latency_seconds))


def next_limit(load: LoadFacts, entity: str, change: str, high: float) -> Next:
    """The next limit. It lies between the reached throughput and `high` operations a second."""
    low, in_flight = load.ops_per_second, load.in_flight_measured
    return Next(entity, change, (low, high), (in_flight / high, in_flight / low))


def latency_gain(following: Next | None, load: LoadFacts) -> float | None:
    """Share of the latency that disappears with the limit: (R - R without it) / R at the same number in flight. The
    next limit gives R without the limit. None: unknown."""
    return None if following is None else share_gone(following.predicted_latency_seconds[0], load.latency_seconds)
