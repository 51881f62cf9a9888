"""The path policy uses paths in turn, so that several links carry no more than one; or it uses the wrong paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from math import exp, log
from statistics import fmean

from sanpath.catalogue.values import ADAPTIVE_POLICIES, IN_TURN_POLICIES, SINGLE_PATH_POLICIES
from sanpath.facts.fabric.load_shares import IN_USE
from sanpath.facts.table import FactRow, number
from sanpath.units import bandwidth, count, duration, join_names, percent
from sanpath.verdict.evidence.likelihoods import UNEXPLAINED, limit_weight, normal_density
from sanpath.verdict.hypotheses.claim import SELDOM, UNREAD, Claim, Evidence, conclusion_of
from sanpath.verdict.places.host_queues import wait_at
from sanpath.verdict.places.path_links import PathLink, path_links
from sanpath.verdict.places.table import PlaceTable

_ONE_LUN_TOTAL = (1.05, 0.1)
"""Mean and spread of the total throughput of links that one LUN uses in turn, in full links.

Closed-loop event simulation: 1.0 to 1.2 if a Round Robin batch is larger than the number of I/Os in flight.
"""
_SEVERAL_LUNS_SPREAD = 0.25
"""Spread of this total for several LUNs. For two LUNs, the total is 1 if they always use the same link, and 2 if they
never do."""
_SAME_LINK_PROBABILITY = 0.25
"""Share of the tests with two LUNs in which both always use the same link."""
_USUAL_TOTAL_PROBABILITY, _UNUSUAL_TOTAL_DENSITY, _NOT_IN_TURN_DENSITY = 0.95, 0.002, 0.5
"""Probability that links used in turn have the usual total; density of any other total; and density if links are not
used in turn, because their total may then be anything up to two full links. sanpath's own choices."""
_MIN_GAIN = 0.15
"""Smallest gain in throughput from using links in parallel instead of in turn: if the fullest link has less capacity
left, it limits itself."""
_CLEARLY_FULLER = 1.2
"""Ratio of the array links' utilisation to the host links' from which the array's links are the ones used in turn."""
_BATCH_FACTOR = 3.0
"""Ratio of batch to I/Os in flight from which a batch leaves the other paths empty."""
_BATCH_WEIGHT = 3.0
"""Log-odds of links used in turn if a batch is `_BATCH_FACTOR` times the number of I/Os in flight: sanpath's own
choice, 20 to 1."""
_NO_BATCH_WEIGHT = -4.0
"""Log-odds of links used in turn if the policy does not use paths in turn: sanpath's own choice, 1 to 55. It is not
lower because the policy may have been read at another time."""
_SMALL_BATCH_WEIGHT = -8.0
"""Log-odds of links used in turn if a batch is not larger than the number of I/Os in flight: then the I/Os of two
batches are outstanding at any time, each batch on its own path."""
_MAX_IGNORED_SHARE = 0.1
"""Largest share of the I/Os over non-optimised paths that is ignored: fewer are probes, or a path that failed
over."""
_NON_OPTIMISED_PRIOR = 0.7
"""Log-odds of a detour against a full array: multipathing uses such paths only by mistake, and each I/O is slower."""
_MIN_ARRAY_QUEUE_WEIGHT = -4.0
"""Smallest log-odds of a detour if I/Os wait in the array's own queue: sanpath's own choice, 1 to 55, because an
array may count the way between its controllers as a queue."""
_MAX_DETOUR_WEIGHT = 3.0
"""Largest weight, either way, of the latencies of paths: sanpath's own choice, 20 to 1."""
_MIN_DENSITY = 0.05
"""Smallest density of a longer latency over paths: a few I/Os may differ from most."""
_NOT_SIDE_BY_SIDE = "throughput does not grow with the load: the paths are used one after the other, not side by side"
_OVERTURN = ("a path policy that changes path after every I/O, at the same IOPS",)
_UNMEASURED = "their bytes were not measured: either one path is used, or all of them one after the other"
_UNMEASURED_OVERTURN = (
    "byte counters of both ports: if both are half used, the policy limits; if one is saturated, that link does",
)
_HANDOVER_WEIGHT = -4.0
"""Log-odds of links used in turn if one is idle for a third of the step: sanpath's own choice, 1 to 55."""
_MAX_BATCH_RATIO = 0.05
"""Share of a step up to which a batch of I/Os does not leave a link idle for a third of it: sanpath's own choice."""
_SIDE_BY_SIDE_WEIGHT = -4.0
"""Log-odds of links used in turn if they once carried more together than such links can."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim if several links of a host are in use."""
    used = _used_links(table)
    links = {entity: link.filled_by_load for link in used for entity in link.entities}
    by_host = _by_host(table, links)
    if min(map(len, by_host), default=0) < 2:
        return
    luns_with_policy = [row for row in table.rows("multipath") if row["policy"]]
    total, luns = sum(links.values()) / len(by_host), _max_luns_per_host(table, luns_with_policy)
    if not total or (1 + _MIN_GAIN) * max(links.values()) > 1:
        return
    weight = min(in_turn_weight(sum(links[link] for link in at_host), luns, len(at_host)) for at_host in by_host)
    busy = f"are busy {join_names([percent(share) for share in links.values()])}"
    unmeasured, overturn_if, prior = [], _OVERTURN, 0.0
    if any(link.cables for link in used):
        unmeasured, overturn_if, prior = [Evidence(_UNMEASURED, SELDOM)], _UNMEASURED_OVERTURN, UNREAD
        busy = f"move {percent(total)} of what one carries"
        if luns < 2:
            # The policy may also use one path until it fails. Then the links carry exactly one.
            weight = limit_weight(total, used[0].error)
    if len(by_host) == 1:
        carried = "one link carries" if luns < 2 else f"{count(luns)} LUNs use of them at once"
        words = f"{len(links)} links of the {used[0].side} {busy}: together what {carried}"
    else:
        words = f"{len(links)} links of {len(by_host)} hosts {busy}: at each host what one carries"
    evidence = [Evidence(words, weight), *unmeasured]
    # If no link was counted, the claim includes the use of a single path until it fails.
    if not unmeasured or not all(row["one_path_policy"] for row in luns_with_policy):
        evidence += _policy_evidence(table, luns_with_policy, luns)
    evidence += _handover_evidence(table, used, luns_with_policy)
    if len(by_host) == 1:
        evidence += _side_by_side_evidence(table, total, *_usual_total(luns, len(links)))
    entity = wait_at(table.facts, table.load, table.load.entity)
    because = (words, _NOT_SIDE_BY_SIDE, *(each.words for each in unmeasured))
    conclude = conclusion_of(table, "host", because, overturn_if, coincident=tuple(links))
    may_explain = table.before_transfer
    yield Claim("path_policy", entity, table.transfer, evidence, conclude, prior, may_explain=may_explain)


