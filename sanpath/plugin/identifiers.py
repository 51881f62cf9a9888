"""Identifiers that sources write in different ways."""

from __future__ import annotations

import re


def wwn(value: object) -> str | None:
    """Return a world wide name as 16 hexadecimal digits, from text with or without 0x and separators. None: another
    value, or a blank name (all bits clear, or all set).

    >>> wwn("52:4A:93:71:AF:4E:82:00"), wwn("0x21000024ff000001"), wwn("naa.6001405aabbccddee")
    ('524a9371af4e8200', '21000024ff000001', None)
    >>> wwn("00:00:00:00:00:00:00:00"), wwn("iqn.2003-01.org.linux-iscsi.stor1"), wwn(None)
    (None, None, None)
    """
    digits = re.sub(r"[:.\s]", "", value).lower().removeprefix("0x") if isinstance(value, str) else ""
    return digits if re.fullmatch(r"[0-9a-f]{16}", digits) and digits.strip("0") and digits.strip("f") else None
