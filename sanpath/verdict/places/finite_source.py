"""How busy servers are to which a limited number of I/Os come back (finite source queue).

So many I/Os as have a slot go round: to one of k equal servers, for which they wait in one queue, and elsewhere,
where they wait for nothing (machine repair model, M/M/k//n, whatever the distribution of their time elsewhere).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_STEPS = 40
"""Halvings of the interval in which the load of the servers is searched: it is exact to a millionth."""
_LEAST, _MOST = -20.0, 20.0
"""Natural logarithms of the shortest and the longest service over the time elsewhere that are tried."""


def use_of_servers(sources: int, servers: int, waiting: float) -> float:
    """Share of the time in which a server is busy, if so many I/Os wait for one in the mean; 1 where as many wait as
    may."""
    if waiting <= 0:
        return 0.0
    if waiting >= sources - servers:
        return 1.0
    there = np.arange(sources + 1)
    low, high = _LEAST, _MOST
    for _ in range(_STEPS):
        middle = (low + high) / 2
        is_less = float(np.maximum(0, there - servers) @ _shares(sources, servers, middle)) < waiting
        low, high = (middle, high) if is_less else (low, middle)
    return min(1.0, float(np.minimum(there, servers) @ _shares(sources, servers, low)) / servers)


def _shares(sources: int, servers: int, log_ratio: float) -> NDArray[np.float64]:
    """Shares of the time in which 0, 1, 2 and so on I/Os are at the servers. `log_ratio`: natural logarithm of the
    time that one is served over the time that it is elsewhere."""
    there = np.arange(1, sources + 1)
    # From one state to the next: an I/O comes, of those that are elsewhere, or one of those in service leaves.
    steps = np.log(sources + 1 - there) - np.log(np.minimum(there, servers)) + log_ratio
    weights = np.concatenate(([0.0], np.cumsum(steps)))
    densities = np.exp(weights - weights.max())
    shares: NDArray[np.float64] = densities / densities.sum()
    return shares
