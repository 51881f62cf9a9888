"""How the throughput of a job differed within it, as fio sums up its windows (bwavgtime, half a second). Pure."""

from __future__ import annotations

from sanpath.model import Direction
from sanpath_collectors.fio.status import Number

_WINDOW_MS = 500
"""bwavgtime by default."""
_LEAST_WINDOWS = 8
"""Fewer windows tell no deviation."""


def samples(
    direction: Direction,
    mean: float | None,
    deviation: float | None,
    most: float | None,
    windows: int | None,
    runtime_ms: int,
    processes: int,
) -> dict[str, Number]:
    """Values of tables.LOAD, from the mean of the windows, their standard deviation and the largest, in one unit.

    `windows`: their number, None: not printed, as before fio 3.0; then they follow from the run time.
    Empty: fio printed none, or too few windows, or those of several processes, which are not added up window by
    window.
    """
    windows = runtime_ms // _WINDOW_MS if windows is None else windows
    if processes != 1 or windows < _LEAST_WINDOWS or not mean or deviation is None or most is None:
        return {}
    if not 0 <= deviation <= most or not mean <= most:
        return {}
    return {
        f"throughput_deviation_ratio_{direction}": deviation / mean,
        f"throughput_max_ratio_{direction}": most / mean,
    }
