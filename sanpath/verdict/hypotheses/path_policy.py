"""The path policy uses paths one after the other, so several links give the throughput of one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from math import log

from sanpath.facts.table import FactRow, number
from sanpath.units import bandwidth, count, percent
from sanpath.verdict.hypotheses.claim import Claim, Conclusion, Evidence, limited_by, normal
from sanpath.verdict.hypotheses.device_ports import uncounted_ports
from sanpath.verdict.places.host_queues import wait_at
from sanpath.verdict.places.table import PlaceTable
from sanpath.verdict.prediction.change import ADAPTIVE, IN_TURN, ONE_PATH

_IN_USE = 0.2
"""Share of the test's bytes from which a path is in use and not only probed."""
_TOGETHER = (1.05, 0.1)
"""Mean and spread of what links used in turn carry together, in links.

Closed-loop event simulation: 1.0 to 1.2 with a Round Robin batch larger than what is in flight.
"""
_BATCH_FACTOR = 3.0
"""A batch this many times the I/Os in flight leaves the other paths empty while it lasts."""
_BATCH = 3.0
_NO_BATCH = -4.0
_BATCH_OUTSTANDING = -8.0
"""Log-odds of links used in turn where a batch is no more than what is in flight: the I/Os of two batches are
outstanding at any time, each on a path of its own."""
_FURTHER_LUN = -1.5
"""Log-odds of links used in turn for each LUN beyond the first: each changes path at moments of its own, so two LUNs
use the same one of two paths half of the time, and together carry what one and a half links do."""
_SIDE_BY_SIDE = -4.0
"""Log-odds of links used in turn that once carried more together than one of them can."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim where several links of a host are in use."""
    links = dict(_used_links(table))
    by_host = _by_host(table, links)
    if min(map(len, by_host), default=0) < 2:
        return
    totals = [sum(links[link] for link in links_of_host) for links_of_host in by_host]
    weight = min(map(_in_turn, totals))
    percentages = " and ".join(percent(share) for share in links.values())
    if len(by_host) == 1:
        words = f"{len(links)} links of the host are busy {percentages}: together what one link carries"
    else:
        words = f"{len(links)} links of {len(by_host)} hosts are busy {percentages}: at each host what one carries"
    evidence = [Evidence(words, weight)]
    evidence += list(policy_evidence(table))
    if len(totals) == 1:
        evidence += _bursts(table, totals[0])
    entity = wait_at(table.facts, table.load, table.load.entity)
    conclude = partial(_conclude, table, list(links))
    yield Claim("path_policy", entity, table.transfer, evidence, conclude, may_explain=table.before_transfer)


def _in_turn(total: float) -> float:
    """Log-likelihood ratio of what the links of one host carry together, in full links."""
    mean, spread = _TOGETHER
    return log((0.95 * normal(total, mean, spread) + 0.002) / 0.5)


def _bursts(table: PlaceTable, total: float) -> Iterator[Evidence]:
    """Evidence against links used in turn where the load once moved more than one of them carries.

    `total`: what they carried together, in full links. In any time, a link passes on no more than its rate allows and
    the I/Os that were outstanding at its beginning."""
    load, (mean, spread) = table.load, _TOGETHER
    most_in_turn = load.bytes_per_second / total * (mean + 2 * spread)
    if load.most_beyond(most_in_turn) > load.in_flight_measured * (load.operation_bytes or 0.0):
        words = f"for some time the load moved more than the {bandwidth(most_in_turn)} that one link carries at most"
        yield Evidence(words, _SIDE_BY_SIDE)


def _by_host(table: PlaceTable, links: Collection[str]) -> list[list[str]]:
    """The links of each host; all together where a link is on no path that is known."""
    hosts = {end: path.host for path in table.paths for end in (path.hba, *(cable.id for cable in path.cables))}
    by_host: dict[str | None, list[str]] = {}
    for link in links:
        by_host.setdefault(hosts.get(link), []).append(link)
    return [list(links)] if None in by_host else list(by_host.values())


def _used_links(table: PlaceTable) -> Iterator[tuple[str, float]]:
    """The host's links that carry the load, and the utilisation of each; its initiators where no switch counts
    them."""
    links = [link for link in table.on_path if link["side"] == "host" and number(link, "share") >= _IN_USE]
    for link in links:
        if link["utilisation"] is not None and link["full_ratio"]:
            yield str(link["entity"]), number(link, "utilisation") / number(link, "full_ratio")
    if not links:
        fact = f"filled_ratio_{table.load.direction}"
        ports = [row for row, is_used in uncounted_ports(table) if is_used and str(row["entity"]).startswith("hba:")]
        total = sum(number(row, fact) for row in ports)
        yield from ((str(row["entity"]), number(row, fact)) for row in ports if number(row, fact) >= _IN_USE * total)


def policy_evidence(table: PlaceTable) -> Iterator[Evidence]:
    """Evidence of the LUNs' path policies for and against links that are used in turn."""
    rows = [row for row in table.facts.tables["multipath"].select(step=table.load.step) if row["policy"]]
    policies = {str(row["policy"]) for row in rows}
    if policies & {*ADAPTIVE, *ONE_PATH}:
        yield Evidence("its path policy does not use paths in turn", _NO_BATCH)
    for row in rows:
        if row["policy"] in IN_TURN and row["switch_operations"] is not None:
            batch = number(row, "switch_operations")
            yield Evidence(f"Round Robin changes path after {count(batch)} I/Os", _batch_weight(table, rows, batch))
            break
    if len(rows) > 1:
        words = f"{count(len(rows))} LUNs change path at different times, and so use several at once"
        yield Evidence(words, _FURTHER_LUN * (len(rows) - 1))


def _batch_weight(table: PlaceTable, luns: Sequence[FactRow], batch: float) -> float:
    """Log-odds of links used in turn, from how many I/Os go down one path before the next is used."""
    in_flight = table.load.in_flight_measured / len(luns)
    if batch <= in_flight:
        return _BATCH_OUTSTANDING
    if batch <= _BATCH_FACTOR * in_flight:
        return _NO_BATCH
    return _BATCH if len(luns) == 1 else 0.0  # The paths that one LUN leaves idle are there for the others.


def _conclude(table: PlaceTable, links: Sequence[str], claims: Sequence[Claim]) -> Conclusion:
    """The conclusion that the path policy sends a batch down one path, then the next."""
    because = (
        claims[0].evidence[0].words,
        "throughput does not grow with the load: the paths are used one after the other, not side by side",
    )
    overturn_if = ("a path policy that changes path after every I/O, at the same IOPS",)
    return limited_by(table, str(claims[0].entity), "path_policy", "host", because, overturn_if, coincident=links)
