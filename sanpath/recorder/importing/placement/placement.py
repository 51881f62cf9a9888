"""Places the items of a file in a recording: converts their times to the recorder's clock."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Literal
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from sanpath.errors import CollectorError, Failure, UsageError
from sanpath.model import Event, Rows, SourceEntity, SourceLink
from sanpath.plugin import Item, ResultClock

_HOUR_US = 3_600_000_000
QUARTER_HOUR_US = _HOUR_US // 4
"""Offsets of time zones are multiples of a quarter of an hour."""
_YEARS = range(1970, 2200)
"""Valid years of a time given with an option. Other years are typing errors."""
_OFFSET = re.compile(r"([+-])(\d{1,2}):?([0-5]\d)?")


def parse_zone(text: str) -> tzinfo:
    """Parse the name (Europe/Berlin) or offset (+02:00) of a time zone. Raises UsageError."""
    if text.upper() in ("Z", "UTC"):
        return UTC
    if match := _OFFSET.fullmatch(text):
        offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
        if offset < timedelta(hours=24):
            return timezone(offset if match[1] == "+" else -offset)
    try:
        return ZoneInfo(text)
    except (OSError, ValueError, KeyError):
        pass
    raise UsageError(f"{text!r} is not a time zone: write its name or offset, such as Europe/Berlin or +02:00")


def parse_epoch_us(option: str, text: str, utc_offset: str | None = None) -> int:
    """Parse a time given with an option, as microseconds since the epoch. Raises UsageError.

    `utc_offset`: zone of a time without one; None: the zone of this machine.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: write a time as 2026-01-31T14:00:00+01:00") from error
    if time.year not in _YEARS:
        raise UsageError(f"{option} {text}: write a time of the years {_YEARS.start} to {_YEARS.stop - 1}")
    if time.tzinfo is None and utc_offset is not None:
        time = time.replace(tzinfo=parse_zone(utc_offset))
    return round(time.timestamp() * 1e6)


_MAX_TIME_US = 2**62
"""Times beyond this are refused, because a recording stores times in 64 bits."""


