"""Tables of a poll over NX-API, and the fields of each column."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath_collectors.snmp_switch.tables import counted_ports

COUNTERS: Mapping[str, tuple[str, ...]] = {
    "bytes_rx_total": ("rx_bytes",),
    "bytes_tx_total": ("tx_bytes",),
    "frames_rx_total": ("rx_frames",),
    "frames_tx_total": ("tx_frames",),
    "errors_rx_total": ("rx_error_frames",),
    "errors_tx_total": ("tx_error_frames",),
    "discards_rx_total": ("rx_discard_frames",),
    "discards_tx_total": ("tx_discard_frames",),
    "credit_stall_seconds_tx_total": ("txwait",),
    "discards_timeout_total": ("tx_timeout_discards",),
    "crc_errors_total": ("rx_invalid_crc",),
    "link_failures_total": ("rx_link_failures", "rx_link_faliures"),
    "sync_losses_total": ("rx_sync_loss",),
    "signal_losses_total": ("rx_signal_loss",),
    "credit_losses_total": ("tx_credit_loss",),
}
"""Metric → possible fields of `show interface`, depending on the release. Some misspell link failures."""

SWITCH_PORT = counted_ports(COUNTERS)