def _max_luns_per_host(table: PlaceTable, luns: Sequence[FactRow]) -> int:
    """Largest number of these LUNs on one host: only they share its links."""
    topology = table.facts.topology
    hosts = Counter(host for row in luns for host in topology.related(str(row["entity"]), "attached_to") or [""])
    return max(hosts.values(), default=0)


def in_turn_weight(total: float, luns: int, links: int) -> float:
    """Log-likelihood ratio of the total throughput of one host's links, in full links: LUNs use them in turn, or not.

    Two LUNs that meet on one link slow each other down, so that they may stay on the same link.
    """
    density = normal_density(total, *_usual_total(luns, links))
    if luns == 2:
        density = (1 - _SAME_LINK_PROBABILITY) * density + _SAME_LINK_PROBABILITY * normal_density(
            total, *_ONE_LUN_TOTAL
        )
    return log((_USUAL_TOTAL_PROBABILITY * density + _UNUSUAL_TOTAL_DENSITY) / _NOT_IN_TURN_DENSITY)


def _usual_total(luns: int, links: int) -> tuple[float, float]:
    """Mean and spread of the total throughput of one host's links, in full links, if LUNs use them in turn.

    Each of several LUNs changes its link independently: on average they use links x (1 - (1 - 1 / links)^luns) of
    them at once.
    """
    return _ONE_LUN_TOTAL if luns < 2 else (links * (1 - (1 - 1 / links) ** luns), _SEVERAL_LUNS_SPREAD)


