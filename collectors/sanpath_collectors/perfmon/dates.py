"""Dates and times as Windows shows them to people: in the order and with the signs of the machine's country."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_SHOWN = re.compile(
    r"(\d{1,4})([./-]) ?(\d{1,2})\2 ?(\d{1,4})\.?[ T]+(\d{1,2})[:.](\d{2})[:.](\d{2})(?:[.,](\d{1,7}))?\s*"
    r"(?:([AaPp])\.?\s?[Mm]\.?)?"
)


class LocalDates:
    """Reads the times of one file. `ambiguous`: day and month of the last one may as well be the other way round."""

    def __init__(self) -> None:
        self.ambiguous = False
        self._month_first: bool | None = None
        self._last: tuple[str, int | None] = ("", None)

    def time_us(self, text: str) -> int | None:
        """Microseconds since the epoch, as if it were UTC; None for what is no time.

        >>> dates = LocalDates()
        >>> [dates.time_us(text) == 1545344182000000 for text in ("20.12.2018 22:16:22", "12/20/2018 10:16:22 PM")]
        [True, True]
        """
        if text != self._last[0]:
            match = _SHOWN.fullmatch(text.strip())
            self._last = (text, None if match is None else self._read(match))
        return self._last[1]

    def _read(self, match: re.Match[str]) -> int | None:
        first, sign, second, third = match[1], match[2], match[3], match[4]
        hour, half = int(match[5]), (match[9] or "").lower()
        if half:
            hour = hour % 12 + (12 if half == "p" else 0)
        if len(first) == 4:
            year, month, day = int(first), int(second), int(third)
        else:
            year = int(third) + (2000 if len(third) == 2 else 0)
            day, month = int(first), int(second)
            if self._is_month_first(day, month, sign, half):
                day, month = month, day
        try:
            told = datetime(year, month, day, hour, int(match[6]), int(match[7]), tzinfo=UTC)
        except ValueError:
            return None
        return max(0, int(told.timestamp())) * 1_000_000 + int((match[8] or "").ljust(6, "0")[:6])

    def _is_month_first(self, first: int, second: int, sign: str, half: str) -> bool:
        if sign != "/":
            return False
        if first > 12 or second > 12:
            self._month_first = second > 12
        elif self._month_first is None:
            # The United States write the month first, and they write AM and PM.
            self.ambiguous, self._month_first = first != second, bool(half)
        return self._month_first
