"""A device that does not return its credits: on a lossless fabric it delays every device that shares a switch with
it.

Time without transmit credit on a port points to what is behind the port. From a stalled link of the loaded path, the
frames are followed downstream, switch by switch. The search ends at the last stalled port, which is a slow device, or
at the first full one, which is oversubscribed. The stalled links on the way are victims, however long their frames
wait. A stalled link between switches behind which no frame waits has too few credits for its length: a frame and its
credit are longer on the way than the credits last (FC-FS, buffer-to-buffer flow control).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from sanpath.facts.compute import Facts
from sanpath.facts.table import FactRow, number
from sanpath.units import bandwidth, duration, percent
from sanpath.verdict.evidence.likelihoods import UNEXPLAINED, stall_weight
from sanpath.verdict.evidence.step import is_full
from sanpath.verdict.hypotheses.claim import NO_CEILING, Claim, Conclusion, Evidence, limited_by
from sanpath.verdict.places.table import PlaceTable

STALLED = 0.3
"""Share of a second without transmit credit from which a port is congested.

It is the port monitor policy of a vendor's fabrics: TxWait 30 %.
"""
STALLED_IDLE = 0.1
"""The same for a port that carries little: a port without credit cannot be full."""
_IDLE = 0.5
"""Utilisation below which a port carries little."""
_FROM_OTHERS = 0.8
"""Share of a stalled port's bytes that come through a link if that link's other users are the senders."""
_FULL_PORT = 2.0
"""Log-likelihood ratio of a full port that takes its frames from a link that the test uses."""
_HELD_BYTES = 500 * 2148
"""The most that a switch port holds of frames that have arrived: 500 buffers, the largest default of a port without
extended credits (data sheet of a vendor's director), of a full frame (FC-FS-3)."""
_TRANSFER_READY_BYTES = 64 * 1024
"""Data that an array asks for with one frame; with smaller pieces a write waits for more of them."""
_TOO_LONG = -6.0
_ANSWERS_ONLY = -1.5
"""Log-odds that a stalled link holds a test up of which it carries no data: frames of a few bytes are soon let
through."""
_Conclude = Callable[[Sequence[Claim]], Conclusion]


def is_stalled(row: FactRow) -> bool:
    """Whether frames on a link wait for credit and not for the link itself."""
    if row["credit_stall_ratio"] is None or is_full(row):
        return False
    stall_ratio = number(row, "credit_stall_ratio")
    return stall_ratio >= STALLED or (stall_ratio >= STALLED_IDLE and number(row, "utilisation") < _IDLE)


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim where frames of the loaded path wait for credit and the device that causes it was seen.

    Else one for each link of the path that carries frames of others to a port that is full or waits for credit.
    """
    links = (*table.links, *table.opposite_links)
    victims = sorted(filter(is_stalled, links), key=lambda row: -number(row, "credit_stall_ratio"))
    cause = next((candidate for row in victims if (candidate := _cause(table.facts, row)) is not None), None)
    if cause is None:
        yield from _behind_others(table)
        return
    stall_ratio = number(victims[0], "credit_stall_ratio")
    words = f"{victims[0]['entity']} waits for credit {percent(stall_ratio)} of the time"
    if is_full(cause):
        evidence = [Evidence(words, stall_weight(stall_ratio)), Evidence(f"{cause['entity']} is saturated", 1.0)]
    else:
        # It makes others wait at most about as long as it waits itself.
        weight = stall_weight(min(stall_ratio, number(cause, "credit_stall_ratio")))
        evidence = [Evidence(words, weight)]
    evidence += _delay_of_answers(table, victims)
    short = [row for row in victims if _lacks_credits(row)] if _lacks_credits(cause) else []
    if short:
        yield from (_claim(table, row, evidence, partial(_conclude, table, row, (), ())) for row in short)
        return
    stalled_links = [str(row["entity"]) for row in victims if row["entity"] != cause["entity"]]
    words_of_victim = f"waits for credit {percent(stall_ratio)} of the time because of it, but is not saturated"
    reasons = [f"{link} {words_of_victim}" for link in stalled_links[:1]]
    yield _claim(table, cause, evidence, partial(_conclude, table, cause, stalled_links, reasons))


def _delay_of_answers(table: PlaceTable, victims: Sequence[FactRow]) -> list[Evidence]:
    """Evidence that stalled links are too fast for the wait, where only commands or answers of the test cross them.

    These are a few frames an I/O, and behind each other at most what the switches hold of other frames. Data of the
    test would queue at the stalled link themselves, and answers behind the data of others in a common array port.
    """
    load = table.load
    if any(row["direction"] == load.direction for row in victims):
        return []
    evidence = [Evidence("it carries no data of the test in that direction", _ANSWERS_ONLY)]
    entities = {row["entity"] for row in table.on_path}
    array_ports = [row for row in table.opposite_links if row["side"] == "array" and row["entity"] in entities]
    through_ports = sum(number(row, "bytes_per_second") for row in array_ports)
    if through_ports > max(number(row, "bytes_per_second") for row in victims) / 2:
        return evidence
    per_frame = sum(_HELD_BYTES / number(row, "bytes_per_second") for row in victims if row["bytes_per_second"])
    frames = 1.0 if load.direction == "read" else 1 + max(1.0, (load.operation_bytes or 0) / _TRANSFER_READY_BYTES)
    waited = sum(table.segments[index].wait[0] for index in table.transfer)
    unexplained = (waited - frames * per_frame) / load.latency_seconds
    words = f"its frames in that direction wait {duration(frames * per_frame)} at most, I/Os wait {duration(waited)}"
    evidence += [Evidence(words, max(_TOO_LONG, -unexplained / UNEXPLAINED))] if unexplained > 0 else []
    return evidence


def _behind_others(table: PlaceTable) -> Iterator[Claim]:
    """Claims for shared links where frames of others are blocked, and those of the test wait behind them.

    A device does not count the credit of its own ports, so this shows at the links that the test shares with it. An
    array sends to one host over several of its ports: what comes through all of them together counts.
    """
    on_path = {row["entity"] for row in table.on_path}
    test_rates = {str(t.load.direction): t.load.bytes_per_second for t in (table, *table.opposite_direction)}
    blocked: dict[str, list[FactRow]] = {}
    causes: dict[str, FactRow] = {}
    for shared_link in (*table.links, *table.opposite_links):
        cause = _cause(table.facts, shared_link) if shared_link["technology"] == "fibre_channel" else None
        if cause is not None and cause["entity"] not in (shared_link["entity"], *on_path):
            causes[str(cause["entity"])] = cause
            blocked.setdefault(str(cause["entity"]), []).append(shared_link)
    for name, cause in causes.items():
        shared_links = [str(row["entity"]) for row in blocked[name]]
        through = _foreign_bytes_per_second(blocked[name], test_rates.get(str(cause["direction"]), 0.0))
        if through < _FROM_OTHERS * number(cause, "bytes_per_second"):
            continue
        carry = "carries" if len(shared_links) == 1 else "carry"
        words = (
            f"{' and '.join(shared_links)} {carry} {bandwidth(through)} of other hosts, whose frames wait for {name}"
        )
        weight = stall_weight(number(cause, "credit_stall_ratio")) if is_stalled(cause) else _FULL_PORT
        reasons = [words + ": those of the test wait behind them"]
        yield _claim(table, cause, [Evidence(words, weight)], partial(_conclude, table, cause, shared_links, reasons))


def _foreign_bytes_per_second(rows: Sequence[FactRow], test_bytes_per_second: float) -> float:
    """Bytes a second of parallel links that do not belong to the test, which all of them carry once together."""
    unknown = [row for row in rows if row["foreign_bytes_per_second"] is None]
    certain = sum(number(row, "foreign_bytes_per_second") for row in rows)
    return certain + max(0.0, sum(number(row, "bytes_per_second") for row in unknown) - test_bytes_per_second)


def _claim(table: PlaceTable, cause: FactRow, evidence: Sequence[Evidence], conclude: _Conclude) -> Claim:
    entity, device = str(cause["entity"]), str(cause["receiver"] or cause["entity"])
    # A slow host is slow on all its ports, and an array spreads a test over the fabrics and their long links.
    owner = next(iter(table.facts.topology.related(device, "attached_to", "host")), device)
    owner = "long links" if cause["side"] == "switch" and not is_full(cause) else owner
    return Claim(
        "credit_stall",
        entity,
        table.transfer,
        evidence,
        conclude,
        growth="any",
        group=f"credit_stall {owner}",
        may_explain=table.before_transfer,
        # Frames of others block those of the test even if it has a single I/O in flight.
        independent_of_load=not any(row["entity"] == entity for row in table.on_path),
    )


def _conclude(
    table: PlaceTable, cause: FactRow, stalled_links: Sequence[str], reasons: Sequence[str], claims: Sequence[Claim]
) -> Conclusion:
    # Behind an uplink that several devices share, the culprit is not known.
    entity, culprit = str(cause["entity"]), str(cause["receiver"] or cause["entity"])
    stalled, used = percent(number(cause, "credit_stall_ratio")), percent(number(cause, "utilisation"))
    stated: dict[str, Any] = {
        "entity": entity,
        "limited_by": entity,
        "utilisation": cause["utilisation"],
        "wait_at": entity,
    }
    if _lacks_credits(cause):
        waits = f"{entity} waits for credit {stalled} of the time at {used} utilisation"
        because = (f"{waits}, and nothing waits behind it",)
        overturn_if = ("the same stall after its ports were given more buffer credits",)
        return limited_by(table, "fabric", because, overturn_if, claims, ceiling=NO_CEILING, **stated)
    owner = next(iter(table.facts.topology.related(culprit, "attached_to", "host")), None)
    is_named = owner is None or owner.partition(":")[2] in culprit
    name = culprit if is_named else f"{culprit} of {owner}"
    on_path = any(row["entity"] == entity for row in table.on_path)
    reason = f"{name} returns no credit for {stalled} of the time while its link is used to {used}"
    if is_full(cause):
        reason = f"{entity} is saturated ({used}): more is sent to {name} than it can take"
    no_part = () if on_path else (f"{name} is no part of the test: it shares switches with it",)
    layer = "host" if on_path and cause["side"] == "host" else "fabric"
    stated |= {"wait_at": (*stalled_links, entity)[0], "culprit": culprit, "victims": tuple(stalled_links)}
    overturn_if = (f"the same stall while {name} is quiet",)
    because = (reason, *reasons, *no_part)
    return limited_by(table, layer, because, overturn_if, claims, ceiling=NO_CEILING, **stated)


def _cause(facts: Facts, stalled: FactRow) -> FactRow | None:
    """The last stalled link downstream, or the first full one. None: its receiver is a switch that is not counted."""
    current, visited = stalled, {stalled["entity"]}
    while True:
        onward = [
            row
            for row in facts.tables["link"].select(
                step=current["step"], direction=current["direction"], sender=current["receiver"]
            )
            if row["entity"] not in visited and (is_full(row) or is_stalled(row))
        ]
        if not onward:
            return current if _ends_at_device(facts, current) or _lacks_credits(current) else None
        current = max(onward, key=lambda row: (number(row, "credit_stall_ratio"), number(row, "utilisation")))
        visited.add(current["entity"])
        if is_full(current):
            return current


def _lacks_credits(row: FactRow) -> bool:
    """Whether a link between switches waits for credit although the far switch forwards every frame at once."""
    return row["side"] == "switch" and is_stalled(row) and bool(row["forwarded_at_once"])


def _ends_at_device(facts: Facts, row: FactRow) -> bool:
    if row["receiver"] is None:
        return bool(row["side"] == "host")
    receiver = facts.topology.entities.get(str(row["receiver"]))
    return receiver is not None and receiver.kind != "switch"
