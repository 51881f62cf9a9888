"""Parses names and figures in Jetstress' reports. No I/O.

The names in a report differ a little between versions:

    2007         LogicalDisk | Avg. Disk sec/Read | ... | Disk Reads/sec | Disk Writes/sec | Avg. Disk Bytes/Write
    2010, 2013   MSExchange Database ==> Instances | I/O Database Reads Average Latency (msec) | ...

Therefore names are compared in folded form: in lower case, and only letters and digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from sanpath.model import Direction

_MAX_VALUE = 1e15
"""Larger figures mean that the file is damaged."""
_DATABASE = re.compile(r"(?:io)?(database|db|log)(reads|writes)(?:attached)?(averagelatency|persec|sec|averagebytes)")
_DISK = re.compile(r"(avgdisksec|disk|avgdiskbytes)(read|write)s?(sec)?")
_QUANTITIES: dict[str, Literal["latency", "ops", "bytes"]] = {
    **{"averagelatency": "latency", "sec": "ops", "persec": "ops", "averagebytes": "bytes"},
    **{"avgdisksec": "latency", "disk": "ops", "avgdiskbytes": "bytes"},
}


@dataclass(frozen=True, slots=True)
class Measure:
    """The quantity in a column.

    `scale`: factor that converts a latency to seconds. `is_log`: whether it belongs to the log files; None: the row's
    name shows it.
    """

    quantity: Literal["latency", "ops", "bytes"]
    direction: Direction
    is_log: bool | None
    scale: float = 1.0


def fold(text: str) -> str:
    """Fold a name, so that differences between versions do not matter."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def parse_measure(column: str) -> Measure | None:
    """Parse the folded name of a column to the measure in it. None: the column has other content.

    Latencies of databases are in milliseconds. Latencies of logical disks (2007) are in seconds.
    """
    if match := _DATABASE.match(column):
        quantity = _QUANTITIES[match[3]]
        direction: Direction = "read" if match[2] == "reads" else "write"
        return Measure(quantity, direction, match[1] == "log", 1e-3 if quantity == "latency" else 1.0)
    match = _DISK.fullmatch(column)
    if match is None or (match[1] == "disk") != (match[3] == "sec"):
        return None
    return Measure(_QUANTITIES[match[1]], "read" if match[2] == "read" else "write", None)


def find_decimal_mark(texts: Iterable[str]) -> tuple[Literal[".", ","], bool]:
    """Find the decimal mark in the figures of one report. Returns it, and whether it is certain.

    It depends on the culture of the machine. A mark that occurs twice in a figure, or before the other mark,
    separates thousands. So does a mark that is always followed by three digits, if the other mark is not.
    """
    figures = [text for text in (re.sub(r"\s", "", text) for text in texts) if re.fullmatch(r"-?[\d.,]+", text)]
    for text in figures:
        if "." in text and "," in text:
            return (".", True) if text.rindex(".") > text.rindex(",") else (",", True)
        if text.count(",") > 1 or text.count(".") > 1:
            return (".", True) if "," in text else (",", True)
    commas, points = ([text for text in figures if mark in text] for mark in ",.")
    if not commas:
        return ".", True
    grouping = all(re.fullmatch(r"-?[1-9]\d{0,2},\d{3}", text) for text in commas)
    if points:
        return (".", True) if grouping else (",", True)
    # Reports have decimals everywhere, so without any point, the comma is probably the decimal mark.
    return ",", not grouping


def parse_number(text: str, mark: Literal[".", ","] = ".") -> float | None:
    """Parse a figure. None: the text is not a figure, or it is too large."""
    normalised = re.sub(r"\s", "", text).replace("," if mark == "." else ".", "").replace(",", ".")
    if not re.fullmatch(r"\d{1,20}(?:\.\d{1,20})?", normalised, re.ASCII):
        return None
    value = float(normalised)
    return value if value <= _MAX_VALUE else None


def is_figure(text: str) -> bool:
    """Whether a text is a figure in any culture."""
    return re.fullmatch(r"-?\d[\d.,\s]*", text.strip()) is not None


def parse_duration_seconds(text: str) -> float | None:
    """Parse a duration such as `P0Y0M0DT2H0M0S` (7200.0) to seconds.

    None: not a duration, or it contains years or months, which have no fixed length.
    """
    match = re.fullmatch(
        r"P(?:0Y)?(?:0M)?(?:(\d{1,4})D)?T?(?:(\d{1,5})H)?(?:(\d{1,6})M)?(?:(\d{1,7})S)?", text.strip()
    )
    if match is None or text.strip() == "P":
        return None
    days, hours, minutes, seconds = (int(text or 0) for text in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
