"""Utilisation of servers with a finite source of I/Os (machine repair model, M/M/k//n).

Each of n I/Os that have a slot alternates between two places. In one, k equal servers share one queue. Elsewhere, the
I/O does not wait; the distribution of its time there does not matter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MAX_SOURCES = 4096
"""Largest number of I/Os whose states are computed. For more I/Os, and servers for more than half of them, the
utilisation is then off by at most two hundredths. sanpath's own choice."""
_BISECTIONS = 40
"""Bisections of the interval in which the load of the servers is searched, for an error below a millionth."""
_MIN_LOG_RATIO, _MAX_LOG_RATIO = -20.0, 20.0
"""Bounds of the search: natural logarithms of service time over time elsewhere."""


def use_of_servers(sources: int, servers: int, waiting: float) -> float:
    """Utilisation of a server, if `waiting` I/Os wait for one on average. 1: all I/Os that can wait do. `sources`:
    number of I/Os."""
    if waiting <= 0:
        return 0.0
    if sources > _MAX_SOURCES:
        sources, servers = _MAX_SOURCES, min(servers, _MAX_SOURCES // 2)
    if waiting >= sources - servers:
        return 1.0
    there = np.arange(sources + 1)
    low, high = _MIN_LOG_RATIO, _MAX_LOG_RATIO
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        is_less = float(np.maximum(0, there - servers) @ _state_shares(sources, servers, middle)) < waiting
        low, high = (middle, high) if is_less else (low, middle)
    return min(1.0, float(np.minimum(there, servers) @ _state_shares(sources, servers, low)) / servers)


def _state_shares(sources: int, servers: int, log_ratio: float) -> NDArray[np.float64]:
    """Shares of the time in which 0, 1, 2 and so on I/Os are at the servers. `log_ratio`: natural logarithm of
    service time over time elsewhere."""
    there = np.arange(1, sources + 1)
    # Ratio of successive states: one of the I/Os elsewhere arrives, or one of those in service leaves.
    steps = np.log(sources + 1 - there) - np.log(np.minimum(there, servers)) + log_ratio
    weights = np.concatenate(([0.0], np.cumsum(steps)))
    densities = np.exp(weights - weights.max())
    shares: NDArray[np.float64] = densities / densities.sum()
    return shares
