"""Ethernet flow control: a link on the path of the test is paused, because frames are accepted too slowly
further on.

On lossless Ethernet a port whose buffers fill sends pause frames (IEEE 802.3, Annex 31B; by priority: 802.1Qbb), and
its peer holds all frames back, those of the test as well. So the last paused link downstream tells which device or
switch sends the pauses: a device that is slow itself, or a switch with a port that is full or paused, often that of
another host.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log

from sanpath.facts.fabric.link_measures import is_saturated
from sanpath.facts.table import FactRow, FactValue, number
from sanpath.model import Layer
from sanpath.units import count, percent
from sanpath.verdict.evidence.likelihoods import stall_weight
from sanpath.verdict.hypotheses.claim import Claim, Evidence, conclusion_of
from sanpath.verdict.hypotheses.slow_drain import links_fed_by
from sanpath.verdict.places.table import PlaceTable

_MIN_RATIO = 0.05
"""Share of the time that pauses may last from which they count: a port may pause its peer now and then."""
_USUAL_PAUSE = 0.5
"""Length of a pause in longest ones. Its end is announced by another frame, so that it lasts any time up to that."""

_MAY_CARRY_WEIGHT = log(0.5)
"""Log-odds of a paused link if it is not known whether the test uses it: one of two, in two fabrics."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for each receiver that pauses links with data of the test, or that may have some."""
    last_links: dict[str, list[FactRow]] = {}
    for row in table.links:
        if _paused_ratio(row) >= _MIN_RATIO and (last := _last_paused(table, row)) is not None:
            rows = last_links.setdefault(str(last["receiver"]), [])
            if last not in rows:
                rows.append(last)
    for receiver, rows in last_links.items():
        rows.sort(key=lambda row: -_paused_ratio(row))
        yield _claim(table, receiver, rows)


def _paused_ratio(row: FactRow) -> float:
    """Share of the time for which the sender of a link is probably paused. 0: it is not, or nobody counts pauses."""
    return _USUAL_PAUSE * number(row, "paused_most_ratio")


def _last_paused(table: PlaceTable, row: FactRow) -> FactRow | None:
    """The last paused link downstream. None: its receiver is not known, or behind it is a full link of the path,
    which is a cause of its own."""
    current, visited = row, {row["entity"]}
    while current["receiver"] is not None:
        onward = [each for each in links_fed_by(table, current) if each["entity"] not in visited]
        if any(each["on_loaded_path"] and is_saturated(each) for each in onward):
            return None
        paused = [each for each in onward if _paused_ratio(each) >= _MIN_RATIO]
        if not paused:
            return current
        current = max(paused, key=_paused_ratio)
        visited.add(current["entity"])
    return None


def _claim(table: PlaceTable, receiver: str, rows: Sequence[FactRow]) -> Claim:
    """A claim that a device or switch pauses these links, the most paused one first."""
    first, *others = rows
    entity = str(first["entity"])
    rate, most = count(round(number(first, "pauses_per_second"))), percent(number(first, "paused_most_ratio"))
    words = f"{receiver} pauses {entity} {rate} times a second, up to {most} of the time"
    behind = [str(row["entity"]) for row in links_fed_by(table, first) if is_saturated(row)]
    is_switch = receiver.startswith("switch:")
    layers: dict[FactValue, Layer] = {"host": "host", "array": "array_front"}
    reasons = (words, *(f"{link} is saturated, and frames for it wait there" for link in behind[:1]))
    if is_switch and not behind:
        reasons = (*reasons, f"a port of {receiver} is full, or what is behind it accepts frames too slowly")
    conclude = conclusion_of(
        table,
        "fabric" if is_switch else layers.get(first["side"], "fabric"),
        reasons,
        (f"the same latency while {receiver} sends no pause frames",),
        ceiling_ratio=None,
        limited_by=entity,
        wait_at=entity,
        culprit=receiver,
        coincident=tuple(str(row["entity"]) for row in others),
    )
    evidence = [Evidence(words, stall_weight(_paused_ratio(first)))]
    if all(row["on_loaded_path"] is None for row in rows):
        evidence.append(Evidence("it is not known whether the test uses it", _MAY_CARRY_WEIGHT))
    return Claim(
        "credit_stall",
        entity,
        table.transfer,
        evidence,
        conclude,
        growth="any",
        group=f"pauses of {receiver}",
        # Frames of other hosts delay even a single I/O of the test.
        independent_of_load=is_switch,
        may_explain=table.before_transfer,
    )
