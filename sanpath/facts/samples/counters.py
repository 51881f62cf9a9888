"""Computes the rates of counters: window by window, or summed over entire steps.

A window lies between two samples. Rules of a counter (RFC 2578 section 7.1.6; strict, because other tools got them
wrong):
- a counter that grew: its difference counts;
- a 32-bit counter fell and its difference modulo 2^32 is below half the range: it wrapped once;
- any other fall is a reset: the window is left out. A 64-bit counter never wraps;
- a 32-bit counter of bytes that may wrap within a window tells nothing: the window is left out (RFC 2863 section
  3.1.6: 3.4 s at 10 Gb/s). It may if the port's speed allows it, and the frames that it counted can hold as many.

Agents answer from a cache. A poll round in which no counter of the agent has moved has no news: it is left out, and
its time goes to the window that ends with the next round that has news. An agent without news for longer than its
cache lasts is idle. Windows above line rate are merged the same way; dropping them would bias the mean low.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass

import numpy as np

from sanpath.facts.samples.sample_arrays import Floats, Integers, SampleArrays
from sanpath.model import Column, Step
from sanpath.recording.reading.sample_cache import Mask, Values
from sanpath.recording.reading.tail import ROUND_US

_CACHE_US = 15_000_000
"""Most agents refresh their counters at least this often (net-snmp: 3 s, measured)."""
_LATE_FACTOR, _MIN_GAPS = 1.5, 3
"""Multiple of its usual time between news from which an agent is late, and the number of such times that show the
usual one: sanpath's own choices."""
PORT_SPEED = "link_speed_bits_per_second"
_FRAME_BYTES = 36, 2188
"""Fewest and most bytes of a Fibre Channel frame: delimiters, header and CRC, and up to 2112 bytes between them
(FC-FS, frame format), 2148 in all; headers of virtual fabrics, routing and encapsulation add up to 40."""
_MIN_FALLING_WINDOWS = 20
"""Number of windows in one of which a counter falls if it wraps several times in each, unless the bytes of a window
are within a twentieth of a multiple of 2^32."""
_FIRST_ROUND_US = -(2**62)
"""The first poll round contains everything before the second one."""

Rates = MutableMapping[str, list[float | None]]
"""Counter → its rate in each window. None: not known."""
Windows = tuple[str, str, list[float], list[int], Rates, list[float | None]]
"""Step, entity; for each window its length in seconds, then for each window its end on the recorder's clock in
microseconds; for each counter its rate in each window; for each counter its mean rate."""
Rounds = Sequence[tuple[int, bool]]
"""When each poll round of an agent began, microseconds on the recorder's clock, and whether it had news."""


