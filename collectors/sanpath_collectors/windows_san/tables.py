"""The table of the statistics of Fibre Channel ports."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath.plugin import Column, Table

_WORD_BYTES = 4  # a transmission word (FC-FS)

STATISTICS: Mapping[str, str] = {
    "bytes_rx_total": "RxWords",
    "bytes_tx_total": "TxWords",
    "errors_rx_total": "ErrorFrames",
    "discards_rx_total": "DumpedFrames",
    "link_failures_total": "LinkFailureCount",
    "loss_of_sync_total": "LossOfSyncCount",
    "loss_of_signal_total": "LossOfSignalCount",
    "invalid_words_total": "InvalidTxWordCount",
    "invalid_crc_total": "InvalidCRCCount",
}
"""Metric → member of MSFC_HBAPortStatistics (hbaapi.mof)."""

HBA = Table("hba", tuple(Column(m, 64, _WORD_BYTES if m.startswith("bytes") else 1.0) for m in STATISTICS))
