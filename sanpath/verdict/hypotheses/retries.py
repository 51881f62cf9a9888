"""Damaged or lost frames: commands that time out, and TCP segments that nobody acknowledges, are sent again, and each
costs far more than an I/O.

A few bad frames a minute can take nearly all of a test's throughput: the I/Os that wait for their time-out fill the
queue. Counters of damage tell it even where nobody reads aborts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import log

from sanpath.facts.table import number
from sanpath.topology.paths import initiators_of, targets_of
from sanpath.verdict.hypotheses.claim import Claim, Conclusion, Evidence, counted
from sanpath.verdict.model import Bottleneck
from sanpath.verdict.places.table import PlaceTable
from sanpath.verdict.units import count, duration, percent

_COUNTERS = ("crc_errors_per_second", "errors_per_second")
_OWN = {
    "array_port": ("crc_errors_per_second", "invalid_words_per_second", "errors_per_second"),
    "initiator": ("errors_per_second",),
}
"""Fact table → what its devices count of frames that came in damaged."""
_KINDS = ("hba", "array_port")
_LEAST = 0.5
"""Of less than one event nothing was seen."""
_NONE = -3.0
"""Log-odds where aborted commands are counted and none was."""
_AGAIN = "tcp_retransmit_ratio"
_USUAL_LOSS = 0.01
"""Share of TCP segments sent again where nothing is lost but what a full queue drops: a server whose media are full
reads late what it is sent, and its hosts send it again (measured: 1 % over nvmet)."""
_MOST = 4.0
_SENT_AGAIN = -1.5
"""Log-odds that it is the loss that holds the load, before the share was read."""
_RARE = -0.7
"""Log-odds of damage before anything was read: rarer than a queue or a link that is too small."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One where links were read that may have damaged frames, or the host has aborted commands."""
    yield from _retransmitted(table)
    damage = _damaged(table)
    aborts = _aborts(table)
    if not damage:
        return
    seconds = max(1.0, table.load.seconds or (table.step.end - table.step.start) / 1e6)
    entity = max(damage, key=lambda place: damage[place])
    bad = damage[entity] * seconds
    if bad < _LEAST:
        return
    evidence = [Evidence(f"{count(bad)} damaged frames at {entity} in {seconds:.0f} s", counted(bad))]
    if aborts is not None:
        gone = aborts * seconds
        evidence.append(Evidence(f"{count(gone)} commands aborted in it", counted(gone) if gone >= _LEAST else _NONE))
    explains = _lost_in(table)
    conclude = partial(_conclude, table, evidence)
    yield Claim(
        "bottleneck", "retries", entity, explains, tuple(evidence), "any", conclude, _RARE, independent_of_load=True
    )


def _retransmitted(table: PlaceTable) -> Iterator[Claim]:
    """One where host or array sent TCP segments again that got lost on the way; at the busiest link, where they may
    have been dropped."""
    links = [row for row in table.links if row["technology"] == "ethernet" and row["utilisation"] is not None]
    arrays = table.facts.tables["array"].select(step=table.load.step)
    rows = [*table.facts.tables["host"].select(step=table.load.step), *arrays]
    told = [(number(row, _AGAIN), str(row["entity"])) for row in rows if row.get(_AGAIN) is not None]
    share, sender = max(told, default=(0.0, ""))
    if not links or share <= 0:
        return
    entity = str(
        max(links, key=lambda row: number(row, "utilisation") / (number(row, "full_ratio") or 1.0))["entity"]
    )
    words = f"{sender} sent {percent(share)} of its TCP segments again: they were lost on the way"
    evidence = [Evidence(words, min(_MOST, 2 * log(share / _USUAL_LOSS)))]
    explains = _lost_in(table)
    conclude = partial(_conclude, table, evidence)
    yield Claim(
        "bottleneck",
        "retries",
        entity,
        explains,
        tuple(evidence),
        "any",
        conclude,
        _SENT_AGAIN,
        independent_of_load=True,
    )


def _lost_in(table: PlaceTable) -> frozenset[int]:
    """Between host and array; and above the paths of a multipath map, which sends anew what one of them lost."""
    above = {i for i, one in enumerate(table.segments) if one.queue is not None and one.queue.plane == "device"}
    return table.indices("fabric", "array_door", "below") | {i for i in above if i + 1 not in above}


def _damaged(table: PlaceTable) -> dict[str, float]:
    """Links on the load's ways, and ports at their ends that no switch counts → damaged frames a second.

    A path whose frames are damaged carries little: it need not count as part of the loaded path."""
    own, found = _devices(table), dict[str, float]()
    ways = {cable.id for path in table.paths for cable in path.cables}
    for row in table.facts.tables["link"].select(step=table.load.step, direction=table.load.direction):
        if row["entity"] not in ways:
            continue
        told = [number(row, name) for name in _COUNTERS if row[name] is not None][:1]
        ends = {f"{kind}:{end}" for kind in _KINDS for end in str(row["entity"]).partition(":")[2].split("--")}
        told += [own.pop(end) for end in ends & own.keys()]
        if told:
            found[str(row["entity"])] = sum(told)
    return found | own


def _devices(table: PlaceTable) -> dict[str, float]:
    """Initiators and target ports of the load → damaged frames a second that they count themselves."""
    topology, roots = table.facts.topology, table.load.roots
    mine = {hba for root in roots for hba in initiators_of(topology, root)} | targets_of(topology, *roots)[0]
    mine |= {port for array in table.arrays for port in topology.related(array, "member_of", "array_port")}
    found: dict[str, float] = {}
    for kind, names in _OWN.items():
        for row in table.facts.tables[kind].select(step=table.load.step):
            told = [number(row, name) for name in names if row.get(name) is not None]
            if told and row["entity"] in mine:
                found[str(row["entity"])] = max(told)
    return found


def _aborts(table: PlaceTable) -> float | None:
    rows = table.facts.tables["device"].select(step=table.load.step)
    told = [number(row, "aborts_per_second") for row in rows if row["aborts_per_second"] is not None]
    return max(told) if told else None


def _conclude(table: PlaceTable, evidence: Sequence[Evidence], named: Sequence[Claim]) -> Conclusion:
    load, entity = table.load, str(named[0].entity)
    wait = sum(table.segments[i].independent_wait[1] for i in named[0].explains)
    because = (
        *(one.words for one in evidence),
        f"about {duration(wait)} of {duration(load.latency_seconds)} are lost between host and array",
    )
    bottleneck = Bottleneck(
        entity=entity,
        kind="retries",
        layer="fabric",
        direction=load.direction,
        wait_at=entity,
        explains=min(1.0, wait / load.latency_seconds),
        because=because,
        overturn_if=("the same latency while its error counters stand still",),
    )
    return Conclusion((bottleneck,), because)
