"""What a poll of a switch yields."""

from __future__ import annotations

from typing import Literal

from sanpath.plugin import Column, Table


def _switch_port(octets_bits: Literal[32, 64]) -> Table:
    return Table(
        "switch_port",
        (
            Column("bytes_rx_total", bits=octets_bits),
            Column("bytes_tx_total", bits=octets_bits),
            Column("link_speed_bits_per_second", scale=1e6),  # ifHighSpeed counts millions
            Column("link_up"),
            Column("errors_rx_total", bits=32),
            Column("errors_tx_total", bits=32),
            Column("discards_rx_total", bits=32),
            Column("discards_tx_total", bits=32),
        ),
    )


SWITCH_PORT = _switch_port(64)
SWITCH_PORT_32 = _switch_port(32)
"""The same for ports without ifHCInOctets and ifHCOutOctets."""

SWITCH = Table("switch", (Column("uptime_seconds", scale=0.01),))  # TimeTicks are hundredths of a second
