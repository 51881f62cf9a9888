"""The path policy uses paths one after the other, so several links give the throughput of one; or the wrong paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from math import exp, log
from statistics import fmean

from sanpath.catalogue.values import ADAPTIVE_POLICIES, IN_TURN_POLICIES, SINGLE_PATH_POLICIES
from sanpath.facts.fabric.load_shares import IN_USE
from sanpath.facts.table import FactRow, number
from sanpath.units import bandwidth, count, duration, in_series, percent
from sanpath.verdict.evidence.likelihoods import UNEXPLAINED, at_limit, normal
from sanpath.verdict.hypotheses.claim import SELDOM, UNREAD, Claim, Evidence, conclusion_of
from sanpath.verdict.places.host_queues import wait_at
from sanpath.verdict.places.path_links import PathLink, path_links
from sanpath.verdict.places.table import PlaceTable

_TOGETHER = (1.05, 0.1)
"""Mean and spread of what links carry together that one LUN uses in turn, in links.

Closed-loop event simulation: 1.0 to 1.2 with a Round Robin batch larger than what is in flight.
"""
_TOGETHER_SPREAD = 0.25
"""Spread of what they carry together for several LUNs: two that always meet on one link carry 1, two that never meet
carry 2."""
_MEETING = 0.25
"""Share of the tests with two LUNs that both use the same link at any time."""
_AS_USUAL, _UNUSUAL, _NOT_IN_TURN = 0.95, 0.002, 0.5
"""Share of the links used in turn that carry together what is usual, density of what the others carry, and density
where links are not used in turn, which may carry anything up to two full ones: sanpath's own choices."""
_LEAST_GAIN = 0.15
"""Least gain in throughput of links used side by side over links used in turn: where the links have less to give,
they limit."""
_FULLER = 1.2
"""Links of the array are the ones used in turn if they are this much fuller than those of the hosts."""
_BATCH_FACTOR = 3.0
"""A batch this many times the I/Os in flight leaves the other paths empty while it lasts."""
_BATCH = 3.0
"""Log-odds of links used in turn where a batch is `_BATCH_FACTOR` times what is in flight: sanpath's own choice, 20
to 1."""
_NO_BATCH = -4.0
"""Log-odds of links used in turn where the policy does not use them so: sanpath's own choice, 1 to 55, as the policy
that was read may be that of another moment."""
_BATCH_OUTSTANDING = -8.0
"""Log-odds of links used in turn where a batch is no more than what is in flight: the I/Os of two batches are
outstanding at any time, each on a path of its own."""
_USED = 0.1
"""Share of the I/Os over paths that are not optimised from which they count: fewer are probes, or a path that failed
over."""
_NON_OPTIMISED = 0.7
"""Log-odds against a full array: multipathing uses such paths by mistake only, and pays for it with every I/O."""
_QUEUE_OF_ALL = -4.0
"""Least log-odds of a detour where I/Os wait in the array's own queue: sanpath's own choice, 1 to 55, as an array may
count the way between its controllers as a queue."""
_MOST_OF_DETOUR = 3.0
"""The most that the times of paths say for or against a detour: sanpath's own choice, 20 to 1."""
_FLOOR = 0.05
"""Least density of a longer time of paths: a few I/Os may be others than most."""
_NOT_SIDE_BY_SIDE = "throughput does not grow with the load: the paths are used one after the other, not side by side"
_OVERTURN = ("a path policy that changes path after every I/O, at the same IOPS",)
_UNMEASURED = "their bytes were not measured: either one path is used, or all of them one after the other"
_UNMEASURED_OVERTURN = (
    "byte counters of both ports: if both are half used, the policy limits; if one is saturated, that link does",
)
_SIDE_BY_SIDE = -4.0
"""Log-odds of links used in turn that once carried more together than one of them can."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim where several links of a host are in use."""
    used = _used_links(table)
    links = {entity: link.filled_by_load for link in used for entity in link.entities}
    by_host = _by_host(table, links)
    if min(map(len, by_host), default=0) < 2:
        return
    luns_with_policy = [row for row in table.rows("multipath") if row["policy"]]
    total, luns = sum(links.values()) / len(by_host), _most_at_one_host(table, luns_with_policy)
    if not total or (1 + _LEAST_GAIN) * total > len(links) / len(by_host):
        return
    weight = min(in_turn_weight(sum(links[link] for link in at_host), luns, len(at_host)) for at_host in by_host)
    busy = f"are busy {in_series([percent(share) for share in links.values()])}"
    unmeasured, overturn_if, prior = [], _OVERTURN, 0.0
    if any(link.cables for link in used):
        unmeasured, overturn_if, prior = [Evidence(_UNMEASURED, SELDOM)], _UNMEASURED_OVERTURN, UNREAD
        busy = f"move {percent(total)} of what one carries"
        if luns < 2:
            # They may also be used one until it fails: then they carry what one can, exactly.
            weight = at_limit(total, used[0].error)
    if len(by_host) == 1:
        carried = "one link carries" if luns < 2 else f"{count(luns)} LUNs use of them at once"
        words = f"{len(links)} links of the {used[0].side} {busy}: together what {carried}"
    else:
        words = f"{len(links)} links of {len(by_host)} hosts {busy}: at each host what one carries"
    evidence = [Evidence(words, weight), *unmeasured]
    # One path until it fails is what else the claim says where no link was counted.
    if not unmeasured or not all(row["one_path_policy"] for row in luns_with_policy):
        evidence += _policy_evidence(table, luns_with_policy, luns)
    if len(by_host) == 1:
        evidence += _bursts(table, total, *_usual_total(luns, len(links)))
    entity = wait_at(table.facts, table.load, table.load.entity)
    because = (words, _NOT_SIDE_BY_SIDE, *(each.words for each in unmeasured))
    conclude = conclusion_of(table, "host", because, overturn_if, coincident=tuple(links))
    may_explain = table.before_transfer
    yield Claim("path_policy", entity, table.transfer, evidence, conclude, prior, may_explain=may_explain)