@dataclass(slots=True)
class Placement:
    """How one file is placed. All times are in microseconds of the recorder's clock.

    `zone`: time zone of local times; None: the zone of this machine. `behind_us`: by how much the file's clock is
    behind the recorder's. `marks`: when each load of the file began, regardless of the file's times. `begins`: when
    the first load began, for a file without times. `continues_us`: local time from which the file's times ignore that
    the clock was set back; None: there is no such time. `first`, `last`: first and last time of the placed items;
    None: none is placed yet. `steps`: number of loads.
    """

    zone: tzinfo | None = None
    begins: int | None = None
    marks: Sequence[int] = ()
    behind_us: int = 0
    continues_us: int | None = None
    first: int | None = None
    last: int | None = None
    steps: int = 0
    _shift_us: int | None = None

    def item(self, item: Item, clock: ResultClock) -> Item:
        """Return the item with its times on the recorder's clock."""
        match item:
            case SourceEntity() | SourceLink():
                return item
            case Event():
                if item.name == "step-begin":
                    self._next_step(item.seen)
                return replace(item, seen=self._place_time(item.seen, clock))
            case Rows():
                seen = self._place_times(item.seen, clock)
                # Device times are dropped: the two clocks were never compared.
                return Rows(item.table, item.entity, seen, item.values, None, item.covers_seconds)

    def _next_step(self, began: int) -> None:
        if self.steps < len(self.marks):
            self._shift_us = self.marks[self.steps] - began
        self.steps += 1

    def _place_times(self, times_us: Sequence[int], clock: ResultClock) -> Sequence[int]:
        """Return what `_place_time` returns for each time."""
        if isinstance(times_us, array) and (moved := self._convert_by_hours(np.asarray(times_us), clock)) is not None:
            self._extend(int(moved.min()), int(moved.max()))
            return array("q", moved.tobytes())
        placed = {time_us: self._place_time(time_us, clock) for time_us in dict.fromkeys(times_us)}
        return [placed[time_us] for time_us in times_us]

    def _convert_by_hours(self, times_us: NDArray[np.int64], clock: ResultClock) -> NDArray[np.int64] | None:
        """Convert all times within an hour with the offset of its two ends. None: there is an hour whose ends have
        different offsets."""
        if clock in ("utc", "elapsed"):
            first, last = int(times_us.min()), int(times_us.max())
            self._convert_us(last, clock)  # Raises if there is no such time.
            return times_us + (self._convert_us(first, clock) - first)
        hours, hour_of_time = np.unique(times_us // _HOUR_US, return_inverse=True)
        begins = [hour * _HOUR_US for hour in hours.tolist()]
        shifts = [self._convert_us(time_us, clock) - time_us for time_us in begins]
        at_ends = [
            self._convert_us(time_us, clock) - time_us for time_us in (begin + _HOUR_US - 1 for begin in begins)
        ]
        return times_us + np.array(shifts)[hour_of_time] if shifts == at_ends else None

    def _place_time(self, time_us: int, clock: ResultClock) -> int:
        placed = self._convert_us(time_us, clock)
        if clock != "none":
            self._extend(placed, placed)
        return placed

    def _extend(self, first: int, last: int) -> None:
        self.first = first if self.first is None else min(self.first, first)
        self.last = last if self.last is None else max(self.last, last)

    def _convert_us(self, time_us: int, clock: ResultClock) -> int:
        if clock == "none":
            return self.begins or 0
        if clock == "elapsed" and self._shift_us is None:
            self._shift_us = self.marks[0] if self.marks else self.begins or 0
        if self._shift_us is not None:
            placed = time_us + self._shift_us
        elif clock == "local":
            placed = time_us - self._offset_us(time_us) + self.behind_us
        else:
            placed = time_us + self.behind_us
        if abs(placed) >= _MAX_TIME_US:
            raise CollectorError(Failure.UNREADABLE, f"holds an impossible time: {time_us} microseconds")
        return placed

    def set_back_us(self, local_us: int) -> int:
        """Return by how much the clock is set back after a local time that occurs twice, as summer time ends. 0: the
        time occurs once. Raises CollectorError for an invalid time."""
        return max(0, self._zone_offset_us(local_us) - self._zone_offset_us(local_us, fold=1))

    def _offset_us(self, local_us: int) -> int:
        """Return by how many microseconds a time of the file is ahead of UTC."""
        return self._zone_offset_us(local_us if self.continues_us is None else min(local_us, self.continues_us))

    def _zone_offset_us(self, local_us: int, fold: Literal[0, 1] = 0) -> int:
        """Return by how many microseconds local time is ahead of UTC. `fold` 1: at the second occurrence of a time
        that occurs twice. Raises CollectorError for an invalid time."""
        try:
            naive = (datetime(1970, 1, 1) + timedelta(microseconds=local_us)).replace(fold=fold)
            aware = naive.replace(tzinfo=self.zone) if self.zone is not None else naive.astimezone()
            offset = aware.utcoffset()
        except (OverflowError, ValueError, OSError) as error:  # Before the year 1, or after 9999.
            raise CollectorError(Failure.UNREADABLE, f"holds an impossible time: {error}") from error
        return round((offset or timedelta()).total_seconds() * 1e6)


def step_limits(events: Sequence[tuple[str, Event]]) -> Mapping[str, tuple[int, int | None]]:
    """Return name → (begin, end) of a recording's load steps and manual marks, in microseconds.

    A manual mark lasts until the next one. An end of None: the step has not ended.
    """
    limits: dict[str, tuple[int, int | None]] = {}
    running: dict[tuple[str, object], str] = {}
    for source, event in events:
        if event.name not in ("step-begin", "step-end", "mark"):
            continue
        key = (source, "mark" if event.name == "mark" else event.detail.get("group"))
        if (previous := running.pop(key, None)) is not None:
            limits[previous] = (limits[previous][0], event.seen)
        if event.name != "step-end":
            name = str(event.detail.get("step") or event.detail.get("name") or "")
            count = sum(earlier == name or earlier.startswith(f"{name} (") for earlier in limits)
            running[key] = name if not count else f"{name} ({count + 1})"
            limits[running[key]] = (event.seen, None)
    return limits
