"""What did not limit the test, and up to which load that was shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sanpath.facts.compute import Facts
from sanpath.facts.storage.load_volumes import array_side, array_time, response_time
from sanpath.facts.table import FactRow, number
from sanpath.rulebook.model import Finding
from sanpath.verdict.evidence.step import BUSY, array_dominates, flat_over_load, queues_inside, response_small
from sanpath.verdict.model import Cleared
from sanpath.verdict.places.host_queues import below_queues
from sanpath.verdict.places.segments import wire_seconds
from sanpath.verdict.step_judgement import WINDOWS, Judgement
from sanpath.verdict.units import duration, percent

_CALM = 2.0
"""Service and queue time that stays below twice that of the lowest load has not begun to queue."""


_WAITS = 0.5
"""Waiting half as long as being served is a beginning queue."""
_SLOW_TRANSFER = 5.0
"""Transfer time this many times that of the wire, at a free link, is somebody's wait."""
_NOTHING_LIMITS = ("concurrency_limited", "demand_limited", "healthy")
_SUSPECTED = 0.05
"""Probability from which on a suspect is not cleared."""
_IDLE = 0.001
"""A link below it carries only what keeps it up."""

_DOUBTED = 0.02
"""Probability from which on a suspect is not cleared, whatever else is named."""


def cleared_elements(facts: Facts, judgements: Sequence[Judgement]) -> list[Cleared]:
    """What did not limit, with the highest load that it was seen to bear."""
    limiters = {e for j in judgements for b in j.bottlenecks for e in (b.entity, *b.coincident)}
    # What is suspected is not cleared, whatever else is found to limit.
    limiters |= {
        e
        for j in judgements
        for suspect in (() if j.kind in _NOTHING_LIMITS else j.suspects)
        if suspect.probability >= _SUSPECTED
        for e in (suspect.entity, *suspect.coincident)
        if e is not None
    }
    limiters |= {volume for e in limiters if e in facts.topology.entities for volume in _parts(facts, e)}
    # A transfer that takes far longer than the wire needs is a wait on some link: which one is not known.
    held_up = any(_held_up(facts, judged) for judged in judgements)
    links = [] if held_up else _cleared_links(facts, limiters)
    return [*_cleared_arrays(facts, judgements, limiters), *links, *_cleared_load(facts)]


def _parts(facts: Facts, entity: str) -> list[str]:
    """The volumes of an array, or the array of a volume."""
    kind = "volume" if entity.startswith("array:") else "array"
    return facts.topology.related(entity, "member_of", kind) if entity.startswith(("array:", "volume:")) else []


def _held_up(facts: Facts, judged: Judgement) -> bool:
    row, wire = array_side(facts.topology, judged.load, facts.tables), wire_seconds(facts, judged.load)
    if judged.limiter is not None or row is None or row["san_seconds"] is None or not wire:
        return False
    transfer = number(row, "san_seconds")
    return transfer >= max(_SLOW_TRANSFER * wire, below_queues(facts, judged.load) / 2)


def _cleared_arrays(facts: Facts, judgements: Sequence[Judgement], limiters: set[str]) -> list[Cleared]:
    found: dict[str, list[tuple[FactRow, Judgement]]] = {}
    for judged in judgements:
        row = array_side(facts.topology, judged.load, facts.tables)
        if row is not None and row["array_seconds"] is not None and number(row, "windows") >= WINDOWS:
            found.setdefault(str(row["entity"]), []).append((row, judged))
    cleared = _cleared_by_response(facts, judgements, limiters)
    for entity, seen in found.items():
        calm = [(r, j) for r, j in seen if _is_calm(r) and not _suspect(facts, j, r)]
        if entity in limiters or len(calm) < len(seen):
            continue
        # With one step alone nothing says how its time grows: then it must be a small part of the latency.
        row, judged = calm[0]
        if any(_at_door(facts, j, r) for r, j in calm):
            continue
        small = array_time(judged.load, row) is not None and not array_dominates(facts, judged.load, row)
        if len(seen) == 1 and not small:
            continue
        times = [number(r, "array_seconds") for r, _ in calm]
        cleared.append(
            Cleared(
                entity,
                {
                    "bytes_per_second": max(number(r, "bytes_per_second") for r, _ in calm),
                    "ops_per_second": max(number(r, "ops_per_second") for r, _ in calm),
                },
                f"service and queue time {duration(min(times))} to {duration(max(times))} in every step, while the "
                f"load saw up to {duration(max(j.load.latency_seconds for _, j in calm))}",
            )
        )
    return cleared


