"""What is fuzzed, and what may not happen: a foreign exception, or more time than an input's size accounts for."""

from __future__ import annotations

import contextlib
import resource
import time
import traceback
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random

from sanpath.errors import SanpathError
from tests.fuzz.mutation import mutated
from tests.fuzz.seeds import small

SECONDS_A_MEGABYTE = 1.0
TIMES_AS_MUCH, FLOOR_BYTES = 20, 1 << 20
"""Memory that an input may take, as a multiple of its size; what a short one may take all the same."""
LARGE = 1 / 500
"""Share of the inputs that are made of whole recordings."""
FLOOR_SECONDS = 0.5
"""What a short input may take all the same: of processor time, on a busy machine."""


@dataclass(frozen=True)
class Target:
    """One parser. `recorded`: inputs as somebody has recorded them; `run`: takes one, and raises nothing but
    SanpathError or one of `allowed`; `drawn`: makes an input of some seeds; `headed`: the first line of an input says
    what is asked; `times_as_much`, `floor_bytes`: memory that an input may take; `reducible`: its small seeds are
    kept (tests/fuzz/seeds), else all recorded ones are seeds."""

    name: str
    recorded: Callable[[], Sequence[bytes]]
    run: Callable[[bytes], object]
    allowed: tuple[type[BaseException], ...] = ()
    drawn: Callable[[Random, Sequence[bytes]], bytes] = mutated
    headed: bool = False
    times_as_much: int = TIMES_AS_MUCH
    floor_bytes: int = FLOOR_BYTES
    reducible: bool = True

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        return (small(self.name) if self.reducible else ()) or self.recorded()

    @cached_property
    def large(self) -> Sequence[bytes]:
        """Those as recorded, of a target with small seeds."""
        return () if self.headed or not self.reducible else self.recorded()

    def given(self, number: int) -> bytes:
        """The input of a number: nearly always from a small seed, of which more can be tried."""
        random = Random(f"{self.name} {number}")
        large = random.random() < LARGE and self.large
        return self.drawn(random, large or self.seeds)

    def failure(self, given: bytes) -> str:
        """What is wrong with how an input was taken, "": nothing."""
        return self.tried(given)[0]

    def tried(self, given: bytes) -> tuple[str, float]:
        """The same, and the seconds that it took."""
        began = time.perf_counter()
        try:
            self.run(given)
        except (SanpathError, *self.allowed):
            pass
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)
            ours = [frame for frame in last if "sanpath" in frame.filename and "/tests/" not in frame.filename]
            where = f"{ours[-1].filename.rpartition('sanpath')[2]}:{ours[-1].lineno}" if ours else str(last[-1])
            return f"{type(error).__name__} at {where}: {str(error)[:120]}", 0.0
        seconds, most = time.perf_counter() - began, FLOOR_SECONDS + SECONDS_A_MEGABYTE * len(given) / 1e6
        if seconds > most and (seconds := self.processor_seconds(given)) > most:
            return f"slow: {seconds:.1f} s for {len(given):,} bytes", seconds
        return "", seconds

    def allowed_bytes(self, given: bytes) -> int:
        """Memory that an input may take at a time."""
        return self.floor_bytes + self.times_as_much * len(given)

    def memory(self, given: bytes) -> float:
        """The most that an input takes at a time, over what it may take."""
        tracemalloc.start()
        self.failure(given)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most / self.allowed_bytes(given)

    def processor_seconds(self, given: bytes) -> float:
        """What an input takes, whatever else the machine does. To ask for it costs more than many inputs take."""
        began = time.thread_time()
        with contextlib.suppress(Exception):
            self.run(given)
        return time.thread_time() - began


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
    _forget_peak()
    outcome, until = Outcome(), None if seconds is None else time.monotonic() + seconds
    number, longest, highest = first, 0.0, _peak_bytes()
    while (inputs is None or number < first + inputs) and (until is None or time.monotonic() < until):
        given = target.given(number)
        failure, spent = target.tried(given)
        if (
            peak := _peak_bytes()
        ) > highest:  # What a process has once had, it may have: only more of it is measured.
            if peak > highest + target.allowed_bytes(given) and not failure and (much := target.memory(given)) > 1:
                failure = f"memory: {much:.1f} times what {len(given):,} bytes may take"
            highest = _peak_bytes()
        if spent > longest:  # Not whenever the machine does something else: each of those would be run twice.
            longest, outcome.slowest = spent, max(outcome.slowest, min(spent, target.processor_seconds(given)))
        outcome.inputs, outcome.size, number = outcome.inputs + 1, outcome.size + len(given), number + 1
        if failure:
            kind = failure.partition(": ")[0]
            outcome.counts[kind] += 1
            if kind not in outcome.found or len(given) < len(outcome.found[kind]):
                outcome.found[kind] = given
    return outcome


def _forget_peak() -> None:
    """What this process had before, for whatever reason, would hide as much of the inputs' memory (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak_bytes() -> int:
    """The most memory that this process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
