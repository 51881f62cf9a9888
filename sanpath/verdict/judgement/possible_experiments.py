"""The possible experiments, and how probable the outcome of each is for each claim.

These are the only likelihoods of experiments. The proposal of a diagnosis, the choice of a probe's next step and the
evidence of its outcomes all read them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from sanpath.diagnosis.experiment import Action
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import AT_LEAST_AS_FAST, CLEARLY_MORE, FLAT, LoadFacts, sets_depth
from sanpath.facts.samples.slow_windows import STALLS_MATTER
from sanpath.facts.storage.other_loads import MIN_OPS_PER_SECOND, OtherLoad, loads_of_others
from sanpath.facts.table import FactRow, number
from sanpath.model import PAUSE
from sanpath.topology.names import in_words
from sanpath.topology.paths import io_paths
from sanpath.units import join_names, outstanding
from sanpath.verdict.hypotheses.claim import Claim
from sanpath.verdict.hypotheses.unread_queues import (
    below_last_clock,
    host_is_unread,
    is_above_array_clock,
    slots_are_unread,
    unread_machines,
)
from sanpath.verdict.places.table import PlaceTable

_FABRIC = ("link", "path_policy", "credit_stall", "retries", "unseen_in_tcp")
_MORE_RATIO, _SAME_RATIO, _DOUBLE_RATIO = 1.15, 1 / sqrt(2), sqrt(2)
"""Smallest ratios for more throughput, for the same rather than half, and for twice rather than the same."""
_FASTER_ALONE_RATIO = 1.3
"""Smallest ratio of the latency of other hosts under load to that in a pause of the load. Of 168 drawn cases of the
lab with other hosts, it was reached by 17 of 20 that the array's media limit, 12 of 16 of a port of the array, 5 of
15 of the array's entry, 4 of 27 of another link, and 2 of 90 that are limited elsewhere."""
_MAX_INSIDE_ALONE = 8.0
"""Largest number of I/Os inside an array with which a single I/O shows the service before the array's clock: that
service is then at least 1/8 of the array's time."""
_OTHER_NUMBER = ("more_in_flight", "fewer_in_flight")
_FAILING_RATIO = 0.5
"""Share of failed polls from which a source needs repair."""
_MORE_THROUGHPUT, _SAME_THROUGHPUT = "more throughput", "the same throughput"
_ONE_DIRECTION = {
    0.9: ("other",),
    0.5: ("unseen_below", "generator_limited", "demand_limited", "concurrency_limited"),
    0.2: ("link", "credit_stall", "tcp_window"),
}
_SEEN: Mapping[Action, Mapping[float, Sequence[str]]] = {
    "more_in_flight": {1.0: ("follows",), 0.5: ("any",), 0.0: ("other",)},
    "fewer_in_flight": {1.0: ("other",), 0.5: ("any",), 0.0: ("follows", "full_queue")},
    # If there is no wait for a slot, a single I/O takes as long as the array reports.
    "one_in_flight": {0.9: ("lun", "hba", "unseen_above"), 0.1: ("other",)},
    # Limits of the bytes a second give twice the IOPS. So do a full write cache and a configured throughput limit,
    # but an array that is read shows those.
    "smaller_blocks": {
        1.0: ("link", "tcp_window"),
        0.5: ("configured_cap", "path_policy", "unseen_below"),
        0.3: ("unread_array",),
        0.1: ("other",),
    },
    "more_jobs": {1.0: ("generator_limited",), 0.1: ("shared_processors", "other")},
    # A cache answers below anything that waits in front of the array.
    "cached_range": {0.9: ("array_inside", "data_sheet"), 0.5: ("unseen_below",), 0.1: ("other",)},
    # Each direction of a link has its own capacity; processors, queues and media serve both.
    "one_direction": _ONE_DIRECTION,
    "writes_only": _ONE_DIRECTION,
    # An unread host queue is more often a LUN's than an adapter's.
    "one_target": {0.9: ("other",), 0.3: ("unseen_above",), 0.1: ("lun", "volume", "path_policy")},
    # Each path has its own links and queue. Paths used in turn are already used one at a time.
    "one_path": {
        0.9: ("other",),
        0.5: ("unseen",),
        0.3: ("link", "unseen_in_tcp", "pcie", "tcp_window", "credit_stall", "lun", "hba"),
    },
    "other_host": {
        0.8: ("generator_limited", "lun", "hba", "pcie", "core", "io_stack", "path_policy", "unseen_above"),
        0.2: ("other",),
    },
    # Other hosts wait at the place that limits. The array times I/Os inside, and some arrays also the transfer over
    # their ports. An array may also delay I/Os before its own clock starts.
    "pause": {
        0.85: ("array_inside", "data_sheet"),
        0.75: ("link_to_array",),
        0.3: ("array", "unseen_below"),
        0.15: ("link",),
        0.1: ("other",),
    },
    "read_host": {1.0: ("lun", "hba", "unseen_above"), 0.5: ("unseen",), 0.1: ("other",)},
    "quiet_neighbours": {0.9: ("credit_stall",), 0.4: ("link", "array"), 0.1: ("other",)},
}
"""Experiment → probability of the watched outcome → names of the claims for which it has that probability."""


