"""A link that was counted is full.

Every I/O crosses its links both ways: a write's answer follows the data of reads, a read's command those of writes.
So of each link the direction counts that is nearer to its limit, whichever way the payload goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from sanpath.facts.compute import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.load_volumes import SHARED
from sanpath.facts.table import FactRow, number
from sanpath.verdict.evidence.step import flat_over_load, is_full
from sanpath.verdict.hypotheses.claim import Claim, Conclusion, Evidence, at_limit, stall_weight
from sanpath.verdict.model import Bottleneck, Next
from sanpath.verdict.places.host_queues import wait_at
from sanpath.verdict.places.table import PlaceTable
from sanpath.verdict.prediction.predict import next_limit
from sanpath.verdict.units import bandwidth, count, iops, percent

COINCIDENT = 0.03
"""Ceilings that differ by less are one bottleneck: relieving one alone moves nothing."""
MOSTLY_OTHERS = 0.5
"""Share of a link's bytes from which on it is somebody else who fills it."""
_BUSY = 0.5
"""A port behind which others wait for credit is full, or does not drain: then it carries little."""
_ONCE = 0.93
_NO_BURSTS = 0.03
"""Share of limiting links of which no window was full."""
_OTHERS_FILL = 1.5
_MAYBE = -0.7
"""Log-odds that a link carries the test where others use it as well: one of two (two fabrics)."""
_CAP_UNREAD = -1.2
_CLEARLY = 0.05
"""By how much the other direction has to be fuller to be what counts: of two that are full each has its own."""
_SHORT = 0.02
"""A link that stays further than this below what a full one reads may be held there by a cap that nobody sees."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One for every counted link that carries the load, or may."""
    explains, may_explain = table.transfer, table.before_transfer
    for row in _rows(table).values():
        used = _used(row)
        words = f"{row['entity']} is at {percent(used)} of what a full link reads{_across(table, row)}"
        full_once = number(row, "utilisation_max") >= _ONCE * number(row, "full_ratio")
        weight = at_limit(used) if full_once else at_limit(used, bursts=_NO_BURSTS)
        if row["on_loaded_path"] is None:
            # Others may have filled it: that it is full says less of the test.
            weight = min(weight, _OTHERS_FILL)
        evidence = [Evidence(words, weight)]
        stall = number(row, "upstream_stall_ratio") - number(row, "credit_stall_ratio")
        if stall > 0 and used >= _BUSY:
            words = f"ports that send to it wait for credit {percent(stall)} of the time"
            evidence.append(Evidence(words, max(0.0, stall_weight(stall)) / 2))
        if row["on_loaded_path"] is None:
            evidence.append(Evidence("whether the test uses it could not be told", _MAYBE))
        if table.array is None and number(row, "full_ratio") - number(row, "utilisation") > _SHORT:
            evidence.append(Evidence("without the array's word a cap just below it is not excluded", _CAP_UNREAD))
        entity = str(row["entity"])
        conclude = partial(_conclude, table)
        yield Claim(
            "bottleneck",
            "link",
            entity,
            explains,
            evidence,
            "saturates",
            conclude,
            group="links",
            may_explain=may_explain,
        )


def _rows(table: PlaceTable) -> dict[str, FactRow]:
    """Link → its counters in the direction that is clearly nearer to its limit, else in that of the load."""
    here = table.facts.tables["link"].select(step=table.load.step)
    mine = {str(row["entity"]) for row in table.links}
    other = [row for row in here if row["direction"] != table.load.direction and row["entity"] in mine]
    found: dict[str, FactRow] = {}
    for row in (*table.links, *other):
        if row["utilisation"] is not None and row["full_ratio"] and row["on_loaded_path"] is not False:
            known = found.setdefault(str(row["entity"]), row)
            if _used(row) > _used(known) + _CLEARLY:
                found[str(row["entity"])] = row
    return found


def _used(row: FactRow) -> float:
    return number(row, "utilisation") / number(row, "full_ratio")


def _across(table: PlaceTable, row: FactRow) -> str:
    """That it is full in the direction that the payload does not go."""
    if row["direction"] == table.load.direction:
        return ""
    what = "answers" if table.load.direction == "write" else "commands"
    return f" in the {row['direction']} direction, which {what} take"


