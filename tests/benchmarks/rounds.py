"""Things measured in turn, so that what else the machine does falls on all of them alike."""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

Measured = TypeVar("Measured")


def interleaved(rounds: int, *measures: Callable[[], Measured]) -> list[list[Measured]]:
    """What each measure said in each round. Each round begins with another one: who comes first, or last, may find
    the machine in another state."""
    reported: list[list[Measured]] = [[] for _ in measures]
    for number in range(rounds):
        for place in range(len(measures)):
            at = (number + place) % len(measures)
            reported[at].append(measures[at]())
    return reported


def spread(values: Sequence[float], scale: float = 1.0, unit: str = "") -> str:
    """Median, and the lowest and highest in brackets."""
    low, middle, high = (scale * value for value in (min(values), statistics.median(values), max(values)))
    return f"{middle:.3g} {unit} [{low:.3g} to {high:.3g}]".replace("  ", " ")


def ratios(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """Round by round."""
    return [a / b for a, b in zip(above, below, strict=True)]


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of them lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """Where the median of what the values are drawn from lies, with 95 %: the order statistics of the sign test."""
    ordered, number = sorted(values), len(values)
    below = max(0, math.floor(number / 2 - 1.96 * math.sqrt(number) / 2))
    return ordered[below], ordered[number - 1 - below]


@contextmanager
def busy_loops(number: int) -> Iterator[None]:
    """So many processes that never wait."""
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True) for _ in range(number)
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