@dataclass(frozen=True, slots=True)
class PossibleExperiment:
    """A possible experiment with a load.

    `effort`: reduces the value of the experiment, 0 to 1. `least_ratio`: operations a second of the experiment over
    those before it, from which its outcome counts as seen. For a pause: the latency of other hosts before it over
    that during it. None: it runs no step. `shows`: for a reading or a setting, the names of the claims for which the
    watched outcome is certain. The other fields are those of Experiment.
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
        """Probability that the experiment shows the watched outcome if a claim holds."""
        seen = _SEEN.get(self.action, {1.0: self.shows, 0.1: ("other",)})
        if self.action in _OTHER_NUMBER and self.table.facts.cached(_stalls_matter, self.table.load):
            # While nothing stands still, more I/Os raise throughput and fewer lower it, whatever causes the stalls.
            seen = {1.0: ("other",)}
        by_name = {name: probability for probability, names in seen.items() for name in names}
        return next(by_name[name] for name in _names(self.table, claim) if name in by_name)


def _stalls_matter(_facts: Facts, load: LoadFacts) -> bool:
    stalls = load.stalls
    return stalls is not None and stalls.lost_ratio >= STALLS_MATTER


def _names(table: PlaceTable, claim: Claim) -> Iterator[str]:
    """The names of a claim in the table of outcomes, the most specific first."""
    yield f"{claim.verdict} {claim.entity}"
    yield claim.growth
    if any(queue.entity == claim.entity and queue.holds_back for queue in table.queues):
        yield "full_queue"
    if claim.verdict == "generator_limited" and claim.place:
        yield "shared_processors"
    yield claim.verdict
    above = table.indices("host_queue", "before_array_clock")
    inside = table.indices("array_queue", "array_service", "below")
    if claim.kind == "unread_host":
        yield "unseen_above"
    if claim.kind == "unseen":
        # Below may be anything: a link as well as a queue.
        yield "unseen_above" if above and claim.explains <= above else "unseen_below"
    if claim.kind == "array" and table.array is None:
        yield "unread_array"
    if claim.kind == "array" and claim.explains & inside:
        yield "array_inside"
    if any(row["entity"] == claim.entity and row["side"] == "array" for row in table.links):
        yield f"{claim.kind}_to_array"
    # I/Os that wait in TCP are neither inside the array nor in a host queue.
    yield "unseen_in_tcp" if claim.kind == "unseen" and claim.explains <= table.in_tcp else claim.kind
    yield "other"


def possible_experiments(table: PlaceTable, first: Claim) -> Iterator[PossibleExperiment]:
    """Yield the experiments that a person could run. `first`: the most probable claim."""
    excluded = set[Action]()
    if _in_flight_tried(table)[0] < 2:  # At least one I/O is always outstanding.
        excluded |= {"fewer_in_flight", "one_in_flight"}
    if _is_slower_with_fewer(table):
        excluded.add("fewer_in_flight")
    yield from (each for each in load_steps(table) if each.action not in excluded)
    yield from _readings(table)
    yield from _settings(table, first)


def load_steps(table: PlaceTable) -> Iterator[PossibleExperiment]:
    """Yield the experiments that run another step of the load, even if it cannot have fewer I/Os in flight."""
    fewest, most = _in_flight_tried(table)
    if not sets_depth(table.facts.topology, table.load.roots):
        text = "repeat the test with twice as many threads"
        yield PossibleExperiment(table, "more_in_flight", text, _MORE_THROUGHPUT, effort=0.1, least_ratio=_MORE_RATIO)
        return
    admitted = min(fewest, _admitted(table))
    more, base = _next_more(table, most)
    doubled, halved = max(2, round(more)), max(1, round(admitted / 2))
    held_back = " and no rate limit or pauses" if (table.in_flight_ratio or 1.0) < 0.5 else ""
    text = f"repeat the step with {outstanding(doubled)}{held_back}"
    if table.load.flushes_in_flight > most:
        text = "repeat the step with twice as many processes, so that their flushes overlap"
    elif number(row := table.facts.row_of(table.load), "asked_in_flight") > most or row["engine_serialises"]:
        text = "repeat the step with twice as many processes, because each engine admits no more outstanding I/Os"
    elif (table.load.in_flight_configured or 0.0) >= doubled and row.get("rate_limited") is False:
        # Asking for fewer I/Os than before shows nothing new.
        text = "repeat the step with twice as many threads, because these keep fewer I/Os outstanding than configured"
    elif row["synchronous"] and number(row, "threads"):
        text += f", one for each of {doubled} processes"
    yield PossibleExperiment(
        table,
        "more_in_flight",
        text,
        _MORE_THROUGHPUT,
        effort=0.1,
        least_ratio=sqrt(doubled / base),
        in_flight=doubled,
    )
    text = f"repeat the step with {outstanding(halved)}"
    yield PossibleExperiment(
        table,
        "fewer_in_flight",
        text,
        _SAME_THROUGHPUT,
        effort=0.15,
        least_ratio=sqrt(halved / admitted),
        in_flight=halved,
    )
    yield from _alone(table)
    text = "repeat the step with blocks of half the size"
    yield PossibleExperiment(table, "smaller_blocks", text, "twice the IOPS", 0.2, _DOUBLE_RATIO)
    text = "spread the same outstanding I/Os over twice as many jobs"
    yield PossibleExperiment(table, "more_jobs", text, _MORE_THROUGHPUT, 0.2, _MORE_RATIO)
    text = "repeat the step on a range that fits into the array's cache"
    yield PossibleExperiment(table, "cached_range", text, _MORE_THROUGHPUT, 0.3, _MORE_RATIO)


def _alone(table: PlaceTable) -> Iterator[PossibleExperiment]:
    """A single I/O. Its wait between the clocks is not a wait for a slot of an unread queue."""
    between = below_last_clock(table)
    is_timed = slots_are_unread(table) and is_above_array_clock(table, between)
    if is_timed and (below := table.in_flight_below(max(between))) <= _MAX_INSIDE_ALONE:
        # A place that serves one I/O at a time does so every 1/X seconds, even without a wait (utilisation law).
        with_service, without = 1 / (below + 1), min(1.0, 1 / max(below, 1e-9))
        text, watch = f"repeat the step with {outstanding(1)}", "a latency close to the array's own"
        yield PossibleExperiment(
            table, "one_in_flight", text, watch, effort=0.15, least_ratio=sqrt(with_service * without), in_flight=1
        )


def _next_more(table: PlaceTable, most: float) -> tuple[float, float]:
    """The I/Os in flight of a step with more of them, and the number that it is compared with: twice `most`, the
    largest number tried. If more were clearly slower than this step, yet more show nothing new: half-way to them."""
    own = table.facts.in_flight_in(table.load.step)
    slower = (each for each in table.same_io if each.ops_per_second < (1 - FLAT) * table.load.ops_per_second)
    totals = (table.facts.in_flight_in(each.step) for each in slower)
    fewest_slower = min((total for total in totals if total >= CLEARLY_MORE * own), default=None)
    between = max(2, round(sqrt(own * (fewest_slower or 0.0))))
    return (between, own) if round(own) < between < round(fewest_slower or 0.0) else (2 * most, most)


def _in_flight_tried(table: PlaceTable) -> tuple[float, float]:
    """The fewest and the most I/Os in flight, of both directions, of all steps that ran the same I/O."""
    totals = [table.facts.in_flight_in(load.step) for load in (table.load, *table.same_io)]
    return min(totals), max(totals)


def _is_slower_with_fewer(table: PlaceTable) -> bool:
    """Whether another step has shown what fewer I/Os do: so few that no queue is full, and throughput is lower."""
    slower = (o for o in table.same_io if o.ops_per_second < AT_LEAST_AS_FAST * table.load.ops_per_second)
    admitted = _admitted(table)
    return any(CLEARLY_MORE * table.facts.in_flight_in(other.step) <= admitted for other in slower)


def _admitted(table: PlaceTable) -> float:
    """I/Os of both directions that the queues of guest and host admit, of all that are in flight in the step. With
    fewer than these, no queue is full: only then does a step show how the storage below responds to fewer. A queue
    with less than one I/O below it is ignored: no queue admits so few."""
    tables = (table, *table.opposite_direction)
    offered = [each.load.in_flight_measured for each in tables]
    admitted = [[queue.admitted for queue in each.queues if queue.admitted >= 1] for each in tables]
    through = sum(min(counted, default=most) for counted, most in zip(admitted, offered, strict=True))
    return table.facts.in_flight_in(table.load.step) * min(1.0, through / sum(offered))


def probe_steps(table: PlaceTable) -> Iterator[PossibleExperiment]:
    """Yield further experiments with the load. They need a plan of targets and hosts, so only a probe runs them."""
    if table.opposite_direction:
        # All I/Os as reads: if both directions share the limit, reads take the place of the writes.
        growth = sum(t.load.ops_per_second for t in (table, *table.opposite_direction)) / table.load.ops_per_second
        direction = table.load.direction
        action: Action = "one_direction" if direction == "read" else "writes_only"
        text, watch = f"repeat the step with {direction}s only", f"more {direction} throughput"
        yield PossibleExperiment(table, action, text, watch, 0.1, sqrt(growth))
    text = "repeat the step with the same outstanding I/Os on one "
    yield PossibleExperiment(table, "one_target", text + "target", _SAME_THROUGHPUT, 0.1, _SAME_RATIO)
    yield PossibleExperiment(table, "one_path", text + "path", _SAME_THROUGHPUT, 0.1, _SAME_RATIO)
    yield PossibleExperiment(
        table, "other_host", "repeat the step from another host", _MORE_THROUGHPUT, 0.2, _MORE_RATIO
    )
    if others_in(table):
        text, watch = "pause the load and watch the latency of other hosts", "lower latency of other hosts"
        yield PossibleExperiment(table, PAUSE, text, watch, 0.1, _FASTER_ALONE_RATIO)


def others_in(table: PlaceTable) -> Mapping[str, OtherLoad]:
    """Volume → the I/O of other hosts on it under load. Volumes are those of the load's arrays or, if these are not
    known, of any array."""
    related, arrays = table.facts.topology.related, set(table.arrays)
    found = loads_of_others(table.facts.topology, table.rows("volume"))
    return {
        volume: other
        for volume, other in found.items()
        if other.ops_per_second >= MIN_OPS_PER_SECOND
        and (not arrays or not arrays.isdisjoint(related(volume, "member_of", "array")))
    }


def _readings(table: PlaceTable) -> Iterator[PossibleExperiment]:
    """Experiments that read a source that was not read."""
    if not table.crosses_a_network:
        text = f"repeat the test, and let sanpath read {_what_is_below(table)}"
        shows: tuple[str, ...] = (*_FABRIC, "array", "unseen", "data_sheet")
        yield PossibleExperiment(table, "read_below", text, "a saturated device or link", 0.0, shows=shows)
    elif any(row["utilisation"] is None for row in table.links) or not table.links:
        ports = [str(row["near_port"]) for row in table.links if row["utilisation"] is None]
        if (advice := _reading(table, "fabric", ports, "the switch ports")) is not None:
            watch = "a saturated, stalled or faulty port"
            yield PossibleExperiment(table, "read_switches", advice, watch, 0.0, shows=(*_FABRIC, "unseen"))
    elif all(row["credit_stall_ratio"] is None and row["technology"] == "fibre_channel" for row in table.links):
        text = "check how long the switch ports had no transmit credit (on the switches or with another collector)"
        shows = ("credit_stall", "unseen")
        yield PossibleExperiment(table, "read_switches", text, "a port that waits for credit", 0.0, shows=shows)
    elif table.in_tcp:
        text = "check the rate limits, queues and drops of the network in between, on unread ports as well"
        yield PossibleExperiment(
            table, "read_switches", text, "a limit that is reached", 0.0, shows=("unseen_in_tcp",)
        )
    if table.array is None:
        entity, shows = next(iter(table.arrays), None), ("array", "volume", "data_sheet", "unseen")
        entities = [] if entity is None else [entity]
        if (advice := _reading(table, "array", entities, in_words(entity or "the array"))) is not None:
            yield PossibleExperiment(
                table, "read_array", advice, "a long service or queue time", 0.0, entity=entity, shows=shows
            )
    if host_is_unread(table) or not table.queues:
        hosts = unread_machines(table)
        if (advice := _reading(table, "host", hosts, in_words(join_names(hosts)) or "the host")) is not None:
            yield PossibleExperiment(table, "read_host", advice, "a long wait or a full queue there", 0.0)


def _what_is_below(table: PlaceTable) -> str:
    """The unread part of the path of a load that is not known to leave its host, and how to add it."""
    hosts = unread_machines(table)
    if not host_is_unread(table) or _telling(table, "host", hosts):
        where = "the hosts" if len(hosts) > 1 else "the hypervisor" if table.in_guest else "the host"
        return f"the storage behind {where} (sanpath init adds it)"
    return f"the {'hypervisor' if table.in_guest else 'host'} and the storage behind it (sanpath init adds them)"


def _telling(table: PlaceTable, part: str, entities: Sequence[str]) -> set[str]:
    """The sources of a part of the path that may report one of these entities."""
    known = table.facts.topology.entities
    sources = {_source(row) for row in table.facts.tables["source"].rows if part in _parts(row)}
    return sources & {source for entity in entities if entity in known for source, _ in known[entity].known_as}


def _reading(table: PlaceTable, part: str, entities: Sequence[str], what: str) -> str | None:
    """The advice that makes a part of the path observed. `entities`: those that are missing; `what`: their name in
    the text.

    None: a working source already reads them, so it cannot report more. A failing source is also named if it is not
    known to read these entities.
    """
    rows = table.facts.tables["source"].rows
    failing = {_source(row): number(row, "failed_ratio") >= _FAILING_RATIO for row in rows if part in _parts(row)}
    telling = _telling(table, part, entities)
    if telling and not all(failing[source] for source in telling):
        return None
    if to_repair := [source for source, fails in failing.items() if fails and source in (telling or failing)]:
        return f"repair the source {join_names(to_repair)}, whose polls fail (sanpath check says why)"
    if part == "fabric" and failing and not entities:
        if io_paths(table.facts.topology, *table.load.roots):
            sources = join_names(list(failing))
            return f"check the cables of the path in sanpath.yaml, and whether the counters of {sources} move"
        return "name the cables of the path in sanpath.yaml (sanpath topology lists what was not joined)"
    added = "them" if part == "fabric" or len(entities) > 1 else "it"
    return f"repeat the test, and let sanpath read {what} (sanpath init adds {added})"


def _source(row: FactRow) -> str:
    return str(row["entity"]).partition(":")[2]


def _parts(row: FactRow) -> list[str]:
    return str(row["parts"]).split(",")


def _settings(table: PlaceTable, first: Claim) -> Iterator[PossibleExperiment]:
    """Experiments that change a setting, or keep other hosts quiet."""
    for queue in table.queues:
        text, shows = in_words(f"give {queue.entity} a deeper queue"), (f"bottleneck {queue.entity}",)
        yield PossibleExperiment(table, "deeper_queue", text, _MORE_THROUGHPUT, 0.4, entity=queue.entity, shows=shows)
    # On Fibre Channel, other hosts may hold up a path that they do not share, by credits that a switch lacks.
    if not (table.has_ethernet and table.is_alone):
        text = "repeat the step while other hosts on these ports and volumes are quiet"
        yield PossibleExperiment(table, "quiet_neighbours", text, _MORE_THROUGHPUT, 0.4)
    if first.verdict == "configured_cap":
        text, shows = "lift the limit", (f"configured_cap {first.entity}",)
        yield PossibleExperiment(table, "lift_limit", text, _MORE_THROUGHPUT, 0.33, entity=first.entity, shows=shows)
