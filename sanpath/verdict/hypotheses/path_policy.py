"""The path policy uses paths one after the other: as many links, the throughput of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import log

from sanpath.facts.table import number
from sanpath.verdict.hypotheses.claim import Claim, Conclusion, Evidence, normal
from sanpath.verdict.hypotheses.device_ports import uncounted_ports
from sanpath.verdict.model import Bottleneck
from sanpath.verdict.places.host_queues import wait_at
from sanpath.verdict.places.table import PlaceTable
from sanpath.verdict.prediction.change import ADAPTIVE, IN_TURN, ONE_PATH
from sanpath.verdict.units import count, percent

_USED = 0.2
"""Share of the test's bytes from which on a path is in use and not just probed."""
_TOGETHER = (1.05, 0.1)
"""What links that are used in turn carry together, in links: mean and spread (closed-loop event simulation: 1.0 to
1.2 with a Round Robin batch larger than what is in flight)."""
_TIMES = 3.0
"""A batch this many times what is in flight leaves the other paths empty while it lasts."""
_BATCH = 3.0
_NO_BATCH = -4.0


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One where several links of the host are in use."""
    used = dict(_used(table))
    if len(used) < 2:
        return
    together = sum(used.values())
    mean, spread = _TOGETHER
    weight = log((0.95 * normal(together, mean, spread) + 0.002) / 0.5)
    parts = " and ".join(percent(share) for share in used.values())
    evidence = [Evidence(f"{len(used)} links of the host are busy {parts}: together what one link carries", weight)]
    evidence += list(_policy(table))
    entity = wait_at(table.facts, table.load, table.load.entity)
    explains, may_explain = table.transfer, table.before_transfer
    yield Claim(
        "bottleneck",
        "path_policy",
        entity,
        explains,
        evidence,
        "saturates",
        partial(_conclude, table, list(used)),
        may_explain=may_explain,
    )


def _used(table: PlaceTable) -> Iterator[tuple[str, float]]:
    """The host's links that carry the load, or its initiators where no switch counts them, and how full each is."""
    links = [link for link in table.on_path if link["side"] == "host" and number(link, "share") >= _USED]
    for link in links:
        if link["utilisation"] is not None and link["full_ratio"]:
            yield str(link["entity"]), number(link, "utilisation") / number(link, "full_ratio")
    if not links:
        fact = f"filled_ratio_{table.load.direction}"
        ports = [row for row, sure in uncounted_ports(table) if sure and str(row["entity"]).startswith("hba:")]
        most = sum(number(row, fact) for row in ports)
        yield from ((str(row["entity"]), number(row, fact)) for row in ports if number(row, fact) >= _USED * most)


def _policy(table: PlaceTable) -> Iterator[Evidence]:
    rows = [row for row in table.facts.tables["multipath"].select(step=table.load.step) if row["policy"]]
    policies = {str(row["policy"]) for row in rows}
    if policies & {*ADAPTIVE, *ONE_PATH}:
        yield Evidence("its path policy does not use paths in turn", _NO_BATCH)
    for row in rows:
        if row["policy"] in IN_TURN and row["switch_operations"] is not None:
            batch = number(row, "switch_operations")
            words = f"Round Robin changes path after {count(batch)} I/Os"
            yield Evidence(words, _BATCH if batch > _TIMES * table.load.in_flight_measured else _NO_BATCH)
            return


def _conclude(table: PlaceTable, used: Sequence[str], named: Sequence[Claim]) -> Conclusion:
    """The path policy sends a batch down one path, then the next."""
    load, entity = table.load, str(named[0].entity)
    because = (
        named[0].evidence[0].words,
        "throughput does not grow with the load: the paths are used one after the other, not side by side",
    )
    bottleneck = Bottleneck(
        entity=entity,
        kind="path_policy",
        layer="host",
        direction=load.direction,
        ceiling_bytes_per_second=load.bytes_per_second,
        ceiling_ops_per_second=load.ops_per_second,
        coincident=tuple(used),
        wait_at=entity,
        because=because,
        overturn_if=("a path policy that changes path after every I/O, at the same IOPS",),
    )
    return Conclusion((bottleneck,), because)
