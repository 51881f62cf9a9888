"""Times of day of a report → microseconds on one clock: the date comes from elsewhere in it, or not at all."""

from __future__ import annotations

from sanpath.plugin import ResultClock

_DAY_US = 86_400_000_000
_HALF_DAY_US = _DAY_US // 2
_HALF_HOUR_US = 1_800_000_000


class ReportClock:
    """Counts on over midnight, and over the end of summer time.

    `tick` gives microseconds since the midnight before the first of them; `at` puts that on the clock `kind`.
    """

    def __init__(self) -> None:
        self.kind: ResultClock = "elapsed"
        self._first: int | None = None
        self._last = 0
        self._turned_us = 0
        self._day_of_next: int | None = None
        self._midnight_us: int | None = None
        self._utc_offset_us: int | None = None
        self._origin_us: int | None = None

    def dated(self, day: int, utc_offset_us: int | None = None) -> None:
        """The day (since 1970) of the next tick, and how far its zone is ahead of UTC; None: not told."""
        self._day_of_next = day
        if utc_offset_us is not None:
            self._utc_offset_us = utc_offset_us

    def tick(self, time_of_day_us: int) -> int:
        """The next time of the report."""
        now = time_of_day_us + self._turned_us
        if self._first is not None and now < self._last:
            if self._last - now > _HALF_DAY_US:
                self._turned_us += _DAY_US
                now += _DAY_US
            elif self._last - now > _HALF_HOUR_US // 2:
                # The clock was set back; the time of the test was not.
                back = -(-(self._last - now) // _HALF_HOUR_US) * _HALF_HOUR_US
                self._turned_us += back
                now += back
        if self._first is None:
            self._first = now
        if self._day_of_next is not None and self._midnight_us is None:
            self._midnight_us = self._day_of_next * _DAY_US - (now - time_of_day_us)
        self._last = max(self._last, now)
        return now

    def at(self, tick: int) -> int:
        """Microseconds on the clock `kind`. A date that comes after it was first asked is not used."""
        if self._origin_us is None:
            if self._midnight_us is None:
                self._origin_us = -(self._first or 0)
            elif self._utc_offset_us is None:
                self.kind, self._origin_us = "local", self._midnight_us
            else:
                self.kind, self._origin_us = "utc", self._midnight_us - self._utc_offset_us
        return self._origin_us + tick
