"""A link is full by the counters of a switch, or by those of an initiator or target port that no switch counts.

Every I/O crosses its links in both directions: the answers of writes go with the data of reads, and the commands of
reads with the data of writes. So the direction of a link that is closer to its limit counts, even if the payload goes
the other way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from math import log

from sanpath.facts.compute import Facts
from sanpath.facts.fabric.neighbours import WAITED_FOR
from sanpath.facts.storage.load_volumes import SHARED
from sanpath.facts.table import FactRow, number
from sanpath.units import bandwidth, count, percent
from sanpath.verdict.evidence.likelihoods import at_limit, stall_weight
from sanpath.verdict.evidence.step import flat_words, is_full
from sanpath.verdict.hypotheses.claim import (
    NO_CEILING,
    Claim,
    Conclusion,
    Evidence,
    limited_by,
    payload_ceiling,
)
from sanpath.verdict.places.table import PlaceTable

COINCIDENT = 0.03
"""Ceilings that differ by less are one bottleneck: relieving only one of them gains nothing."""
MOSTLY_OTHERS = 0.5
"""Share of a link's bytes from which other hosts fill it."""
_BUSY = 0.5
"""Utilisation from which a port that makes others wait for credit is full. A port that does not drain carries
little."""
_FULL_WINDOW = 0.93
_NO_BURSTS = 0.03
"""Share of limiting links with no window at the limit."""
_OTHERS_FILL = 1.5
_LIKELIEST_USE = 0.5
"""Highest probability that the test uses a link of which that is not known: one of the two of two fabrics."""
_REMAINING = 0.5
"""Share of a link's utilisation that stays in a pause of the test, from which the reader has to know."""
_CAP_UNREAD = -1.2
_CLEARLY_FULLER = 0.05
"""Difference of utilisation from which the other direction counts: if both are full, each has its own limit."""
_BELOW_FULL = 0.02
"""A link that stays further than this below a full one may be limited there by a cap that no source shows."""
_PORT_ERROR = 0.04
"""Standard error of the utilisation of such ports: they count words or frames, with or without headers."""
_MAY_USE = -0.7
"""Log-odds that a target port of the array is one that the test uses."""
_PORT_OVERTURN = ("byte counters of the switch port at its other end below 95 % of what a saturated link reads",)


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for every counted link that carries the load, or may carry it."""
    rows = _rows(table).values()
    sides_with_room = {row["side"] for row in rows if not _is_at_limit(row)}
    possible = Counter(row["side"] for row in rows if row["on_loaded_path"] is None)
    for row in rows:
        # Where all links that the test can take are full, it takes a full one, whichever that is.
        may_be_avoided = row["on_loaded_path"] is None and row["side"] in sides_with_room
        utilisation = utilisation_of(row)
        has_full_window = number(row, "utilisation_max") >= _FULL_WINDOW * number(row, "full_ratio")
        is_steady = not has_full_window and not _is_used_both_ways(table, row)
        weight = at_limit(utilisation, bursts=_NO_BURSTS) if is_steady else at_limit(utilisation)
        if may_be_avoided:
            # Others may have filled it, so a full link proves less about the test.
            weight = min(weight, _OTHERS_FILL)
        evidence = [Evidence(_words(table, row), weight)]
        stall = number(row, "upstream_stall_ratio") - number(row, "credit_stall_ratio")
        if stall > 0 and utilisation >= max(_BUSY, WAITED_FOR * stall):
            words = f"ports that send to it wait for credit {percent(stall)} of the time"
            evidence.append(Evidence(words, max(0.0, stall_weight(stall)) / 2))
        if may_be_avoided:
            # Each of its initiators uses one of them.
            probability = min(_LIKELIEST_USE, max(1, len(table.initiators)) / possible[row["side"]])
            evidence.append(Evidence("whether the test uses it is not known", log(probability)))
        if table.array is None and number(row, "full_ratio") - number(row, "utilisation") > _BELOW_FULL:
            evidence.append(Evidence("without data of the array, a cap just below it is possible", _CAP_UNREAD))
        yield Claim(
            "link",
            str(row["entity"]),
            table.transfer,
            evidence,
            partial(_conclude, table),
            group="links",
            may_explain=table.before_transfer,
            others_share=others_share(row),
        )


def _rows(table: PlaceTable) -> dict[str, FactRow]:
    """Link → its counters in the direction that is clearly closer to its limit, else in that of the load."""
    rows: dict[str, FactRow] = {}
    for row in (*table.links, *table.opposite_links):
        if row["utilisation"] is not None and row["full_ratio"] and row["on_loaded_path"] is not False:
            current = rows.setdefault(str(row["entity"]), row)
            if utilisation_of(row) > utilisation_of(current) + _CLEARLY_FULLER:
                rows[str(row["entity"])] = row
    return rows


def _is_used_both_ways(table: PlaceTable, row: FactRow) -> bool:
    """Whether a link is about as busy in the other direction: reads and writes come in no fixed order, so while they
    queue for one direction the other idles, and neither has a full window."""
    rows = table.facts.tables["link"].select(step=row["step"], entity=row["entity"])
    return all(abs(number(way, "utilisation") - number(row, "utilisation")) <= _CLEARLY_FULLER for way in rows) and (
        len(rows) > 1
    )


def _is_at_limit(row: FactRow) -> bool:
    return utilisation_of(row) >= 1 - COINCIDENT


def utilisation_of(row: FactRow) -> float:
    """Utilisation of a link over what a full link reads; 0 where nobody read it."""
    return number(row, "utilisation") / (number(row, "full_ratio") or 1.0)


def _words(table: PlaceTable, row: FactRow) -> str:
    """How full a link is, and whether it is so against the direction of the payload."""
    words = f"{row['entity']} is at {percent(utilisation_of(row))} of what a saturated link reads"
    if row["direction"] == table.load.direction:
        return words
    payload = "answers" if table.load.direction == "write" else "commands"
    return f"{words} in the {row['direction']} direction, which {payload} take"


def _conclude(table: PlaceTable, claims: Sequence[Claim]) -> Conclusion:
    """The lowest ceiling binds; coincident links are named with it."""
    facts, load = table.facts, table.load
    entities = {claim.entity for claim in claims}
    suspected = [row for entity, row in _rows(table).items() if entity in entities]
    full = [row for row in suspected if _is_at_limit(row)] or suspected
    lowest = min(map(_ceiling, full))
    binding = [row for row in full if _ceiling(row) <= lowest * (1 + COINCIDENT)]
    # Links at the host come first, because a person can check those first.
    binding.sort(key=lambda row: (row["side"] != "host", -round(number(row, "utilisation"), 3), str(row["entity"])))
    # Full against the direction of the payload: its ceiling is unknown.
    against = sorted((row for row in full if row["direction"] != load.direction), key=utilisation_of, reverse=True)
    binding = against or binding
    first = binding[0]
    if against:
        because: tuple[str, ...] = (_words(table, first),)
    else:
        alone = facts.pauses[-1].links.get((str(first["entity"]), load.direction)) if facts.pauses else None
        because = _because(first, alone, flat_words(facts, load))
        if table.array is None and number(first, "full_ratio") - number(first, "utilisation") > _BELOW_FULL:
            because += (
                "a little less than a saturated link reads: without data of the array, a cap there is possible",
            )
    is_known = lowest < float("inf") and not against
    return limited_by(
        table,
        _layer(facts, binding),
        because,
        _overturn(first),
        claims,
        ceiling=payload_ceiling(load, lowest) if is_known else NO_CEILING,
        entity=str(first["entity"]),
        direction=first["direction"],
        coincident=tuple(str(row["entity"]) for row in binding[1:]),
        utilisation=number(first, "utilisation"),
    )


def others_share(row: FactRow) -> float:
    """Share of a link's bytes that does not belong to the test."""
    counted = number(row, "bytes_per_second")
    return number(row, "foreign_bytes_per_second") / counted if counted else 0.0


