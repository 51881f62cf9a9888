"""Parses dates in the format of the machine's culture. The order of day and month is inferred, or marked as a
guess."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Literal

Order = Literal["ymd", "mdy", "dmy"]

DATE_TIME = (
    r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\.?,?[ \u00a0\u202fT]+\d{1,2}:\d{2}(?::\d{2})?(?:[\s\u202f]?[AaPp]\.?[Mm]\.?)?"
)
_DATE_TIME_FIELDS = re.compile(
    r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})\.?,?[\sT]+(\d{1,2}):(\d{2})(?::(\d{2}))?\s?(?:([AaPp])\.?[Mm]\.?)?"
)
_FILE_NAME_TIME = re.compile(r"_(\d{4})_(\d{1,2})_(\d{1,2})_(\d{1,2})_(\d{1,2})_(\d{1,2})(?:\D|$)", re.ASCII)


def parse_time_us(text: str, order: Order) -> int | None:
    """Parse `5/31/2007 12:59:31 AM` to microseconds since 1970 in local time. None: not a valid time."""
    match = _DATE_TIME_FIELDS.fullmatch(text.strip())
    if match is None:
        return None
    date = dict(zip(order, (match[1], match[3], match[4]), strict=True))
    hour = int(match[5])
    if match[8]:
        hour = hour % 12 + (12 if match[8].lower() == "p" else 0)
    return _to_us(int(date["y"]), int(date["m"]), int(date["d"]), hour, int(match[6]), int(match[7] or 0))


def parse_file_name_time_us(name: str) -> int | None:
    """Parse the begin of the test in a file name such as `Performance_2015_7_17_14_9_16.html`.

    Microseconds since 1970 in local time. None: the name contains no time.
    """
    match = _FILE_NAME_TIME.search(name)
    if match is None:
        return None
    year, month, day, hour, minute, second = map(int, match.groups())
    return _to_us(year, month, day, hour, minute, second)


def _to_us(year: int, month: int, day: int, hour: int, minute: int, second: int) -> int | None:
    try:
        time = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return int(time.timestamp()) * 1_000_000 if year >= 1970 else None


class DateOrder:
    """Infers the order of day, month and year.

    Evidence: a day above 12, the time in a file name, and the distance between the first and the last date.
    """

    def __init__(self) -> None:
        self._certain_order: Order | None = None
        self._first_date = self._last_date = ""
        self._file_name_us: int | None = None

    def add_date(self, text: str) -> None:
        """Add a date of the document. Dates come in the order of time."""
        match = _DATE_TIME_FIELDS.fullmatch(text.strip())
        if match is None:
            return
        self._first_date, self._last_date = self._first_date or text, text
        if self._certain_order is None:
            if len(match[1]) == 4:
                self._certain_order = "ymd"
            elif match[2] == "." or int(match[1]) > 12:
                self._certain_order = "dmy"
            elif int(match[3]) > 12:
                self._certain_order = "mdy"

    def add_file_name(self, name: str) -> None:
        """Add the name of a file of the test. Its time is always in the order year, month, day."""
        if self._file_name_us is None:
            self._file_name_us = parse_file_name_time_us(name)

    def decide(self) -> tuple[Order, bool]:
        """Return the order of day and month, and whether it is certain. Without evidence, it is the American
        order."""
        if self._certain_order is not None:
            return self._certain_order, True
        american, european = self._distance_us("mdy"), self._distance_us("dmy")
        is_unambiguous = parse_time_us(self._first_date, "mdy") == parse_time_us(self._first_date, "dmy")
        return "dmy" if european < american else "mdy", is_unambiguous or european != american

    def _distance_us(self, order: Order) -> int:
        """Return the distance between the first date and the time in the file name, or else the last date."""
        first_us, last_us = parse_time_us(self._first_date, order), parse_time_us(self._last_date, order)
        if first_us is None or last_us is None:
            return 1 << 62
        return abs((last_us if self._file_name_us is None else self._file_name_us) - first_us)
