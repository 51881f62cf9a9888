"""Dates as the culture of the machine writes them: which part is the day is found out, or said to be a guess."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Literal

Order = Literal["ymd", "mdy", "dmy"]

DATE_TIME = (
    r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\.?,?[ \u00a0\u202fT]+\d{1,2}:\d{2}(?::\d{2})?(?:[\s\u202f]?[AaPp]\.?[Mm]\.?)?"
)
_PARTS = re.compile(
    r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})\.?,?[\sT]+(\d{1,2}):(\d{2})(?::(\d{2}))?\s?(?:([AaPp])\.?[Mm]\.?)?"
)
_IN_A_NAME = re.compile(r"_(\d{4})_(\d{1,2})_(\d{1,2})_(\d{1,2})_(\d{1,2})_(\d{1,2})(?:\D|$)", re.ASCII)


def moment(text: str, order: Order) -> int | None:
    """`5/31/2007 12:59:31 AM` → microseconds since 1970, counted in local time. None: there is no such time."""
    match = _PARTS.fullmatch(text.strip())
    if match is None:
        return None
    date = dict(zip(order, (match[1], match[3], match[4]), strict=True))
    hour = int(match[5])
    if match[8]:
        hour = hour % 12 + (12 if match[8].lower() == "p" else 0)
    return _microseconds(int(date["y"]), int(date["m"]), int(date["d"]), hour, int(match[6]), int(match[7] or 0))


def moment_in_name(name: str) -> int | None:
    """`Performance_2015_7_17_14_9_16.html` → when the test began, as `moment` does. None: the name does not tell."""
    match = _IN_A_NAME.search(name)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups())
    return _microseconds(year, month, day, hour, minute, second)


def _microseconds(year: int, month: int, day: int, hour: int, minute: int, second: int) -> int | None:
    try:
        at = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return int(at.timestamp()) * 1_000_000 if year >= 1970 else None


class DateOrder:
    """Collects what tells the order of the parts: a day beyond 12, a file name, two dates that lie close together."""

    def __init__(self) -> None:
        self._proven: Order | None = None
        self._first = self._last = ""
        self._named: int | None = None

    def see(self, text: str) -> None:
        """A date of the document; they come in the order of time."""
        match = _PARTS.fullmatch(text.strip())
        if match is None:
            return
        self._first, self._last = self._first or text, text
        if self._proven is None:
            if len(match[1]) == 4:
                self._proven = "ymd"
            elif match[2] == "." or int(match[1]) > 12:
                self._proven = "dmy"
            elif int(match[3]) > 12:
                self._proven = "mdy"

    def see_name(self, name: str) -> None:
        """The name of a file of the test, whose parts are always year, month, day."""
        if self._named is None:
            self._named = moment_in_name(name)

    def decide(self) -> tuple[Order, bool]:
        """The order, and whether it is certain; where nothing tells, that of the United States."""
        if self._proven is not None:
            return self._proven, True
        american, european = self._misfit("mdy"), self._misfit("dmy")
        same = moment(self._first, "mdy") == moment(self._first, "dmy")
        return "dmy" if european < american else "mdy", same or european != american

    def _misfit(self, order: Order) -> int:
        """How far the dates are from where they should be: at the time in the file name, or at each other."""
        first, last = moment(self._first, order), moment(self._last, order)
        if first is None or last is None:
            return 1 << 62
        return abs((last if self._named is None else self._named) - first)
