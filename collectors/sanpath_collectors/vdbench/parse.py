"""Parses figures, times and labels of vdbench's reports. Pure.

All reports are plain text after a `<pre>` that is never closed. A row begins with its time. The order of its figures
is that of the header, which is repeated now and then:

             tod               timestamp        Run   Interval    reqrate       rate     MB/sec   bytes/io   ...
    09:42:39.081 10/09/2019-09:42:39-ICT        rd1          2 9999988.0000  2219.0000     8.6680       4096 ...
    09:42:43.104 10/09/2019-09:42:43-ICT        rd1    avg_2-5 9999988.0000  2207.2500     8.6221       4096 ...

The row `avg_2-5` averages the intervals 2 to 5 of its run: the first one is warm-up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

_MAX_VALUE = 1e12
"""Larger figures mean that the file is damaged."""
UNCONTROLLED = frozenset((999_977.0, 999_988.0, 9_999_977.0, 9_999_988.0))
"""Values of the column reqrate that mean `iorate=curve` or `iorate=max`, in older and in newer versions."""

_AVERAGE = re.compile(r"avg_(\d{1,9})-(\d{1,9})", re.ASCII)
_TIME_OF_DAY = re.compile(r"([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:[.,](\d{3}))?", re.ASCII)
_DATE = re.compile(r"(\S{1,12}) (\d{1,2}),? (\d{4})", re.ASCII)
_FROM_UTC = re.compile(r"(?:GMT|UTC)(?:([+-])(\d{1,2}):?(\d\d))?", re.ASCII)
_MONTHS = {
    **{"jan": 1, "ene": 1, "gen": 1, "feb": 2, "fév": 2, "fev": 2, "mar": 3, "mär": 3, "mrt": 3, "apr": 4, "avr": 4},
    **{
        "abr": 4,
        "may": 5,
        "mai": 5,
        "mag": 5,
        "mei": 5,
        "jun": 6,
        "giu": 6,
        "juin": 6,
        "jul": 7,
        "juil": 7,
        "lug": 7,
    },
    **{"aug": 8, "aoû": 8, "ago": 8, "sep": 9, "set": 9, "oct": 10, "okt": 10, "ott": 10, "out": 10, "nov": 11},
    **{"dec": 12, "dez": 12, "déc": 12, "dic": 12},
}
"""First letters of the months in the JVM's languages. Some languages number the months, such as `5月`."""


def parse_number(text: str) -> float | None:
    """Parse a figure of a report. None: `n/a`, or invalid."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= _MAX_VALUE else None


def normalise_decimal_marks(cells: Sequence[str]) -> list[str]:
    """Rewrite the figures of a row with commas: a point as decimal mark, and no separators of thousands.

    A row has many figures with decimals. If no cell has a point, or a point separates thousands (1.234,5), the comma
    is the decimal mark. Otherwise it separates thousands.
    """
    joined = " ".join(cells)
    if "." not in joined or re.search(r"\d\.\d{3},", joined):
        return [cell.replace(".", "").replace(",", ".") for cell in cells]
    return [cell.replace(",", "") for cell in cells]


def parse_interval(label: str) -> int | None:
    """Parse the number of an interval, from 1 on. None: another label."""
    return int(label) or None if len(label) < 10 and label.isdecimal() else None


def parse_averaged_intervals(label: str) -> tuple[int, int] | None:
    """Parse `avg_2-60` → (2, 60), the first and last interval of an average. None: another label."""
    match = _AVERAGE.fullmatch(label)
    return (int(match[1]), int(match[2])) if match else None


def parse_time_of_day(text: str) -> int | None:
    """Parse `13:49:01.260` → microseconds since midnight. None: not a time."""
    match = _TIME_OF_DAY.fullmatch(text)
    if match is None:
        return None
    hours, minutes, seconds, milliseconds = match.groups("0")
    return ((int(hours) * 60 + int(minutes)) * 60 + int(seconds)) * 1_000_000 + int(milliseconds) * 1000


def parse_day(text: str) -> int | None:
    """Parse `Apr 08, 2016`, `08:17:11 Mar 08 2019 UTC`, `5月 10, 2023` → days since 1970. None: unknown month."""
    match = _DATE.search(text)
    if match is None:
        return None
    word = match[1].lower()
    month_number = re.match(r"\d{1,2}", word)
    month = int(month_number[0]) if month_number else _MONTHS.get(word[:4]) or _MONTHS.get(word[:3], 0)
    return to_days_since_1970(int(match[3]), month, int(match[2]))


def to_days_since_1970(year: int, month: int, day_of_month: int) -> int | None:
    """Convert a date to days since 1970. None: there is no such day."""
    try:
        return date(year, month, day_of_month).toordinal() - date(1970, 1, 1).toordinal()
    except ValueError:
        return None


def parse_utc_offset_us(zone: str) -> int | None:
    """Parse `UTC`, `GMT+05:30` → microseconds ahead of UTC. None: an abbreviation, which may be ambiguous."""
    match = _FROM_UTC.fullmatch(zone)
    if match is None:
        return None
    minutes = int(match[2] or 0) * 60 + int(match[3] or 0)
    return (-minutes if match[1] == "-" else minutes) * 60_000_000


def parse_size_bytes(text: str) -> float | None:
    """Parse `4k` → 4096.0, `1m`, `16g`, `2t`, `512`. None: not a single size."""
    match = re.fullmatch(r"(\d{1,12})([kmgt]?)b?", text.strip(), re.ASCII | re.IGNORECASE)
    return int(match[1]) * 1024.0 ** " kmgt".index(match[2].lower() or " ") if match else None


def to_ratio(percent: float | None) -> float | None:
    """Convert a percentage to a ratio. None: not known, or above 100."""
    return percent / 100 if percent is not None and percent <= 100 else None
