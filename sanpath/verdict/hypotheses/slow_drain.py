"""A device that returns its credits too slowly: on a lossless fabric, it delays every device that shares a switch
with it.

Time without transmit credit on a port points to the device behind the port. The search starts at a stalled link of
the loaded path and follows the frames downstream, switch by switch. It ends at the last stalled port, which is a slow
device, or at the first full one, which is oversubscribed. The stalled links in between are victims, however long
their frames wait. A stalled link between switches with no waiting frame behind it has too few credits for its length:
a frame and its credit are under way longer than the credits last (FC-FS, buffer-to-buffer flow control).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from sanpath.facts.fabric.link_measures import is_saturated
from sanpath.facts.fabric.neighbours import is_stalled, may_feed
from sanpath.facts.table import FactRow, FactValue, number
from sanpath.model import Layer
from sanpath.units import bandwidth, duration, join_names, percent
from sanpath.verdict.evidence.likelihoods import UNEXPLAINED, stall_weight
from sanpath.verdict.hypotheses.claim import Claim, Evidence, StatedFields, conclusion_of
from sanpath.verdict.places.table import PlaceTable

_FROM_OTHERS_RATIO = 0.8
"""Share of a stalled port's bytes that must come over a link for that link's other users to be the senders."""
_FULL_PORT_WEIGHT = 2.0
"""Log-likelihood ratio of a full port that takes its frames from a link of the test."""
_HELD_BYTES = 500 * 2148
"""Largest number of received bytes that a switch port holds: 500 buffers, the largest default of a port without
extended credits (data sheet of a vendor's director), of a full frame (FC-FS-3)."""
_TRANSFER_READY_BYTES = 64 * 1024
"""Data that an array requests with one frame. With smaller pieces, a write waits for more of them."""
_AS_SLOW_RATIO = 0.8
"""Ratio of a port's time without credit to that of the device's worst port, from which both ports hold up the test:
sanpath's own choice. A slow device is slow on all its ports, and multipathing uses them alike."""
_MIN_LONG_WAIT_WEIGHT = -6.0
"""Smallest log-odds if I/Os wait longer than the stalled frames explain: sanpath's own choice, 1 to 400."""
_RESPONSES_ONLY_WEIGHT = -1.5
"""Log-odds that a stalled link without data of the test delays the test: frames of a few bytes soon pass."""


class _Cause(NamedTuple):
    """A link at whose end frames are held up, and the stalled links whose frames wait because of it."""

    link: FactRow
    waiting: list[FactRow]


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim if frames of the loaded path wait for credit and the device that causes it was seen.

    Otherwise, one for each link of the path that carries other hosts' frames to a port that is full or waits for
    credit.
    """
    links = (*table.links, *table.opposite_links)
    stalled = sorted(filter(is_stalled, links), key=lambda row: -number(row, "credit_stall_ratio"))
    by_group: dict[str, dict[str, _Cause]] = {}
    for row in stalled:
        if (cause := _cause(table, row)) is not None:
            causes = by_group.setdefault(_group(table, cause), {})
            causes.setdefault(str(cause["entity"]), _Cause(cause, [])).waiting.append(row)
    if not by_group:
        yield from _blocked_by_others(table)
    for causes in by_group.values():
        first = next(iter(causes.values()))
        waiting = [row for each in causes.values() for row in each.waiting]
        evidence = _evidence(table, stalled, first, waiting)
        short_of_credits = [row for row in waiting if _lacks_credits(row)] if _lacks_credits(first.link) else []
        for row in short_of_credits:
            yield _claim(table, row, evidence, (), ())
        together = () if short_of_credits else _as_slow(list(causes.values()))
        # Frames wait at the port of a slow device because of that device, never because of another.
        victims = [row for each in together for row in each.waiting if str(row["entity"]) not in causes]
        reasons = [
            f"{row['entity']} waits for credit {percent(number(row, 'credit_stall_ratio'))} of the time because "
            "of it, but is not saturated"
            for row in victims[:1]
        ]
        for each in together:
            yield _claim(table, each.link, evidence, [str(row["entity"]) for row in victims], reasons)


def _evidence(
    table: PlaceTable, stalled: Sequence[FactRow], first: _Cause, of_group: Sequence[FactRow]
) -> list[Evidence]:
    """Evidence that a cause and those of its group delay the test. `stalled`: all stalled links, the worst first;
    `of_group`: those that wait because of one of the group."""
    cause, worst = first.link, first.waiting[0]
    stall_ratio = number(worst, "credit_stall_ratio")
    # A device delays others at most about as long as it waits itself.
    caused = stall_ratio if is_saturated(cause) else min(stall_ratio, number(cause, "credit_stall_ratio"))
    words = f"{worst['entity']} waits for credit {percent(stall_ratio)} of the time"
    evidence = [Evidence(words, stall_weight(caused)), *_response_delay(table, of_group)]
    if is_saturated(cause):
        evidence.append(Evidence(f"{cause['entity']} is saturated", 1.0))
    elsewhere = [row for row in stalled if row not in of_group and row["direction"] == table.load.direction]
    # It does not delay data of the test that crosses other switches.
    for row in [row for row in elsewhere if row["on_loaded_path"]][:1]:
        ratio = number(row, "credit_stall_ratio")
        words = f"{row['entity']} waits for credit {percent(ratio)} of the time for another reason"
        evidence.append(Evidence(words, -max(0.0, stall_weight(ratio))))
    return evidence


def _as_slow(causes: Sequence[_Cause]) -> list[_Cause]:
    """The first cause and, of the others of the same host or array, those that return credit about as slowly. Full
    ports are all causes."""
    least = _AS_SLOW_RATIO * number(causes[0].link, "credit_stall_ratio")
    return [each for each in causes if is_saturated(each.link) or number(each.link, "credit_stall_ratio") >= least]


def _response_delay(table: PlaceTable, victims: Sequence[FactRow]) -> Iterator[Evidence]:
    """Evidence that stalled links are too fast to explain the wait, if only commands or responses of the test cross
    them.

    These are a few frames per I/O, and each waits at most behind the frames that the switches hold. Data of the test
    would queue at the stalled link themselves, and responses behind other hosts' data in a common array port.
    """
    load = table.load
    if any(row["direction"] == load.direction for row in victims):
        return
    yield Evidence("it carries no test data in that direction", _RESPONSES_ONLY_WEIGHT)
    entities = {row["entity"] for row in table.on_path}
    array_ports = [row for row in table.opposite_links if row["side"] == "array" and row["entity"] in entities]
    through_ports = sum(number(row, "bytes_per_second") for row in array_ports)
    if through_ports > max(number(row, "bytes_per_second") for row in victims) / 2:
        return
    # Only I/Os that cross a link wait there.
    shares = {row["entity"]: number(row, "share") for row in table.links if row["share"] is not None}
    moving = [row for row in victims if row["bytes_per_second"]]
    per_frame = sum(shares.get(row["entity"], 1.0) * _HELD_BYTES / number(row, "bytes_per_second") for row in moving)
    frames = 1.0 if load.direction == "read" else 1 + max(1.0, (load.operation_bytes or 0) / _TRANSFER_READY_BYTES)
    waited = sum(table.segments[index].wait[0] for index in _waiting_in(table, victims[0]))
    unexplained = (waited - frames * per_frame) / load.latency_seconds
    if unexplained > 0:
        most = duration(frames * per_frame)
        words = f"its frames in that direction wait {most} at most, I/Os wait {duration(waited)}"
        yield Evidence(words, max(_MIN_LONG_WAIT_WEIGHT, -unexplained / UNEXPLAINED))


def _blocked_by_others(table: PlaceTable) -> Iterator[Claim]:
    """Claims for shared links with blocked frames of others, behind which the test's frames wait.

    A device does not count the credit of its own ports, so this shows at the links that the test shares with it. An
    array sends to one host over several of its ports: the sum over all of them counts.
    """
    on_path = {row["entity"] for row in table.on_path}
    test_rates = {str(t.load.direction): t.load.bytes_per_second for t in (table, *table.opposite_direction)}
    blocked: dict[str, tuple[FactRow, list[FactRow]]] = {}
    for shared_link in (*table.links, *table.opposite_links):
        if is_stalled(shared_link) is False:
            continue  # The sender hardly ever waits for credit, so no frames are held up at this link.
        cause = _cause(table, shared_link) if shared_link["technology"] == "fibre_channel" else None
        if cause is not None and cause["entity"] not in (shared_link["entity"], *on_path):
            blocked.setdefault(str(cause["entity"]), (cause, []))[1].append(shared_link)
    for name, (cause, rows) in blocked.items():
        shared_links = [str(row["entity"]) for row in rows]
        through = _foreign_bytes_per_second(rows, test_rates.get(str(cause["direction"]), 0.0))
        if through < _FROM_OTHERS_RATIO * number(cause, "bytes_per_second"):
            continue
        carry = f"{join_names(shared_links)} {'carries' if len(shared_links) == 1 else 'carry'}"
        words = f"{carry} {bandwidth(through)} of other hosts, whose frames wait for {name}"
        weight = stall_weight(number(cause, "credit_stall_ratio")) if is_stalled(cause) else _FULL_PORT_WEIGHT
        reasons = [words + ": those of the test wait behind them"]
        yield _claim(table, cause, [Evidence(words, weight)], shared_links, reasons)


def _foreign_bytes_per_second(rows: Sequence[FactRow], test_bytes_per_second: float) -> float:
    """Bytes a second of parallel links that do not belong to the test, whose bytes they carry once, together."""
    unknown = [row for row in rows if row["foreign_bytes_per_second"] is None]
    certain = sum(number(row, "foreign_bytes_per_second") for row in rows)
    return certain + max(0.0, sum(number(row, "bytes_per_second") for row in unknown) - test_bytes_per_second)


def _claim(
    table: PlaceTable, cause: FactRow, evidence: Sequence[Evidence], victims: Sequence[str], reasons: Sequence[str]
) -> Claim:
    """`victims`: the links whose frames wait because of the cause; `reasons`: why, in words."""
    # Behind an uplink that several devices share, the culprit is not known.
    entity, culprit = str(cause["entity"]), str(cause["receiver"] or cause["entity"])
    owner = _owner(table, culprit)
    name = culprit if owner.partition(":")[2] in culprit else f"{culprit} of {owner}"
    on_path = any(row["entity"] == entity for row in table.on_path)
    stalled, used = percent(number(cause, "credit_stall_ratio")), percent(number(cause, "utilisation"))
    used_ratio = cast("float | None", cause["utilisation"])
    stated: StatedFields = {"limited_by": entity, "utilisation": used_ratio, "wait_at": entity}
    layers: dict[FactValue, Layer] = {"host": "host", "array": "array_front"}
    layer = layers.get(cause["side"], "fabric") if on_path else "fabric"
    overturn_if = f"the same stall while {name} is quiet"
    if _lacks_credits(cause):
        reason = f"{entity} waits for credit {stalled} of the time at {used} utilisation"
        because = [f"{reason}, and nothing waits behind it"]
        overturn_if = "the same stall after its ports were given more buffer credits"
    else:
        reason = f"{name} returns no credit for {stalled} of the time while its link is {used} utilised"
        if is_saturated(cause):
            reason = f"{entity} is saturated ({used}): more is sent to {name} than it can take"
        no_part = () if on_path else (f"{name} is not part of the test but shares switches with it",)
        because = [reason, *reasons, *no_part]
        stated |= {"wait_at": (*victims, entity)[0], "culprit": culprit, "victims": tuple(victims)}
    conclude = conclusion_of(table, layer, because, (overturn_if,), ceiling_ratio=None, **stated)
    group = _group(table, cause)
    explains = _waiting_in(table, cause)
    claim = Claim("credit_stall", entity, explains, evidence, conclude, growth="any", group=group)
    # Other hosts' frames block the test even if it has a single I/O in flight.
    return replace(claim, may_explain=table.before_transfer - explains, independent_of_load=not on_path)


def _waiting_in(table: PlaceTable, stalled: FactRow) -> frozenset[int]:
    """Indices of the segments in which the test waits for a stalled link. Towards the array, a read sends only its
    command. It waits before the array's clock if the array times the transfer."""
    is_command = table.load.direction == "read" and stalled["direction"] != "read"
    return (table.before_transfer if is_command else frozenset()) or table.transfer


def _owner(table: PlaceTable, culprit: str) -> str:
    topology = table.facts.topology
    owners = (*topology.related(culprit, "attached_to", "host"), *topology.related(culprit, "member_of", "array"))
    return next(iter(owners), culprit)


def _group(table: PlaceTable, cause: FactRow) -> str:
    """The group of a cause: its host or array, because a slow one is slow on all its ports, and multipathing fills
    all its ports alike. A full port does not show that its device is slow: full and slow ports are two groups. All
    long links are one group, because an array spreads a test over the fabrics."""
    if cause["side"] == "switch" and not is_saturated(cause):
        return "credit_stall long links"
    owner = _owner(table, str(cause["receiver"] or cause["entity"]))
    return f"credit_stall {owner}{' full' if is_saturated(cause) else ''}"


def _cause(table: PlaceTable, stalled: FactRow) -> FactRow | None:
    """The last stalled link downstream, or the first full one. None: its receiver is an uncounted switch."""
    current, visited = stalled, {stalled["entity"]}
    while True:
        onward = [
            row
            for row in links_fed_by(table, current)
            if row["entity"] not in visited and (is_saturated(row) or is_stalled(row))
        ]
        if not onward:
            return current if _ends_at_device(table, current) or _lacks_credits(current) else None
        current = max(onward, key=lambda row: (number(row, "credit_stall_ratio"), number(row, "utilisation")))
        visited.add(current["entity"])
        if is_saturated(current):
            return current


def links_fed_by(table: PlaceTable, link: FactRow) -> list[FactRow]:
    """The next links downstream that may carry what a link carries, in its direction."""
    onward = table.rows("link", direction=link["direction"], sender=link["receiver"])
    return [row for row in onward if may_feed(link, row)]


def _lacks_credits(row: FactRow) -> bool:
    """Whether a link between switches waits for credit although the far switch forwards every frame at once."""
    return row["side"] == "switch" and bool(row["forwarded_at_once"] and is_stalled(row))


def _ends_at_device(table: PlaceTable, row: FactRow) -> bool:
    receiver = table.facts.topology.entities.get(str(row["receiver"]))
    return receiver.kind != "switch" if receiver is not None else row["receiver"] is None and row["side"] == "host"