def _ceiling(row: FactRow) -> float:
    """The ceiling of a link in bytes a second. Infinite, so ranked last, where the load counts no bytes."""
    return number(row, "ceiling_bytes_per_second") or float("inf")


def _because(row: FactRow, alone: float | None, flat: str | None) -> tuple[str, ...]:
    """The reasons for a full link.

    `alone`: its utilisation in a pause of the test, None: not known. `flat`: throughput with fewer I/Os in flight, in
    words, None: it was lower, or not measured.
    """
    counted, capacity = number(row, "bytes_per_second"), number(row, "capacity_bytes_per_second")
    full = f"a saturated {row['speed']} link reads {percent(number(row, 'full_ratio'))}"
    reasons = [
        f"{bandwidth(counted)} counted of {bandwidth(capacity)} = {percent(number(row, 'utilisation'))}; {full}",
        f"saturated in {percent(number(row, 'full_windows_ratio'))} of {count(number(row, 'windows'))} windows",
    ]
    if others_share(row) > SHARED:
        foreign = number(row, "foreign_bytes_per_second")
        reasons.append(f"{bandwidth(foreign)} of it is not the test's: other hosts use this link as well")
    if alone is not None and alone >= _REMAINING * number(row, "utilisation"):
        reasons.append(f"in a pause of the test others alone kept it {percent(alone)} utilised")
    return (*reasons, flat) if flat is not None else tuple(reasons)


