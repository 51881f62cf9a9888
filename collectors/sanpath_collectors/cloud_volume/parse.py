"""The log page of an Amazon NVMe device. No I/O.

The layout is that of amazon-ec2-utils (ebsnvme) and of nvme-cli (plugins/amzn): little-endian, without padding.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from sanpath.plugin import CollectorError, Failure
from sanpath_collectors.cloud_volume.tables import LOG_PAGE

EBS, INSTANCE_STORE = 0xD0, 0xC0
"""Identifiers of the log page of an EBS volume and of an instance store volume."""
PAGE_BYTES = 4096
MAGIC: Mapping[int, str] = {0x3C23B510: "ebs", 0xEC2C0D7E: "instance_store"}
"""First word of a log page → kind of its volume."""

_HEAD = struct.Struct(f"<II{len(LOG_PAGE)}Q")


def counters(page: bytes) -> dict[str, int]:
    """Parse the bytes of a page: field name in nvme-cli → its number since the volume was attached.

    Times are in microseconds. Raises UNREADABLE for another page.
    """
    if len(page) < PAGE_BYTES or struct.unpack_from("<I", page)[0] not in MAGIC:
        begin = page[:4].hex(" ") or "nothing"
        raise CollectorError(
            Failure.UNREADABLE, f"no log page of an Amazon volume: {len(page)} bytes that begin with {begin}"
        )
    magic, _, *numbers = _HEAD.unpack_from(page)
    values = dict(zip(LOG_PAGE, numbers, strict=True))
    if MAGIC[magic] == "instance_store":
        # Fields of EBS only are zero there, not measured.
        values = {field: value for field, value in values.items() if not field.startswith("ebs_")}
    return values
