"""The TCP connections of storage, seen from one machine: all connections between two addresses become one entity. No
I/O.

The counters of an entity are the sums over its connections since the first poll. A connection that closes leaves its
counts, and a new connection adds the counts that it already has. Gauges are those of the connections in use.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Literal

from sanpath.plugin import Column, Table
from sanpath_collectors.linux_host.tcp.ss import Connection

Pair = tuple[str, str, int]
"""Address of the initiator, address and port of the target."""
End = Literal["sport", "dport"]
"""The port of a connection: this machine's, or the other end's."""
SERVICES: Mapping[int, str] = {3260: "iscsi", 4420: "nvme_tcp", 8009: "nvme_tcp", 10809: "nbd"}
"""TCP port → storage protocol registered by IANA."""
_MILLISECONDS, _BITS = 1e-3, 1 / 8
_MAX_CONNECTIONS = 10_000
"""Maximum connections that are remembered after they have closed or were missing in an answer."""
_MIN_SHARE = 0.01
"""Share of the bytes of the busiest connection between two addresses from which another one is in use: keep-alives
and the admin queue of NVMe move less."""


@dataclass(frozen=True, slots=True)
class _Source:
    """The source of a metric. `name`: of the field; `shown_with`: a field that is shown if the metric is known."""

    name: str
    shown_with: str
    scale: float = 1.0


_SENT: Mapping[str, _Source] = {
    "bytes_sent": _Source("bytes_sent", "bytes_sent"),
    "bytes_retransmitted": _Source("bytes_retrans", "bytes_sent"),
    "bytes_acknowledged": _Source("bytes_acked", "bytes_acked"),
    "segments_sent": _Source("segs_out", "segs_out"),
    "data_segments_sent": _Source("data_segs_out", "data_segs_out"),
    "segments_retransmitted": _Source("retrans", "rtt"),
    "duplicates_reported": _Source("dsack_dups", "bytes_sent"),
    "busy_seconds": _Source("busy", "busy", _MILLISECONDS),
    "receive_window_limited_seconds": _Source("rwnd_limited", "busy", _MILLISECONDS),
    "send_buffer_limited_seconds": _Source("sndbuf_limited", "busy", _MILLISECONDS),
}
"""Counter of the sender → its source. Bytes sent and duplicates since Linux and iproute2 4.19, busy times since 4.10,
segments with data since 4.6, acknowledged bytes since 4.1."""
_RECEIVED: Mapping[str, _Source] = {"bytes_received": _Source("bytes_received", "bytes_received")}
_SENDERS_SUMS: Mapping[str, _Source] = {
    "send_window_bytes": _Source("snd_wnd", "snd_wnd"),
    "send_queue_bytes": _Source("send_q", "rtt"),
    "unsent_bytes": _Source("notsent", "data_segs_out"),
    "delivery_bytes_per_second": _Source("delivery_rate", "delivery_rate", _BITS),
}
"""Gauge of the sender → its source: the sum over the connections in use."""
_RECEIVERS_SUMS: Mapping[str, _Source] = {
    "receive_space_bytes": _Source("rcv_space", "rcv_space"),
    "unread_bytes": _Source("recv_q", "rtt"),
}
_SENDERS_GAUGES: Mapping[str, float] = {
    "round_trip_seconds": _MILLISECONDS,
    "round_trip_seconds_min": _MILLISECONDS,
    "segment_bytes": 1.0,
    "congestion_window_bytes": 1.0,
    "unacknowledged_bytes": 1.0,
    "connections_in_use": 1.0,
}
"""Gauge of the sender that is more than a sum → its scale."""


def table(sends: Literal["read", "write"]) -> Table:
    """The table of the machine that sends this direction: initiators send writes, targets reads."""
    receives = "write" if sends == "read" else "read"
    return Table(
        "tcp_connection",
        (
            *(Column(f"{m}_{sends}_total", 64, source.scale) for m, source in _SENT.items()),
            *(Column(f"{m}_{sends}", scale=source.scale) for m, source in _SENDERS_SUMS.items()),
            *(Column(f"{m}_{sends}", scale=scale) for m, scale in _SENDERS_GAUGES.items()),
            *(Column(f"{m}_{receives}_total", 64, source.scale) for m, source in _RECEIVED.items()),
            *(Column(f"{m}_{receives}", scale=source.scale) for m, source in _RECEIVERS_SUMS.items()),
        ),
    )


def command(ports: Collection[int], end: End) -> Sequence[str]:
    """The command that shows connections whose own port (`sport`) or whose peer's (`dport`) is one of these."""
    condition = " or ".join(f"{end} = :{port}" for port in sorted(ports))
    return ("ss", "-tinH", "state", "established", f"( {condition} )")


def pair_name(pair: Pair) -> str:
    """The name of the connections between two addresses; both ends give the same.

    >>> pair_name(("192.0.2.5", "192.0.2.9", 3260)), pair_name(("2001:db8::5", "2001:db8::9", 4420))
    ('192.0.2.5--192.0.2.9:3260', '2001:db8::5--[2001:db8::9]:4420')
    """
    initiator, target, port = pair
    return f"{initiator}--[{target}]:{port}" if ":" in target else f"{initiator}--{target}:{port}"


