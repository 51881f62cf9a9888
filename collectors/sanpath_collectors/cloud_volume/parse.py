"""The log page of an Amazon NVMe device, from its bytes or from the JSON of Amazon's and nvme-cli's programs. No I/O.

The layout is that of amazon-ec2-utils (ebsnvme) and of nvme-cli (plugins/amzn): little-endian, without padding.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sanpath.plugin import CollectorError, Failure, read_json
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
_OTHER_NAMES = {
    f"ec2_instance_ebs_performance_exceeded_{what}": f"ec2_instance_performance_exceeded_{what}"
    for what in ("iops", "tp")
}
"""What amazon-ec2-utils calls fields of nvme-cli."""

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


def of_json(text: bytes) -> LogPage:
    """Parse the answer of `nvme amzn stats -o json` or `ebsnvme stats --json`. Raises UNREADABLE for any other."""
    try:
        answer: Any = read_json(text)
    except ValueError as error:
        raise CollectorError(Failure.UNREADABLE, f"no statistics of an Amazon volume: {error}") from error
    fields = answer if isinstance(answer, dict) else {}
    named = {_OTHER_NAMES.get(name, name): value for name, value in fields.items()}
    values = {field: named[field] for field in LOG_PAGE if isinstance(named.get(field), int)}
    if "total_read_ops" not in values or "total_write_ops" not in values:
        raise CollectorError(Failure.UNREADABLE, "no statistics of an Amazon volume: total_read_ops is missing")
    return LogPage(values, {d: _json_bins(named.get(f"{d}_io_latency_histogram")) for d in ("read", "write")})


def _histogram(page: bytes, at: int) -> tuple[Bin, ...]:
    (filled,) = struct.unpack_from("<Q", page, at)
    bins = (_BIN.unpack_from(page, at + 8 + n * _BIN.size) for n in range(min(filled, _BINS)))
    return tuple((lower, upper, count) for lower, upper, count, _ in bins)


def _json_bins(histogram: Any) -> tuple[Bin, ...]:
    bins = histogram.get("bins", ()) if isinstance(histogram, dict) else ()
    return tuple((int(b["lower"]), int(b["upper"]), int(b["count"])) for b in bins)
