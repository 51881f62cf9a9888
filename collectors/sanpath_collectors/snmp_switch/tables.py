"""The tables of a switch: a row for each port with the metrics that its agent has, each with its counter width."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Literal

from sanpath.plugin import Column, Table

Bits = Literal[0, 32, 63, 64]
_REST_WIDTH: Bits = 64
"""Width of counters over REST and NX-API."""

CREDIT_TICK_SECONDS = 2.5e-6
"""Brocade counts tim_txcrd_z 400,000 times a second (IBM support document 6983837); Cisco's TxWait has the same tick
(white paper C11-737315)."""

_COUNTERS = {
    "bytes_rx_total": 1.0,
    "bytes_tx_total": 1.0,
    "frames_rx_total": 1.0,
    "frames_tx_total": 1.0,
    "errors_rx_total": 1.0,
    "errors_tx_total": 1.0,
    "discards_rx_total": 1.0,
    "discards_tx_total": 1.0,
    "credit_stall_seconds_tx_total": CREDIT_TICK_SECONDS,
    "credit_stall_seconds_rx_total": CREDIT_TICK_SECONDS,
    "discards_timeout_total": 1.0,
    "pause_frames_rx_total": 1.0,
    "pause_frames_tx_total": 1.0,
    "crc_errors_total": 1.0,
    "encoding_errors_total": 1.0,
    "link_resets_rx_total": 1.0,
    "link_resets_tx_total": 1.0,
    "link_failures_total": 1.0,
    "sync_losses_total": 1.0,
    "signal_losses_total": 1.0,
    "credit_losses_total": 1.0,
    "state_changes_total": 1.0,
}
_GAUGES = {
    "link_speed_bits_per_second": 1e6,  # ifHighSpeed counts millions
    "link_up": 1.0,
    "optics_rx_power_dbm": 1.0,
    "optics_tx_power_dbm": 1.0,
    "optics_temperature_celsius": 1.0,
}
_ORDER = ("bytes_rx_total", "bytes_tx_total", *_GAUGES, *_COUNTERS)


def port_table(bits: Mapping[str, Bits]) -> Table:
    """Return the table of ports whose metrics have these widths in bits, 0: a gauge."""
    return _table(tuple(sorted(bits.items(), key=lambda item: _ORDER.index(item[0]))))


@cache
def _table(bits: tuple[tuple[str, Bits], ...]) -> Table:
    scale = _COUNTERS | _GAUGES
    return Table("switch_port", tuple(Column(metric, width, scale[metric]) for metric, width in bits))


def _all(width: Bits) -> Table:
    return port_table(dict.fromkeys(_COUNTERS, width) | dict.fromkeys(_GAUGES, 0))


def counted_ports(counters: Iterable[str]) -> Table:
    """Return the table of ports with these counters of 64 bits, their speed and their state."""
    return port_table({**dict.fromkeys(counters, _REST_WIDTH), "link_speed_bits_per_second": 0, "link_up": 0})


SWITCH_PORT = _all(64)
SWITCH_PORT_63 = _all(63)
SWITCH_PORT_32 = _all(32)

OPTICS = port_table({"optics_rx_power_dbm": 0, "optics_tx_power_dbm": 0, "optics_temperature_celsius": 0})
"""A row for each transceiver, if it is read separately from the counters."""

SWITCH = Table("switch", (Column("uptime_seconds", scale=0.01),))  # TimeTicks are hundredths of a second
