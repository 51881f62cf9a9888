"""Parses time stamps of `iostat -t`: ISO 8601 with S_TIME_FORMAT=ISO, otherwise in the format of the locale.

Up to version 9.0 they follow a label, "Time: 02:55:16 AM", and have no date.

Another program may have put the time in front of each line, which is then that of the report:

    02:55:16 avg-cpu:  %user   %nice %system %iowait  %steal   %idle        awk '{ print strftime("%T"), $0 }'
    Nov 20 02:55:16 avg-cpu:  %user   %nice %system %iowait  %steal   %idle        ts
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime

_ISO = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(Z|[+-]\d{4})?")
_LOCAL = re.compile(
    r"(?P<a>\d{1,4})(?P<separator>\D{1,3})(?P<b>\d{1,2})\D{1,3}(?P<c>\d{1,4})\D{1,3}"
    r"(?P<hour>\d{1,2})\D{1,3}(?P<minute>\d\d)\D{1,3}(?P<second>\d\d)[^\d\sAaPp]{0,3}\s*"
    r"(?P<half>[AaPp]\.?[Mm]\.?)?(?P<zone>\s[A-Z]{2,5})?"
)
_LABELLED = re.compile(r"\s*\w{1,20}\s?:\s+(\S.*)")
_TIME_OF_DAY = re.compile(r"\d{1,2}\D{1,3}\d\d\D{1,3}\d\d[^\W\d_]?(?:\s?[AaPp]\.?[Mm]\.?)?(?:\s[A-Z]{2,5})?")
_LINE_TIME = re.compile(
    r"\[?(?:(?P<epoch>\d{10})|"
    r"(?:(?P<date>\d{4}[-/]\d\d[-/]\d\d)[ T_]|[A-Z][a-z]{2} [ \d]\d )?(?P<time>\d\d:\d\d:\d\d))"
    r"(?:[.,]\d{1,9})?(?P<zone>Z|[+-]\d\d:?\d\d)?\]?(?:[ \t]|$)",
    re.ASCII,
)
_DAY_US = 86_400_000_000
_BUDDHIST_YEARS = 543
"""Number of years by which the calendar of Thailand is ahead."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time stamp. `us`: microseconds since the epoch, in local time unless it `has_zone`.

    `us` assumes that the month comes first. `day_first_us`: the time if the day comes first; None: not ambiguous.
    """

    us: int
    has_zone: bool
    day_first_us: int | None = None


def parse_stamp(line: str) -> Stamp | None:
    """Parses a time stamp; None: the line is no time stamp.

    >>> parse_stamp("2026-11-20T02:55:15+0000")
    Stamp(us=1795143315000000, has_zone=True, day_first_us=None)
    >>> {parse_stamp(text) for text in ("20.11.2026 02:55:15", "11/20/2026 02:55:15 AM", "11/20/26 02:55:15")}
    {Stamp(us=1795143315000000, has_zone=False, day_first_us=None)}
    """
    line = line.strip()
    try:
        if iso := _ISO.fullmatch(line):
            parsed = Stamp(_to_us(datetime.fromisoformat(line)), iso[2] is not None)
        elif local := _LOCAL.fullmatch(line):
            parsed = _parse_locale(local)
        else:
            return None
    except ValueError:
        return None
    return parsed if parsed.us >= 0 else None


def split_line_time(line: str) -> tuple[re.Match[str] | None, str]:
    """Splits a line into the time that another program put in front of it, and the rest. None: there is no time.

    >>> split_line_time("02:55:16 Device:  tps")[1]
    'Device:  tps'
    """
    found = _LINE_TIME.match(line)
    return found, line if found is None else line[found.end() :]


class StampReader:
    """Reads the time stamps below one title. `date`: the title's date; "": unknown, so times without a date are not
    read."""

    def __init__(self, date: str = "") -> None:
        self._date = date
        self._days_us = 0
        self._previous_us: int | None = None

    def read(self, line: str) -> Stamp | None:
        """Parses a time stamp; None: the line is not a time stamp. A time far before the last one is on the next day.

        >>> stamps = StampReader("11/20/2026")
        >>> late, early = stamps.read("Time: 11:59:55 PM"), stamps.read("Time: 12:00:05 AM")
        >>> (early.us - late.us) // 1_000_000
        10
        """
        if (found := parse_stamp(line)) is not None:
            return found
        if (labelled := _LABELLED.fullmatch(line)) is None:
            return None
        return self._read_time_of_day(labelled[1].strip())

    def read_line_time(self, time: re.Match[str]) -> Stamp | None:
        """Parses the time in front of a line; None: its date is not known."""
        if time["epoch"]:
            return Stamp(int(time["epoch"]) * 1_000_000, has_zone=True)
        if time["date"]:
            zone = (time["zone"] or "").replace(":", "")
            return parse_stamp(f"{time['date'].replace('/', '-')}T{time['time']}{zone}")
        return self._read_time_of_day(time["time"])

    def _read_time_of_day(self, text: str) -> Stamp | None:
        if not self._date or _TIME_OF_DAY.fullmatch(text) is None:
            return parse_stamp(text)
        if (found := parse_stamp(f"{self._date} {text}")) is None:
            return None
        if self._previous_us is not None and self._previous_us - found.us - self._days_us > _DAY_US // 2:
            self._days_us += _DAY_US
        self._previous_us = found.us + self._days_us
        day_first_us = None if found.day_first_us is None else found.day_first_us + self._days_us
        return replace(found, us=self._previous_us, day_first_us=day_first_us)


def _parse_locale(match: re.Match[str]) -> Stamp:
    first, middle, third = int(match["a"]), int(match["b"]), int(match["c"])
    ambiguous = False
    if len(match["a"]) == 4:
        year, month, day = first, middle, third
    elif match["separator"].strip() == "/" and first <= 12:
        # American and C locale. British, French and Indian formats have the day first, which is only visible if the
        # day is above 12. Times with AM or PM and without a zone are American.
        year, month, day = third, first, middle
        ambiguous = middle <= 12 and first != middle and (match["half"] is None or match["zone"] is not None)
    else:
        year, month, day = third, middle, first
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"])
    if half_day := match["half"]:
        hour = hour % 12 + (12 if half_day[0] in "Pp" else 0)
    year += 2000 if year < 100 else -_BUDDHIST_YEARS if year > 2000 + _BUDDHIST_YEARS else 0
    time = datetime(year, month, day, hour, minute, second)
    day_first_us = _to_us(time.replace(month=day, day=month)) if ambiguous else None
    return Stamp(_to_us(time), has_zone=False, day_first_us=day_first_us)


def _to_us(time: datetime) -> int:
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()) * 1_000_000
