"""How often an exporter has new values, which may be less often than it is scraped. No I/O.

Many exporters ask their device at intervals of their own and answer from that: the same values for a minute or five.
A value that is repeated is no further measurement, and it is as old as it has been repeated.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

_MIN_INTERVALS = 2
"""Intervals between changes from which on their length is known."""
_MAX_INTERVALS = 20
_HELD_RATIO = 1.5
"""Values are held if they change less often than the scrapes by more than this factor."""

Values = Mapping[int, tuple[float | None, ...]]
"""{time of a scrape: the values of one entity}."""


@dataclass(slots=True)
class _State:
    """`changed_us`: time of the last change, None: nothing happens. `intervals_us`: between the last changes."""

    values: dict[str, tuple[float | None, ...]] = field(default_factory=dict)
    changed_us: int | None = None
    intervals_us: deque[int] = field(default_factory=lambda: deque(maxlen=_MAX_INTERVALS))


class Updates:
    """Finds the scrapes with new values, of the entities of one kind together: an exporter asks for all of them at
    once, and hardly ever are all values of all of them the same again."""

    def __init__(self) -> None:
        self._states: dict[tuple[str, str], _State] = defaultdict(_State)

    def find(
        self, device: str, kind: str, entities: Mapping[str, Values], spacing_us: int | None
    ) -> tuple[set[int], int | None]:
        """Return the times of the scrapes with new values, and the interval between updates in microseconds.

        `entities`: by their ids. `spacing_us`: between scrapes; None: not known. The interval is None, and all
        scrapes count, if values are not held, or if that is not known yet. Where nothing happens, all of them count.
        """
        state = self._states[device, kind]
        times = sorted({time for values in entities.values() for time in values})
        news = {time for time in times if self._has_news(state, time, entities)}
        if spacing_us is None or len(state.intervals_us) < _MIN_INTERVALS:
            return set(times), None
        interval_us = round(median(state.intervals_us))
        return (news, interval_us) if interval_us > _HELD_RATIO * spacing_us else (set(times), None)

    def _has_news(self, state: _State, time: int, entities: Mapping[str, Values]) -> bool:
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
    """Return the seconds before its scrape that a value may be of. None: an instant, or not known.

    `averaged`: by the exporter's documentation. A value that changes every `interval_us` is of that interval, which
    ended at most one scrape before it was seen.

    >>> covered_seconds(0.0, 60_000_000, 15_000_000), covered_seconds(300.0, None, None)
    (75.0, 300.0)
    """
    held = 0.0 if interval_us is None else (interval_us + (spacing_us or 0)) / 1e6
    return max(averaged or 0.0, held) or None
