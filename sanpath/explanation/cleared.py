"""Which elements did not limit the test, and the load up to which that is proven."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sanpath.diagnosis.model import Cleared
from sanpath.facts.fabric.link_measures import SLOW_TRANSFER_RATIO, wire_seconds
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts, flat_over_load
from sanpath.facts.samples.step_samples import MIN_WINDOWS
from sanpath.facts.storage.load_volumes import array_side, array_time, response_time
from sanpath.facts.table import FactRow, number
from sanpath.rulebook.model import Finding
from sanpath.topology.paths import array_of, machines_of
from sanpath.units import duration, percent
from sanpath.verdict.evidence.step import BUSY, is_response_short
from sanpath.verdict.model import Judgement
from sanpath.verdict.places.host_queues import below_queues
from sanpath.verdict.places.processors import quota_used
from sanpath.verdict.places.submission import threads_of
from sanpath.verdict.places.tcp_path import tcp_path
from sanpath.whatif.proven_ceilings import array_dominates

_SMALL_GROWTH = 2.0
"""Ratio of service and queue time to that at the lowest load, below which queueing has not begun."""
_QUEUEING_RATIO = 0.5
"""Ratio of wait to service time from which queueing has begun."""
_NOTHING_LIMITS = ("concurrency_limited", "demand_limited", "healthy")
_SUSPECT_PROBABILITY = 0.05
"""Probability from which a suspect is not cleared."""
_IDLE_UTILISATION = 0.001
"""Utilisation below which a link carries only its keep-alive traffic."""


def cleared_elements(facts: Facts, judgements: Sequence[Judgement]) -> list[Cleared]:
    """The elements that did not limit, with the highest load that they were seen to carry."""
    not_cleared = {entity for j in judgements for b in j.bottlenecks for entity in b.elements}
    # A suspect is not cleared, whatever else limits.
    not_cleared |= {
        entity
        for j in judgements
        for suspect in (() if j.kind in _NOTHING_LIMITS else j.suspects)
        if suspect.probability >= _SUSPECT_PROBABILITY
        for entity in (suspect.entity, *suspect.coincident)
        if entity is not None
    }
    not_cleared |= {
        volume
        for entity in not_cleared
        if entity in facts.topology.entities
        for volume in _related_storage(facts, entity)
    }
    if any(
        suspect.kind == "retries"
        for j in judgements
        for suspect in j.suspects
        if suspect.probability >= _SUSPECT_PROBABILITY
    ):
        # Any of several links that count lost frames may lose them, not only the one that counts the most.
        not_cleared |= {str(row["entity"]) for row in facts.tables["link"] if number(row, "errors_per_second")}
    # A transfer that takes far longer than the wire needs has waited at some unknown link.
    is_delayed = any(
        _transfer_waits(facts, judgement) or _queues_in_tcp(facts, judgement) for judgement in judgements
    )
    links = [] if is_delayed else _cleared_links(facts, not_cleared)
    return [*_cleared_arrays(facts, judgements, not_cleared), *links, *_cleared_load(facts, judgements, not_cleared)]


def _related_storage(facts: Facts, entity: str) -> list[str]:
    """The volumes of an array, or the array of a volume."""
    kind = "volume" if entity.startswith("array:") else "array"
    return facts.topology.related(entity, "member_of", kind) if entity.startswith(("array:", "volume:")) else []


def _transfer_waits(facts: Facts, judgement: Judgement) -> bool:
    """Whether the transfer takes far longer than the wire needs, and no limit explains it."""
    row, wire = (
        array_side(facts.topology, judgement.load, facts.tables),
        wire_seconds(facts.tables["link"], judgement.load),
    )
    if judgement.limiter is not None or row is None or row["san_seconds"] is None or not wire:
        return False
    transfer = number(row, "san_seconds")
    return transfer >= max(SLOW_TRANSFER_RATIO * wire, below_queues(facts, judgement.load) / 2)


def _queues_in_tcp(facts: Facts, judgement: Judgement) -> bool:
    """Whether most of the latency is queueing in the network, by TCP's clock, and no limit explains it: a shaper or
    policer carries less than the port's speed."""
    below, tcp = below_queues(facts, judgement.load), tcp_path(facts, judgement.load)
    transfer = None if tcp is None else tcp.transfer((below, below))
    if judgement.limiter is not None or tcp is None or transfer is None or tcp.round_trip_seconds is None:
        return False
    return (
        tcp.round_trip_seconds >= SLOW_TRANSFER_RATIO * tcp.least_round_trip_seconds
        and transfer[0] - tcp.distance[1] >= below / 2
    )


def _reads_late(facts: Facts, judgement: Judgement) -> bool:
    """Whether received data spends at least half of the latency waiting for the load's machine to read it."""
    tcp = tcp_path(facts, judgement.load) if judgement.load.direction == "read" else None
    return tcp is not None and tcp.unread_seconds >= judgement.load.latency_seconds / 2


