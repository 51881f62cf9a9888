"""What is fuzzed, and what may not happen: a foreign exception, or more time than an input's size accounts for."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random

from sanpath.errors import SanpathError
from tests.fuzz.mutation import mutated

SECONDS_A_MEGABYTE = 1.0
FLOOR_SECONDS = 0.5
"""What a short input may take all the same: of processor time, on a busy machine."""


@dataclass(frozen=True)
class Target:
    """One parser. `made`: inputs as somebody has recorded them; `run`: takes one, and raises nothing but SanpathError
    or one of `allowed`; `drawn`: an input of its own making instead of a changed one."""

    name: str
    made: Callable[[], Sequence[bytes]]
    run: Callable[[bytes], object]
    allowed: tuple[type[BaseException], ...] = ()
    drawn: Callable[[Random, Sequence[bytes]], bytes] = mutated

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        return self.made()

    def failure(self, given: bytes) -> str:
        """What is wrong with how an input was taken, "": nothing."""
        began = time.thread_time()
        try:
            self.run(given)
        except (SanpathError, *self.allowed):
            pass
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)
            ours = [frame for frame in last if "sanpath" in frame.filename and "/tests/" not in frame.filename]
            where = f"{ours[-1].filename.rpartition('sanpath')[2]}:{ours[-1].lineno}" if ours else str(last[-1])
            return f"{type(error).__name__} at {where}: {str(error)[:120]}"
        spent = time.thread_time() - began
        if spent > FLOOR_SECONDS + SECONDS_A_MEGABYTE * len(given) / 1e6:
            return f"slow: {spent:.1f} s for {len(given):,} bytes"
        return ""


@dataclass
class Outcome:
    """Of many inputs. `found`: kind of failure → its shortest input."""

    inputs: int = 0
    size: int = 0
    slowest: float = 0.0
    found: dict[str, bytes] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)


def fuzz(target: Target, first: int, inputs: int | None = None, seconds: float | None = None) -> Outcome:
    """Try inputs by number from `first` on: so many, or for so long."""
    outcome, until = Outcome(), None if seconds is None else time.monotonic() + seconds
    number = first
    while (inputs is None or number < first + inputs) and (until is None or time.monotonic() < until):
        given = target.drawn(Random(f"{target.name} {number}"), target.seeds)
        began = time.thread_time()
        failure = target.failure(given)
        outcome.slowest = max(outcome.slowest, time.thread_time() - began)
        outcome.inputs, outcome.size, number = outcome.inputs + 1, outcome.size + len(given), number + 1
        if failure:
            kind = failure.partition(": ")[0]
            outcome.counts[kind] += 1
            if kind not in outcome.found or len(given) < len(outcome.found[kind]):
                outcome.found[kind] = given
    return outcome