def find_rounds(samples: SampleArrays, counters: Collection[str]) -> Rounds:
    """Find the poll rounds of an agent and which of them had news, by the counters of these samples.

    Where a few entities miss the news of a round, it is joined to the next: windows are longer, rates the same.
    Empty: every round had news."""
    samples = samples.reported(counters)
    if not len(samples.seen):
        return ()
    order = np.argsort(samples.seen, kind="stable")
    seen, moved = samples.seen[order], _moved(samples, counters)[order]
    starts = np.concatenate(([0], np.flatnonzero(np.diff(seen) > ROUND_US) + 1))
    has_moved = np.logical_or.reduceat(moved, starts)
    if has_moved.all():
        return ()
    first, last = seen[starts], np.append(seen[starts[1:] - 1], seen[-1])
    begins = [_FIRST_ROUND_US, *((first[1:] + last[:-1]) // 2).tolist()]
    last_news = np.maximum.accumulate(np.where(has_moved, first, _FIRST_ROUND_US))
    idle_us = idle_after(first[has_moved])
    is_idle = np.append(False, (last_news[:-1] > _FIRST_ROUND_US) & (first[1:] - last_news[:-1] >= idle_us))
    has_news = has_moved | is_idle
    return () if has_news.all() else list(zip(begins, has_news.tolist(), strict=True))


def idle_after(news: Integers) -> float:
    """Microseconds without news after which an agent is idle, from the times of its news. Some agents refresh their
    counters only every half a minute."""
    gaps = np.diff(news)
    usual = float(np.median(gaps)) if len(gaps) >= _MIN_GAPS else 0.0
    return max(_CACHE_US, _LATE_FACTOR * usual)


def _moved(samples: SampleArrays, counters: Collection[str]) -> Mask:
    """Return whether any counter of a sample differs from the entity's previous one. The first value is a change."""
    moved = np.zeros(len(samples.seen), dtype=bool)
    is_first = np.append(True, np.diff(samples.entity) != 0)
    for values in map(samples.columns.__getitem__, counters):
        known = values.is_known()
        was_known = np.append(False, known[:-1]) & ~is_first
        differs = np.append(True, values.numbers[1:] != values.numbers[:-1])
        moved |= (known != was_known) | (known & was_known & differs)
    return moved


@dataclass(slots=True)
class Overall:
    """Counters of one entity over an entire step: number and total length of its windows, mean rate of each
    counter, and the counters that have grown."""

    windows: int
    seconds: float
    rates: Mapping[str, float | None]
    grown: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Counters over an entire step, of the entities that have a window in it.

    `names`: of all entities; `entity`: indices of those that have one, in their order. For each of them `windows`,
    their number, `seconds`, their total length, and `rates`: counter → mean rate in base units a second.
    """

    step: str
    names: Sequence[str]
    entity: Integers
    windows: Integers
    seconds: Floats
    rates: Mapping[str, Values]

    def by_entity(self) -> Iterator[tuple[str, Overall]]:
        """Yield the name of each entity and its counters."""
        counters = list(self.rates)
        rates = zip(*(values.to_list() for values in self.rates.values()), strict=True)
        for index, windows, seconds, of_entity, grown in zip(
            self.entity.tolist(), self.windows.tolist(), self.seconds.tolist(), rates, self._grown(), strict=True
        ):
            rates_by_counter = dict(zip(counters, of_entity, strict=True))
            yield self.names[index], Overall(windows, seconds, rates_by_counter, grown)

    def _grown(self) -> list[frozenset[str]]:
        """Return for each entity the counters that have grown; most entities have one of a few sets of them."""
        has_grown = np.array([values.is_known() & (values.numbers > 0) for values in self.rates.values()])
        packed = np.packbits(has_grown, axis=0).T.tolist()
        sets: dict[tuple[int, ...], frozenset[str]] = {}
        for bits, index in {tuple(bits): index for index, bits in enumerate(packed)}.items():
            sets[bits] = frozenset(name for name, grown in zip(self.rates, has_grown[:, index], strict=True) if grown)
        return [sets[tuple(bits)] for bits in packed]

    def key(self) -> object:
        """Return a key that is equal if all figures are equal."""
        rates = [(name, values.key()) for name, values in self.rates.items()]
        return self.names, self.entity.tobytes(), self.windows.tobytes(), self.seconds.tobytes(), rates


class _EntityRates(Rates):
    """The rates of one entity. A list is made on request, because the lists of most ports are never needed.

    `columns`: counter → the rates of all entities, of which it has those in [`first`, `before`)."""

    __slots__ = ("_columns", "_lists", "_rows")

    def __init__(self, columns: Mapping[str, Values], first: int, before: int) -> None:
        self._columns, self._rows = columns, slice(first, before)
        self._lists: dict[str, list[float | None]] = {}

    def __getitem__(self, counter: str) -> list[float | None]:
        if counter not in self._lists:
            values = self._columns[counter][self._rows]
            self._lists[counter] = values.to_list()
        return self._lists[counter]

    def __setitem__(self, counter: str, rates: list[float | None]) -> None:
        self._lists[counter] = rates

    def __delitem__(self, counter: str) -> None:
        raise TypeError(f"{counter}: a rate that was measured cannot be removed")

    def __contains__(self, counter: object) -> bool:
        return counter in self._columns or counter in self._lists

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._columns, *self._lists]))

    def __len__(self) -> int:
        return len(self._columns.keys() | self._lists.keys())


class CounterWindows:
    """The windows of the counters of some samples in some steps."""

    def __init__(
        self,
        samples: SampleArrays,
        counters: Mapping[str, Column],
        steps: Sequence[Step],
        rounds: Rounds,
        speed: Column | None = None,
    ) -> None:
        """`rounds`: the result of `find_rounds`. `speed`: the column of the port's speed; None: there is none."""
        recent = samples.reported(counters)
        if rounds:
            begins, has_news = np.array([begin for begin, _ in rounds]), np.array([news for _, news in rounds])
            recent = recent.select(has_news[np.searchsorted(begins, recent.seen, side="right") - 1])
        ended = 1 + np.flatnonzero((np.diff(recent.entity) == 0) & (np.diff(recent.moment) > 0))
        self._counters, self._entities = counters, samples.entities
        self._entity, self._began_us, self._ended_us = (
            recent.entity[ended],
            recent.moment[ended - 1],
            recent.moment[ended],
        )
        self._growth: dict[str, Values] = {}
        at_line_rate = _most_bits(recent, ended, speed)
        # Frames come first: they limit the bytes.
        for name, column in sorted(counters.items(), key=lambda counter: counter[0].startswith("bytes_")):
            narrow, may_wrap = column.bits == 32 and _is_narrow(recent, name), None
            if name.startswith("bytes_") and column.bits == 32:
                seen = _growth(recent.columns[name], ended, narrow, None)
                frames = self._growth.get(name.replace("bytes_", "frames_"))
                most_bits = _bits_by_frames(at_line_rate, frames, 8 * column.scale * seen.numbers)
                may_wrap = (most_bits >= 8 * column.scale * 2**32) & _has_fallen(recent, name)[ended]
            self._growth[name] = _growth(recent.columns[name], ended, narrow, may_wrap)
        self._steps = [
            (step.name, np.flatnonzero((self._began_us >= step.start) & (self._ended_us <= step.end)))
            for step in sorted(steps, key=lambda step: (step.start, step.name))
        ]

    def windows(self) -> Iterator[Windows]:
        """Yield the windows entity by entity, those of each in the order of time."""
        by_step = []
        for step, rows in self._steps:
            seconds, entity = (self._ended_us[rows] - self._began_us[rows]) / 1e6, self._entity[rows]
            rates, means = dict[str, Values](), []
            for name, column in self._counters.items():
                growth = self._growth[name][rows]
                rate = growth.numbers.astype(np.float64) * column.scale / seconds
                rates[name] = Values(rate, growth.known)
                means.append(self._means(entity, rate, seconds, growth.known))
            limits = np.searchsorted(entity, np.arange(len(self._entities) + 1)).tolist()
            by_step.append((step, limits, seconds.tolist(), self._ended_us[rows].tolist(), rates, means))
        for index, name in enumerate(self._entities):
            for step, limits, all_seconds, ended_us, rates, means in by_step:
                first, before = limits[index], limits[index + 1]
                if before > first:
                    yield (
                        step,
                        name,
                        all_seconds[first:before],
                        ended_us[first:before],
                        _EntityRates(rates, first, before),
                        [mean[index] for mean in means],
                    )

    def _means(self, entity: Integers, rate: Floats, seconds: Floats, known: Mask | None) -> list[float | None]:
        """Return the mean rate of each entity: sum of differences over sum of times. None: no window has a rate."""
        grown = rate * seconds
        if known is not None:
            grown, seconds = np.where(known, grown, 0.0), np.where(known, seconds, 0.0)
        times = np.bincount(entity, seconds, len(self._entities))
        with np.errstate(invalid="ignore"):
            means = np.bincount(entity, grown, len(self._entities)) / times
        return Values(means, times != 0).to_list()

    def sums(self) -> list[Sums]:
        """Return the mean rates over entire steps, in the order of time."""
        rows_by_step: dict[str, list[Integers]] = defaultdict(list)
        for step, rows in self._steps:
            rows_by_step[step].append(rows)
        result: list[Sums] = []
        for step, parts in rows_by_step.items():
            rows = np.concatenate(parts)
            entity, length_us = self._entity[rows], (self._ended_us[rows] - self._began_us[rows]).astype(np.float64)

            def total(numbers: Floats, entity: Integers = entity) -> Floats:
                return np.bincount(entity, numbers, len(self._entities)).astype(np.float64)

            windows, seconds = np.bincount(entity, minlength=len(self._entities)), total(length_us) / 1e6
            has_windows, rates = np.flatnonzero(windows), dict[str, Values]()
            for name, column in self._counters.items():
                growth = self._growth[name][rows]
                # A counter's growth in a step is far below 2^53: a floating-point number represents it exactly.
                counted, known_seconds, known = growth.numbers.astype(np.float64), seconds, growth.known
                if known is not None:
                    counted, known_seconds = (
                        np.where(known, counted, 0.0),
                        total(np.where(known, length_us, 0.0)) / 1e6,
                    )
                with np.errstate(divide="ignore", invalid="ignore"):
                    rate = total(counted) * column.scale / known_seconds
                rates[name] = Values(rate, known_seconds != 0)[has_windows]
            result.append(Sums(step, self._entities, has_windows, windows[has_windows], seconds[has_windows], rates))
        return result


def _most_bits(samples: SampleArrays, ended: Integers, speed: Column | None) -> Floats:
    """Return the bits that a port can move between each sample of `ended` and the one before it; 0: not known."""
    if speed is None or speed.metric not in samples.columns:
        return np.zeros(len(ended))
    speeds, seconds = samples.columns[speed.metric], (samples.moment[ended] - samples.moment[ended - 1]) / 1e6
    return np.asarray(np.where(speeds.is_known(), speeds.numbers, 0)[ended] * speed.scale * seconds)


def _bits_by_frames(most_bits: Floats, frames: Values | None, seen_bits: Floats) -> Floats:
    """Return the bits that a port can move in each window, by its speed and by the frames that it counted. `frames`:
    their number, None: not counted. `seen_bits`: by its byte counter.

    A number of frames that may have wrapped limits nothing. Neither does one that cannot hold the bytes seen: some
    agents count no frames, or count them later.
    """
    if frames is None:
        return most_bits
    smallest, largest = _FRAME_BYTES
    in_frames = 8.0 * largest * frames.numbers
    limits = frames.is_known() & (most_bits < 8 * smallest * 2**32) & (in_frames >= seen_bits)
    return np.where(limits, np.minimum(most_bits, in_frames), most_bits)


def _is_narrow(samples: SampleArrays, name: str) -> Mask:
    """Return for each sample whether no value of its entity exceeds 32 bits.

    A source may declare the narrowest width among its ports: a counter that has exceeded 32 bits never wraps."""
    values = samples.columns[name]
    exceeds = values.is_known() & (values.numbers >= 2**32)
    exceeding = np.bincount(samples.entity, exceeds, len(samples.entities))
    return np.asarray(exceeding[samples.entity] == 0)


def _has_fallen(samples: SampleArrays, name: str) -> Mask:
    """Return for each sample whether the counter of its entity is ever lower than in the sample before it, or has too
    few samples to know.

    A source may declare the narrowest width of its tables, so a counter below 2^32 may have 64 bits. A 32-bit counter
    that wraps in every window soon reads less than before.
    """
    values = samples.columns[name]
    known = values.is_known()
    is_window = known[1:] & known[:-1] & (samples.entity[1:] == samples.entity[:-1])
    fell = is_window & (values.numbers[1:] < values.numbers[:-1])
    fallen, windows = (np.bincount(samples.entity[1:], each, len(samples.entities)) for each in (fell, is_window))
    return np.asarray(((fallen > 0) | (windows < _MIN_FALLING_WINDOWS))[samples.entity])


def _growth(values: Values, ended: Integers, narrow: Mask | bool, is_too_fast: Mask | None) -> Values:
    """Return the difference of each sample of `ended` to the one before it; not known where the counter was reset.

    Never negative. `narrow`: whether it may wrap at 32 bits. `is_too_fast`: whether it may do so more than once."""
    newer, older, before = values.numbers[1:], values.numbers[:-1], ended - 1
    known = None if values.known is None else (values.known[1:] & values.known[:-1])[before]
    if is_too_fast is not None:
        # A port that moves nothing cannot have moved an exact multiple of 2^32 bytes.
        has_moved = (newer != older)[before]
        is_ambiguous = is_too_fast & has_moved & (narrow if isinstance(narrow, bool) else narrow[ended])
        if is_ambiguous.any():
            known = ~is_ambiguous if known is None else known & ~is_ambiguous
    fell = (newer < older)[before]
    if known is not None:
        fell &= known
    grown = (newer - older)[before]
    if not fell.any():
        return Values(grown, known)
    fall = np.where(fell, (older - newer)[before], 0)
    wrapped = fell & (narrow if isinstance(narrow, bool) else narrow[ended]) & (fall > 2**31)
    growth = np.where(fell, 2**32 - np.where(wrapped, fall, 0), grown)
    grew = ~fell | wrapped
    return Values(growth, grew if known is None else known & grew)