def _conclude(table: PlaceTable, named: Sequence[Claim]) -> Conclusion:
    """The lowest ceiling binds; coincident links are named with it."""
    facts, load = table.facts, table.load
    entities = {claim.entity for claim in named}
    full = [row for entity, row in _rows(table).items() if entity in entities]
    if across := [row for row in full if row["direction"] != load.direction]:
        return _conclude_across(table, across)
    lowest = min(map(_ceiling, full))
    binding = [row for row in full if _ceiling(row) <= lowest * (1 + COINCIDENT)]
    # Nearest to the host first: that is where a person can look first.
    binding.sort(key=lambda row: (row["side"] != "host", -round(number(row, "utilisation"), 3), str(row["entity"])))
    first = binding[0]
    calm = flat_over_load(facts, load)
    following = next_limit(facts, load, binding)
    because = _because(load, first, calm)
    if table.array is None and number(first, "full_ratio") - number(first, "utilisation") > _SHORT:
        because += ("a little less than a full link reads: without the array's word a cap there is not excluded",)
    known = lowest < float("inf")
    bottleneck = Bottleneck(
        entity=str(first["entity"]),
        kind="link",
        layer=_layer(facts, binding),
        direction=load.direction,
        utilisation=number(first, "utilisation"),
        ceiling_bytes_per_second=lowest if known else None,
        ceiling_ops_per_second=lowest / load.operation_bytes if known and load.operation_bytes else None,
        coincident=tuple(str(row["entity"]) for row in binding[1:]),
        wait_at=wait_at(facts, load, str(first["entity"])),
        explains=_explains(load, following),
        because=because,
        overturn_if=_overturn(first),
    )
    return Conclusion((bottleneck,), because, following)


def _conclude_across(table: PlaceTable, full: Sequence[FactRow]) -> Conclusion:
    """What is full carries no payload of this direction: what it would let through is not known from it."""
    load, first = table.load, max(full, key=_used)
    words = f"{first['entity']} is at {percent(_used(first))} of what a full link reads{_across(table, first)}"
    bottleneck = Bottleneck(
        entity=str(first["entity"]),
        kind="link",
        layer=_layer(table.facts, [first]),
        direction="write" if load.direction == "read" else "read",
        utilisation=number(first, "utilisation"),
        coincident=tuple(str(row["entity"]) for row in full if row is not first),
        wait_at=wait_at(table.facts, load, str(first["entity"])),
        because=(words,),
        overturn_if=_overturn(first),
    )
    return Conclusion((bottleneck,), (words,))


def others_share(row: FactRow) -> float:
    """Share of a link's bytes that is not the test's."""
    counted = number(row, "bytes_per_second")
    return number(row, "foreign_bytes_per_second") / counted if counted else 0.0


def _ceiling(row: FactRow) -> float:
    """Not known where the load counts no bytes: then it ranks last."""
    return number(row, "ceiling_bytes_per_second") or float("inf")


def _because(load: LoadFacts, row: FactRow, calm: LoadFacts | None) -> tuple[str, ...]:
    counted, capacity = number(row, "bytes_per_second"), number(row, "capacity_bytes_per_second")
    full = f"a full {row['speed']} link reads {percent(number(row, 'full_ratio'))}"
    said = [
        f"{bandwidth(counted)} counted of {bandwidth(capacity)} = {percent(number(row, 'utilisation'))}; {full}",
        f"full in {percent(number(row, 'full_windows_ratio'))} of {count(number(row, 'windows'))} windows",
    ]
    if others_share(row) > SHARED:
        foreign = number(row, "foreign_bytes_per_second")
        said.append(f"{bandwidth(foreign)} of it is not the test's: others use this link as well")
    if calm is not None:
        ratio = load.in_flight_measured / calm.in_flight_measured
        said.append(
            f"{count(calm.in_flight_measured)} I/Os in flight gave {iops(calm.ops_per_second)}, "
            f"{ratio:.1f} times as many gave {iops(load.ops_per_second)}: more load buys only latency"
        )
    return tuple(said)


def _overturn(row: FactRow) -> tuple[str, ...]:
    said = ["a second path that carries bytes of the test while the IOPS stay"]
    if others_share(row) <= SHARED:
        said.append("bytes of another host on this link: none were seen beyond 5 %")
    if row["technology"] == "fibre_channel":
        said.append("time without transmit credit on its ports, which would name a slow device behind it")
    return tuple(said)


def _layer(facts: Facts, binding: Sequence[FactRow]) -> str:
    """The layer of a full link is that of its end with the lower capability; if both are equal, the array's front end
    when every array port in use is full, else the fabric."""
    if any(row["side"] == "switch" or row["switch_is_slower"] is not False for row in binding):
        return "fabric"
    first = binding[0]
    if number(first, "capable_high_bits_per_second") > number(first, "negotiated_bits_per_second") * 1.01:
        return "host" if first["side"] == "host" else "array_front"
    here = {"step": first["step"], "direction": first["direction"]}
    ports = facts.tables["link"].select(**here, on_loaded_path=True, side="array")
    return "array_front" if ports and all(is_full(row) for row in ports) else "fabric"


def _explains(load: LoadFacts, following: Next | None) -> float | None:
    """(R - R without the limit) / R, with R without it at the same number in flight, by what limits next."""
    if following is None:
        return None
    return min(1.0, max(0.0, 1 - following.predicted_latency_seconds[0] / load.latency_seconds))
