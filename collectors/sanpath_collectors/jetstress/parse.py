"""Names and figures of Jetstress' reports. Pure: text in, values out.

A report names what it tells in words, which differ a little from version to version:

    2007         LogicalDisk | Avg. Disk sec/Read | ... | Disk Reads/sec | Disk Writes/sec | Avg. Disk Bytes/Write
    2010, 2013   MSExchange Database ==> Instances | I/O Database Reads Average Latency (msec) | ...

so that everything is found by its name, in lower case and without what is no letter and no digit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from sanpath.model import Direction

_LARGEST = 1e15
"""No figure of a report is larger; what is comes from a damaged file."""
_DATABASE = re.compile(r"(?:io)?(database|db|log)(reads|writes)(?:attached)?(averagelatency|persec|sec|averagebytes)")
_DISK = re.compile(r"(avgdisksec|disk|avgdiskbytes)(read|write)s?(sec)?")
_WHAT: dict[str, Literal["latency", "ops", "bytes"]] = {
    **{"averagelatency": "latency", "sec": "ops", "persec": "ops", "averagebytes": "bytes"},
    **{"avgdisksec": "latency", "disk": "ops", "avgdiskbytes": "bytes"},
}


@dataclass(frozen=True, slots=True)
class Measure:
    """What a column tells. `scale` makes seconds of a latency. `log`: it is of the log files; None: its row says of
    what."""

    what: Literal["latency", "ops", "bytes"]
    direction: Direction
    log: bool | None
    scale: float = 1.0


def folded(text: str) -> str:
    """A name without what versions write differently."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def measure(column: str) -> Measure | None:
    """What a column tells, by its folded name. None: something else.

    Database latencies are milliseconds; those of 2007, of logical disks, are seconds.
    """
    if match := _DATABASE.match(column):
        what = _WHAT[match[3]]
        direction: Direction = "read" if match[2] == "reads" else "write"
        return Measure(what, direction, match[1] == "log", 1e-3 if what == "latency" else 1.0)
    match = _DISK.fullmatch(column)
    if match is None or (match[1] == "disk") != (match[3] == "sec"):
        return None
    return Measure(_WHAT[match[1]], "read" if match[2] == "read" else "write", None)


def decimal_mark(texts: Iterable[str]) -> tuple[Literal[".", ","], bool]:
    """The decimal mark of figures of one report, and whether it is certain: the machine's culture chose it.

    A mark that comes twice in a figure, or before the other one, groups thousands; so does one that is always before
    three digits, where the other is not.
    """
    found = [text for text in (re.sub(r"\s", "", text) for text in texts) if re.fullmatch(r"-?[\d.,]+", text)]
    for text in found:
        if "." in text and "," in text:
            return (".", True) if text.rindex(".") > text.rindex(",") else (",", True)
        if text.count(",") > 1 or text.count(".") > 1:
            return (".", True) if "," in text else (",", True)
    commas, points = ([text for text in found if mark in text] for mark in ",.")
    if not commas:
        return ".", True
    grouping = all(re.fullmatch(r"-?[1-9]\d{0,2},\d{3}", text) for text in commas)
    if points:
        return (".", True) if grouping else (",", True)
    # A report prints decimals everywhere: without a point in it the comma is the mark, if nothing proves it either.
    return ",", not grouping


def number(text: str, mark: Literal[".", ","] = ".") -> float | None:
    """A figure. None: it is none."""
    plain = re.sub(r"\s", "", text).replace("," if mark == "." else ".", "").replace(",", ".")
    if not re.fullmatch(r"\d{1,20}(?:\.\d{1,20})?", plain, re.ASCII):
        return None
    value = float(plain)
    return value if value <= _LARGEST else None


def is_figure(text: str) -> bool:
    """Whether it looks like one, whatever the culture."""
    return re.fullmatch(r"-?\d[\d.,\s]*", text.strip()) is not None


def duration_seconds(text: str) -> float | None:
    """`P0Y0M0DT2H0M0S` → 7200.0; years and months have no fixed length. None: no duration."""
    match = re.fullmatch(
        r"P(?:0Y)?(?:0M)?(?:(\d{1,4})D)?T?(?:(\d{1,5})H)?(?:(\d{1,6})M)?(?:(\d{1,7})S)?", text.strip()
    )
    if match is None or text.strip() == "P":
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
