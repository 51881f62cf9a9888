"""The Universal Scalability Law fitted to throughput over I/Os in flight, with its uncertainty.

X(N) = λN / (1 + σ(N - 1) + κN(N - 1)) (Gunther 1993): λ is the rate of one I/O, σ the contention, κ what each I/O
costs the others. N / X is linear in 1/λ, σ/λ and κ/λ, so weighted least squares with none of them below zero is
exact. Uncertainty: the fit is repeated on throughputs that differ by chance, by the windows and by the fit's own
misfit. 95 % of the repetitions lie within an interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sanpath.diagnosis.model import Interval, Scalability

MIN_STEPS = 4
"""Minimum count of different numbers in flight: a fit of three parameters needs them to estimate its own error."""
_REPETITIONS = 200
"""Fits to data with drawn errors, which show how far the parameters scatter (bootstrap): sanpath's own choice, for
computing time. 200 suffice for a standard error (Efron and Tibshirani 1993); bounds of an interval are rougher."""
_MIN_RELATIVE_ERROR = 0.01
"""Minimum relative error of a repeated step."""
_QUANTILES = (0.025, 0.975)
"""The bounds of a 95 % interval."""

_Floats = NDArray[np.float64]


def fit_scalability(
    in_flight: Sequence[float], ops: Sequence[float], spread: Sequence[float | None], is_retrograde: bool
) -> Scalability | None:
    """The law fitted to steps with different numbers in flight. None: too few steps.

    `spread`: relative standard error of each throughput, None: unknown. `is_retrograde`: whether throughput was seen
    to fall; only then is a peak given.
    """
    n, x = np.asarray(in_flight, dtype=np.float64), np.asarray(ops, dtype=np.float64)
    if len(set(in_flight)) < MIN_STEPS:
        return None
    chance = np.maximum(_MIN_RELATIVE_ERROR, np.asarray([s or 0.0 for s in spread], dtype=np.float64))
    best = _fit(n, x[None, :], chance)
    misfit = n / _line(n, best)[0] / x - 1
    # The misfit of the law is also uncertainty.
    degrees = max(1, len(n) - 3)
    chance = chance * max(1.0, float(np.sqrt(np.sum((misfit / chance) ** 2) / degrees)))
    noise = np.random.default_rng(0).standard_normal((_REPETITIONS, len(n)))
    repeated = _fit(n, x * np.maximum(0.1, 1 + noise * chance), chance)
    _, contention, coherency = _figures(repeated)
    peak = np.sqrt(np.maximum(0.0, 1 - contention) / np.maximum(coherency, 1e-12))
    figures = _interval(coherency)
    return Scalability(
        rate_of_one=float(_figures(best)[0][0]),
        contention=_interval(contention),
        coherency=figures,
        knee=_interval(_knee(contention, coherency)),
        peak_in_flight=_interval(peak) if is_retrograde and figures[0] > 0 else None,
        misfit=float(np.max(np.abs(misfit))),
    )


def _fit(n: _Floats, x: _Floats, chance: _Floats) -> _Floats:
    """(1/λ, σ/λ, κ/λ) for each row of throughputs: the best of all fits in which some parameters are zero and none is
    negative."""
    y = n / x
    terms = np.stack([np.ones_like(n), n - 1, n * (n - 1)], axis=1)
    weight = 1 / (y * chance)
    best = np.zeros((len(y), 3))
    least_residual = np.full(len(y), np.inf)
    for size in (3, 2, 1):
        for chosen in combinations(range(3), size):
            weighted = terms[None, :, list(chosen)] * weight[:, :, None]
            scale = np.sqrt(np.sum(weighted**2, axis=1))
            weighted = weighted / scale[:, None, :]
            normal = np.einsum("kij,kil->kjl", weighted, weighted) + 1e-13 * np.eye(size)
            right = np.einsum("kij,ki->kj", weighted, y * weight)
            solved = np.linalg.solve(normal, right[:, :, None])[:, :, 0] / scale
            parameters = np.zeros((len(y), 3))
            parameters[:, list(chosen)] = solved
            residual = np.sum(((parameters @ terms.T - y) * weight) ** 2, axis=1)
            is_better = (solved >= 0).all(axis=1) & (residual < least_residual - 1e-12)
            best[is_better], least_residual[is_better] = parameters[is_better], residual[is_better]
    return best


def _line(n: _Floats, parameters: _Floats) -> _Floats:
    """N / X by the law."""
    line: _Floats = parameters @ np.stack([np.ones_like(n), n - 1, n * (n - 1)])
    return line


def _figures(parameters: _Floats) -> tuple[_Floats, _Floats, _Floats]:
    """λ, σ and κ. The time of one I/O is at least a millionth of the added queueing, because it cannot be zero."""
    unloaded = np.maximum(parameters[:, 0], 1e-6 * parameters[:, 1:].max(axis=1) + 1e-15)
    return 1 / unloaded, parameters[:, 1] / unloaded, parameters[:, 2] / unloaded


def _knee(contention: _Floats, coherency: _Floats) -> _Floats:
    """N at which λN reaches the highest throughput of the law: 1 / σ where κ is zero, and never below one."""
    peak = np.sqrt(np.maximum(1e-12, 1 - contention) / np.maximum(coherency, 1e-12))
    peak = np.clip(peak, 1.0, 1e6)
    knee: _Floats = np.maximum(1.0, peak / (1 + contention * (peak - 1) + coherency * peak * (peak - 1)))
    return knee


def _interval(values: _Floats) -> Interval:
    low, high = np.quantile(values, _QUANTILES)
    return float(low), float(high)
