"""Sums up the rates of intervals to counters since the first interval, which are like the kernel's counters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sanpath.plugin import INTEGER_LIMIT, Rows, Table, rows_of
from sanpath_collectors.iostat.report import Values
from sanpath_collectors.iostat.tables import SOURCES, Rate


def choose_rates(columns: Collection[str]) -> Mapping[str, Rate]:
    """Metric → the rate from which it is computed, for a report with these columns."""
    available = {
        metric: [rate for rate in rates if {rate.column, rate.multiplier or rate.column} <= set(columns)]
        for metric, rates in SOURCES.items()
    }
    return {metric: rates[0] for metric, rates in available.items() if rates}


class Counters:
    """The counters of each device of a table since its first interval, or since `restart`."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._rates: Mapping[str, Rate] = {}
        self._sums: dict[str, list[float]] = {}

    def restart(self, rates: Mapping[str, Rate] | None = None) -> None:
        """Resets all counters, because the next interval does not follow the last one."""
        self._rates, self._sums = rates or {}, {}

    def begin_devices(self, devices: Collection[str], rates: Mapping[str, Rate], begin_us: int) -> Rows | None:
        """Returns zeros for new devices at the begin of their first interval; None: no device is new."""
        if rates is not self._rates:
            self.restart(rates)
        new_devices = [name for name in devices if name not in self._sums]
        self._sums |= {name: [0.0] * len(rates) for name in new_devices}
        zeros = dict.fromkeys(rates, 0)
        return rows_of(self._table, dict.fromkeys(new_devices, zeros), begin_us) if new_devices else None

    def add(self, devices: Mapping[str, Values], end_us: int, seconds: float) -> Rows:
        """Returns the counters at the end of an interval of this length. Values that are not a number are None."""
        steps = [(index, r.column, r.multiplier, r.factor * seconds) for index, r in enumerate(self._rates.values())]
        columns: list[list[int | None]] = [[] for _ in steps]
        for name, device_values in devices.items():
            sums = self._sums[name]
            for index, column, multiplier, scale in steps:
                value = device_values.get(column)
                factor = 1.0 if multiplier is None else device_values.get(multiplier)
                if value is None or factor is None:
                    columns[index].append(None)
                    continue
                sums[index] = total = sums[index] + value * factor * scale
                columns[index].append(round(total) if total < INTEGER_LIMIT else None)
        values: dict[str, Sequence[int | None]] = dict(zip(self._rates, columns, strict=True))
        return Rows(self._table, list(devices), [end_us] * len(devices), dict(values))
