"""Parses dates and times in the local format of Windows: order and separators are those of the machine's country."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_DATE_AND_TIME = re.compile(
    r"(\d{1,4})([./-]) ?(\d{1,2})\2 ?(\d{1,4})\.?[ T]+(\d{1,2})[:.](\d{2})[:.](\d{2})(?:[.,](\d{1,7}))?\s*"
    r"(?:([AaPp])\.?\s?[Mm]\.?)?"
)


class LocalDates:
    """Parses the times of one file. `ambiguous`: day and month of the last time may be swapped."""

    def __init__(self) -> None:
        self.ambiguous = False
        self._month_first: bool | None = None
        self._last: tuple[str, int | None] = ("", None)

    def parse_time_us(self, text: str) -> int | None:
        """Parse to microseconds since the epoch, as if the time were UTC; None: not a time.

        >>> dates = LocalDates()
        >>> [dates.parse_time_us(text) for text in ("20.12.2018 22:16:22", "12/20/2018 10:16:22 PM")]
        [1545344182000000, 1545344182000000]
        """
        if text != self._last[0]:
            match = _DATE_AND_TIME.fullmatch(text.strip())
            self._last = (text, None if match is None else self._parse(match))
        return self._last[1]

    def _parse(self, match: re.Match[str]) -> int | None:
        first, separator, second, third = match[1], match[2], match[3], match[4]
        hour, am_or_pm = int(match[5]), (match[9] or "").lower()
        if am_or_pm:
            hour = hour % 12 + (12 if am_or_pm == "p" else 0)
        if len(first) == 4:
            year, month, day = int(first), int(second), int(third)
        else:
            year = int(third) + (2000 if len(third) == 2 else 0)
            day, month = int(first), int(second)
            if self._is_month_first(day, month, separator, am_or_pm):
                day, month = month, day
        try:
            utc = datetime(year, month, day, hour, int(match[6]), int(match[7]), tzinfo=UTC)
        except ValueError:
            return None
        return max(0, int(utc.timestamp())) * 1_000_000 + int((match[8] or "").ljust(6, "0")[:6])

    def _is_month_first(self, first: int, second: int, separator: str, am_or_pm: str) -> bool:
        if separator != "/":
            return False
        if first > 12 or second > 12:
            self._month_first = second > 12
        elif self._month_first is None:
            # The United States write the month first, and use AM and PM.
            self.ambiguous, self._month_first = first != second, bool(am_or_pm)
        return self._month_first
