"""Finds the windows of a load in which the same number of outstanding I/Os takes longer, because something else slows
them down.

Counters add the wait of an I/O when it completes. If a window adds more wait than its outstanding I/Os can collect in
it, part of that wait belongs to earlier windows. All these windows are then joined: I/Os stood still in them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sanpath.facts.samples.cumulative import Numbers

_MIN_WINDOWS = 8
"""Smallest number of windows to judge: in fewer, a change may be chance."""
_FASTEST_SHARE = 0.25
"""Share of the time with the lowest latency, in which nothing slows the load down."""
_NOISE_FACTOR = 4.0
"""A window is slower if its latency exceeds that of the fastest windows by this multiple of the usual difference
between successive windows: sanpath's own choice, the same as for the steps of a load that marks none."""
_ERRORS_ABOVE_MEDIAN = 0.5
"""Standard errors added to the median difference. With more, changes between short periods would count as noise.
sanpath's own choice."""
_MIN_SLOWDOWN = 1.1
"""Smallest ratio of its latency to that of the fastest windows: sanpath's own choice."""
_SAME_IN_FLIGHT = 1.15
"""Ratio, either way, up to which a window has the same number outstanding as the fastest windows."""
_MIN_WAIT_RATIO = 0.25
"""Smallest ratio of an I/O's wait in a slow window to the usual one of all slow windows: windows with one cause have
similar waits, and slightly slow windows are not among them. The wait of a window in which I/Os stood still depends on
how many other I/Os complete in it. sanpath's own choice."""
_STOOD_STILL_RATIO = 1.1
"""Ratio of the counted wait to the possible wait of the outstanding I/Os, from which I/Os stood still: sanpath's own
choice, larger than the error of the windows' clocks."""
STALLS_MATTER = 0.1
"""Share of the throughput lost to stalls from which they are part of the result: sanpath's own choice."""


@dataclass(frozen=True, slots=True)
class SlowWindows:
    """The slow windows of a load. `in_flight`: outstanding I/Os in the fastest windows. `latency_ratio`: the share of
    the mean latency that would disappear if the slow windows were as fast. `time_ratio`: their share of the time."""

    is_slow: npt.NDArray[np.bool_]
    in_flight: float
    latency_ratio: float
    time_ratio: float


@dataclass(frozen=True, slots=True)
class Stalls:
    """The cost of periods in which outstanding I/Os stand still. `ops_otherwise`: I/Os completed a second in the rest
    of the time. `lost_ratio`: the share of this rate that is lost on average."""

    ops_otherwise: float
    lost_ratio: float


def slow_windows(
    operations: Numbers, in_flight: Numbers, seconds: Numbers, stood_still: npt.NDArray[np.bool_] | None = None
) -> SlowWindows | None:
    """Find the windows in which the same number of outstanding I/Os takes longer. None: too few windows.

    A load that keeps the same number outstanding has the same latency as long as nothing else slows its I/Os down.
    For each window, `operations`: I/Os a second, `in_flight`: mean number outstanding, `seconds`: length. A window
    with outstanding I/Os in which none completes is the slowest. A window without outstanding I/Os is not slow.
    `stood_still`: windows in which I/Os stood still for a while, see whole_windows. These are not slow by chance.
    """
    moves, completes = in_flight > 0, (operations > 0) & (in_flight > 0)
    if np.count_nonzero(completes) < _MIN_WINDOWS:
        return None
    ios = operations * seconds
    # If no I/O completed, the latency is at least that of one that had just completed.
    latency = np.where(moves, in_flight * seconds, 1.0) / np.where(completes, ios, 1.0)
    noise = _noise(latency[completes])
    order = np.flatnonzero(completes)[np.argsort(latency[completes], kind="stable")]
    enough = int(np.searchsorted(np.cumsum(seconds[order]), _FASTEST_SHARE * float(np.sum(seconds[moves]))))
    fastest = order[: enough + 1]
    fast_seconds = float(np.sum((latency * ios)[fastest]) / np.sum(ios[fastest]))
    usual = float(np.median(in_flight[fastest]))
    stood_still = np.zeros(len(latency), np.bool_) if stood_still is None else stood_still
    is_slow = moves & (
        latency
        > fast_seconds * np.where(stood_still, _MIN_SLOWDOWN, max(_MIN_SLOWDOWN, np.exp(_NOISE_FACTOR * noise)))
    )
    # The wait of a window in which I/Os stood still may include waiting from the window before.
    is_slow &= (in_flight >= usual / _SAME_IN_FLIGHT) & ((in_flight <= usual * _SAME_IN_FLIGHT) | stood_still)
    waits = np.where(is_slow, in_flight * seconds - ios * fast_seconds, 0.0)
    is_slow &= (latency - fast_seconds >= _MIN_WAIT_RATIO * _usual_wait(latency - fast_seconds, waits)) | stood_still
    lost = float(np.sum(waits[is_slow]))
    return SlowWindows(
        is_slow,
        usual,
        lost / float(np.sum((in_flight * seconds)[moves])),
        float(np.sum(seconds[is_slow]) / np.sum(seconds[moves])),
    )


