"""The link of an initiator or target port is full by the port's own counters, because no switch counted it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from sanpath.facts.table import FactRow, number
from sanpath.units import percent
from sanpath.verdict.hypotheses.claim import Claim, Conclusion, Evidence, at_limit, limited_by, other_entities
from sanpath.verdict.places.table import PlaceTable

_ERROR = 0.04
"""Standard error of their utilisation: ports of hosts and arrays count words or frames, with or without headers."""
_MAYBE = -0.7
"""Log-odds that a target port of the array is one that the test uses."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for every port of the load's hosts and arrays that is no end of a counted link."""
    for row, is_used in uncounted_ports(table):
        utilisation = number(row, f"filled_ratio_{table.load.direction}")
        words = f"{row['entity']} counts {percent(utilisation)} of what a saturated link reads"
        evidence = [Evidence(words, at_limit(utilisation, _ERROR))]
        if not is_used:
            evidence.append(Evidence("whether the test uses it is not known", _MAYBE))
        entity, conclude = str(row["entity"]), partial(_conclude, table)
        may_explain = table.before_transfer
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


def _conclude(table: PlaceTable, claims: Sequence[Claim]) -> Conclusion:
    entity = str(claims[0].entity)
    because = (claims[0].evidence[0].words, "no switch port there was measured: these are its own counters")
    overturn_if = ("byte counters of the switch port at its other end below 95 % of what a saturated link reads",)
    layer = "host" if entity.startswith("hba:") else "array_front"
    others = other_entities(entity, claims)
    return limited_by(table, entity, "link", layer, because, overturn_if, coincident=others)
