"""Finds the windows of a load in which as many I/Os take longer, because something else slows them.

What an I/O waits is counted when it completes. A window in which more is counted than the outstanding I/Os can wait
in it counts what passed in the windows before: these are one, in which I/Os stood still.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sanpath.facts.samples.cumulative import Numbers

_LEAST_WINDOWS = 8
"""With fewer windows a change may be chance."""
_FASTEST_PART = 0.25
"""Share of the time with the lowest latency, which is that without what slows the load for a while."""
_NOISE = 4.0
"""A window is slower if its latency exceeds that of the fastest ones by this many times the usual difference of
successive ones: sanpath's own choice, as for the steps of a load that marks none."""
_ABOVE_MEDIAN = 0.5
"""Standard errors: more would take the changes between short periods for noise. sanpath's own choice."""
_SLOWER = 1.1
"""The least ratio of its latency to that of the fastest ones: sanpath's own choice."""
_AS_MANY = 1.15
"""Ratio of the outstanding I/Os, either way, up to which a window has as many as the fastest ones."""
_SAME_LEVEL = 0.25
"""Least ratio of what an I/O waits in a slow window to the mean over all that wait: windows of one cause have about
one level, and a little slowness is not mixed with it. That of a window in which I/Os stood still depends on how many
others it holds. sanpath's own choice."""
_MORE_THAN_CAN_WAIT = 1.1
"""Ratio of what is counted to what the outstanding I/Os can wait, from which I/Os stood still: sanpath's own choice,
beyond what the clocks of windows account for."""
STALLS_MATTER = 0.1
"""Share of the throughput that stalls cost from which they are part of the result: sanpath's own choice."""


@dataclass(frozen=True, slots=True)
class SlowWindows:
    """Which windows of a load are slow. `in_flight`: outstanding I/Os in the fastest ones. `latency_ratio`: the share
    of the mean latency that would not pass if the slow ones were as fast. `time_ratio`: their share of the time."""

    is_slow: npt.NDArray[np.bool_]
    in_flight: float
    latency_ratio: float
    time_ratio: float


@dataclass(frozen=True, slots=True)
class Stalls:
    """What it costs that outstanding I/Os stand still for a while. `ops_otherwise`: completed a second in the rest of
    the time. `lost_ratio`: the share of these that it lacks in the mean."""

    ops_otherwise: float
    lost_ratio: float


def slow_windows(
    operations: Numbers, in_flight: Numbers, seconds: Numbers, stood_still: npt.NDArray[np.bool_] | None = None
) -> SlowWindows | None:
    """Find the windows in which as many I/Os take longer. None: too few windows to tell.

    A load that keeps as many I/Os outstanding gets the same latency as long as nothing else slows them down.
    `operations`: a second, `in_flight`: in the mean, `seconds`: length, of each window. A window with outstanding
    I/Os in which none completes is the slowest; one without any is none. `stood_still`: windows in which I/Os did so
    for a while, see whole_windows: these are not slow by chance.
    """
    moves, completes = in_flight > 0, (operations > 0) & (in_flight > 0)
    if np.count_nonzero(completes) < _LEAST_WINDOWS:
        return None
    ios = operations * seconds
    # Where none completed, it takes longer than if one had.
    latency = np.where(moves, in_flight * seconds, 1.0) / np.where(completes, ios, 1.0)
    noise = _noise(latency[completes])
    order = np.flatnonzero(completes)[np.argsort(latency[completes], kind="stable")]
    enough = int(np.searchsorted(np.cumsum(seconds[order]), _FASTEST_PART * float(np.sum(seconds[moves]))))
    fastest = order[: enough + 1]
    fast_seconds = float(np.sum((latency * ios)[fastest]) / np.sum(ios[fastest]))
    usual = float(np.median(in_flight[fastest]))
    stood_still = np.zeros(len(latency), np.bool_) if stood_still is None else stood_still
    is_slow = moves & (latency > fast_seconds * np.where(stood_still, _SLOWER, max(_SLOWER, np.exp(_NOISE * noise))))
    # What waited in a window in which I/Os stood still may be counted of the one before.
    is_slow &= (in_flight >= usual / _AS_MANY) & ((in_flight <= usual * _AS_MANY) | stood_still)
    waits = np.where(is_slow, in_flight * seconds - ios * fast_seconds, 0.0)
    is_slow &= (latency - fast_seconds >= _SAME_LEVEL * _usual_wait(latency - fast_seconds, waits)) | stood_still
    lost = float(np.sum(waits[is_slow]))
    return SlowWindows(
        is_slow,
        usual,
        lost / float(np.sum((in_flight * seconds)[moves])),
        float(np.sum(seconds[is_slow]) / np.sum(seconds[moves])),
    )


def whole_windows(limits: Numbers, waited: Numbers, most: float | None) -> npt.NDArray[np.intp]:
    """Return which limits of windows are left if each window is joined with those before in which its I/Os waited.

    `waited`: by I/Os that completed until each limit. `most`: I/Os that can be outstanding; None: not known, so that
    none is joined."""
    if not most or len(limits) < 2:
        return np.arange(len(limits))
    # Where more are in flight in the mean than were configured, jobs were not counted: any may be outstanding.
    most = max(most, float((waited[-1] - waited[0]) / (limits[-1] - limits[0])))
    left = [len(limits) - 1]
    for index in range(len(limits) - 2, -1, -1):
        can_wait = most * (limits[left[-1]] - limits[index])
        if index == 0 or waited[left[-1]] - waited[index] <= _MORE_THAN_CAN_WAIT * can_wait:
            left.append(index)
    return np.array(left[::-1])


def stalls(
    operations: Numbers, in_flight: Numbers, seconds: Numbers, stood_still: npt.NDArray[np.bool_]
) -> Stalls | None:
    """Return what slow windows cost, see slow_windows, if I/Os stood still in most of them: where a window ends with
    a stall, nothing tells that they did. None: they did not, or too few windows tell."""
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
    """Return by how much I/Os take longer where half of the time is lost, or less. A window in which I/Os stood still
    takes as long as chance has it: a mean would be that of the longest."""
    order = np.argsort(longer)
    total = np.cumsum(waits[order])
    return float(longer[order][np.searchsorted(total, total[-1] / 2)])


def _noise(latencies: Numbers) -> float:
    """Return the usual difference of successive latencies, as a ratio. Of a few, half may be small by chance: it is
    half a standard error above the median, by order statistics."""
    differences = np.sort(np.abs(np.diff(np.log(latencies))))
    count = len(differences)
    return float(differences[min(int((count + _ABOVE_MEDIAN * np.sqrt(count)) / 2), count - 1)])
