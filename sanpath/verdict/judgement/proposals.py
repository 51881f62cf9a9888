"""The experiments that could be made, and how probable the outcome of each is for each claim.

These are the only likelihoods of experiments: the proposal of a diagnosis, the choice of a probe and the evidence of
a probe's outcomes all read them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import sqrt

from sanpath.diagnosis.experiment import PAUSE, Action
from sanpath.diagnosis.model import Suspect
from sanpath.facts.storage.other_loads import OtherLoad, loads_of_others
from sanpath.units import count
from sanpath.verdict.hypotheses.claim import Claim
from sanpath.verdict.hypotheses.queues import host_is_unread
from sanpath.verdict.places.scaling import alike
from sanpath.verdict.places.table import PlaceTable

START = "start"
"""The experiment of the step with which a probe begins: the load as a person named it."""
_FABRIC = ("link", "path_policy", "credit_stall", "retries")
_MORE, _SAME, _DOUBLE = 1.15, 1 / sqrt(2), sqrt(2)
"""Least ratios for more throughput; for the same and not half of it; for twice and not the same."""
_FASTER_ALONE = 1.3
"""Least ratio of the time of other hosts' I/Os beside the load to that in a pause of it.

Of 168 drawn cases of the lab with other hosts, it was reached by 17 of 20 that the array's media limit, 12 of 16 of a
port of the array, 5 of 15 of the array's entry, 4 of 27 of another link, and 2 of 90 that are limited elsewhere."""
LEAST_OPS_PER_SECOND = 5.0
"""I/Os a second of other hosts from which their latency counts: a mean over fewer is chance."""
_MORE_THROUGHPUT, _SAME_THROUGHPUT = "more throughput", "the same throughput"
_HOST_KINDS = ("lun", "hba", "core", "path_policy")
_PER_TARGET = ("lun", "volume", "path_policy")
_SAME_ON_ONE_PATH = {"link": 0.3, "tcp_window": 0.3, "credit_stall": 0.3, "lun": 0.3, "hba": 0.3, "unseen": 0.5}
"""Kind of claim → probability that one path gives the same throughput, for others 0.9: each path has its own links
and its own queue, and paths that are used in turn are used one at a time already."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """An experiment that could be made with a load.

    `effort`: reduces the value of the experiment, 0 to 1. `least_ratio`: operations a second of the experiment over
    those before it, from which its outcome counts as seen; of a pause, the time of other hosts' I/Os before it over
    that in it; None: it runs no step. `shows`: of a reading: the kinds of claims of which it shows what it watches
    for. The other fields are those of Experiment.
    """

    table: PlaceTable
    action: Action
    text: str
    watch: str
    effort: float
    least_ratio: float | None = None
    in_flight: int | None = None
    entity: str | None = None
    shows: tuple[str, ...] = ()

    def outcome_probability(self, claim: Claim) -> float:
        """How probable it is, if a claim holds, that the experiment shows what it watches for."""
        table = self.table
        match self.action:
            case "more_in_flight":
                return {"follows": 1.0, "any": 0.5}.get(claim.growth, 0.0)
            case "fewer_in_flight":
                return {"follows": 0.0, "any": 0.5}.get(claim.growth, float(claim.entity not in _full_queues(table)))
            case "smaller_blocks":
                return _limits_bytes(table, claim)
            case "more_jobs":
                return 1.0 if claim.verdict == "generator_limited" else 0.1
            case "cached_range":
                return 0.9 if _inside_the_array(table, claim) else 0.5 if _anywhere_below(table, claim) else 0.1
            case "one_direction" | "writes_only":
                return _more_in_one_direction(table, claim)
            case "one_target":
                return _same_on_one_target(table, claim)
            case "one_path":
                return _SAME_ON_ONE_PATH.get(claim.kind, 0.9)
            case "other_host":
                return 0.8 if _is_of_the_host(table, claim) else 0.2
            case "pause":
                return _slows_others(table, claim)
            case "read_host":
                return 1.0 if _above_the_array(table, claim) else 0.5 if claim.kind == "unseen" else 0.1
            case "deeper_queue":
                return 1.0 if claim.entity == self.entity else 0.1
            case "quiet_neighbours":
                return 0.9 if claim.kind == "credit_stall" else 0.4 if claim.kind in ("link", "array") else 0.1
            case "lift_limit":
                return float(claim.verdict == "configured_cap" and claim.entity == self.entity)
            case _:
                return 1.0 if claim.kind in self.shows else 0.1


def _above_the_array(table: PlaceTable, claim: Claim) -> bool:
    """Whether the claim is about a queue of the host, or about something unseen above the fabric."""
    above = table.indices("host_queue", "array_door")
    return claim.kind in ("lun", "hba") or (claim.kind == "unseen" and bool(above) and claim.explains <= above)


def _anywhere_below(table: PlaceTable, claim: Claim) -> bool:
    """Whether the claim is about something unseen that may be of any kind: a link as well as a queue."""
    return claim.kind == "unseen" and not _above_the_array(table, claim)


def _limits_bytes(table: PlaceTable, claim: Claim) -> float:
    """Probability that a claim limits the bytes a second, so that blocks of half the size have twice the IOPS."""
    if claim.kind in ("link", "tcp_window"):
        return 1.0
    if claim.verdict == "configured_cap" or claim.kind == "path_policy" or _anywhere_below(table, claim):
        return 0.5
    # A write cache that is full, or a cap on the bandwidth, also limits bytes; an array that is read shows them.
    return 0.3 if claim.kind == "array" and table.array is None else 0.1


def _inside_the_array(table: PlaceTable, claim: Claim) -> bool:
    """Whether the claim is about what the array's own clock contains; a cache answers below anything that waits
    before it."""
    inside = table.indices("array_queue", "array_service", "below")
    return claim.kind == "data_sheet" or (claim.kind == "array" and bool(claim.explains & inside))


def _more_in_one_direction(table: PlaceTable, claim: Claim) -> float:
    """Probability that a direction alone does more: each direction of a link has its own capacity, while processors,
    queues and media serve both."""
    if claim.kind in ("link", "credit_stall", "tcp_window"):
        return 0.2
    return 0.9 if claim.accuses or _above_the_array(table, claim) else 0.5


def _same_on_one_target(table: PlaceTable, claim: Claim) -> float:
    """Probability that one target gives the same throughput. A queue of a host that is not read is more often that of
    a LUN than that of an adapter."""
    if claim.kind == "unseen" and _above_the_array(table, claim):
        return 0.3
    return 0.1 if claim.kind in _PER_TARGET else 0.9


def _is_of_the_host(table: PlaceTable, claim: Claim) -> bool:
    """Whether another host would not be limited by it."""
    is_generator = claim.verdict == "generator_limited"
    return is_generator or claim.kind in _HOST_KINDS or _above_the_array(table, claim)


def _slows_others(table: PlaceTable, claim: Claim) -> float:
    """Probability that other hosts' I/Os take longer beside the load, because they wait at the place that limits.

    The array times I/Os inside, and some arrays also the transfer over their ports.
    """
    if _inside_the_array(table, claim):
        return 0.85
    if claim.kind == "link":
        sides = {row["side"] for row in table.links if row["entity"] == claim.entity}
        return 0.75 if "array" in sides else 0.15
    # An array may also delay I/Os before its own clock starts.
    return 0.3 if claim.kind == "array" or _anywhere_below(table, claim) else 0.1


def proposals(table: PlaceTable, first: Claim) -> Iterator[Proposal]:
    """Yield what a person could do. `first`: the most probable claim."""
    # Fewer than one cannot be outstanding.
    can_have_fewer = _in_flight_tried(table)[0] >= 2
    yield from (proposal for proposal in load_steps(table) if proposal.action != "fewer_in_flight" or can_have_fewer)
    yield from _readings(table)
    yield from _settings(table, first)


def name_of(claim: Claim | Suspect) -> str:
    """The name of a suspect for people."""
    if claim.kind == "path_policy":
        return "the path policy"
    if claim.entity is not None:
        return claim.entity
    return {
        "concurrency_limited": "too few outstanding I/Os",
        "demand_limited": "a load that asks for no more",
        "generator_limited": "the load generator",
    }.get(claim.verdict, "something not measured")


def load_steps(table: PlaceTable) -> Iterator[Proposal]:
    """Yield the experiments that run another step of the load, whether or not it can have fewer I/Os in flight."""
    fewest, most = _in_flight_tried(table)
    admitted = min(fewest, _admitted(table))
    doubled, halved = max(2, round(2 * most)), max(1, round(admitted / 2))
    text = f"repeat it with {count(doubled)} outstanding I/Os"
    yield Proposal(table, "more_in_flight", text, _MORE_THROUGHPUT, 0.1, sqrt(doubled / most), doubled)
    text = f"repeat it with {count(halved)} outstanding I/Os"
    yield Proposal(table, "fewer_in_flight", text, _SAME_THROUGHPUT, 0.15, sqrt(halved / admitted), halved)
    text = "repeat it with blocks of half the size"
    yield Proposal(table, "smaller_blocks", text, "twice the IOPS", 0.2, _DOUBLE)
    text = "spread the same outstanding I/Os over twice as many jobs"
    yield Proposal(table, "more_jobs", text, _MORE_THROUGHPUT, 0.2, _MORE)
    text = "repeat it on a range so small that the array's cache answers it"
    yield Proposal(table, "cached_range", text, _MORE_THROUGHPUT, 0.3, _MORE)


def _in_flight_tried(table: PlaceTable) -> tuple[float, float]:
    """The fewest and the most I/Os in flight, of both directions, of all steps that ran the same I/O."""
    loads, load = table.facts.loads, table.load
    steps = {load.step, *(other_load.step for other_load in loads if alike(loads, load, other_load))}
    totals = [table.facts.in_flight_in(step) for step in steps]
    return min(totals), max(totals)


def _full_queues(table: PlaceTable) -> frozenset[str]:
    """The queues of guest and host in which I/Os of the load wait."""
    queues = [segment.queue for segment in table.segments]
    return frozenset(queue.entity for queue in queues if queue is not None and queue.holds_back)


def _admitted(table: PlaceTable) -> float:
    """I/Os of both directions that the queues of guest and host let through, of all that are in flight in the step.

    With fewer than these no queue is full: only then does a step show what the storage below does with fewer. A queue
    below which less than one I/O is counted tells nothing: no queue lets so few through.
    """
    tables = (table, *table.opposite_direction)
    offered = sum(each.load.in_flight_measured for each in tables)
    admitted = 0.0
    for each in tables:
        queues = [segment.queue for segment in each.segments if segment.queue is not None]
        counted = [queue.admitted for queue in queues if queue.admitted >= 1]
        admitted += min(counted, default=each.load.in_flight_measured)
    return table.facts.in_flight_in(table.load.step) * min(1.0, admitted / offered)


def probe_steps(table: PlaceTable) -> Iterator[Proposal]:
    """Yield further experiments with the load, which need a plan of targets and hosts: only a probe makes them."""
    if table.opposite_direction:
        # All of them, read: where both directions share the limit, reads take the place of the writes.
        growth = sum(t.load.ops_per_second for t in (table, *table.opposite_direction)) / table.load.ops_per_second
        direction = table.load.direction
        action: Action = "one_direction" if direction == "read" else "writes_only"
        text, watch = f"repeat it with {direction}s only", f"more {direction} throughput"
        yield Proposal(table, action, text, watch, 0.1, sqrt(growth))
    text = "repeat it with the same outstanding I/Os on one "
    yield Proposal(table, "one_target", text + "target", _SAME_THROUGHPUT, 0.1, _SAME)
    yield Proposal(table, "one_path", text + "path", _SAME_THROUGHPUT, 0.1, _SAME)
    yield Proposal(table, "other_host", "repeat it from another host", _MORE_THROUGHPUT, 0.2, _MORE)
    if others_in(table):
        text, watch = "pause it, and see how other hosts do without it", "lower latency of other hosts"
        yield Proposal(table, PAUSE, text, watch, 0.1, _FASTER_ALONE)


def others_in(table: PlaceTable) -> Mapping[str, OtherLoad]:
    """Volume → what other hosts do on it beside the load, on the load's arrays or, where these are not known, on
    any."""
    related, arrays = table.facts.topology.related, set(table.arrays)
    found = loads_of_others(table.facts.topology, table.facts.tables["volume"].select(step=table.load.step))
    return {
        volume: other
        for volume, other in found.items()
        if other.ops_per_second >= LEAST_OPS_PER_SECOND
        and (not arrays or not arrays.isdisjoint(related(volume, "member_of", "array")))
    }


def _readings(table: PlaceTable) -> Iterator[Proposal]:
    """Experiments that read a source which was not read."""
    if not table.paths and not table.initiators:
        text = "read how busy each device, link and processor below was, and what its caches answered and wrote back"
        shows: tuple[str, ...] = (*_FABRIC, "array", "unseen", "data_sheet")
        yield Proposal(table, "read_below", text, "a saturated one", 0.0, shows=shows)
    elif any(row["utilisation"] is None for row in table.links) or not table.links:
        text, watch = "read the switch ports (sanpath init adds them)", "a saturated, waiting or damaged port"
        yield Proposal(table, "read_switches", text, watch, 0.0, shows=(*_FABRIC, "unseen"))
    elif all(row["credit_stall_ratio"] is None and row["technology"] == "fibre_channel" for row in table.links):
        text, shows = "read the time without transmit credit on the switch ports", ("credit_stall", "unseen")
        yield Proposal(table, "read_switches", text, "a port that waits", 0.0, shows=shows)
    if table.array is None:
        entity, shows = next(iter(table.arrays), None), ("array", "volume", "data_sheet", "unseen")
        text = f"read {entity or 'the array'} (sanpath init adds it)"
        yield Proposal(table, "read_array", text, "time spent inside", 0.0, entity=entity, shows=shows)
    if host_is_unread(table) or not any(segment.kind == "host_queue" for segment in table.segments):
        text, watch = "read the host (sanpath init adds it)", "time spent there, or a full queue"
        yield Proposal(table, "read_host", text, watch, 0.0)


def _settings(table: PlaceTable, first: Claim) -> Iterator[Proposal]:
    """Experiments that change a setting, or keep other hosts quiet."""
    for segment in table.segments:
        if segment.queue is not None:
            entity = segment.queue.entity
            text = f"give {entity} a deeper queue"
            yield Proposal(table, "deeper_queue", text, _MORE_THROUGHPUT, 0.4, entity=entity)
    text = "repeat it while other hosts on these ports and volumes are quiet"
    yield Proposal(table, "quiet_neighbours", text, _MORE_THROUGHPUT, 0.4)
    if first.verdict == "configured_cap":
        yield Proposal(table, "lift_limit", "lift the limit", _MORE_THROUGHPUT, 0.4, entity=first.entity)
