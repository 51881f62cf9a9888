"""How often an exporter has new values, which may be less often than it is scraped. No I/O.

Many exporters poll their device at their own interval and answer from a cache: with the same values for one minute or
five. A repeated value is not a new measurement, and it is as old as its first occurrence.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from statistics import median

_MIN_INTERVALS = 2
"""Minimum intervals between changes for their length to be known."""
_MAX_INTERVALS = 20
"""Maximum latest intervals between changes that are compared."""
_CACHED_RATIO = 1.5
"""Values are cached if they change less often than the scrapes by more than this factor."""

Values = Mapping[int, tuple[float | None, ...]]
"""{time of a scrape: the values of one entity}."""


@dataclass(slots=True)
class _State:
    """`changed_us`: time of the last change, None: nothing happens. `intervals_us`: between the last changes.
    `news_us`: time of the last new value."""

    values: dict[str, tuple[float | None, ...]] = field(default_factory=dict)
    changed_us: int | None = None
    intervals_us: deque[int] = field(default_factory=lambda: deque(maxlen=_MAX_INTERVALS))
    news_us: int = 0

    @property
    def interval_us(self) -> float | None:
        """Median interval between changes. None: unknown yet."""
        return median(self.intervals_us) if len(self.intervals_us) >= _MIN_INTERVALS else None


class Updates:
    """Finds the scrapes with new values.

    An exporter queries all entities of a kind at once, and it is very unlikely that all values are equal again. So an
    exporter caches its values if those of every kind change less often than it is scraped.
    """

    def __init__(self) -> None:
        self._states: dict[str, dict[str, _State]] = defaultdict(lambda: defaultdict(_State))

    def observe(self, device: str, kind: str, entities: Mapping[str, Values]) -> set[int]:
        """Return the times at which any value of a kind has changed, or nothing happens. `entities`: by their ids."""
        state = self._states[device][kind]
        times = sorted({time for values in entities.values() for time in values})
        return {time for time in times if _has_changed(state, time, entities)}

    def interval_us(self, device: str, kind: str, spacing_us: int | None) -> int | None:
        """Return the interval between updates of a kind. None: values are not held, or that is unknown yet.

        `spacing_us`: between scrapes; None: unknown."""
        known = {k: s.interval_us for k, s in self._states[device].items() if s.interval_us is not None}
        if spacing_us is None or not known or min(known.values()) <= _CACHED_RATIO * spacing_us:
            return None
        return round(known.get(kind, min(known.values())))

    def news(
        self, device: str, kind: str, times: Iterable[int], changed: Set[int], interval_us: int | None
    ) -> set[int]:
        """Return the times of new values: those that have changed, and those that were read again meanwhile.

        `interval_us`: between updates; None: all times are of new values."""
        state, found = self._states[device][kind], set()
        for time in sorted(times):
            if time in changed or (interval_us is not None and time - state.news_us >= interval_us):
                state.news_us = time
                found.add(time)
        return found if interval_us is not None else set(times)


def _has_changed(state: _State, time: int, entities: Mapping[str, Values]) -> bool:
    current = {local_id: values[time] for local_id, values in entities.items() if time in values}
    has_changed = any(state.values.get(local_id) != values for local_id, values in current.items())
    state.values.update(current)
    if not any(value for values in current.values() for value in values):
        state.changed_us = None
        return True
    if has_changed:
        if state.changed_us is not None:
            state.intervals_us.append(time - state.changed_us)
        state.changed_us = time
    return has_changed


def covered_seconds(averaged: float | None, interval_us: int | None, spacing_us: int | None) -> float | None:
    """Return the seconds before its scrape that a value may cover. None: an instant, or unknown.

    `averaged`: by the exporter's documentation. A value that changes every `interval_us` is of that interval, which
    ended at most one scrape before it was seen.

    >>> covered_seconds(0.0, 60_000_000, 15_000_000), covered_seconds(300.0, None, None)
    (75.0, 300.0)
    """
    held = 0.0 if interval_us is None else (interval_us + (spacing_us or 0)) / 1e6
    return max(averaged or 0.0, held) or None