def _overturn(row: FactRow) -> tuple[str, ...]:
    conditions = ["a second path that carries bytes of the test at the same IOPS"]
    if others_share(row) <= SHARED:
        conditions.append("bytes of another host on this link: none were seen beyond 5 %")
    if row["technology"] == "fibre_channel":
        conditions.append("time without transmit credit on its ports, which would name a slow device behind it")
    return tuple(conditions)


def _layer(facts: Facts, binding: Sequence[FactRow]) -> str:
    """The layer of the end with the lower capability.

    If both ends are equal: the array's front end if every array port in use is full, else the fabric.
    """
    if any(row["side"] == "switch" or row["switch_is_slower"] is not False for row in binding):
        return "fabric"
    first = binding[0]
    if number(first, "capable_high_bits_per_second") > number(first, "negotiated_bits_per_second") * 1.01:
        return "host" if first["side"] == "host" else "array_front"
    key = {"step": first["step"], "direction": first["direction"]}
    ports = facts.tables["link"].select(**key, on_loaded_path=True, side="array")
    return "array_front" if ports and all(is_full(row) for row in ports) else "fabric"


def of_ports(table: PlaceTable) -> Iterator[Claim]:
    """One claim for every port of the load's hosts and arrays that is no end of a counted link."""
    for row, is_used in uncounted_ports(table):
        utilisation = number(row, f"filled_ratio_{table.load.direction}")
        words = f"{row['entity']} counts {percent(utilisation)} of what a saturated link reads"
        # As of counted links: what works in bursts has full windows, or is used both ways.
        ways = [number(row, f"filled_ratio_{way}") for way in ("read", "write")]
        fullest = row.get(f"filled_ratio_max_{table.load.direction}")
        is_steady = fullest is not None and float(fullest) < _FULL_WINDOW and abs(ways[0] - ways[1]) > _CLEARLY_FULLER
        weight = at_limit(utilisation, _PORT_ERROR, _NO_BURSTS) if is_steady else at_limit(utilisation, _PORT_ERROR)
        evidence = [Evidence(words, weight)]
        if not is_used:
            evidence.append(Evidence("whether the test uses it is not known", _MAY_USE))
        if table.array is None and 1 - utilisation > _BELOW_FULL:
            evidence.append(Evidence("without data of the array, a cap just below it is possible", _CAP_UNREAD))
        entity, may_explain = str(row["entity"]), table.before_transfer
        layer = "host" if entity.startswith("hba:") else "array_front"
        because = (words, "no switch port there was measured: these are its own counters")
        conclude = partial(limited_by, table, layer, because, _PORT_OVERTURN)
        yield Claim("link", entity, table.transfer, evidence, conclude, group="ports", may_explain=may_explain)


def uncounted_ports(table: PlaceTable) -> list[tuple[FactRow, bool]]:
    """The ports with a utilisation of their own that no switch counts, and whether the load is known to use them."""
    filled = f"filled_ratio_{table.load.direction}"
    counted = {end for row in table.links for end in str(row["entity"]).partition(":")[2].split("--")}
    initiators, targets = set(table.initiators), table.targets
    ports_found = []
    for kind, candidates, used in (
        ("initiator", initiators, initiators),
        ("array_port", targets or table.array_ports, targets),
    ):
        for row in table.facts.tables[kind].select(step=table.load.step):
            entity = str(row["entity"])
            if row.get(filled) is not None and entity in candidates and entity.partition(":")[2] not in counted:
                ports_found.append((row, entity in used or len(candidates) == 1))
    return ports_found
