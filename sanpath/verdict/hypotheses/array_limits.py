"""A limit configured at the array is reached: of a volume, of a volume group, or of a host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import log
from typing import NamedTuple

from sanpath.facts.storage.load_volumes import volumes_of
from sanpath.facts.table import number
from sanpath.topology.paths import only_host
from sanpath.units import duration, percent
from sanpath.verdict.evidence.likelihoods import excess_weight, limit_weight
from sanpath.verdict.hypotheses.claim import Claim, Evidence, conclusion_of, weighed
from sanpath.verdict.places.path_links import COINCIDENT
from sanpath.verdict.places.set_limits import REACHED, configured_limits, limited_ratio
from sanpath.verdict.places.table import PlaceTable

_LIMIT_ERROR = 0.01
"""Standard error of throughput over its limit: throughput is counted exactly, and arrays enforce limits to a
percent."""
_LIMIT_NAMES = {
    "over_volume_ops_ratio": "the limit of IOPS",
    "over_volume_bytes_ratio": "the limit of throughput",
    "over_host_ops_ratio": "the limit of IOPS of all its volumes together",
    "over_host_bytes_ratio": "the limit of throughput of all its volumes together",
}
_MAX_COUNTED_WEIGHT, _MAX_WAIT_WEIGHT = 6.0, 4.0
"""Largest log-likelihood ratios: of the time that an array counts at a limit (it counts for no other reason), and of
a wait for a limit."""
_SIMILAR_TIME_RATIO = 0.5
"""Share of the time of the most exceeded limit for which another limit must be exceeded to hold the load back as
well."""
_USUAL_CAP = 0.01
"""Mean share of the latency that waits for a limit which is not reached: the limit smooths bursts."""


class _Limit(NamedTuple):
    """A configured limit. `ratio`: share of it in use, or share of the time in which it was exceeded."""

    ratio: float
    entity: str
    words: str


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for each limit that may be reached, the fullest first."""
    explains = table.indices("cap") or table.below_host
    held = limited_ratio(table.facts, table.load)
    # Raising it gains at most this share.
    of_part = weighed(log(held), f"only {percent(held)} of the load's I/Os are subject to it")
    for limit, words, weight in _reached_limits(table):
        kind = limit.entity.partition(":")[0]
        layer = "host" if kind == "host" else "array_front"
        conclude = conclusion_of(table, layer, (words,), ("no time waited for a QoS limit at the same IOPS",))
        evidence, group = (Evidence(words, weight), *of_part), "limits set at the array"
        yield Claim(kind, limit.entity, explains, evidence, conclude, verdict="configured_cap", group=group)


def _reached_limits(table: PlaceTable) -> Iterator[tuple[_Limit, str, float]]:
    """Yield the limits that may be reached, each with the reading in words and its log-likelihood ratio.

    If I/Os wait for a limit although no known one is reached, the array has another one.
    """
    if exceeded := _fullest(_exceeded_limits(table), _SIMILAR_TIME_RATIO):
        # The array counts the time at each limit, which is better evidence than throughput.
        for limit in exceeded:
            words = f"{limit.words} of {limit.entity} was exceeded for {percent(limit.ratio)} of the time"
            yield limit, words, excess_weight(limit.ratio, _USUAL_CAP, _MAX_COUNTED_WEIGHT)
        return
    configured = configured_limits(table.facts, table.load)
    limits = _fullest((_Limit(limit.used_ratio, limit.entity, limit.words) for limit in configured), 1 - COINCIDENT)
    array, latency = table.array, table.load.latency_seconds
    if array is not None and (waited := number(array, "qos_limit_seconds")):
        wait = f"an I/O waits {duration(waited)} of {duration(latency)}"
        of_wait = excess_weight(waited / latency, _USUAL_CAP, _MAX_WAIT_WEIGHT)
        reached = [limit for limit in limits if limit.ratio >= REACHED]
        for limit in reached or [_Limit(0.0, str(array["entity"]), "a QoS limit")]:
            weight = limit_weight(limit.ratio, _LIMIT_ERROR) if reached else of_wait
            yield limit, f"{wait} in {limit.entity} because {limit.words} is reached there", max(0.0, weight)
    elif array is None or array["qos_limit_seconds"] is None:
        # An array that does not report how long I/Os wait for its limits may still enforce them.
        for limit in limits:
            state = "reached" if limit.ratio >= REACHED else f"{percent(limit.ratio)} used"
            yield limit, f"{limit.words} of {limit.entity} is {state}", limit_weight(limit.ratio, _LIMIT_ERROR)


def _fullest(limits: Iterable[_Limit], least: float) -> list[_Limit]:
    """The limits with at least this share of the utilisation of the fullest one. A limit with headroom next to a full
    one holds nothing back."""
    ordered = sorted(limits, key=lambda limit: -round(limit.ratio, 2))
    return [limit for limit in ordered if limit.ratio >= least * ordered[0].ratio]


def _exceeded_limits(table: PlaceTable) -> Iterator[_Limit]:
    """Yield the limits for which the array counts the time in which demand exceeded them."""
    facts, load = table.facts, table.load
    volumes, host = volumes_of(facts.topology, load, facts.tables), only_host(facts.topology, load.roots)
    for row in table.rows("volume", direction=load.direction):
        for fact, words in _LIMIT_NAMES.items():
            if row["entity"] in volumes and row[fact] is not None:
                entity = host if host is not None and fact.startswith("over_host") else str(row["entity"])
                yield _Limit(number(row, fact), entity, words)
