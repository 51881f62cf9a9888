"""The experiment that separates the leading suspects best: a reading, a step of the load, or a setting.

Each experiment has, for each suspect, what throughput would do: the one whose outcomes differ most between suspects,
weighed by their probabilities, is proposed. What only needs another reading or step comes before a changed setting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from sanpath.topology.paths import initiators_of
from sanpath.verdict.hypotheses.claim import Claim
from sanpath.verdict.hypotheses.unread_host import host_is_unread
from sanpath.verdict.next_run import repeated
from sanpath.verdict.places.table import PlaceTable
from sanpath.verdict.posterior import Suspicion
from sanpath.verdict.units import count

_FABRIC = ("link", "path_policy", "credit_stall", "retries")
_SUSPECTS = 4
"""The most probable ones are what an experiment has to tell apart."""


_HARDLY = 0.001
"""Of what is less probable nobody is told."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """`todo`: what to do. `outcome`: how far throughput (or what is read) speaks for a claim, 0 to 1. `effort`: taken
    off its worth; `rises`: what is seen where the outcome is one."""

    todo: str
    outcome: Callable[[Claim], float]
    rises: str
    effort: float

    def expected(self, group: Sequence[Suspicion]) -> float:
        """The outcome if one of a group of suspects is at fault."""
        return sum(one.probability * self.outcome(one.claim) for one in group) / _share(group)


def decide(table: PlaceTable, groups: Sequence[Sequence[Suspicion]]) -> str | None:
    """The best experiment as a sentence; None: there is one suspect, or no experiment tells them apart."""
    leading = groups[:_SUSPECTS]
    if len(leading) < 2:
        return None
    best = max(_experiments(table, leading[0][0].claim), key=lambda experiment: _worth(experiment, leading))
    if _worth(best, leading) <= 0:
        return None
    told = [group for group in leading if _share(group) >= _HARDLY]
    speaks = max(told, key=lambda group: _share(group) * (best.expected(group) - 0.5))
    if speaks[0].claim.kind == "unseen":
        return f"{best.todo}; {best.rises} would explain it"
    return f"{best.todo}; {best.rises} would point to {name_of(speaks[0].claim)}"


def _share(group: Sequence[Suspicion]) -> float:
    return sum(one.probability for one in group)


def name_of(claim: Claim) -> str:
    """What a person calls a suspect."""
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


def _by(command: str | None) -> str:
    return f" ({command})" if command is not None else ""


def _worth(experiment: Experiment, leading: Sequence[Sequence[Suspicion]]) -> float:
    apart = sum(
        _share(one) * _share(other) * abs(experiment.expected(one) - experiment.expected(other))
        for one, other in combinations(leading, 2)
    )
    return apart * (1 - experiment.effort)


def _above_the_array(table: PlaceTable, claim: Claim) -> bool:
    """Whether it is a queue of the host, or something unseen that holds I/Os before they are in the fabric."""
    above = table.indices("host_queue", "array_door")
    return claim.kind in ("lun", "hba") or (claim.kind == "unseen" and bool(above) and claim.explains <= above)


def _inside_the_array(table: PlaceTable, claim: Claim) -> bool:
    """Whether it is what the array's own clock contains: its cache is behind what waits before that."""
    inside = table.indices("array_queue", "array_service", "below")
    return claim.kind == "data_sheet" or (claim.kind == "array" and bool(claim.explains & inside))


def _experiments(table: PlaceTable, first: Claim) -> Iterator[Experiment]:
    total = sum(f.in_flight_measured for f in table.facts.loads if f.step == table.load.step)
    more, fewer = max(2, round(2 * total)), max(1, round(total / 2))
    yield Experiment(
        f"repeat it with {count(more)} outstanding I/Os{_by(repeated(table.facts, table.load, more))}",
        lambda claim: {"follows": 1.0, "any": 0.5}.get(claim.growth, 0.0),
        "more throughput",
        0.1,
    )
    if total >= 2:
        yield Experiment(
            f"repeat it with {count(fewer)} outstanding I/Os{_by(repeated(table.facts, table.load, fewer))}",
            lambda claim: {"follows": 0.0, "any": 0.5}.get(claim.growth, 1.0),
            "the same throughput",
            0.15,
        )
    yield Experiment(
        f"repeat it with blocks of half the size{_by(repeated(table.facts, table.load, times_size=0.5))}",
        lambda claim: 1.0 if claim.kind == "link" else 0.5 if claim.kind in ("path_policy", "unseen") else 0.1,
        "twice the IOPS",
        0.2,
    )
    if not table.paths and not initiators(table):
        yield Experiment(
            "read how busy each device, link and processor below was, and what its caches answered and wrote back",
            lambda claim: 1.0 if claim.kind in (*_FABRIC, "array", "unseen", "data_sheet") else 0.1,
            "one that is full",
            0.0,
        )
    elif any(row["utilisation"] is None for row in table.links) or not table.links:
        yield Experiment(
            "read the switch ports (sanpath init adds them)",
            lambda claim: 1.0 if claim.kind in (*_FABRIC, "unseen") else 0.1,
            "a full, waiting or damaged port",
            0.0,
        )
    elif all(row["credit_stall_ratio"] is None and row["technology"] == "fibre_channel" for row in table.links):
        yield Experiment(
            "read the time without transmit credit on the switch ports",
            lambda claim: 1.0 if claim.kind in ("credit_stall", "unseen") else 0.1,
            "a port that waits",
            0.0,
        )
    if table.array is None:
        name = table.arrays[0] if table.arrays else "the array"
        yield Experiment(
            f"read {name} (sanpath init adds it)",
            lambda claim: 1.0 if claim.kind in ("array", "volume", "data_sheet", "unseen") else 0.1,
            "time spent inside",
            0.0,
        )
    for segment in table.segments:
        if segment.queue is not None:
            entity = segment.queue.entity
            yield Experiment(
                f"give {entity} a deeper queue",
                lambda claim, entity=entity: 1.0 if claim.entity == entity else 0.1,  # type: ignore[misc]
                "more throughput",
                0.4,
            )
    yield Experiment(
        "spread the same outstanding I/Os over twice as many jobs",
        lambda claim: 1.0 if claim.verdict == "generator_limited" else 0.1,
        "more throughput",
        0.2,
    )
    if host_is_unread(table) or not any(segment.kind == "host_queue" for segment in table.segments):
        yield Experiment(
            "read the host (sanpath init adds it)",
            lambda claim: 1.0 if _above_the_array(table, claim) else 0.5 if claim.kind == "unseen" else 0.1,
            "time spent there, or a full queue",
            0.0,
        )
    yield Experiment(
        "repeat it on a range so small that the array's cache answers it",
        lambda claim: 0.9 if _inside_the_array(table, claim) else 0.5 if claim.kind == "unseen" else 0.1,
        "more throughput",
        0.3,
    )
    yield Experiment(
        "repeat it while other hosts on these ports and volumes are quiet",
        lambda claim: 0.9 if claim.kind == "credit_stall" else 0.4 if claim.kind in ("link", "array") else 0.1,
        "more throughput",
        0.4,
    )
    if first.verdict == "configured_cap":
        yield Experiment("lift the limit", lambda claim: float(claim is first), "more throughput", 0.4)
