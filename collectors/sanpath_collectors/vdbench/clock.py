"""Conversion of a report's times of day to one clock. The date is elsewhere in the report, or missing."""

from __future__ import annotations

from sanpath.plugin import ResultClock

_DAY_US = 86_400_000_000
_HALF_HOUR_US = 1_800_000_000
_MAX_SET_BACK_US = 7_200_000_000
"""The end of summer time sets clocks back by an hour, or by two in Antarctica. A larger step back is the next day."""


class ReportClock:
    """A clock that continues over midnight, and over the end of summer time.

    `tick` returns microseconds since the midnight before the first tick; `to_clock` converts that to the clock
    `kind`.
    """

    def __init__(self) -> None:
        self.kind: ResultClock = "elapsed"
        self._first_tick_us: int | None = None
        self._last_tick_us = 0
        self._added_us = 0
        self._next_day: int | None = None
        self._midnight_us: int | None = None
        self._utc_offset_us: int | None = None
        self._origin_us: int | None = None

    @property
    def has_date(self) -> bool:
        """Whether a date has been set."""
        return self._next_day is not None

    def set_date(self, day: int, utc_offset_us: int | None = None) -> None:
        """Set the day (since 1970) of the next tick, and the offset of its zone from UTC; None: unknown."""
        self._next_day = day
        if utc_offset_us is not None:
            self._utc_offset_us = utc_offset_us

    def tick(self, time_of_day_us: int, expected_us: int = 0) -> int:
        """Convert the next time of day in the report.

        `expected_us`: the expected time since the last one. Only this shows that whole days have passed.
        """
        tick_us = time_of_day_us + self._added_us
        if self._first_tick_us is not None and tick_us < self._last_tick_us:
            if self._last_tick_us - tick_us > _MAX_SET_BACK_US:
                self._added_us += _DAY_US
                tick_us += _DAY_US
            elif self._last_tick_us - tick_us > _HALF_HOUR_US // 2:
                # The local clock was set back at the end of summer time, while the test continued.
                step_back_us = -(-(self._last_tick_us - tick_us) // _HALF_HOUR_US) * _HALF_HOUR_US
                self._added_us += step_back_us
                tick_us += step_back_us
        missing_us = self._last_tick_us + expected_us - tick_us
        days = max(0, round(missing_us / _DAY_US))
        if self._first_tick_us is not None and days and abs(missing_us - days * _DAY_US) <= _MAX_SET_BACK_US:
            self._added_us += days * _DAY_US
            tick_us += days * _DAY_US
        if self._first_tick_us is None:
            self._first_tick_us = tick_us
        if self._next_day is not None and self._midnight_us is None:
            self._midnight_us = self._next_day * _DAY_US - (tick_us - time_of_day_us)
        self._last_tick_us = max(self._last_tick_us, tick_us)
        return tick_us

    def to_clock(self, tick: int) -> int:
        """Convert a tick to microseconds on the clock `kind`. A date that is set after the first call is not used."""
        if self._origin_us is None:
            if self._midnight_us is None:
                self._origin_us = -(self._first_tick_us or 0)
            elif self._utc_offset_us is None:
                self.kind, self._origin_us = "local", self._midnight_us
            else:
                self.kind, self._origin_us = "utc", self._midnight_us - self._utc_offset_us
        return self._origin_us + tick
