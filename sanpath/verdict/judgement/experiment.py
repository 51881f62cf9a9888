"""Finds the experiment that separates the leading suspects best: a reading, a step of the load, or a setting.

Each experiment gives, for each suspect, the probability of its outcome. The experiment whose probabilities differ
most between suspects, weighted by the suspects' own probabilities, is proposed. An experiment that needs only another
reading or step comes before one that changes a setting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from sanpath.topology.paths import initiators_of
from sanpath.verdict.experiment_model import Action, Experiment, Meaning
from sanpath.verdict.hypotheses.claim import Claim
from sanpath.verdict.hypotheses.unread_host import host_is_unread
from sanpath.verdict.judgement.next_command import repeated
from sanpath.verdict.judgement.posterior import Suspicion
from sanpath.verdict.places.table import PlaceTable
from sanpath.verdict.units import count

_FABRIC = ("link", "path_policy", "credit_stall", "retries")
_SUSPECTS = 4
"""Number of most probable suspects that an experiment has to separate."""
_LEAST_PROBABILITY = 0.001
"""Suspects below this probability are left out."""
_MORE_THROUGHPUT = "more throughput"


@dataclass(frozen=True, slots=True)
class Proposal:
    """An experiment that could be made.

    `outcome_probability`: how probable it is, if a claim holds, that the experiment shows what it watches for.
    `effort`: reduces the value of the experiment, 0 to 1. The other fields are those of Experiment.
    """

    action: Action
    text: str
    watch: str
    effort: float
    outcome_probability: Callable[[Claim], float]
    in_flight: int | None = None
    entity: str | None = None
    command: str | None = None

    def expected(self, group: Sequence[Suspicion]) -> float:
        """Probability of the outcome if one of a group of suspects is at fault."""
        return sum(
            suspicion.probability * self.outcome_probability(suspicion.claim) for suspicion in group
        ) / _probability(group)


def decide(table: PlaceTable, groups: Sequence[Sequence[Suspicion]]) -> Experiment | None:
    """The best experiment. None: there is one suspect only, or no experiment separates them."""
    leading = groups[:_SUSPECTS]
    if len(leading) < 2:
        return None
    best = max(_proposals(table, leading[0][0].claim), key=lambda proposal: _value(proposal, leading))
    if _value(best, leading) <= 0:
        return None
    meanings = _meanings(best, [group for group in leading if _probability(group) >= _LEAST_PROBABILITY])
    return Experiment(best.action, best.text, best.watch, meanings, best.in_flight, best.entity, best.command)


def _meanings(proposal: Proposal, groups: Sequence[Sequence[Suspicion]]) -> tuple[Meaning, ...]:
    """The suspects' probabilities after either outcome, by Bayes' rule."""
    with_outcome = [_probability(group) * proposal.expected(group) for group in groups]
    without_outcome = [_probability(group) * (1 - proposal.expected(group)) for group in groups]
    return tuple(
        Meaning(
            group[0].claim.verdict,
            group[0].claim.entity,
            name_of(group[0].claim),
            _probability(group),
            joint_with / max(sum(with_outcome), _LEAST_PROBABILITY),
            joint_without / max(sum(without_outcome), _LEAST_PROBABILITY),
        )
        for group, joint_with, joint_without in zip(groups, with_outcome, without_outcome, strict=True)
    )


def _probability(group: Sequence[Suspicion]) -> float:
    """The probability of a group."""
    return sum(suspicion.probability for suspicion in group)


def name_of(claim: Claim) -> str:
    """The name of a suspect for people."""
    if claim.kind == "path_policy":
        return "paths used one after the other"
    if claim.entity is not None:
        return claim.entity
    return {
        "concurrency_limited": "too few outstanding I/Os",
        "demand_limited": "a load that asks for no more",
        "generator_limited": "the load generator",
    }.get(claim.verdict, "something not measured")


def initiators(table: PlaceTable) -> list[str]:
    """The initiators of the load's hosts."""
    return [hba for root in table.load.roots for hba in initiators_of(table.facts.topology, root)]


def _value(proposal: Proposal, leading: Sequence[Sequence[Suspicion]]) -> float:
    """How well an experiment separates the leading suspects, less its effort."""
    difference = sum(
        _probability(group)
        * _probability(other_group)
        * abs(proposal.expected(group) - proposal.expected(other_group))
        for group, other_group in combinations(leading, 2)
    )
    return difference * (1 - proposal.effort)


def _above_the_array(table: PlaceTable, claim: Claim) -> bool:
    """Whether the claim is about a queue of the host, or about something unseen above the fabric."""
    above = table.indices("host_queue", "array_door")
    return claim.kind in ("lun", "hba") or (claim.kind == "unseen" and bool(above) and claim.explains <= above)


def _inside_the_array(table: PlaceTable, claim: Claim) -> bool:
    """Whether the claim is about what the array's own clock contains; a cache answers below anything that waits
    before it."""
    inside = table.indices("array_queue", "array_service", "below")
    return claim.kind == "data_sheet" or (claim.kind == "array" and bool(claim.explains & inside))