def _cleared_arrays(facts: Facts, judgements: Sequence[Judgement], not_cleared: set[str]) -> list[Cleared]:
    """Arrays and volumes whose own time is short or has not grown."""
    by_entity: dict[str, list[tuple[FactRow, Judgement]]] = {}
    for judgement in judgements:
        row = array_side(facts.topology, judgement.load, facts.tables)
        if row is not None and row["array_seconds"] is not None and number(row, "windows") >= MIN_WINDOWS:
            by_entity.setdefault(str(row["entity"]), []).append((row, judgement))
    cleared = _cleared_by_response(facts, judgements, not_cleared)
    for entity, rows in _with_array(facts, by_entity).items():
        without_queue = [(row, j) for row, j in rows if _has_no_queue(row) and not _may_be_full(facts, j, row)]
        if entity in not_cleared or len(without_queue) < len(rows):
            continue
        # A single step does not show how the array's time grows: then it must be a small part of the latency.
        row, judgement = without_queue[0]
        if any(_gap_dominates(facts, judgement, array_row) for array_row, judgement in without_queue):
            continue
        is_small = array_time(judgement.load, row) is not None and not array_dominates(facts, judgement.load, row)
        if len(rows) == 1 and not is_small:
            continue
        times = [number(array_row, "array_seconds") for array_row, _ in without_queue]
        interval = " to ".join(dict.fromkeys(duration(seconds) for seconds in (min(times), max(times))))
        slowest = max(judgement.load.latency_seconds for _, judgement in without_queue)
        cleared.append(
            Cleared(
                entity,
                _highest_load([array_row for array_row, _ in without_queue]),
                f"service and queue time {interval} in every step, while the load saw up to {duration(slowest)}",
            )
        )
    return cleared


def _with_array(
    facts: Facts, by_entity: dict[str, list[tuple[FactRow, Judgement]]]
) -> dict[str, list[tuple[FactRow, Judgement]]]:
    """The same rows, with a volume's rows added to its array's if the array's own row describes other steps.

    Which of the two describes a step depends on the array's other work in it. Only all steps together show how the
    time grows with the load.
    """
    joined: dict[str, list[tuple[FactRow, Judgement]]] = {}
    for entity, rows in by_entity.items():
        array = array_of(facts.topology, entity)
        joined.setdefault(array if array in by_entity else entity, []).extend(rows)
    return joined


def _cleared_by_response(facts: Facts, judgements: Sequence[Judgement], not_cleared: set[str]) -> list[Cleared]:
    """Arrays that report their own time and the transfer as one figure, if even that figure is a small part of the
    latency."""
    by_entity: dict[str, list[tuple[FactRow | None, FactRow, Judgement]]] = {}
    for judgement in judgements:
        row = array_side(facts.topology, judgement.load, facts.tables)
        if row is not None and row["array_seconds"] is None and number(row, "windows") >= MIN_WINDOWS:
            by_entity.setdefault(str(row["entity"]), []).append((response_time(judgement.load, row), row, judgement))
    cleared = []
    for entity, entries in by_entity.items():
        small = [
            small_row
            for response, small_row, judgement in entries
            if response is not None and is_response_short(facts, judgement.load, response)
        ]
        if entity not in not_cleared and len(small) == len(entries):
            most = duration(max(number(row, "response_seconds") for row in small))
            cleared.append(
                Cleared(
                    entity,
                    _highest_load(small),
                    f"at most {most} from an I/O's arrival to its completion, transfer included, while the load saw "
                    f"up to {duration(max(judgement.load.latency_seconds for *_, judgement in entries))}",
                )
            )
    return cleared


def _highest_load(rows: Sequence[FactRow]) -> dict[str, float]:
    """The highest throughput that an array or volume was seen to serve."""
    return {fact: max(number(row, fact) for row in rows) for fact in ("bytes_per_second", "ops_per_second")}


def _gap_dominates(facts: Facts, judgement: Judgement, row: FactRow) -> bool:
    """Whether most of the latency passes between the clocks of host and array, and no link there limits."""
    inside_seconds = number(row, "array_seconds") + number(row, "qos_limit_seconds") + number(row, "san_seconds")
    gap_seconds = below_queues(facts, judgement.load) - inside_seconds
    return judgement.limiter is None and gap_seconds > judgement.load.latency_seconds / 2


def _has_no_queue(row: FactRow) -> bool:
    """Whether the array's time has not grown, and I/Os hardly wait in it, for service or for a QoS limit."""
    is_queueing = number(row, "queue_ratio") >= _QUEUEING_RATIO or number(
        row, "qos_limit_seconds"
    ) > _QUEUEING_RATIO * number(row, "array_seconds")
    return (number(row, "growth") or 1.0) < _SMALL_GROWTH and not is_queueing


