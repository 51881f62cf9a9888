"""Tables of a poll over REST, and the leaf of each column."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath_collectors.snmp_switch.tables import counted_ports

STATISTICS: Mapping[str, str] = {
    "bytes_rx_total": "in-octets",
    "bytes_tx_total": "out-octets",
    "frames_rx_total": "in-frames",
    "frames_tx_total": "out-frames",
    "credit_stall_seconds_tx_total": "bb-credit-zero",
    "discards_timeout_total": "class3-out-discards",
    "crc_errors_total": "crc-errors",
    "encoding_errors_total": "invalid-transmission-words",
    "link_resets_rx_total": "in-link-resets",
    "link_resets_tx_total": "out-link-resets",
    "link_failures_total": "link-failures",
    "sync_losses_total": "loss-of-sync",
    "signal_losses_total": "loss-of-signal",
}
"""Metric → leaf of fibrechannel-statistics. bb-credit-zero is BBCreditZero in SNMP and tim_txcrd_z in the command
portStatsShow: ticks of 2.5 µs."""

SWITCH_PORT = counted_ports(STATISTICS)
