"""How much longer an I/O takes at one of several peers than the peer's load explains. Pure arithmetic.

In each window, a peer is compared with those other peers that carry at least its load, because less load does not
make an I/O slower. Load beyond theirs raises its expected time by the group's own slope of time over load (Theil and
Sen: the median of the slopes of all pairs), at least in proportion. Variations that affect all peers at once cancel
within a window. Scatter is the difference between the other peers over all windows (median absolute deviation), and
the chance error of a median of that many windows.

The idea to find one slow drive among many by a regression of latency on load is from Perseus (Lu and others, FAST
2023); the idea to compare with peers is from IASO (Panda and others, ATC 2019). Neither algorithm is repeated here: a
test lasts minutes, and medians need no history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SLOW_FACTOR = 2.0
"""Ratio of actual to expected time from which a window is slow: the limit of Hao and others, The Tail at Store, FAST
2016, for a drive beside its peers in one RAID group."""
_MAD_SCALE = 1.4826
"""Median absolute deviation → standard deviation, if errors are normal."""
_MIN_SCATTER = 0.05
"""Natural logarithm. Scatter below 5 % is not credible from a few windows."""
_MEDIAN_ERROR = 1.2533
"""Standard error of a median over that of a mean, if errors are normal: the root of half of pi."""
_SIMILAR_LOAD = 1.1
"""Factor by which the other peer may carry less load and still be compared: counters of one poll do not agree more
closely."""
_MIN_LOAD_RATIO = 0.1
"""Share of its peers' load below which a peer does not serve the test but, for example, only checks a path."""
_MIN_PAIRS = 3
"""Fewest pairs of peers with unequal load that give a slope; with fewer it is 1."""


@dataclass(frozen=True, slots=True)
class PeerComparison:
    """One peer compared with the others. `ratio`: the time of its I/Os over the expected time, median of the windows
    compared. `scatters`: how far the ratio is above 1, in multiples of the others' scatter, on a logarithmic scale.

    `seconds`, `peer_seconds`, `load`: medians over the same windows. `peers`: number of peers it was
    compared with. `slow_windows`: how many of the windows are slow.
    """

    ratio: float
    scatters: float
    seconds: float
    peer_seconds: float
    load: float
    peers: int
    windows: int
    slow_windows: int

    @property
    def is_mostly_slow(self) -> bool:
        """Whether more than half of the windows are slow."""
        return self.slow_windows > self.windows / 2


def compare_peers(seconds: Floats, loads: Sequence[Floats]) -> list[PeerComparison | None]:
    """Compare each peer with the others. None: there is no window in which at least two others (in a pair: the other
    one) carry the same load or more.

    `seconds`: mean time of an I/O, a row for each peer and a column for each window, NaN if it is not known or stands
    for a handful of I/Os. `loads`: possible explanations, each of the same shape: first the rate, then, if known,
    bytes a second and the size of an I/O.
    """
    count = len(seconds)
    if count < 2:
        return [None] * count
    times = _log(seconds)
    amounts = np.stack([_log(load) for load in loads])
    times[np.isnan(amounts).any(axis=0)] = np.nan
    amounts[:, np.isnan(times)] = np.nan
    middle_times, middle_rates = _median(times, axis=1), _median(amounts[0], axis=1)
    return [_compare_peer(times, amounts, index, middle_times, middle_rates) for index in range(count)]


def _compare_peer(
    times: Floats, amounts: Floats, index: int, middle_times: Floats, middle_rates: Floats
) -> PeerComparison | None:
    others = np.arange(len(times)) != index
    own, other_times = times[index], times[others]
    more = np.maximum((amounts[:, index, None, :] - amounts[:, others, :]).max(axis=0), 0.0)
    similar = ~np.isnan(other_times) & (more <= np.log(_SIMILAR_LOAD))
    enough = similar.sum(axis=0) >= min(2, len(other_times))
    compared = enough & ~(amounts[0, index] < _median(amounts[0, others], axis=0) + np.log(_MIN_LOAD_RATIO))
    compared &= ~np.isnan(own)
    if not compared.any():
        return None
    slope = _slope(middle_rates[others], middle_times[others])
    expected = _median(np.where(similar, other_times + slope * more, np.nan), axis=0)[compared]
    excess = own[compared] - expected
    middle = float(np.median(excess))
    return PeerComparison(
        ratio=float(np.exp(middle)),
        scatters=middle / _scatter(other_times[:, compared], excess),
        seconds=float(np.exp(np.median(own[compared]))),
        peer_seconds=float(np.exp(np.median(_median(np.where(similar, other_times, np.nan), axis=0)[compared]))),
        load=float(np.exp(np.median(amounts[0, index, compared]))),
        peers=int(similar[:, compared].any(axis=1).sum()),
        windows=int(compared.sum()),
        slow_windows=int((excess >= np.log(SLOW_FACTOR)).sum()),
    )


def _slope(rates: Floats, times: Floats) -> float:
    """Return the growth of time with load (both logarithms) among peers: Theil–Sen, at least in proportion."""
    first, second = np.triu_indices(len(rates), k=1)
    distance = rates[second] - rates[first]
    with np.errstate(invalid="ignore"):
        apart = np.abs(distance) > _MIN_SCATTER
    if apart.sum() < _MIN_PAIRS:
        return 1.0
    return max(1.0, float(np.median((times[second] - times[first])[apart] / distance[apart])))


def _scatter(others: Floats, excess: Floats) -> float:
    """Return the chance error of a peer's median over the windows. With one other peer: of `excess` alone."""
    count, windows = others.shape
    if count == 1:
        between, within = 0.0, excess - np.median(excess)
    else:
        residuals = others - _median(others, axis=0)
        middles = _median(residuals, axis=1)
        few = np.sqrt(count / (count - 1))  # They lie nearer to their own median than to the true one.
        between = _MAD_SCALE * few * float(_median(np.abs(middles), axis=0))
        within = (residuals - middles[:, None]).ravel()
    error = _MEDIAN_ERROR * _MAD_SCALE * float(_median(np.abs(within), axis=0)) / np.sqrt(windows)
    return max(_MIN_SCATTER, float(np.hypot(between, error)))


def _log(values: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(values > 0, np.log(values), np.nan)


def _median(values: Floats, axis: int) -> Floats:
    """Return medians without NaN; NaN where nothing is known. Sorting is ten times as fast as np.nanmedian."""
    ordered = np.moveaxis(np.sort(values, axis=axis), axis, 0)  # NaN come last
    known = (~np.isnan(ordered)).sum(axis=0)
    below, above = np.maximum(known - 1, 0) // 2, np.maximum(known, 1) // 2
    pair = [np.take_along_axis(ordered, index[None], axis=0)[0] for index in (below, above)]
    return np.where(known > 0, (pair[0] + np.where(known % 2, pair[0], pair[1])) / 2, np.nan)
