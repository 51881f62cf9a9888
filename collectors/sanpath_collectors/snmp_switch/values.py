"""What single SNMP values mean: texts, counters in octet strings, world wide names, numbers in words."""

from __future__ import annotations

import math
import re
import unicodedata

from sanpath.plugin import SnmpValue
from sanpath_collectors.snmp_switch.profile import Value

_UNSUPPORTED = 1 << 63
"""FCMGMT-MIB: the highest bit of a counter is no part of it; alone it says that the counter is not supported."""
_HEX_TEXT = re.compile(rb"[0-9A-Fa-f]{2}(?:[ :.-][0-9A-Fa-f]{2})+")
_CONTROL = frozenset({"Cc", "Cf", "Cs"})

Decoded = int | float | str | bool | None


def text(value: SnmpValue) -> str:
    """A string without padding and control characters, whatever its encoding; "" where there is none.

    >>> text(b"array\\x1b[2J port \\xff\\n")
    'array[2J port \\ufffd'
    """
    if not isinstance(value, bytes):
        return ""
    written = (" " if c in "\t\r\n" else c for c in value.decode("utf-8", "replace"))
    return "".join(c for c in written if unicodedata.category(c) not in _CONTROL).strip()


def integer(value: SnmpValue) -> int | None:
    """A whole number; None for everything else."""
    return value if isinstance(value, int) else None


def octets(value: SnmpValue) -> bytes:
    """Octets, also when something on the way has made the text of their hexadecimal digits of them.

    >>> octets(b"00 00 00 00 00 00 01 FE").hex()
    '00000000000001fe'
    """
    if not isinstance(value, bytes):
        return b""
    return bytes.fromhex(re.sub(r"[^0-9A-Fa-f]", "", value.decode())) if _HEX_TEXT.fullmatch(value) else value


def counted(value: SnmpValue, bits: int) -> tuple[int, int] | None:
    """A counter and its width in bits: an integer of the width declared, or big-endian octets, 8 of them 63 bits
    and 4 of them 32. None: not a counter, or one that the agent does not support."""
    if isinstance(value, int):
        return (value, bits) if value >= 0 else None
    raw = octets(value)
    number = int.from_bytes(raw, "big")
    match len(raw):
        case 8 if number != _UNSUPPORTED:
            return number & (_UNSUPPORTED - 1), 63
        case 4:
            return number, 32
    return None


def wwn(value: SnmpValue) -> str | None:
    """A world wide name as 16 hexadecimal digits, also from the start of a longer identifier. None: not one."""
    raw = octets(value)[:8]
    return raw.hex() if len(raw) == 8 and any(raw) and raw != b"\xff" * 8 else None


def number(value: SnmpValue) -> float | None:
    """Decimal text; None where it is none, or has no end ("-inf": no light at a receiver)."""
    try:
        found = float(text(value))
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def decoded(column: Value, value: SnmpValue) -> Decoded:
    """The value of a column that is no counter. None: not answered, or nothing that makes sense."""
    match column.reading:
        case "text":
            return text(value) or None
        case "wwn":
            return wwn(value)
        case "number":
            return number(value)
        case "gigabit_list":
            speeds = [int(digits) for digits in re.findall(r"\d{1,4}", text(value))]
            return max(speeds, default=0) * 1_000_000_000 or None
        case "octets":
            return None
    raw = integer(value)
    if raw is None or raw < 0 or (column.above_zero and raw == 0):
        return None
    if column.equals is not None:
        return raw == column.equals
    if column.values is not None:
        return column.values.get(raw)
    return raw if column.factor == 1.0 else round(raw * column.factor)