def _most_at_one_host(table: PlaceTable, luns: Sequence[FactRow]) -> int:
    """The most of these LUNs that one host has: only they share its links."""
    topology = table.facts.topology
    hosts = Counter(host for row in luns for host in topology.related(str(row["entity"]), "attached_to") or [""])
    return max(hosts.values(), default=0)


def in_turn_weight(total: float, luns: int, links: int) -> float:
    """Log-likelihood ratio of what the links of one host carry together, in full links, if LUNs use them in turn.

    Two LUNs that meet on one link slow each other down, so that they may stay together.
    """
    density = normal(total, *_usual_total(luns, links))
    if luns == 2:
        density = (1 - _MEETING) * density + _MEETING * normal(total, *_TOGETHER)
    return log((_AS_USUAL * density + _UNUSUAL) / _NOT_IN_TURN)


def _usual_total(luns: int, links: int) -> tuple[float, float]:
    """Mean and spread of what the links of one host carry together if LUNs use them in turn, in full links.

    Each of several LUNs changes link at moments of its own: in the mean they use links x (1 - (1 - 1 / links)^luns)
    of them at once.
    """
    return _TOGETHER if luns < 2 else (links * (1 - (1 - 1 / links) ** luns), _TOGETHER_SPREAD)


def _bursts(table: PlaceTable, total: float, mean: float, spread: float) -> Iterator[Evidence]:
    """Evidence against links used in turn where the load once moved more than they carry then.

    `total`: what they carried together, in full links. In any time, a link passes on no more than its rate allows and
    the I/Os that were outstanding at its beginning."""
    load = table.load
    most_in_turn = load.bytes_per_second / total * (mean + 2 * spread)
    if load.most_beyond(most_in_turn) > load.in_flight_measured * (load.operation_bytes or 0.0):
        words = f"for some time the load moved more than the {bandwidth(most_in_turn)} of links that are used in turn"
        yield Evidence(words, _SIDE_BY_SIDE)


def _by_host(table: PlaceTable, links: Collection[str]) -> list[list[str]]:
    """The links of each host; all together where a link is on no path that is known."""
    hosts = {end: path.host for path in table.paths for end in (path.hba, *(cable.id for cable in path.cables))}
    by_host: dict[str | None, list[str]] = {}
    for link in links:
        by_host.setdefault(hosts.get(link), []).append(link)
    return [list(links)] if None in by_host else list(by_host.values())


