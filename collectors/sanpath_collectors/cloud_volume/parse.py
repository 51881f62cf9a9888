"""The log page of an Amazon NVMe device. No I/O.

The layout is that of amazon-ec2-utils (ebsnvme) and of nvme-cli (plugins/amzn): little-endian, without padding.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from sanpath.plugin import CollectorError, Failure
from sanpath_collectors.cloud_volume.tables import LOG_PAGE

EBS, INSTANCE_STORE = 0xD0, 0xC0
"""Identifiers of the log page of an EBS volume and of an instance store volume."""
PAGE_BYTES = 4096
MAGIC: Mapping[int, str] = {0x3C23B510: "ebs", 0xEC2C0D7E: "instance_store"}

_HEAD = struct.Struct(f"<II{len(LOG_PAGE)}Q")
_HISTOGRAMS_AT = 512
_BINS = 64
_BIN = struct.Struct("<QQII")
_HISTOGRAM_BYTES = 8 + _BINS * _BIN.size
Bin = tuple[int, int, int]
"""A bin of a histogram: its bounds in microseconds, the upper one left out, and the number of I/Os in it."""


@dataclass(frozen=True, slots=True)
class LogPage:
    """Counters since the volume was attached. `values`: field, as nvme-cli calls it → its number; times are in
    microseconds. `latencies`: read and write → histogram."""

    values: Mapping[str, int]
    latencies: Mapping[str, tuple[Bin, ...]]


def of_bytes(page: bytes) -> LogPage:
    """Parse the bytes of a page. Raises UNREADABLE for another page."""
    if len(page) < PAGE_BYTES or struct.unpack_from("<I", page)[0] not in MAGIC:
        begin = page[:4].hex(" ") or "nothing"
        raise CollectorError(
            Failure.UNREADABLE, f"no log page of an Amazon volume: {len(page)} bytes that begin with {begin}"
        )
    magic, _, *numbers = _HEAD.unpack_from(page)
    values = dict(zip(LOG_PAGE, numbers, strict=True))
    if MAGIC[magic] == "instance_store":
        # Fields of EBS alone are zero there, not measured.
        values = {field: value for field, value in values.items() if not field.startswith("ebs_")}
    histograms = (_HISTOGRAMS_AT, _HISTOGRAMS_AT + _HISTOGRAM_BYTES)
    return LogPage(values, dict(zip(("read", "write"), (_histogram(page, at) for at in histograms), strict=True)))


def _histogram(page: bytes, at: int) -> tuple[Bin, ...]:
    (filled,) = struct.unpack_from("<Q", page, at)
    bins = (_BIN.unpack_from(page, at + 8 + n * _BIN.size) for n in range(min(filled, _BINS)))
    return tuple((lower, upper, count) for lower, upper, count, _ in bins)
