"""Parsing of SNMP values: texts, counters in octet strings, world wide names, the uptime. No I/O.

`Snmp.get` of the system group of a Brocade DS-5100B:

    {"1.3.6.1.2.1.1.1.0": b"DS-5100B", "1.3.6.1.2.1.1.2.0": "1.3.6.1.4.1.1588.2.1.1.1",
     "1.3.6.1.2.1.1.3.0": 1706568608, "1.3.6.1.2.1.1.5.0": b"DUMSYS-63"}
"""

from __future__ import annotations

import math
import re
import unicodedata

from sanpath.plugin import INTEGER_LIMIT, Rows, SnmpValue
from sanpath_collectors.snmp_switch.profile import Value
from sanpath_collectors.snmp_switch.tables import SWITCH

TICK_US = 10_000
"""TimeTicks are hundredths of a second."""
TICKS_WRAP = 2**32
"""Ticks after which sysUpTime begins again at 0: 497 days."""
_TICKS_SLACK = 100 * 60  # a minute: clocks and answers are not exact

_WWPN = re.compile(r"(?<![0-9a-fA-F])[0-9a-fA-F]{2}(?:[:.-]?[0-9a-fA-F]{2}){7}(?![0-9a-fA-F])")
_UNSUPPORTED = 1 << 63
"""FCMGMT-MIB: the highest bit of a counter is not part of its value; alone it marks an unsupported counter."""
_HEX_TEXT = re.compile(rb"[0-9A-Fa-f]{2}(?:[ :.-][0-9A-Fa-f]{2})+")
_CONTROL = frozenset({"Cc", "Cf", "Cs"})

Decoded = int | float | str | bool | None


def text(value: SnmpValue) -> str:
    """Return a string without padding and control characters, whatever its encoding; "" for other values.

    >>> text(b"array\\x1b[2J port \\xff\\n")
    'array[2J port \\ufffd'
    """
    if not isinstance(value, bytes):
        return ""
    decode_value = value.decode("utf-8", "replace")
    if decode_value.isprintable():  # nearly all texts are: nothing has to be removed
        return decode_value.strip()
    characters = (" " if c in "\t\r\n" else c for c in decode_value)
    return "".join(c for c in characters if unicodedata.category(c) not in _CONTROL).strip()


def integer(value: SnmpValue) -> int | None:
    """Return an integer; None for other values."""
    return value if isinstance(value, int) else None


def octets(value: SnmpValue) -> bytes:
    """Return octets, also from text with hexadecimal digits, as some agents and gateways send.

    >>> octets(b"00 00 00 00 00 00 01 FE").hex()
    '00000000000001fe'
    """
    if not isinstance(value, bytes):
        return b""
    return bytes.fromhex(re.sub(r"[^0-9A-Fa-f]", "", value.decode())) if _HEX_TEXT.fullmatch(value) else value


def parse_counter(value: SnmpValue, bits: int) -> tuple[int, int] | None:
    """Return a counter and its width in bits. None: not a counter, or one that the agent does not support.

    A counter is an integer of the declared width `bits`, or big-endian octets: 8 octets have 63 bits, 4 have 32.
    """
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
    """Return a world wide name as 16 hexadecimal digits, also from the start of a longer identifier.

    None: the value is not a world wide name.
    """
    raw = octets(value)[:8]
    return raw.hex() if len(raw) == 8 and any(raw) and raw != b"\xff" * 8 else None


def number(value: SnmpValue) -> float | None:
    """Parse decimal text; None if it is not a number, or infinite ("-inf": no light at a receiver)."""
    try:
        value_as_number = float(text(value))
    except ValueError:
        return None
    return value_as_number if math.isfinite(value_as_number) else None


def leading_number(value: object) -> float | None:
    """Return a finite number, also from the beginning of a text, with any unit after it. None: there is none.

    >>> leading_number(" -2.59 dBm"), leading_number("-inf"), leading_number(7)
    (-2.59, None, 7.0)
    """
    if isinstance(value, str):
        match = re.match(r"\s*(-?[0-9]{1,18}(?:\.[0-9]{1,18})?)", value)
        value = float(match[1]) if match else None
    if type(value) is int or type(value) is float:
        return float(value) if abs(value) < INTEGER_LIMIT and math.isfinite(value) else None
    return None


def decimal_counter(value: object) -> int | None:
    """Return a 64-bit counter from a number or its decimal digits. None: another value.

    >>> decimal_counter("18446744073709551615"), decimal_counter("1,234"), decimal_counter(-1), decimal_counter("--")
    (18446744073709551615, 1234, None, None)
    """
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9][0-9,]{0,26}\s*", value):
        value = int(value.replace(",", ""))
    return value if type(value) is int and 0 <= value < 2**64 else None


def decode_value(column: Value, value: SnmpValue) -> Decoded:
    """Return the value of a column that is not a counter. None: not answered, or invalid."""
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
    if raw is None or raw < 0 or (column.below is not None and raw >= column.below):
        return None
    if column.equals is not None:
        return raw == column.equals
    if column.values is not None:
        return column.values.get(raw)
    converted = raw if column.factor == 1.0 else round(raw * column.factor)
    return converted if converted or not column.above_zero else None


def wwpns_in(alias: str) -> list[str]:
    """Find world wide port names in a port's description, as 16 lower-case hexadecimal digits.

    >>> wwpns_in("esx7 vmhba2 21:00:00:24:FF:00:00:01")
    ['21000024ff000001']
    """
    return [re.sub(r"[:.-]", "", match.group()).lower() for match in _WWPN.finditer(alias)]


def uptime(switch: str, uptime_ticks: int, seen_us: int) -> Rows:
    """Return the row of the switch itself; `uptime_ticks` is sysUpTime in hundredths of a second."""
    return Rows(SWITCH, [switch], [seen_us], {"uptime_seconds": [uptime_ticks]})


def has_restarted(ticks_before: int, ticks_now: int, elapsed_seconds: float) -> bool:
    """Whether sysUpTime fell because the agent restarted, and not because it wrapped after 497 days."""
    wrapped = ticks_before + elapsed_seconds * 100 >= TICKS_WRAP - _TICKS_SLACK
    return ticks_now < ticks_before and not wrapped