def _side_by_side_evidence(table: PlaceTable, total: float, mean: float, spread: float) -> Iterator[Evidence]:
    """Evidence against links used in turn if the load once moved more than such links carry.

    `total`: their measured total throughput, in full links; `mean`, `spread`: the total if they are used in turn. In
    a given time, the load can move at most the bytes that the links' rate allows, and those of the I/Os that were
    outstanding at the start."""
    load = table.load
    most_in_turn = load.bytes_per_second / total * (mean + 2 * spread)
    if load.most_beyond(most_in_turn) > load.in_flight_measured * (load.operation_bytes or 0.0):
        words = f"for some time the load moved more than the {bandwidth(most_in_turn)} of links that are used in turn"
        yield Evidence(words, _SIDE_BY_SIDE_WEIGHT)


def _handover_evidence(table: PlaceTable, used: Sequence[PathLink], luns: Sequence[FactRow]) -> Iterator[Evidence]:
    """Evidence against links used in turn if one is idle for the first or the last third of the step: a path failed,
    or changed its state, and the I/Os moved. A batch of I/Os that a path takes at once must be far shorter."""
    batch_seconds = max((number(row, "switch_operations") for row in luns), default=0.0) / table.load.ops_per_second
    if batch_seconds > _MAX_BATCH_RATIO * table.step.seconds:
        return
    ends = ((row, end, row[f"{end}_utilisation"]) for link in used if (row := link.row) for end in ("first", "last"))
    idle = (
        (row, end)
        for row, end, part in ends
        if part is not None and float(part) < IN_USE * number(row, "utilisation")
    )
    for row, end in idle:
        words = f"{row['entity']} is idle in the {end} third of the step: the I/Os moved from link to link"
        yield Evidence(words, _HANDOVER_WEIGHT)
        return


def _by_host(table: PlaceTable, links: Collection[str]) -> list[list[str]]:
    """The links of each host; all in one list if a link is on no known path."""
    hosts = {end: path.host for path in table.paths for end in (path.hba, *(cable.id for cable in path.cables))}
    by_host: dict[str | None, list[str]] = {}
    for link in links:
        by_host.setdefault(hosts.get(link), []).append(link)
    return [list(links)] if None in by_host else list(by_host.values())


def _used_links(table: PlaceTable) -> list[PathLink]:
    """The hosts' links that carry the load, or the array's links if there is one host and they are fuller."""
    hosts = max(1, len({path.host for path in table.paths}))
    used = [link for link in path_links(table) if (link.share or 0.0) * hosts >= IN_USE]
    # A port and the cable in it are one link.
    in_cables = {cable.device for link in used for cable in link.cables if cable.device not in link.entities}
    used = [link for link in used if in_cables.isdisjoint(link.entities)]
    at_host, at_array = ([link for link in used if link.side == side] for side in ("host", "array"))
    at_hosts, at_arrays = (fmean([link.filled_by_load for link in links] or [0.0]) for links in (at_host, at_array))
    return at_array if hosts == 1 and table.paths and at_arrays > _CLEARLY_FULLER * at_hosts else at_host


