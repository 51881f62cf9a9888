"""TCP's own measurements of the connections that carry a load: the distance, and how long TCP holds the data.

A TCP round trip contains the queues of the network in both directions, seen from either end. It may also contain a
delayed acknowledgement, which waits for a response or up to 0.2 s. So the shorter round trip of the two ends is
closer to the network's.
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

MAX_ROUND_TRIPS = {"read": 1.0, "write": 3.0}
"""Largest number of round trips of an I/O: a write waits for the target's permission to send (XFER_RDY, R2T), once
per burst."""
_ALL_BYTES_RATIO = 1.25
"""Connections of an unknown initiator carry the load if they carry at most this multiple of its bytes."""
_SAMPLING_ERROR = 0.5
"""Relative error of a smoothed round trip or a queue that is read once; it decreases with the square root of the
polls."""
_MAX_ERROR = 0.9
"""Largest such error: sanpath's own choice. It is below 1, because a time that was read is not zero."""
_PROMPT_SEGMENTS = 3.0
"""Segments of an I/O from which it is acknowledged at once: every second full segment is acknowledged without delay
(RFC 1122, 4.2.3.2)."""


@dataclass(frozen=True, slots=True)
class TcpPath:
    """The connections of one load in one step and direction; times in seconds unless noted.

    `rows`: their facts in this direction; `opposite_rows`: in the other one. `least_round_trip_seconds`: round trip
    without any queue, of the whole run. `round_trip_seconds`: smoothed, from the end with the shorter one, None: not
    measured in this step. `sending_seconds`: time of data in the sender's TCP until they are acknowledged, None: the
    sender of this direction is not read. `unsent_seconds`: the part of it before they are sent. `backlog_ratio`:
    share of the time that the sender has data which it may not send yet. `slow_receiver_ratio`: share of that time in
    which the data wait because the receiver's program has not read what arrived. `unread_seconds`: time of received
    data until that program reads them. `unread_by_target_seconds`: the same for commands and data at the target.
    `answers_sending_seconds`: as `sending_seconds`, for commands or responses in the opposite direction. `polls`: how
    often these were read. `prompt_ratio`: to what degree acknowledgements of this load are prompt, 0 to 1.
    `round_trips`: largest number that an I/O needs.
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
        return min(_MAX_ERROR, _SAMPLING_ERROR / sqrt(self.polls))

    @property
    def distance(self) -> Interval:
        """Smallest and largest number of seconds that an I/O needs to cross the distance."""
        return self.least_round_trip_seconds, self.least_round_trip_seconds * self.round_trips

    @property
    def queued_ratio(self) -> float | None:
        """Largest share of a smoothed round trip that segments queue in the network; None: it was not measured."""
        if self.round_trip_seconds is None:
            return None
        return max(0.0, 1 - self.least_round_trip_seconds / self.round_trip_seconds)

    def transfer(self, gap: Interval) -> Interval | None:
        """Seconds of an I/O in TCP, or waiting for it: in the sender's buffer and on the network. None: the sender is
        not read. `gap`: seconds between the clocks above and below.

        Delayed acknowledgements make it seem longer. Lost data is retransmitted within this time. A buffer holds a
        few I/Os: if it always has data that cannot be sent, the other I/Os wait above it, in the sender's program,
        for the same reason.
        """
        if self.sending_seconds is None or self.round_trip_seconds is None:
            return None
        # Data that is sent and not acknowledged may have arrived long ago: the receiver's processors may be busy.
        least = self.round_trip_seconds + self.unsent_seconds
        most = max(least, self.prompt_ratio * self.sending_seconds)
        least, most = (t - self.slow_receiver_ratio * (t - self.round_trip_seconds) for t in (least, most))
        shortest = self.least_round_trip_seconds
        low = shortest + self.prompt_ratio * max(0.0, least * (1 - self.error) - shortest)
        high = (most + (self.round_trips - 1) * self.round_trip_seconds) * (1 + self.error)
        low, high = _seconds_in_gap((low, high), gap, self.backlog_ratio * (1 - self.slow_receiver_ratio))
        return min(low, high), high

    def at_receiver(self, gap: Interval) -> Interval:
        """Seconds of an I/O in which its data wait for the receiver to read them: unread bytes over rate (Little's
        law). Data held back by the closed receive window wait for the same reason. `gap`: seconds between the clocks
        above and below, without the time in TCP."""
        own = self.unread_seconds * (1 - self.error), self.unread_seconds * (1 + self.error)
        return _seconds_in_gap(own, gap, self.slow_receiver_ratio)


def tcp_path(facts: Facts, load: LoadFacts) -> TcpPath | None:
    """TCP's measurements for a load; None: there are none."""
    table = facts.tables["tcp_connection"]
    rows = _carrying(table, load)
    in_step, entities = partial(table.select, step=load.step), {row["entity"] for row in rows}
    opposite_rows = [row for row in in_step() if row["direction"] != load.direction and row["entity"] in entities]
    # Distance does not change from step to step.
    shortest = _mean(rows, lambda row: _shortest(table.select(entity=row["entity"]), "round_trip_seconds_min"))
    if shortest is None:
        return None
    round_trip = _mean(rows, lambda row: _shortest(in_step(entity=row["entity"]), "round_trip_seconds"))
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
        round_trips=MAX_ROUND_TRIPS[load.direction],
    )


def _seconds_in_gap(own: Interval, gap: Interval, ratio: float) -> Interval:
    """Seconds in a gap, plus this share of the rest of the gap."""
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
    return possible if total <= _ALL_BYTES_RATIO * load.bytes_per_second else []


def _shortest(rows: Sequence[FactRow], fact: str) -> float | None:
    """The smaller measurement of both ends of a connection. None: neither end measured it."""
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
    """Share of a sender's wait in which the receive window is closed because the receiver's program does not read."""
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
    """Share of the time that a window held up a connection in use."""
    connections = max(1.0, number(row, "connections"))
    return number(row, f"{window}_ratio") * min(1.0, number(row, "busy_connections") / connections)


def most_with_loss(segment_bytes: float, ratio: float) -> float:
    """The most unacknowledged bytes of a connection that loses this share of its segments: 1.22 segments / sqrt(p)
    (Mathis, Semke, Mahdavi and Ott 1997)."""
    return 1.22 * segment_bytes / sqrt(ratio) if ratio else inf