def whole_windows(limits: Numbers, waited: Numbers, most: float | None) -> npt.NDArray[np.intp]:
    """Join each window with the earlier windows in which its I/Os waited, and return the indices of the remaining
    limits.

    `waited`: total wait of the I/Os completed until each limit. `most`: largest number of I/Os that can be
    outstanding; None: unknown, so that no windows are joined."""
    if not most or len(limits) < 2:
        return np.arange(len(limits))
    # If the mean number in flight exceeds the configured one, some jobs were not counted. Then the mean is the bound.
    most = max(most, float((waited[-1] - waited[0]) / (limits[-1] - limits[0])))
    left = [len(limits) - 1]
    for index in range(len(limits) - 2, -1, -1):
        can_wait = most * (limits[left[-1]] - limits[index])
        if index == 0 or waited[left[-1]] - waited[index] <= _STOOD_STILL_RATIO * can_wait:
            left.append(index)
    return np.array(left[::-1])


def stalls(
    operations: Numbers, in_flight: Numbers, seconds: Numbers, stood_still: npt.NDArray[np.bool_]
) -> Stalls | None:
    """Return the cost of slow windows, see slow_windows, if I/Os stood still in most of them. Not in all: a window
    that ends during a stall does not show it. None: I/Os did not stand still, or there are too few windows."""
    found = slow_windows(operations, in_flight, seconds, stood_still)
    if found is None:
        return None
    is_proven = found.is_slow & (stood_still | (operations == 0))
    ios, stalled, otherwise = operations * seconds, found.is_slow, ~found.is_slow & (in_flight > 0)
    if not otherwise.any() or seconds[is_proven].sum() <= seconds[stalled].sum() / 2:
        return None
    rate = float(ios[otherwise].sum() / seconds[otherwise].sum())
    of_all = float(ios[stalled | otherwise].sum() / seconds[stalled | otherwise].sum())
    return Stalls(rate, max(0.0, 1 - of_all / rate))


def _usual_wait(longer: Numbers, waits: Numbers) -> float:
    """Return the weighted median of the additional time of an I/O. The weights are `waits`, the total additional time
    in each window. The time of a window in which I/Os stood still is random, and the longest would dominate a
    mean."""
    order = np.argsort(longer)
    total = np.cumsum(waits[order])
    return float(longer[order][np.searchsorted(total, total[-1] / 2)])


def _noise(latencies: Numbers) -> float:
    """Return the usual difference between successive latencies, as a logarithm of their ratio. It is half a standard
    error above the median, by order statistics, because half of a few differences may be small by chance."""
    differences = np.sort(np.abs(np.diff(np.log(latencies))))
    count = len(differences)
    return float(differences[min(int((count + _ERRORS_ABOVE_MEDIAN * np.sqrt(count)) / 2), count - 1)])