def _used_links(table: PlaceTable) -> list[PathLink]:
    """The links of hosts that carry the load; of the array where only one host uses them and they are fuller."""
    hosts = max(1, len({path.host for path in table.paths}))
    used = [link for link in path_links(table) if (link.share or 0.0) * hosts >= IN_USE]
    at_host, at_array = ([link for link in used if link.side == side] for side in ("host", "array"))
    at_hosts, at_arrays = (fmean([link.filled_by_load for link in links] or [0.0]) for links in (at_host, at_array))
    return at_array if hosts == 1 and table.paths and at_arrays > _FULLER * at_hosts else at_host


def _policy_evidence(table: PlaceTable, luns: Sequence[FactRow], at_one_host: int) -> Iterator[Evidence]:
    """Evidence of the LUNs' path policies for and against links that are used in turn. `at_one_host`: the most LUNs
    that one host has."""
    policies = {str(row["policy"]) for row in luns}
    if policies & {*ADAPTIVE_POLICIES, *SINGLE_PATH_POLICIES}:
        yield Evidence("its path policy does not use paths in turn", _NO_BATCH)
    in_turn = [row for row in luns if row["policy"] in IN_TURN_POLICIES and row["switch_operations"] is not None]
    for row in in_turn[:1]:
        batch = number(row, "switch_operations")
        ratio = max(1.0, batch * len(luns) / table.load.in_flight_measured)
        weight = _BATCH_OUTSTANDING + min(1.0, log(ratio) / log(_BATCH_FACTOR)) * (_BATCH - _BATCH_OUTSTANDING)
        # Other LUNs may use the paths that one leaves idle.
        weight = weight if at_one_host == 1 else min(_BATCH / 2, weight)
        yield Evidence(f"Round Robin changes path after {count(batch)} I/Os", weight)


def of_non_optimised(table: PlaceTable) -> Iterator[Claim]:
    """Claims where many I/Os arrive at a controller that does not own the volume.

    They cross the link between two controllers, of which no array tells how full it is. Whether they do so behind the
    array's clock or before it differs from array to array. Where the array times its queue apart from its service,
    I/Os over any path wait in that.
    """
    rows = table.rows("multipath")
    share = max((number(row, "non_optimised_share") for row in rows), default=0.0)
    if share <= _USED:
        return
    words = f"{percent(share)} of the I/Os use paths that are not optimised, and cross the link between controllers"
    evidence = (Evidence(words, 0.0), *_detour(rows))
    overturn_if = ("the same throughput with all I/Os over optimised paths",)
    entity, latency_seconds = wait_at(table.facts, table.load, table.load.entity), table.load.latency_seconds
    inside, gaps = table.indices("array_queue", "array_service"), table.gaps
    for explains, where, prior, own in (
        (inside, "inside the array", _NON_OPTIMISED, _queue_of_all(table)),
        (gaps, "below the last clock that was read", _NON_OPTIMISED + (UNREAD if inside else 0.0), ()),
    ):
        because = (words, f"{duration(table.seconds(explains))} of {duration(latency_seconds)} pass {where}")
        conclude = conclusion_of(table, "host", because, overturn_if)
        if explains:
            yield Claim("path_policy", entity, explains, (*evidence, *own), conclude, prior)


def _queue_of_all(table: PlaceTable) -> Iterator[Evidence]:
    """Evidence against a detour of what the array times as its queue: I/Os over any path wait in it."""
    queue = sum(table.segments[index].wait[1] for index in table.indices("array_queue"))
    share = queue / table.load.latency_seconds
    if queue:
        words = f"{duration(queue)} of {duration(table.load.latency_seconds)} are the array's own queue, of all paths"
        yield Evidence(words, max(_QUEUE_OF_ALL, -share / UNEXPLAINED))


def _detour(rows: Sequence[FactRow]) -> Iterator[Evidence]:
    """Evidence of what the detour costs by the clocks of the paths: what limits there makes these I/Os wait, and no
    others."""
    ratios = [
        number(row, "detour_ratio") for row in rows if row["detour_ratio"] and number(row, "non_optimised_share")
    ]
    if ratios:
        longer = max(0.0, 1 - 1 / max(ratios))
        costs, otherwise = _FLOOR + 2 * longer, _FLOOR + exp(-longer / UNEXPLAINED) / UNEXPLAINED
        words = f"an I/O over them takes {max(ratios):.2f} times as long as over the others"
        yield Evidence(words, max(-_MOST_OF_DETOUR, min(_MOST_OF_DETOUR, log(costs / otherwise))))
