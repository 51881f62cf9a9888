"""A TCP window is full: the receive window, the send buffer, or the congestion window.

A connection has at most one window under way per round trip. Linux counts how long the receive window and the send
buffer held up a sender. The congestion window holds it up if unacknowledged bytes fill that window and no segment
queues or is lost. If segments queue or are lost, their cause is the limit, and the window follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, inf, log

from sanpath.facts.table import FactRow, number
from sanpath.model import Layer
from sanpath.units import bandwidth, duration, percent
from sanpath.verdict.evidence.likelihoods import excess_weight
from sanpath.verdict.hypotheses.claim import Claim, Evidence, conclusion_of
from sanpath.verdict.places.table import PlaceTable
from sanpath.verdict.places.tcp_path import TcpPath, held_up, most_with_loss

_FULL_WINDOW_PRIOR = -0.7
"""Log-odds of a full window before any reading: TCP stacks size their buffers themselves."""
_USUAL_HELD_UP = 0.1
"""Mean share of the time for which a window that does not limit is full: bursts fill it for a moment."""
_MAX_WINDOW_WEIGHT = 4.0
"""Largest weight of a full window for the claim: sanpath's own choice, 55 to 1, as for a port without credit."""
_QUEUED_WEIGHT = -3.0
"""Log-odds of a full window if the whole round trip is queueing: the limit is where the segments queue."""
_FILL_ERROR = 0.4
"""Standard error of the logarithm of unacknowledged bytes over the congestion window: both are sampled."""
_MAX_CONGESTION_WEIGHT, _MIN_CONGESTION_WEIGHT = 1.5, -1.5
"""Log-odds of a congestion window that is always filled, and never. A sender enlarges a full window, so it stays full
only if the path or a setting holds it there."""
_LOST_RATIO = 0.01
"""Share of retransmitted segments that alone proves drops on the path: then loss keeps the congestion window
small."""
_MIN_DENSITY = 0.05
"""Density of a full link on the path if nothing queues and nothing is lost: round trips are sampled."""
_Window = tuple[tuple[Evidence, ...], Layer, str]
"""Evidence for a window as the limit, layer of its machine, and what would enlarge it."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for the load's connections, about the window that holds them up most. Nothing if no sender reports
    its windows."""
    tcp = table.tcp
    if tcp is None or not reports_windows(tcp):
        return
    row = max(tcp.rows, key=lambda row: held_up(row, "receive_window") + held_up(row, "send_buffer"))
    windows = _windows(table, tcp, row)
    evidence, layer, remedy = max(windows, key=lambda window: sum(each.weight for each in window[0]))
    explains = table.in_tcp or table.indices("fabric", "below")
    carried = sum(number(row, "bytes_per_second") for row in tcp.rows)
    because = (
        *(each.words for each in evidence),
        f"its connections carry {bandwidth(carried)}, however many I/Os are outstanding",
    )
    overturn_if = (f"the same throughput with {remedy}",)
    conclude = conclusion_of(table, layer, because, overturn_if)
    yield Claim("tcp_window", str(row["entity"]), explains, evidence, conclude, _FULL_WINDOW_PRIOR)


def reports_windows(tcp: TcpPath) -> bool:
    """Whether the sender of the data reports how long its windows were full."""
    return all(row.get("receive_window_ratio") is not None for row in tcp.rows)


def congestion(table: PlaceTable) -> Iterator[Evidence]:
    """Evidence for or against a full link on the path. Nothing if no round trip was read.

    A full link makes segments wait or drops them, in any share of the time. Without one, any share is also possible,
    because machines answer late. So a queue is weak evidence for a full link, and no queue is no clear evidence
    against one.
    """
    tcp = table.tcp
    if tcp is None or (queued := tcp.queued_ratio) is None:
        return
    lost = max((number(row, "retransmit_ratio") for row in (*tcp.rows, *tcp.opposite_rows)), default=0.0)
    sign = max(queued, min(1.0, lost / _LOST_RATIO))
    words = _queue_words(tcp)
    if lost >= _LOST_RATIO * queued:
        words += f"; {percent(lost)} of the data were lost"
    yield Evidence(words, log(_MIN_DENSITY + (2 - _MIN_DENSITY) * sign))


def _windows(table: PlaceTable, tcp: TcpPath, row: FactRow) -> Iterator[_Window]:
    """The windows that may hold up a connection."""
    ends: list[tuple[str, Layer]] = [("initiator", "host"), ("target", "array_front")]
    receiver, sender = ends if table.load.direction == "read" else reversed(ends)
    queued = tcp.queued_ratio or 0.0
    queues = Evidence(_queue_words(tcp), _QUEUED_WEIGHT * queued)
    late = Evidence("the receiving program is slow to read received data", log(1.05 - tcp.slow_receiver_ratio))
    for kind, window, (end, layer), more in (
        ("receive", "window", receiver, (late,) if tcp.slow_receiver_ratio else ()),
        ("send", "buffer", sender, ()),
    ):
        share = held_up(row, f"{kind}_{window}")
        words = f"the {kind} {window} of the {end} was full {percent(share)} of the time"
        # A queue on the path fills the window, too.
        weight = excess_weight(share, _USUAL_HELD_UP, _MAX_WINDOW_WEIGHT)
        evidence = (Evidence(words, min(weight, weight * (1 - queued))), queues, *more)
        yield evidence, layer, f"a larger {kind} buffer of the {end}"
    filled, again = number(row, "congestion_window_ratio"), number(row, "retransmit_ratio")
    near = exp(-((log(max(filled, 1e-6)) / _FILL_ERROR) ** 2) / 2)
    weight = _MIN_CONGESTION_WEIGHT + (_MAX_CONGESTION_WEIGHT - _MIN_CONGESTION_WEIGHT) * near
    words = f"unacknowledged bytes fill {percent(filled)} of the congestion window"
    full = Evidence(words, min(weight, weight * (1 - queued)))
    of_each = number(row, "congestion_window_bytes") / max(1.0, number(row, "connections"))
    by_loss = min(1.0, of_each / (most_with_loss(number(row, "segment_bytes"), again) or inf))
    lost = Evidence(f"{percent(again)} of its segments were lost", _QUEUED_WEIGHT * by_loss)
    yield (full, queues, lost), "fabric", "more connections"


def _queue_words(tcp: TcpPath) -> str:
    if tcp.round_trip_seconds is None:
        return "it was not measured how long segments queue in the network"
    shortest = duration(tcp.least_round_trip_seconds)
    return f"a round trip takes {duration(tcp.round_trip_seconds)}, the shortest took {shortest}"
