"""Implausible figures of exporters, which no storage can have: they are recorded as unknown. No I/O.

An array that restarts its statistics, a division by hardly any I/Os, and a sum that misses an entity for one scrape
give latencies of days and counters that go back. A single one of them in a step would outweigh all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sanpath_collectors.prometheus.warnings import Remarks

Number = int | float | None

_MAX_SECONDS = 300.0
"""No completed I/O takes longer, because hosts give it up: Linux after 30 s (drivers/scsi/sd.h), Windows after 60 s
(TimeoutValue of Disk), guests of VMware after 180 s (VMware KB 1009465)."""
_MAX_OPS_PER_SECOND = 1e9
"""Fifty times the highest published result of SPC-1 v3, some 21 million."""
_MAX_BYTES_PER_SECOND = 1e13
"""A hundred ports of 800 Gb/s."""
_MAX_RATIO = 1.05
"""Ratios slightly exceed 1 if numerator and denominator are not from the same instant."""
_MAX_IN_FLIGHT = 1e6
"""Sixteen target ports with all exchanges in use: OX_ID has 16 bits (FC-FS)."""
_MAX_RECOVERY_SAMPLES = 5
"""A counter that exceeds its old value after so few samples was not reset: a part of its sum was missing."""


@dataclass(slots=True)
class _CounterState:
    """`fell_from`: the value before the last fall, None: it has not fallen recently. `rejected`: times left out."""

    time_us: int = 0
    value: float | None = None
    fell_from: float | None = None
    samples_since_fall: int = 0
    rejected: set[int] = field(default_factory=set)


class Plausibility:
    """Leaves out impossible values, and remarks on it once for each metric."""

    def __init__(self, remarks: Remarks) -> None:
        self._remarks = remarks
        self._counters: dict[tuple[str, str, str], _CounterState] = {}

    def checked(
        self, kind: str, local_id: str, columns: Mapping[str, Mapping[int, Number]]
    ) -> dict[str, dict[int, Number]]:
        """Return {metric: {time: value}} of one entity, with None for impossible values."""
        result: dict[str, dict[int, Number]] = {}
        for metric, values in columns.items():
            if metric.endswith("_total"):
                result[metric] = self._counter((kind, local_id, metric), values)
            else:
                result[metric] = {time: self._gauge(local_id, metric, value) for time, value in values.items()}
        self._check_in_flight(local_id, result)
        return result

    def _gauge(self, local_id: str, metric: str, value: Number) -> Number:
        highest = _highest(metric)
        if value is None or highest is None or 0 <= value <= highest:
            return value
        text = f"{metric} of {local_id} was reported as {value:.4g}, which is impossible: treated as not measured"
        self._remarks.add("impossible-value", text, subject=metric)
        return None

    def _check_in_flight(self, local_id: str, columns: dict[str, dict[int, Number]]) -> None:
        """Leave out latencies that, with the rate of the operations, imply more I/Os in flight than possible."""
        for metric, values in columns.items():
            quantity, _, direction = metric.rpartition("_")
            rates = columns.get(f"ops_per_second_{direction}")
            if rates is None or not quantity.endswith("_seconds"):
                continue
            for time, seconds in values.items():
                in_flight = (seconds or 0.0) * (rates.get(time) or 0.0)
                if in_flight > _MAX_IN_FLIGHT:
                    values[time] = None
                    text = (
                        f"{metric} of {local_id} was reported as {seconds:.4g} s at {rates[time]:.4g} operations a "
                        f"second, {in_flight:.2g} outstanding, which is impossible: treated as not measured"
                    )
                    self._remarks.add("impossible-value", text, subject=metric)

    def _counter(self, key: tuple[str, str, str], values: Mapping[int, Number]) -> dict[int, Number]:
        """Return the samples of a counter. The sample with which it returns from a fall is left out.

        A fall itself is left to the analysis, which leaves out its window. The window of the return has to be left
        out here: it looks like growth."""
        state = self._counters.setdefault(key, _CounterState())
        checked: dict[int, Number] = {}
        for time, value in sorted(values.items()):
            if time > state.time_us and value is not None and self._returns(state, time, value):
                state.rejected.add(time)
                _, local_id, metric = key
                text = f"{metric} of {local_id} fell and came back: what it counted in between is left out"
                self._remarks.add("counter-went-back", text, subject=metric)
            checked[time] = None if time in state.rejected else value
        state.rejected = {time for time in state.rejected if time in values}
        return checked

    def _returns(self, state: _CounterState, time: int, value: float) -> bool:
        """Return whether a new sample ends a short fall, and record it."""
        before, state.time_us, state.value = state.value, time, value
        state.samples_since_fall += 1
        if before is not None and value < before:
            # During a fall, a further fall does not lower the value to which it has to return.
            state.fell_from = max(before, state.fell_from or 0)
            state.samples_since_fall = 0
        elif state.fell_from is not None and state.samples_since_fall > _MAX_RECOVERY_SAMPLES:
            state.fell_from = None
        elif state.fell_from is not None and value >= state.fell_from:
            state.fell_from = None
            return True
        return False


def _highest(metric: str) -> float | None:
    """Return the highest possible value of a gauge in its base unit. None: it has no limit of this kind.

    >>> _highest("service_seconds_read"), _highest("cpu_busy_ratio"), _highest("in_flight")
    (300.0, 1.05, None)
    """
    if "_seconds_" in metric or metric.endswith("_seconds"):
        return _MAX_SECONDS
    if metric.endswith("_ratio"):
        return _MAX_RATIO
    if metric.startswith("ops_per_second"):
        return _MAX_OPS_PER_SECOND
    return _MAX_BYTES_PER_SECOND if metric.startswith("bytes_per_second") else None
