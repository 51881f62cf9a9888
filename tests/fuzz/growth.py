"""How much longer a parser takes over twice and four times as much of a hostile shape, and how much memory.

Measured is by how much the time grows when the input does: twice and four times as long for a parser that looks at
each character once; four and sixteen times for one that begins anew at each of them. `python -m tests.fuzz.growth
[TARGET ...]` tries all that the tests leave out, at twice the size.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from random import Random

from tests.fuzz.shapes import shapes
from tests.fuzz.target import Target
from tests.fuzz.targets import PARSERS

SIZE = 16 << 10
"""The largest of the tests. A half and a quarter of it are measured as well."""
FLOOR_SECONDS_A_SQUARE = 0.001 / SIZE**2
"""What takes less takes no more than four seconds over a megabyte, even if it grows with the square."""
MOST = 8.0
"""Growth from the smallest to the largest: 4 is linear, 16 quadratic."""
_NEARLY_LINEAR = 2 * 1.3
"""Growth from the middle to the largest: 2 is linear, 4 quadratic."""
_RUNS, _AGAIN = 3, 3
"""Runs of one measurement, and measurements of what seems to grow too fast."""
MEMORY_SIZE = 128 << 10
_WEIGHED = 100
"""Shapes of a target whose memory is measured here; the tests measure fewer."""


def growth(target: Target, of_size: Callable[[int], bytes], size: int = SIZE) -> float:
    """The time of the largest over that of the smallest; 1 where there is nothing to measure. The least of several
    runs is what the parser takes, all else is what the machine does meanwhile. `size`: of the largest, bytes."""
    if _grown(target, of_size, size) <= MOST:
        return 1.0
    return min(_grown(target, of_size, size) for _ in range(_AGAIN))


def _grown(target: Target, of_size: Callable[[int], bytes], size: int) -> float:
    largest, floor_seconds = of_size(size), FLOOR_SECONDS_A_SQUARE * size**2
    once = target.processor_seconds(largest)
    if once < floor_seconds:
        return 1.0
    middle = min(target.processor_seconds(of_size(size // 2)) for _ in range(_RUNS - 1))
    if once < _NEARLY_LINEAR * middle:  # A single run is rather too long than too short.
        return 1.0
    last = min(target.processor_seconds(largest) for _ in range(_RUNS))
    middle = min(middle, target.processor_seconds(of_size(size // 2)))
    if last < floor_seconds or last < _NEARLY_LINEAR * middle:
        return 1.0
    first = min(target.processor_seconds(of_size(size // 4)) for _ in range(_RUNS))
    return last / max(first, floor_seconds / 16)


def main(names: list[str]) -> int:
    """Everything that grows too fast or takes too much, as an exit code."""
    found = 0
    for target in PARSERS:
        if names and target.name not in names:
            continue
        worst, most, tried = 0.0, 0.0, 0
        known = list(shapes(target, 1))
        weighed = set(Random(target.name).sample(range(len(known)), min(_WEIGHED, len(known))))
        for number, shape in enumerate(known):
            tried += 1
            if (grown := growth(target, shape.of_size, 2 * SIZE)) > MOST:
                print(f"{target.name}: {shape.name}: {grown:.1f} times as long", flush=True)
            taken = target.memory(shape.of_size(MEMORY_SIZE)) if number in weighed else 0.0
            if taken > 1:
                print(f"{target.name}: {shape.name}: {target.times_as_much * taken:.0f} times its size", flush=True)
            if failure := target.failure(shape.of_size(2 * SIZE)):
                print(f"{target.name}: {shape.name}: {failure}", flush=True)
            found += grown > MOST or taken > 1 or bool(failure)
            worst, most = max(worst, grown), max(most, taken)
        print(
            f"{target.name}: {tried} shapes, growth {worst:.1f}, memory {target.times_as_much * most:.1f}", flush=True
        )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
