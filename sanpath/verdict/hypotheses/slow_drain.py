"""A device that does not return its credits: on a lossless fabric it holds up everybody who shares a switch with it.

Time without transmit credit on a port accuses what is behind it. From a stalled link of the loaded path the frames
are followed downstream, switch by switch, to the last stalled port, a slow device, or to the first full one, which is
oversubscribed. The stalled links on the way are victims, however long their frames wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from sanpath.facts.compute import Facts
from sanpath.facts.table import FactRow, number
from sanpath.verdict.evidence.step import is_full
from sanpath.verdict.hypotheses.claim import Claim, Conclusion, Evidence, stall_weight
from sanpath.verdict.model import Bottleneck
from sanpath.verdict.places.table import PlaceTable
from sanpath.verdict.units import bandwidth, percent

STALLED = 0.3
"""A port that spends this share of a second without transmit credit is congested (port monitor policy of a vendor's
fabrics: TxWait 30 %)."""
STALLED_IDLE = 0.1
"""The same for a port that carries little: a port without credit cannot be full."""
_IDLE = 0.5
_MOST = 0.8
"""Share of what a held port sends that comes through a link if that link's other users are who sends there."""
_FULL = 2.0
"""Log-likelihood ratio of a port that is full and takes its frames from a link that the test uses."""
_Conclude = Callable[[Sequence[Claim]], Conclusion]


def is_stalled(row: FactRow) -> bool:
    """Whether frames on a link wait for credit and not for the link."""
    if row["credit_stall_ratio"] is None or is_full(row):
        return False
    stall = number(row, "credit_stall_ratio")
    return stall >= STALLED or (stall >= STALLED_IDLE and number(row, "utilisation") < _IDLE)


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One where frames of the loaded path wait for credit and the device that holds them up was seen; else one for
    each link of it that carries frames of others to a port that is full or waits for credit."""
    rows = [row for row in table.links if row["credit_stall_ratio"] is not None and not is_full(row)]
    victims = sorted(filter(is_stalled, rows), key=lambda row: -number(row, "credit_stall_ratio"))
    found = next((cause for row in victims if (cause := _cause(table.facts, row)) is not None), None)
    if found is None:
        yield from _behind_others(table)
        return
    stall = number(victims[0], "credit_stall_ratio")
    words = f"{victims[0]['entity']} waits for credit {percent(stall)} of the time"
    evidence = [Evidence(words, stall_weight(stall))]
    if is_full(found):
        evidence.append(Evidence(f"{found['entity']} is full", 1.0))
    held = [str(row["entity"]) for row in victims if row["entity"] != found["entity"]]
    waits = f"waits for credit {percent(stall)} of the time because of it, and is not full itself"
    because = [f"{link} {waits}" for link in held[:1]]
    yield _claim(table, found, evidence, partial(_conclude, table, found, held, because))


def _behind_others(table: PlaceTable) -> Iterator[Claim]:
    """A device counts no credit of its own ports: where it sends frames of others through the port that the test
    uses, and these cannot go on, the test's stand behind them."""
    for shared in table.links:
        others = _of_others(table, shared)
        found = _cause(table.facts, shared)
        if (
            shared["technology"] != "fibre_channel"
            or found is None
            or found["entity"] in (shared["entity"], *(row["entity"] for row in table.on_path))
            or others < _MOST * number(found, "bytes_per_second")
        ):
            continue
        words = f"{shared['entity']} carries {bandwidth(others)} of others, whose frames wait for {found['entity']}"
        stalled = stall_weight(number(found, "credit_stall_ratio")) if is_stalled(found) else _FULL
        because = [words + ": those of the test stand behind them"]
        held = [str(shared["entity"])]
        yield _claim(table, found, [Evidence(words, stalled)], partial(_conclude, table, found, held, because))


def _of_others(table: PlaceTable, row: FactRow) -> float:
    """Bytes a second of a link that are certainly not the test's."""
    if row["foreign_bytes_per_second"] is not None:
        return number(row, "foreign_bytes_per_second")
    return max(0.0, number(row, "bytes_per_second") - table.load.bytes_per_second)


def _claim(table: PlaceTable, found: FactRow, evidence: Sequence[Evidence], conclude: _Conclude) -> Claim:
    entity, device = str(found["entity"]), str(found["receiver"] or found["entity"])
    # A host that is too slow is too slow on all its ports.
    owner = next(iter(table.facts.topology.related(device, "attached_to", "host")), device)
    return Claim(
        "bottleneck",
        "credit_stall",
        entity,
        table.transfer,
        evidence,
        "any",
        conclude,
        group=f"credit_stall {owner}",
        may_explain=table.before_transfer,
    )


def _conclude(
    table: PlaceTable, found: FactRow, held: Sequence[str], reasons: Sequence[str], named: Sequence[Claim]
) -> Conclusion:
    facts, load = table.facts, table.load
    # Behind an uplink that several share, who it is stays open.
    entity, culprit = str(found["entity"]), str(found["receiver"] or found["entity"])
    owner = next(iter(facts.topology.related(culprit, "attached_to", "host")), None)
    who = f"{culprit} of {owner}" if owner is not None and owner.partition(":")[2] not in culprit else culprit
    on_path = any(row["entity"] == entity for row in table.on_path)
    if is_full(found):
        why = f"{entity} is full ({percent(number(found, 'utilisation'))}): more is sent to {who} than it can take"
    else:
        own, use = percent(number(found, "credit_stall_ratio")), percent(number(found, "utilisation"))
        why = f"{who} returns no credit for {own} of the time while its link is used to {use}"
    because = [why, *reasons]
    if not on_path:
        because.append(f"{who} is no part of the test: it shares switches with it")
    bottleneck = Bottleneck(
        entity=entity,
        kind="credit_stall",
        layer="host" if on_path and found["side"] == "host" else "fabric",
        direction=load.direction,
        utilisation=None if found["utilisation"] is None else number(found, "utilisation"),
        coincident=tuple(str(claim.entity) for claim in named if claim.entity != entity),
        limited_by=entity,
        wait_at=held[0] if held else entity,
        culprit=culprit,
        victims=tuple(held),
        because=tuple(because),
        overturn_if=(f"the same stall while {who} is quiet",),
    )
    return Conclusion((bottleneck,), tuple(because))


def _cause(facts: Facts, stalled: FactRow) -> FactRow | None:
    """The last stalled link downstream, or the first full one. None: its receiver is a switch that shows neither."""
    here, seen = stalled, {stalled["entity"]}
    while True:
        onward = [
            row
            for row in facts.tables["link"].select(
                step=here["step"], direction=here["direction"], sender=here["receiver"]
            )
            if row["entity"] not in seen and (is_full(row) or is_stalled(row))
        ]
        if not onward:
            return here if _ends_at_device(facts, here) else None
        here = max(onward, key=lambda row: (number(row, "credit_stall_ratio"), number(row, "utilisation")))
        seen.add(here["entity"])
        if is_full(here):
            return here


def _ends_at_device(facts: Facts, row: FactRow) -> bool:
    if row["receiver"] is None:
        return bool(row["side"] == "host")
    receiver = facts.topology.entities.get(str(row["receiver"]))
    return receiver is not None and receiver.kind != "switch"
