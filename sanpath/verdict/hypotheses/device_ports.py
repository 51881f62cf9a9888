"""The link of an initiator or target port is full by the port's own counters, because no switch counted it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from sanpath.facts.table import FactRow, number
from sanpath.units import percent
from sanpath.verdict.hypotheses.claim import Claim, Evidence, limited_by
from sanpath.verdict.hypotheses.likelihoods import at_limit
from sanpath.verdict.places.table import PlaceTable

_ERROR = 0.04
"""Standard error of their utilisation: ports of hosts and arrays count words or frames, with or without headers."""
_MAYBE = -0.7
"""Log-odds that a target port of the array is one that the test uses."""

_OVERTURN = ("byte counters of the switch port at its other end below 95 % of what a saturated link reads",)


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for every port of the load's hosts and arrays that is no end of a counted link."""
    for row, is_used in uncounted_ports(table):
        utilisation = number(row, f"filled_ratio_{table.load.direction}")
        words = f"{row['entity']} counts {percent(utilisation)} of what a saturated link reads"
        evidence = [Evidence(words, at_limit(utilisation, _ERROR))]
        if not is_used:
            evidence.append(Evidence("whether the test uses it is not known", _MAYBE))
        entity, may_explain = str(row["entity"]), table.before_transfer
        layer = "host" if entity.startswith("hba:") else "array_front"
        because = (words, "no switch port there was measured: these are its own counters")
        conclude = partial(limited_by, table, layer=layer, because=because, overturn_if=_OVERTURN)
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
