"""What TCP itself tells of the connections that carry a load: how far it is, and how long data are in TCP's hands.

A round trip that TCP measures holds the queues of the network in both directions, as do those of the other end. It
may also hold a delayed acknowledgement, which waits for an answer or up to 0.2 s: so of two ends the shorter one is
nearer to the network's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf, sqrt
from statistics import fmean

from sanpath.diagnosis.model import Interval
from sanpath.facts.fabric.load_shares import LOADED
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, FactTable, number

MOST_ROUND_TRIPS = {"read": 1.0, "write": 3.0}
"""Most times that an I/O crosses the distance and back: a write waits for the target's leave to send (XFER_RDY, R2T),
once for every burst."""
_ALL_OF_IT = 1.25
"""Connections whose initiator is not known carry the load if they carry no more than this multiple of its bytes."""
_SAMPLING_ERROR = 0.5
"""Relative error of a smoothed round trip or a queue that is read once; it decreases with the root of the polls."""
_MOST_ERROR = 0.9
"""Largest such error: sanpath's own choice, as a time that was read is not none."""
_PROMPT_SEGMENTS = 3.0
"""Segments of an I/O from which its acknowledgements come at once: every second full one is acknowledged without
delay (RFC 1122, 4.2.3.2)."""


@dataclass(frozen=True, slots=True)
class TcpPath:
    """The connections of one load in one step and direction, in seconds where nothing else is said.

    `rows`: their facts in this direction; `opposite_rows`: in the other one. `least_round_trip_seconds`: round trip
    without any queue, of the whole run. `round_trip_seconds`: smoothed, of the end that measures the shorter one,
    None: nobody measured it in this step. `sending_seconds`: data in the sender's TCP until they are acknowledged,
    None: the sender of this direction is not read. `unsent_seconds`: the part of it before they are sent.
    `backlog_ratio`: share of the time that the sender has data which it may not send yet. `slow_receiver_ratio`:
    share of that time in which they wait for the receiver's program, which has not read what has arrived.
    `unread_seconds`: what has arrived, until that program reads it. `unread_by_target_seconds`: the same of commands
    and data at the target. `answers_sending_seconds`: as `sending_seconds`, of commands or answers in the opposite
    direction. `polls`: how often these were read. `prompt_ratio`: how far acknowledgements of this load are prompt, 0
    to 1. `round_trips`: most that an I/O needs.
    """

    rows: tuple[FactRow, ...]
    opposite_rows: tuple[FactRow, ...]
    least_round_trip_seconds: float
    round_trip_seconds: float | None
    sending_seconds: float | None
    unsent_seconds: float
    backlog_ratio: float
    slow_receiver_ratio: float
    unread_seconds: float
    unread_by_target_seconds: float
    answers_sending_seconds: float | None
    polls: float
    prompt_ratio: float
    round_trips: float

    @property
    def error(self) -> float:
        """Relative error of times that are read at each poll."""
        return min(_MOST_ERROR, _SAMPLING_ERROR / sqrt(self.polls))

    @property
    def distance(self) -> Interval:
        """Least and most seconds that an I/O needs to cross the distance."""
        return self.least_round_trip_seconds, self.least_round_trip_seconds * self.round_trips

    @property
    def queued_ratio(self) -> float | None:
        """Share of a smoothed round trip that segments queue in the network, at most; None: it was not measured."""
        if self.round_trip_seconds is None:
            return None
        return max(0.0, 1 - self.least_round_trip_seconds / self.round_trip_seconds)

    def transfer(self, gap: Interval) -> Interval | None:
        """Seconds of an I/O in TCP's hands, or waiting for them: in the sender's buffer and on the network. None: the
        sender is not read.

        `gap`: seconds between the clocks above and below. Acknowledgements that are delayed make it seem longer. What
        is lost is sent again in this time. A buffer holds a few I/Os: where it always has data that cannot be sent,
        the others wait above it, in the sender's program, for the same reason.
        """
        if self.sending_seconds is None or self.round_trip_seconds is None:
            return None
        # What is sent and not acknowledged may have arrived long ago: the receiver's processors may be busy.
        least = self.round_trip_seconds + self.unsent_seconds
        most = max(least, self.prompt_ratio * self.sending_seconds)
        least, most = (t - self.slow_receiver_ratio * (t - self.round_trip_seconds) for t in (least, most))
        shortest = self.least_round_trip_seconds
        low = shortest + self.prompt_ratio * max(0.0, least * (1 - self.error) - shortest)
        high = (most + (self.round_trips - 1) * self.round_trip_seconds) * (1 + self.error)
        low, high = _filling((low, high), gap, self.backlog_ratio * (1 - self.slow_receiver_ratio))
        return min(low, high), high

    def at_receiver(self, gap: Interval) -> Interval:
        """Seconds of an I/O in which its data wait for the receiver to read them: unread bytes over rate (Little's
        law). What a window that is closed for it holds back waits for the same reason.

        `gap`: seconds between the clocks above and below, without the time in TCP.
        """
        own = self.unread_seconds * (1 - self.error), self.unread_seconds * (1 + self.error)
        return _filling(own, gap, self.slow_receiver_ratio)


