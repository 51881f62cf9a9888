"""The Universal Scalability Law fitted to throughput over I/Os in flight, with the uncertainty of what it says.

X(N) = λN / (1 + σ(N - 1) + κN(N - 1)) (Gunther 1993): λ one I/O's rate, σ contention, κ what each I/O costs the
others. N / X is linear in 1/λ, σ/λ and κ/λ, so that weighted least squares with none of them below zero is exact.
Uncertainty: the fit is repeated on throughputs that differ by chance, as far as the windows and the fit's own misfit
tell; 95 % of the repetitions lie within an interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sanpath.verdict.model import Interval, Scalability

FEWEST = 4
"""Different numbers in flight that a fit of three parameters needs to tell its own error."""
_REPEATED = 200
_LEAST_CHANCE = 0.01
"""Relative: steadier than this no step of a test is when it is run again."""
_ALWAYS = (0.025, 0.975)

_Floats = NDArray[np.float64]


def fitted(
    in_flight: Sequence[float], ops: Sequence[float], spread: Sequence[float | None], falls: bool
) -> Scalability | None:
    """The law through steps with different numbers in flight. `spread`: relative standard error of each throughput;
    `falls`: whether throughput was seen to fall, without which no peak is told. None: too few steps."""
    n, x = np.asarray(in_flight, dtype=np.float64), np.asarray(ops, dtype=np.float64)
    if len(set(in_flight)) < FEWEST:
        return None
    chance = np.maximum(_LEAST_CHANCE, np.asarray([s or 0.0 for s in spread], dtype=np.float64))
    best = _fit(n, x[None, :], chance)
    off = n / _line(n, best)[0] / x - 1
    # What the law cannot follow is uncertainty as well.
    degrees = max(1, len(n) - 3)
    chance = chance * max(1.0, float(np.sqrt(np.sum((off / chance) ** 2) / degrees)))
    noise = np.random.default_rng(0).standard_normal((_REPEATED, len(n)))
    several = _fit(n, x * np.maximum(0.1, 1 + noise * chance), chance)
    _, contention, coherency = _figures(several)
    peak = np.sqrt(np.maximum(0.0, 1 - contention) / np.maximum(coherency, 1e-12))
    figures = _interval(coherency)
    return Scalability(
        rate_of_one=float(_figures(best)[0][0]),
        contention=_interval(contention),
        coherency=figures,
        knee=_interval(_knee(contention, coherency)),
        peak_in_flight=_interval(peak) if falls and figures[0] > 0 else None,
        misfit=float(np.max(np.abs(off))),
    )


def _fit(n: _Floats, x: _Floats, chance: _Floats) -> _Floats:
    """(1/λ, σ/λ, κ/λ) of each row of throughputs: the best of all fits in which some are zero and none is below."""
    y = n / x
    terms = np.stack([np.ones_like(n), n - 1, n * (n - 1)], axis=1)
    weight = 1 / (y * chance)
    found = np.zeros((len(y), 3))
    least = np.full(len(y), np.inf)
    for size in (3, 2, 1):
        for chosen in combinations(range(3), size):
            a = terms[None, :, list(chosen)] * weight[:, :, None]
            scale = np.sqrt(np.sum(a**2, axis=1))
            a = a / scale[:, None, :]
            normal = np.einsum("kij,kil->kjl", a, a) + 1e-13 * np.eye(size)
            right = np.einsum("kij,ki->kj", a, y * weight)
            solved = np.linalg.solve(normal, right[:, :, None])[:, :, 0] / scale
            full = np.zeros((len(y), 3))
            full[:, list(chosen)] = solved
            left = np.sum(((full @ terms.T - y) * weight) ** 2, axis=1)
            better = (solved >= 0).all(axis=1) & (left < least - 1e-12)
            found[better], least[better] = full[better], left[better]
    return found


def _line(n: _Floats, parameters: _Floats) -> _Floats:
    """N / X by the law."""
    line: _Floats = parameters @ np.stack([np.ones_like(n), n - 1, n * (n - 1)])
    return line


def _figures(parameters: _Floats) -> tuple[_Floats, _Floats, _Floats]:
    """λ, σ and κ; one I/O cannot be infinitely fast: what it takes is at least a millionth of what a queue adds."""
    one = np.maximum(parameters[:, 0], 1e-6 * parameters[:, 1:].max(axis=1) + 1e-15)
    return 1 / one, parameters[:, 1] / one, parameters[:, 2] / one


def _knee(contention: _Floats, coherency: _Floats) -> _Floats:
    """N at which λN reaches the highest throughput of the law: 1 / σ where κ is zero, and never below one."""
    peak = np.sqrt(np.maximum(1e-12, 1 - contention) / np.maximum(coherency, 1e-12))
    peak = np.clip(peak, 1.0, 1e6)
    knee: _Floats = np.maximum(1.0, peak / (1 + contention * (peak - 1) + coherency * peak * (peak - 1)))
    return knee


def _interval(values: _Floats) -> Interval:
    low, high = np.quantile(values, _ALWAYS)
    return float(low), float(high)
