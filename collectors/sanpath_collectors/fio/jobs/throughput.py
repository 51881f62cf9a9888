"""The variation of a job's throughput over time, from fio's statistics over windows (bwavgtime, 0.5 s). Pure."""

from __future__ import annotations

from sanpath.model import Direction
from sanpath_collectors.fio.jobs.status import Number

_WINDOW_MS = 500
"""Default of bwavgtime."""
_MIN_WINDOWS = 8
"""Fewer windows are too few for a standard deviation."""


def samples(
    direction: Direction,
    mean: float | None,
    deviation: float | None,
    largest: float | None,
    windows: int | None,
    runtime_ms: int,
    processes: int,
) -> dict[str, Number]:
    """Values of tables.LOAD, from mean, standard deviation and maximum over the windows, all in the same unit.

    `windows`: number of windows; None: not printed, as before fio 3.0; then it is computed from the run time.
    Empty: fio printed none, there are too few windows, or there are several processes, whose windows cannot be added.
    """
    windows = runtime_ms // _WINDOW_MS if windows is None else windows
    if processes != 1 or windows < _MIN_WINDOWS or not mean or deviation is None or largest is None:
        return {}
    if not 0 <= deviation <= largest or not mean <= largest:
        return {}
    return {
        f"throughput_deviation_ratio_{direction}": deviation / mean,
        f"throughput_max_ratio_{direction}": largest / mean,
    }