def _cleared_by_response(facts: Facts, judgements: Sequence[Judgement], limiters: set[str]) -> list[Cleared]:
    """Arrays that tell their own part and the transfer as one, and of which even that is a small part."""
    found: dict[str, list[tuple[FactRow | None, FactRow, Judgement]]] = {}
    for judged in judgements:
        row = array_side(facts.topology, judged.load, facts.tables)
        if row is not None and row["array_seconds"] is None and number(row, "windows") >= WINDOWS:
            found.setdefault(str(row["entity"]), []).append((response_time(judged.load, row), row, judged))
    cleared = []
    for entity, seen in found.items():
        small = [r for told, r, j in seen if told is not None and response_small(facts, j.load, told)]
        if entity not in limiters and len(small) == len(seen):
            most = duration(max(number(row, "response_seconds") for row in small))
            cleared.append(
                Cleared(
                    entity,
                    {
                        what: max(number(row, what) for row in small)
                        for what in ("bytes_per_second", "ops_per_second")
                    },
                    f"at most {most} from an I/O's arrival to its completion, transfer included, while the load saw "
                    f"up to {duration(max(j.load.latency_seconds for *_, j in seen))}",
                )
            )
    return cleared


def _at_door(facts: Facts, judged: Judgement, row: FactRow) -> bool:
    """Whether most of the latency passes between the host's clock and the array's, and not in a link that limits."""
    inside = number(row, "array_seconds") + number(row, "qos_limit_seconds") + number(row, "san_seconds")
    gap = below_queues(facts, judged.load) - inside
    return judged.limiter is None and gap > judged.load.latency_seconds / 2


def _is_calm(row: FactRow) -> bool:
    """The array's time has not grown, and I/Os hardly wait in it, neither to be served nor for a QoS limit."""
    waits = queues_inside(row, _WAITS) or number(row, "qos_limit_seconds") > _WAITS * number(row, "array_seconds")
    return (number(row, "growth") or 1.0) < _CALM and not waits


def _suspect(facts: Facts, judged: Judgement, row: FactRow) -> bool:
    """Where more load brought no more throughput and most of the time still passes in the array, it may have been
    full at the lowest load already: that its time has not grown since proves nothing."""
    if judged.limiter is not None and judged.limiter.startswith("lun:"):
        array = next(iter(facts.topology.related(str(row["entity"]), "member_of", "array")), row["entity"])
        return any(one.entity == array and one.probability >= _DOUBTED for one in judged.suspects)
    return flat_over_load(facts, judged.load) is not None and array_dominates(facts, judged.load, row)


def _cleared_links(facts: Facts, limiters: set[str]) -> list[Cleared]:
    rows: dict[str, list[FactRow]] = {}
    for row in facts.tables["link"]:
        if row["utilisation_max"] is not None and number(row, "windows") >= WINDOWS:
            rows.setdefault(str(row["entity"]), []).append(row)
    free = {e: s for e, s in sorted(rows.items()) if e not in limiters and _busiest(s) < BUSY}
    return [
        Cleared(entity, {"bytes_per_second": max(number(r, "bytes_per_second") for r in seen)}, _use(seen))
        for entity, seen in free.items()
    ]


def _busiest(rows: Sequence[FactRow]) -> float:
    return max(number(row, "utilisation_max") for row in rows)


def _use(rows: Sequence[FactRow]) -> str:
    if _busiest(rows) < _IDLE:
        return f"idle: it is up at {rows[0]['speed']} and carries nothing of the test"
    return f"busiest window {percent(_busiest(rows))} of {rows[0]['speed']}, either direction"


def _cleared_load(facts: Facts) -> list[Cleared]:
    used = [f for f in facts.loads if f.cpu_ratio is not None]
    busiest = max((f.cpu_ratio or 0.0 for f in used), default=None)
    if busiest is None or busiest >= BUSY:
        return []
    up_to = {"ops_per_second": max(f.ops_per_second for f in used)}
    return [Cleared(used[0].entity, up_to, f"a process of the load used at most {percent(busiest)} of a core")]


def as_far_as_valid(cleared: Sequence[Cleared], found: Sequence[Finding]) -> Iterator[Cleared]:
    """The same, with what the test is not good for beside what it says of an array: one that is fast with zeros has
    shown nothing of its media."""
    doubts = sorted({f.rule for f in found if f.role == "validity" and f.outcome == "hit"})
    for one in cleared:
        if doubts and one.entity.startswith(("array:", "volume:")):
            yield replace(one, because=f"{one.because}; as far as the test is valid ({', '.join(doubts)})")
        else:
            yield one
