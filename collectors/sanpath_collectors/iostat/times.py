"""The time stamps of `iostat -t`: ISO 8601 with S_TIME_FORMAT=ISO, else as the locale writes date and time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

_ISO = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(Z|[+-]\d{4})?")
_LOCAL = re.compile(
    r"(?P<a>\d{1,4})(?P<separator>\D{1,3})(?P<b>\d{1,2})\D{1,3}(?P<c>\d{1,4})\D{1,3}"
    r"(?P<hour>\d{1,2})\D{1,3}(?P<minute>\d\d)\D{1,3}(?P<second>\d\d)[^\d\sAaPp]{0,3}\s*(?P<half>[AaPp]\.?[Mm]\.?)?"
)


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time, microseconds since the epoch: of UTC when it tells its zone, else counted in local time.
    `ambiguous`: day and month may be the other way round."""

    us: int
    zoned: bool
    ambiguous: bool = False


def stamp(line: str) -> Stamp | None:
    """A line that is a time stamp; None for any other.

    >>> stamp("2026-11-20T02:55:15+0000")
    Stamp(us=1795143315000000, zoned=True, ambiguous=False)
    >>> stamp("20.11.2026 02:55:15") == stamp("11/20/2026 02:55:15 AM") == stamp("11/20/26 02:55:15")
    True
    """
    line = line.strip()
    try:
        if iso := _ISO.fullmatch(line):
            found = Stamp(_us(datetime.fromisoformat(line)), iso[2] is not None)
        elif local := _LOCAL.fullmatch(line):
            found = _of_locale(local)
        else:
            return None
    except ValueError:
        return None
    return found if found.us >= 0 else None


def _of_locale(found: re.Match[str]) -> Stamp:
    a, b, c = int(found["a"]), int(found["b"]), int(found["c"])
    ambiguous = False
    if len(found["a"]) == 4:
        year, month, day = a, b, c
    elif found["separator"].strip() == "/" and a <= 12:
        # American, and of the C locale; British and French write the day first, and only a day past 12 shows it.
        year, month, day = c, a, b
        ambiguous = b <= 12 and a != b and found["half"] is None
    else:
        year, month, day = c, b, a
    hour, minute, second = int(found["hour"]), int(found["minute"]), int(found["second"])
    if half := found["half"]:
        hour = hour % 12 + (12 if half[0] in "Pp" else 0)
    moment = datetime(year + 2000 if year < 100 else year, month, day, hour, minute, second)
    return Stamp(_us(moment), zoned=False, ambiguous=ambiguous)


def _us(moment: datetime) -> int:
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()) * 1_000_000
