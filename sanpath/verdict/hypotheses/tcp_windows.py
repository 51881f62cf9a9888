"""A window of TCP is full: the receiver's, the sender's buffer, or the congestion window.

A connection has at most one window on the way in a round trip. Linux counts how long a sender was held up by the
receiver's window and by its own send buffer. The congestion window holds it up where the bytes on the way fill that
window while no segment queues or is lost: otherwise what queues or drops them limits, and the window follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, inf, log

from sanpath.facts.table import FactRow, number
from sanpath.model import Layer
from sanpath.units import bandwidth, duration, percent
from sanpath.verdict.evidence.likelihoods import beyond_usual
from sanpath.verdict.hypotheses.claim import Claim, Evidence, conclusion_of
from sanpath.verdict.places.table import PlaceTable
from sanpath.verdict.places.tcp_path import TcpPath, held_up, most_with_loss

_RARE = -0.7
"""Log-odds of a full window before any reading: stacks size their buffers themselves."""
_USUAL_HELD_UP = 0.1
"""Mean share of the time for which a window that does not limit is full: bursts fill it for a moment."""
_MOST = 4.0
"""The most that a full window counts for the claim: sanpath's own choice, 55 to 1, as for a port without credit."""
_QUEUED = -3.0
"""Log-odds of a full window where the whole round trip is queueing: whatever segments queue for limits."""
_FILL_ERROR = 0.4
"""Standard error of the logarithm of the bytes on the way over the congestion window: both are read now and then."""
_CONGESTION_MOST, _CONGESTION_LEAST = 1.5, -1.5
"""Log-odds of a congestion window that is filled always, and never. A sender enlarges one that is full: it stays full
only where the path or a setting holds it there."""
_LOST = 0.01
"""Share of segments sent again that shows by itself that something on the way drops them: then loss keeps the
congestion window small."""
_LEAST = 0.05
"""Density of a full link on the way where nothing queues and nothing is lost: a round trip is read now and then."""
_Window = tuple[tuple[Evidence, ...], Layer, str]
"""Evidence for a window as the limit, layer of its machine, and what would enlarge it."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for the connections of the load, by the window that is held up most. Yields nothing if no sender
    reports its windows."""
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
        f"its connections carry {bandwidth(carried)} and no more, whatever is outstanding",
    )
    overturn_if = (f"the same throughput with {remedy}",)
    conclude = conclusion_of(table, layer, because, overturn_if)
    yield Claim("tcp_window", str(row["entity"]), explains, evidence, conclude, _RARE)


def reports_windows(tcp: TcpPath) -> bool:
    """Whether the sender of the data tells how long its windows were full."""
    return all(row.get("receive_window_ratio") is not None for row in tcp.rows)


def congestion(table: PlaceTable) -> Iterator[Evidence]:
    """Evidence for or against something full on the way. Nothing where no round trip was read.

    What is full makes segments wait or drops them, in any share of the time. Elsewhere any share is as probable too,
    as machines answer late: so a queue speaks little for a full link, and none speaks clearly against one.
    """
    tcp = table.tcp
    if tcp is None or (queued := tcp.queued_ratio) is None:
        return
    lost = max((number(row, "retransmit_ratio") for row in (*tcp.rows, *tcp.opposite_rows)), default=0.0)
    sign = max(queued, min(1.0, lost / _LOST))
    words = _queue_words(tcp)
    if lost >= _LOST * queued:
        words += f"; {percent(lost)} of the data were lost"
    yield Evidence(words, log(_LEAST + (2 - _LEAST) * sign))


def _windows(table: PlaceTable, tcp: TcpPath, row: FactRow) -> Iterator[_Window]:
    """The windows that may hold up a connection."""
    ends: list[tuple[str, Layer]] = [("initiator", "host"), ("target", "array_front")]
    receiver, sender = ends if table.load.direction == "read" else reversed(ends)
    queued = tcp.queued_ratio or 0.0
    queues = Evidence(_queue_words(tcp), _QUEUED * queued)
    late = Evidence("the receiver's program reads late what has arrived", log(1.05 - tcp.slow_receiver_ratio))
    for kind, window, (end, layer), more in (
        ("receive", "window", receiver, (late,) if tcp.slow_receiver_ratio else ()),
        ("send", "buffer", sender, ()),
    ):
        share = held_up(row, f"{kind}_{window}")
        words = f"the {kind} {window} of the {end} was full {percent(share)} of the time"
        # A queue on the way fills it as well.
        weight = beyond_usual(share, _USUAL_HELD_UP, _MOST)
        evidence = (Evidence(words, min(weight, weight * (1 - queued))), queues, *more)
        yield evidence, layer, f"a larger {kind} buffer of the {end}"
    filled, again = number(row, "congestion_window_ratio"), number(row, "retransmit_ratio")
    near = exp(-((log(max(filled, 1e-6)) / _FILL_ERROR) ** 2) / 2)
    weight = _CONGESTION_LEAST + (_CONGESTION_MOST - _CONGESTION_LEAST) * near
    full = Evidence(f"bytes on the way fill {percent(filled)} of the congestion window", weight)
    of_each = number(row, "congestion_window_bytes") / max(1.0, number(row, "connections"))
    by_loss = min(1.0, of_each / (most_with_loss(number(row, "segment_bytes"), again) or inf))
    lost = Evidence(f"{percent(again)} of its segments were lost", _QUEUED * by_loss)
    yield (full, queues, lost), "fabric", "more connections"


def _queue_words(tcp: TcpPath) -> str:
    if tcp.round_trip_seconds is None:
        return "how long segments queue in the network was not measured"
    shortest = duration(tcp.least_round_trip_seconds)
    return f"a round trip takes {duration(tcp.round_trip_seconds)}, the shortest took {shortest}"
