"""Parses values that PowerShell writes to JSON and CSV: numbers as text, octets as lists, codes or names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|\+00:00)")

PORT_SPEEDS = {1: 1, 2: 2, 4: 10, 8: 4, 16: 8, 32: 16, 64: 32, 128: 20, 256: 40, 512: 128, 1024: 64}
"""HBA_PORTSPEED (FC-HBA) → gigabits per second."""

PORT_STATES = {
    1: "Unknown",
    2: "Online",
    3: "Offline",
    4: "Bypassed",
    5: "Diagnostics",
    6: "Linkdown",
    7: "Error",
    8: "Loopback",
}
"""HBA_PORTSTATE (FC-HBA)."""

CONNECTIONS = {1: "Fibre Channel", 2: "iSCSI", 3: "SAS"}
"""MSFT_InitiatorPort.ConnectionType."""

BUSES = {
    1: "SCSI",
    3: "ATA",
    6: "Fibre Channel",
    7: "USB",
    8: "RAID",
    9: "iSCSI",
    10: "SAS",
    11: "SATA",
    15: "File Backed Virtual",
    16: "Storage Spaces",
    17: "NVMe",
}
"""MSFT_Disk.BusType."""


def parse_text(value: Any) -> str | None:
    """Return a text without surrounding blanks. None: it is empty, or not a text."""
    return value.strip() or None if isinstance(value, str) else None


def parse_integer(value: Any) -> int | None:
    """Parse a count of at most 63 bits. None for other values, and for -1, which means "not supported" in the HBA
    API."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,20}", value.strip()):
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def find_code_name(value: Any, names: Mapping[int, str]) -> str | None:
    """Return the name of a code. Newer versions of PowerShell write the name instead of the code. None: unknown."""
    code = parse_integer(value)
    return parse_text(value) if code is None else names.get(code)


def parse_octets(value: Any) -> str | None:
    """Parse a list of octets, or a text with or without separators, to hexadecimal digits. None for other values.

    >>> parse_octets([33, 0, 0, 36, 255, 1, 2, 3]), parse_octets("21:00:00:24:FF:01:02:03")
    ('21000024ff010203', '21000024ff010203')
    """
    if isinstance(value, list) and value and all(isinstance(o, int) and 0 <= o < 256 for o in value):
        return bytes(value).hex()
    digits = re.sub(r"[:\-\s]", "", value.lower()) if isinstance(value, str) else ""
    return digits if re.fullmatch(r"[0-9a-f]+", digits) else None


def parse_wwn(value: Any) -> str | None:
    """Parse a World Wide Name of 16 digits. None for other values, and for zeros."""
    digits = parse_octets(value) or ""
    return digits if len(digits) == 16 and digits.strip("0") else None


def parse_identifier(unique_id: str | None, form: str | None = None) -> dict[str, tuple[str, ...]]:
    """Parse a disk's UniqueId, or mpclaim's SN, to a key for joins. Empty for a vendor-specific identifier.

    `form`: UniqueIdFormat; None: unknown. An NAA identifier has 16 digits, or 32 if it begins with 6 (SPC).

    >>> ids = ("60002AC0000000000000000A0001B3E5", "{1b3d}:local", "eui.0025385B61B0A1B2")
    >>> [parse_identifier(unique_id) for unique_id in ids]
    [{'naa': ('naa.60002ac0000000000000000a0001b3e5',)}, {}, {'eui': ('eui.0025385b61b0a1b2',)}]
    """
    identifier_text = (unique_id or "").strip().lower()
    if re.fullmatch(r"eui\.([0-9a-f]{16}|[0-9a-f]{32})", identifier_text):
        return {"eui": (identifier_text,)}
    if form in ("Vendor Specific", "Vendor Id", "0", "1"):
        return {}
    is_naa = re.fullmatch(r"6[0-9a-f]{31}|[235][0-9a-f]{15}", identifier_text)
    return {"naa": (f"naa.{identifier_text}",)} if is_naa else {}


def parse_time_us(value: Any) -> int | None:
    """Parse a time in UTC to microseconds since the epoch. None for other values.

    >>> parse_time_us("1970-01-01T00:01:00.5000000Z")
    60500000
    """
    match = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    try:
        utc = datetime.fromisoformat(match[1]).replace(tzinfo=UTC) if match else None
    except ValueError:
        return None
    if match is None or utc is None or utc.year < 1970:
        return None
    return int(utc.timestamp()) * 1_000_000 + int((match[2] or "").ljust(6, "0")[:6])