def _may_be_full(facts: Facts, judgement: Judgement, row: FactRow) -> bool:
    """Whether the array may already have been full at the lowest load: more load brought no more throughput, and most
    of the time passes in the array. A constant time does not clear it then."""
    return flat_over_load(facts.loads, judgement.load) is not None and array_dominates(facts, judgement.load, row)


def _cleared_links(facts: Facts, not_cleared: set[str]) -> list[Cleared]:
    rows: dict[str, list[FactRow]] = {}
    # A counter that misses bytes in one direction, or stands still, says nothing about the other direction.
    not_cleared = {*not_cleared, *(str(row["entity"]) for row in facts.tables["link"].select(miscounts=True))}
    for row in facts.tables["link"]:
        if row["utilisation_max"] is not None and number(row, "windows") >= MIN_WINDOWS:
            rows.setdefault(str(row["entity"]), []).append(row)
    return [
        Cleared(entity, {"bytes_per_second": max(number(row, "bytes_per_second") for row in used)}, _link_words(used))
        for entity, used in sorted(rows.items())
        if entity not in not_cleared and _busiest(used) < BUSY
    ]


def _busiest(rows: Sequence[FactRow]) -> float:
    return max(number(row, "utilisation_max") for row in rows)


def _link_words(rows: Sequence[FactRow]) -> str:
    if _busiest(rows) < _IDLE_UTILISATION:
        return f"idle: it is up at {rows[0]['speed']}, without traffic of the test"
    return f"busiest window {percent(_busiest(rows))} of {rows[0]['speed']}, either direction"


def _cleared_load(facts: Facts, judgements: Sequence[Judgement], not_cleared: set[str]) -> list[Cleared]:
    """The loads, each with the processor time of its busiest process; the busiest load first."""
    loads = sorted((f for f in facts.loads if f.cpu_ratio is not None), key=lambda load: -(load.cpu_ratio or 0.0))
    if any((load.cpu_ratio or 0.0) >= BUSY or quota_used(facts, load)[0] >= BUSY for load in loads):
        return []
    # A generator can limit without a busy processor: it may not issue the configured I/Os.
    if any(load.entity in not_cleared for load in loads) or any(map(_suspects_generator, judgements)):
        return []
    if any(judgement.kind not in _NOTHING_LIMITS and _reads_late(facts, judgement) for judgement in judgements):
        return []
    if any(_may_fill_machine(facts, load) or _needs_core(facts, load) for load in loads):
        return []
    by_entity: dict[str, list[LoadFacts]] = {}
    for load in loads:
        by_entity.setdefault(load.entity, []).append(load)
    return [
        Cleared(
            entity,
            {"ops_per_second": max(load.ops_per_second for load in own)},
            f"its busiest process used no more than {percent(own[0].cpu_ratio or 0.0)} of a core",
        )
        for entity, own in by_entity.items()
    ]


def _suspects_generator(judgement: Judgement) -> bool:
    """Whether the generator limits a step, or is a suspect in a limited step."""
    suspects = () if judgement.kind in _NOTHING_LIMITS else judgement.suspects
    return judgement.kind == "generator_limited" or any(
        suspect.verdict == "generator_limited" and suspect.probability >= _SUSPECT_PROBABILITY for suspect in suspects
    )


def _may_fill_machine(facts: Facts, load: LoadFacts) -> bool:
    """Whether all processes of a load together use at least one core of a machine whose processors were not read: it
    may have no more."""
    machines = machines_of(facts.topology, load.entity)
    rows = facts.tables["host"].select(step=load.step)
    if any(row["cpu_ratio"] is not None for row in rows if row["entity"] in machines):
        return False
    threads = threads_of(facts, load)
    return threads > 1 and threads * (load.cpu_ratio or 0.0) >= BUSY


def _needs_core(facts: Facts, load: LoadFacts) -> bool:
    """Whether a load's threads run or wait for a core for at least `BUSY` of the time."""
    machines = machines_of(facts.topology, load.entity)
    rows = [row for row in facts.tables["host"].select(step=load.step) if row["entity"] in machines]
    return any(number(row, "load_thread_run_ratio") + number(row, "load_thread_wait_ratio") >= BUSY for row in rows)


def with_validity_limits(cleared: Sequence[Cleared], findings: Sequence[Finding]) -> Iterator[Cleared]:
    """The same elements, with the limits of the test's validity in the reasons for arrays and volumes: an array that
    is fast with zeros has proven nothing about its media."""
    doubts = sorted({f.rule for f in findings if f.role == "validity" and f.outcome == "hit"})
    for element in cleared:
        if doubts and element.entity.startswith(("array:", "volume:")):
            yield replace(
                element, because=f"{element.because}; subject to the validity of the test ({', '.join(doubts)})"
            )
        else:
            yield element