def _proposals(table: PlaceTable, first: Claim) -> Iterator[Proposal]:
    yield from _steps(table)
    yield from _readings(table)
    yield from _settings(table, first)


def _steps(table: PlaceTable) -> Iterator[Proposal]:
    """Experiments that run another step of the load."""
    facts, load = table.facts, table.load
    total = sum(step_load.in_flight_measured for step_load in facts.loads if step_load.step == load.step)
    doubled, halved = max(2, round(2 * total)), max(1, round(total / 2))
    yield Proposal(
        "more_in_flight",
        f"repeat it with {count(doubled)} outstanding I/Os",
        _MORE_THROUGHPUT,
        0.1,
        lambda claim: {"follows": 1.0, "any": 0.5}.get(claim.growth, 0.0),
        doubled,
        command=repeated(facts, load, doubled),
    )
    if total >= 2:
        yield Proposal(
            "fewer_in_flight",
            f"repeat it with {count(halved)} outstanding I/Os",
            "the same throughput",
            0.15,
            lambda claim: {"follows": 0.0, "any": 0.5}.get(claim.growth, 1.0),
            halved,
            command=repeated(facts, load, halved),
        )
    yield Proposal(
        "smaller_blocks",
        "repeat it with blocks of half the size",
        "twice the IOPS",
        0.2,
        lambda claim: 1.0 if claim.kind == "link" else 0.5 if claim.kind in ("path_policy", "unseen") else 0.1,
        command=repeated(facts, load, times_size=0.5),
    )
    yield Proposal(
        "more_jobs",
        "spread the same outstanding I/Os over twice as many jobs",
        _MORE_THROUGHPUT,
        0.2,
        lambda claim: 1.0 if claim.verdict == "generator_limited" else 0.1,
    )
    yield Proposal(
        "cached_range",
        "repeat it on a range so small that the array's cache answers it",
        _MORE_THROUGHPUT,
        0.3,
        lambda claim: 0.9 if _inside_the_array(table, claim) else 0.5 if claim.kind == "unseen" else 0.1,
    )


def _readings(table: PlaceTable) -> Iterator[Proposal]:
    """Experiments that read a source which was not read."""
    if not table.paths and not initiators(table):
        yield Proposal(
            "read_below",
            "read how busy each device, link and processor below was, and what its caches answered and wrote back",
            "one that is full",
            0.0,
            lambda claim: 1.0 if claim.kind in (*_FABRIC, "array", "unseen", "data_sheet") else 0.1,
        )
    elif any(row["utilisation"] is None for row in table.links) or not table.links:
        yield Proposal(
            "read_switches",
            "read the switch ports (sanpath init adds them)",
            "a full, waiting or damaged port",
            0.0,
            lambda claim: 1.0 if claim.kind in (*_FABRIC, "unseen") else 0.1,
        )
    elif all(row["credit_stall_ratio"] is None and row["technology"] == "fibre_channel" for row in table.links):
        yield Proposal(
            "read_switches",
            "read the time without transmit credit on the switch ports",
            "a port that waits",
            0.0,
            lambda claim: 1.0 if claim.kind in ("credit_stall", "unseen") else 0.1,
        )
    if table.array is None:
        name = table.arrays[0] if table.arrays else "the array"
        yield Proposal(
            "read_array",
            f"read {name} (sanpath init adds it)",
            "time spent inside",
            0.0,
            lambda claim: 1.0 if claim.kind in ("array", "volume", "data_sheet", "unseen") else 0.1,
            entity=next(iter(table.arrays), None),
        )
    if host_is_unread(table) or not any(segment.kind == "host_queue" for segment in table.segments):
        yield Proposal(
            "read_host",
            "read the host (sanpath init adds it)",
            "time spent there, or a full queue",
            0.0,
            lambda claim: 1.0 if _above_the_array(table, claim) else 0.5 if claim.kind == "unseen" else 0.1,
        )


def _settings(table: PlaceTable, first: Claim) -> Iterator[Proposal]:
    """Experiments that change a setting, or keep other hosts quiet."""
    for segment in table.segments:
        if segment.queue is not None:
            entity = segment.queue.entity
            yield Proposal(
                "deeper_queue",
                f"give {entity} a deeper queue",
                _MORE_THROUGHPUT,
                0.4,
                lambda claim, entity=entity: 1.0 if claim.entity == entity else 0.1,  # type: ignore[misc]
                entity=entity,
            )
    yield Proposal(
        "quiet_neighbours",
        "repeat it while other hosts on these ports and volumes are quiet",
        _MORE_THROUGHPUT,
        0.4,
        lambda claim: 0.9 if claim.kind == "credit_stall" else 0.4 if claim.kind in ("link", "array") else 0.1,
    )
    if first.verdict == "configured_cap":
        yield Proposal(
            "lift_limit",
            "lift the limit",
            _MORE_THROUGHPUT,
            0.4,
            lambda claim: float(claim is first),
            entity=first.entity,
        )