def _policy_evidence(table: PlaceTable, luns: Sequence[FactRow], at_one_host: int) -> Iterator[Evidence]:
    """Evidence from the LUNs' path policies for and against links used in turn. `at_one_host`: largest number of LUNs
    on one host."""
    policies = {str(row["policy"]) for row in luns}
    if policies & {*ADAPTIVE_POLICIES, *SINGLE_PATH_POLICIES}:
        yield Evidence("its path policy does not use paths in turn", _NO_BATCH_WEIGHT)
    in_turn = [row for row in luns if row["policy"] in IN_TURN_POLICIES and row["switch_operations"] is not None]
    for row in in_turn[:1]:
        batch = number(row, "switch_operations")
        ratio = max(1.0, batch * len(luns) / table.load.in_flight_measured)
        weight = _SMALL_BATCH_WEIGHT + min(1.0, log(ratio) / log(_BATCH_FACTOR)) * (
            _BATCH_WEIGHT - _SMALL_BATCH_WEIGHT
        )
        # Other LUNs may use the paths that one LUN leaves idle.
        weight = weight if at_one_host == 1 else min(_BATCH_WEIGHT / 2, weight)
        yield Evidence(f"Round Robin changes path after {count(batch)} I/Os", weight)


def of_non_optimised(table: PlaceTable) -> Iterator[Claim]:
    """Claims if many I/Os arrive at a controller that does not own the volume.

    They cross the link between two controllers, and no array reports the utilisation of that link. Some arrays'
    clocks include this way, others' do not. If the array times its queue separately from its service, I/Os over all
    paths wait in that queue.
    """
    rows = table.rows("multipath")
    share = max((number(row, "non_optimised_share") for row in rows), default=0.0)
    if share <= _MAX_IGNORED_SHARE:
        return
    words = f"{percent(share)} of the I/Os use paths that are not optimised, and cross the link between controllers"
    evidence = (Evidence(words, 0.0), *_detour_evidence(rows))
    overturn_if = ("the same throughput with all I/Os over optimised paths",)
    entity, latency_seconds = wait_at(table.facts, table.load, table.load.entity), table.load.latency_seconds
    inside, gaps = table.indices("array_queue", "array_service"), table.gaps
    for explains, where, prior, own in (
        (inside, "inside the array", _NON_OPTIMISED_PRIOR, _array_queue_evidence(table)),
        (gaps, "beyond the last layer that was measured", _NON_OPTIMISED_PRIOR + (UNREAD if inside else 0.0), ()),
    ):
        because = (words, f"{duration(table.seconds(explains))} of {duration(latency_seconds)} pass {where}")
        conclude = conclusion_of(table, "host", because, overturn_if)
        if explains:
            yield Claim("path_policy", entity, explains, (*evidence, *own), conclude, prior)


def _array_queue_evidence(table: PlaceTable) -> Iterator[Evidence]:
    """Evidence against a detour from the time in the array's own queue: I/Os over all paths wait in it."""
    queue = sum(table.segments[index].wait[1] for index in table.indices("array_queue"))
    share = queue / table.load.latency_seconds
    if queue:
        words = f"{duration(queue)} of {duration(table.load.latency_seconds)} are the array's own queue, of all paths"
        yield Evidence(words, max(_MIN_ARRAY_QUEUE_WEIGHT, -share / UNEXPLAINED))


def _detour_evidence(rows: Sequence[FactRow]) -> Iterator[Evidence]:
    """Evidence from the latencies of the paths: a detour that limits delays only the I/Os that take it. The LUN with
    the largest share of its I/Os on a detour decides; LUNs with a negligible share do not count."""
    detours = [row for row in rows if row["detour_ratio"] and number(row, "non_optimised_share") > _MAX_IGNORED_SHARE]
    if detours:
        ratio = number(max(detours, key=lambda row: number(row, "non_optimised_share")), "detour_ratio")
        longer = max(0.0, 1 - 1 / ratio)
        costs, otherwise = _MIN_DENSITY + 2 * longer, _MIN_DENSITY + exp(-longer / UNEXPLAINED) / UNEXPLAINED
        words = f"an I/O over them takes {ratio:.2f} times as long as over the others"
        yield Evidence(words, max(-_MAX_DETOUR_WEIGHT, min(_MAX_DETOUR_WEIGHT, log(costs / otherwise))))