def tcp_path(facts: Facts, load: LoadFacts) -> TcpPath | None:
    """What TCP tells of a load; None: nothing."""
    table = facts.tables["tcp_connection"]
    rows = _carrying(table, load)
    in_step, entities = partial(table.select, step=load.step), {row["entity"] for row in rows}
    opposite_rows = [row for row in in_step() if row["direction"] != load.direction and row["entity"] in entities]
    # Distance does not change from step to step.
    shortest = _mean(rows, lambda row: _least(table.select(entity=row["entity"]), "round_trip_seconds_min"))
    if shortest is None:
        return None
    round_trip = _mean(rows, lambda row: _least(in_step(entity=row["entity"]), "round_trip_seconds"))
    segment = _mean(rows, lambda row: row.get("segment_bytes")) or 0.0
    unread = _mean(rows, _unread) or 0.0
    return TcpPath(
        rows=tuple(rows),
        opposite_rows=tuple(opposite_rows),
        least_round_trip_seconds=shortest if round_trip is None else min(shortest, round_trip),
        round_trip_seconds=round_trip,
        sending_seconds=_mean(rows, lambda row: row.get("sending_seconds")),
        unsent_seconds=_mean(rows, lambda row: row.get("unsent_seconds")) or 0.0,
        backlog_ratio=_mean(rows, _backlog) or 0.0,
        slow_receiver_ratio=_mean(rows, _slow_receiver) or 0.0,
        unread_seconds=unread,
        unread_by_target_seconds=unread if load.direction == "write" else _mean(opposite_rows, _unread) or 0.0,
        answers_sending_seconds=_mean(opposite_rows, lambda row: row.get("sending_seconds")),
        polls=fmean(number(row, "windows") + 1 for row in rows),
        prompt_ratio=min(1.0, (load.operation_bytes or 0.0) / segment / _PROMPT_SEGMENTS) if segment else 0.0,
        round_trips=MOST_ROUND_TRIPS[load.direction],
    )


def _filling(own: Interval, gap: Interval, ratio: float) -> Interval:
    """Seconds in a gap, and this share of what they leave of it."""
    low, high = (min(s, whole) + ratio * max(0.0, whole - s) for s, whole in zip(own, gap, strict=True))
    return low, high


def _carrying(table: FactTable, load: LoadFacts) -> list[FactRow]:
    """The connections that carry a load. Empty: unknown, or none."""
    rows = [
        row
        for row in table.select(step=load.step, direction=load.direction)
        if number(row, "bytes_per_second") >= LOADED * load.bytes_per_second > 0
    ]
    if known := [row for row in rows if row["on_loaded_path"]]:
        return known
    possible = [row for row in rows if row["on_loaded_path"] is None]
    total = sum(number(row, "bytes_per_second") for row in possible)
    return possible if total <= _ALL_OF_IT * load.bytes_per_second else []


def _least(rows: Sequence[FactRow], fact: str) -> float | None:
    """The least of what both ends of a connection measured. None: neither did."""
    return min((v for row in rows if isinstance(v := row.get(fact), float) and v > 0), default=None)


def _backlog(row: FactRow) -> float:
    """Share of the time that a connection has data, times their unsent part, or the part with a full send buffer."""
    sending = number(row, "sending_seconds")
    busy = min(1.0, number(row, "busy_connections") / max(1.0, number(row, "connections")))
    unsent_ratio = min(1.0, number(row, "unsent_seconds") / sending) if sending else 0.0
    return busy * max(unsent_ratio, number(row, "send_buffer_ratio"))


def _unread(row: FactRow) -> float:
    return number(row, "unread_bytes") / number(row, "bytes_per_second") if row["bytes_per_second"] else 0.0


def _slow_receiver(row: FactRow) -> float:
    """Share of a sender's wait in which the receiver's window is closed because its program does not read."""
    unread = number(row, "unread_bytes")
    on_the_way = number(row, "bytes_per_second") * number(row, "round_trip_seconds")
    return number(row, "receive_window_ratio") * unread / (unread + on_the_way) if unread else 0.0


def _mean(rows: Sequence[FactRow], value_of: Callable[[FactRow], object]) -> float | None:
    """The mean over connections, weighted by their bytes; None: one has no value."""
    values = [value_of(row) for row in rows]
    weights = [number(row, "bytes_per_second") for row in rows]
    known = [float(value) for value in values if isinstance(value, int | float)]
    if not rows or len(known) < len(rows) or not sum(weights):
        return None
    return sum(value * weight for value, weight in zip(known, weights, strict=True)) / sum(weights)


def held_up(row: FactRow, window: str) -> float:
    """Share of the time that a connection in use was held up by a window."""
    connections = max(1.0, number(row, "connections"))
    return number(row, f"{window}_ratio") * min(1.0, number(row, "busy_connections") / connections)


def most_with_loss(segment_bytes: float, ratio: float) -> float:
    """The most bytes that a connection has on the way if it loses this share of its segments: 1.22 segments / sqrt(p)
    (Mathis, Semke, Mahdavi and Ott 1997)."""
    return 1.22 * segment_bytes / sqrt(ratio) if ratio else inf
