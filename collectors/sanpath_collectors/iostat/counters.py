"""Rates of intervals → counters since the first of them, as the kernel would show them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sanpath.plugin import Rows
from sanpath_collectors.iostat.report import Values
from sanpath_collectors.iostat.tables import LUN, SOURCES, Rate

_MOST = 2.0**63


def plan(columns: Collection[str]) -> Mapping[str, Rate]:
    """Which metric comes from which of these columns."""
    there = {
        metric: [rate for rate in rates if {rate.column, rate.times or rate.column} <= set(columns)]
        for metric, rates in SOURCES.items()
    }
    return {metric: rates[0] for metric, rates in there.items() if rates}


class Counters:
    """What each device has done since its first interval; starts again from zero after `restart`."""

    def __init__(self) -> None:
        self._rates: Mapping[str, Rate] = {}
        self._sums: dict[str, list[float]] = {}

    def restart(self, rates: Mapping[str, Rate] | None = None) -> None:
        """What comes is no continuation of what was."""
        self._rates, self._sums = rates or {}, {}

    def begun(self, devices: Collection[str], rates: Mapping[str, Rate], begin: int) -> Rows | None:
        """Zeros for the devices that are new, at the begin of their first interval."""
        if rates is not self._rates:
            self.restart(rates)
        new = [name for name in devices if name not in self._sums]
        self._sums |= {name: [0.0] * len(rates) for name in new}
        return Rows(LUN, new, [begin] * len(new), {metric: [0] * len(new) for metric in rates}) if new else None

    def add(self, devices: Mapping[str, Values], end: int, seconds: float) -> Rows:
        """The counters at the end of an interval of this length. What is no number in it is None at that time."""
        steps = [(k, r.column, r.times, r.factor * seconds) for k, r in enumerate(self._rates.values())]
        columns: list[list[int | None]] = [[] for _ in steps]
        for name, told in devices.items():
            sums = self._sums[name]
            for k, column, times, scale in steps:
                value = told.get(column)
                other = 1.0 if times is None else told.get(times)
                if value is None or other is None:
                    columns[k].append(None)
                    continue
                sums[k] = total = sums[k] + value * other * scale
                columns[k].append(round(total) if total < _MOST else None)
        values: dict[str, Sequence[int | None]] = dict(zip(self._rates, columns, strict=True))
        return Rows(LUN, list(devices), [end] * len(devices), dict(values))
