"""Defects of recorded data: clocks that are wrong, lost polls, counters that are cleared or wrap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Literal, NamedTuple, get_args

from sanpath.model import Rows
from sanpath.plugin import Item
from sanpath_lab.generator.reading import EVERYTHING, Reading
from sanpath_lab.scenario import Scenario

Defect = Literal["skew", "missing", "reset", "wrap", "coarse", "no-array", "no-switches"]
DEFECTS: tuple[Defect, ...] = get_args(Defect)
MEANINGS: dict[Defect, str] = {
    "skew": "the load's clock is 45 s ahead and the array's 45 s behind",
    "missing": "a tenth of all polls gets no answer",
    "reset": "the counters of every switch are cleared in the middle of the run",
    "wrap": "the counters of every switch wrap once in the run",
    "coarse": "switches are polled every 10 s, arrays every 30 s; a step is measured for 44 s, as for such a site",
    "no-array": "the array is not read",
    "no-switches": "no switch is read",
}

_SKEW_SECONDS = 45.0
_LOST_RATIO = 0.1
_SWITCH_SECONDS, _ARRAY_SECONDS = 10.0, 30.0
_LONG_SECONDS = 44.0
"""Four whole windows of the switches and one across each edge of the step. Arrays report each second later."""
LOAD = "fio"


class Miscount(NamedTuple):
    """A switch whose ports count only this ratio of their bytes."""

    switch: str
    ratio: float


def as_tested(scenario: Scenario, defect: Defect | None) -> Scenario:
    """Return the scenario with steps that hold whole polling windows, as a user with such sources would choose."""
    load = scenario.load
    if defect != "coarse" or load.measured_seconds >= _LONG_SECONDS:
        return scenario
    return scenario.model_copy(update={"load": load.model_copy(update={"measured_seconds": _LONG_SECONDS})})


class Defects:
    """One kind of defect, or none, in a recording of a scenario. Random numbers use the scenario's seed.

    `reading`: which sources are read without the defect, and how often. `miscount`: the switch whose ports count too
    few bytes.
    """

    def __init__(
        self,
        scenario: Scenario,
        defect: Defect | None = None,
        reading: Reading = EVERYTHING,
        miscount: Miscount | None = None,
    ) -> None:
        self._defect, self._reading, self._miscount = defect, reading, miscount
        self._random = Random(scenario.seed)  # noqa: S311  a drawing, not secrets
        self._switches = {switch.name for switch in scenario.switches}
        self._arrays = {array.name for array in scenario.arrays}
        self._vcenters = {scenario.vcenter.name} if scenario.vcenter is not None else set()
        load = scenario.load
        seconds = len(load.threads) * (load.ramp_seconds + load.measured_seconds + load.gap_seconds)
        self._cleared_after_us = round(seconds * self._random.uniform(0.3, 0.7) * 1e6)
        self._began_us: int | None = None
        self._first: dict[tuple[str, str, str], int] = {}
        self._room: dict[tuple[str, str, str], int] = {}

    @property
    def unread(self) -> set[str]:
        """Names of the sources that are not read at all."""
        unread: set[str] = set()
        if self._defect == "no-array" or "array" in self._reading.unread:
            unread |= self._arrays
        if self._defect == "no-switches" or "switches" in self._reading.unread:
            unread |= self._switches
        return unread if self.disks_read else unread | self._vcenters

    @property
    def disks_read(self) -> bool:
        """Whether the load reports the disk statistics of the guest's kernel."""
        return "host" not in self._reading.unread

    def every(self, source: str, seconds: float) -> float:
        """Return the poll interval of a source in seconds. `seconds`: its configured interval."""
        coarse, reading = self._defect == "coarse", self._reading
        if source in self._switches:
            return _SWITCH_SECONDS if coarse else reading.switch_seconds or seconds
        if source in self._arrays:
            return _ARRAY_SECONDS if coarse else reading.array_seconds or seconds
        return seconds

    def skew_seconds(self, source: str) -> float:
        """Return by how many seconds a source's clock is ahead; negative: behind."""
        if self._defect != "skew":
            return 0.0
        return _SKEW_SECONDS if source == LOAD else -_SKEW_SECONDS if source in self._arrays else 0.0

    def loses(self, source: str, time_us: int) -> bool:  # noqa: ARG002 - any source, at any time
        """Return whether a source that is polled at `time_us` gives no answer."""
        return self._defect == "missing" and self._random.random() < _LOST_RATIO

    def distorted(self, source: str, item: Item) -> Iterator[Item]:
        """Yield what is recorded instead of an item."""
        if isinstance(item, Rows) and self._miscount is not None and source == self._miscount.switch:
            yield _miscounted_rows(item, self._miscount.ratio)
        elif isinstance(item, Rows) and source in self._switches and self._defect in ("reset", "wrap"):
            yield self._recounted(source, item)
        elif isinstance(item, Rows) and item.device_time and source in self._arrays:
            ahead_us = round(self.skew_seconds(source) * 1e6)
            yield replace(item, device_time=[moment + ahead_us for moment in item.device_time])
        else:
            yield item

    def _recounted(self, source: str, rows: Rows) -> Rows:
        if self._began_us is None:
            self._began_us = rows.seen[0]
        cleared = rows.seen[0] >= self._began_us + self._cleared_after_us
        bits = {column.metric: column.bits for column in rows.table.columns if column.bits}
        values = dict(rows.values)
        for metric in bits.keys() & values.keys():
            values[metric] = [
                value if value is None else self._count((source, entity, metric), int(value), bits[metric], cleared)
                for entity, value in zip(rows.entity, values[metric], strict=True)
            ]
        return replace(rows, values=values)

    def _count(self, key: tuple[str, str, str], value: int, bits: int, cleared: bool) -> int:
        if self._defect == "wrap":
            first = self._first.setdefault(key, value)
            room = self._room.setdefault(key, round(10 ** self._random.uniform(4, 9.7)))
            turned: int = (value - first - room) % 2**bits
            return turned
        if not cleared:
            return value
        return value - self._first.setdefault(key, value)


def _miscounted_rows(rows: Rows, ratio: float) -> Rows:
    """Return the rows with this ratio of their bytes counted."""
    values = {
        metric: [None if value is None else int(value * ratio) for value in column] if "bytes" in metric else column
        for metric, column in rows.values.items()
    }
    return replace(rows, values=values)