@dataclass(slots=True)
class TcpView:
    """The connections of one machine. `sends`: the direction whose data it sends. Pairs of addresses without any
    remaining connection are retained."""

    sends: Literal["read", "write"]
    _last: dict[tuple[tuple[str, int], tuple[str, int]], Mapping[str, float]] = field(default_factory=dict)
    _totals: dict[Pair, dict[str, float]] = field(default_factory=dict)
    _shown: set[str] = field(default_factory=set)

    def pair_of(self, connection: Connection) -> Pair:
        """The two addresses of a connection."""
        if self.sends == "write":
            return connection.local[0], *connection.remote
        return connection.remote[0], *connection.local

    def rows(self, connections: Iterable[Connection]) -> dict[str, dict[str, float | None]]:
        """Name of a pair of addresses → its values, after another poll."""
        current: dict[Pair, list[tuple[Connection, float]]] = {pair: [] for pair in self._totals}
        last: dict[tuple[tuple[str, int], tuple[str, int]], Mapping[str, float]] = {}
        for connection in connections:
            self._shown.update(connection.fields)
            pair, key = self.pair_of(connection), (connection.local, connection.remote)
            counted = self._counted(key, connection.fields)
            totals = self._totals.setdefault(pair, {})
            for name, grown in counted.items():
                totals[name] = totals.get(name, 0.0) + grown
            current.setdefault(pair, []).append((connection, counted.get("bytes_acked", 0.0)))
            # An incomplete answer lacks connections and fields that come back: they must not count twice.
            last[key] = {**self._last.get(key, {}), **connection.fields}
        missing = {key: fields for key, fields in self._last.items() if key not in last}
        self._last = last if len(missing) > _MAX_CONNECTIONS else missing | last
        return {pair_name(pair): self._row(pair, members) for pair, members in current.items()}

    def _counted(self, key: tuple[tuple[str, int], tuple[str, int]], fields: Mapping[str, float]) -> dict[str, float]:
        """Return what a connection has counted since the last poll. Where a counter fell, it is a new connection."""
        counters = {source.name for source in (*_SENT.values(), *_RECEIVED.values())} & fields.keys()
        before = self._last.get(key, {})
        if any(fields[name] < before.get(name, 0.0) for name in counters):
            before = {}
        return {name: fields[name] - before.get(name, 0.0) for name in counters}

    def _row(self, pair: Pair, members: Sequence[tuple[Connection, float]]) -> dict[str, float | None]:
        sends, receives = self.sends, "write" if self.sends == "read" else "read"
        totals, shown = self._totals[pair], self._shown
        row: dict[str, float | None] = {}
        for direction, counters in ((sends, _SENT), (receives, _RECEIVED)):
            for metric, source in counters.items():
                row[f"{metric}_{direction}_total"] = (
                    int(totals.get(source.name, 0.0)) if source.shown_with in shown else None
                )
        busiest = max((sent for _, sent in members), default=0.0)
        used = [
            (connection.fields, sent) for connection, sent in members if sent > 0 and sent >= _MIN_SHARE * busiest
        ]
        for metric, source in _SENDERS_SUMS.items():
            row[f"{metric}_{sends}"] = _sum(used, source, shown)
        for metric, value in _senders_gauges(used, [connection.fields for connection, _ in members]).items():
            row[f"{metric}_{sends}"] = value
        everyone = [(connection.fields, sent) for connection, sent in members]
        for metric, source in _RECEIVERS_SUMS.items():
            row[f"{metric}_{receives}"] = _sum(everyone, source, shown)
        return row


def _sum(used: Sequence[tuple[Mapping[str, float], float]], source: _Source, shown: Set[str]) -> float | None:
    if not used or source.shown_with not in shown:
        return None
    return sum(fields.get(source.name, 0.0) for fields, _ in used)


def _senders_gauges(
    used: Sequence[tuple[Mapping[str, float], float]], members: Sequence[Mapping[str, float]]
) -> dict[str, float | None]:
    """Gauges of a sender. The round-trip time is the mean over the connections in use, weighted by their sent bytes:
    the values of idle connections are old."""
    sent = sum(weight for _, weight in used)
    mss = sum(fields.get("mss", 0.0) * weight for fields, weight in used)
    smallest = [fields["minrtt"] for fields in members if fields.get("minrtt")]
    return {
        "round_trip_seconds": sum(fields["rtt"] * weight for fields, weight in used) / sent if sent else None,
        "round_trip_seconds_min": min(smallest, default=None),
        "segment_bytes": mss / sent if sent and mss else None,
        "congestion_window_bytes": _segments(used, "cwnd"),
        "unacknowledged_bytes": _segments(used, "unacked"),
        "connections_in_use": float(len(used)),
    }


def _segments(used: Sequence[tuple[Mapping[str, float], float]], name: str) -> float | None:
    """The size of this many full segments, over all connections in use. None: none is in use."""
    return sum(fields.get(name, 0.0) * fields.get("mss", 0.0) for fields, _ in used) if used else None
