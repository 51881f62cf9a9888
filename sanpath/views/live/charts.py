"""Lines over time in characters: eight heights a row, a column a moment, the same scale for what is compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.text import Text

from sanpath.facts.timeline import Line, Quantity, Series
from sanpath.model import Direction
from sanpath.verdict.model import StepResult
from sanpath.verdict.units import bandwidth, duration
from sanpath.views import words
from sanpath.views.live.layout import Section, cut, line, title

_BLOCKS = " ▁▂▃▄▅▆▇█"
_LABEL, _VALUE = 15, 11
"""Columns of what a line is, and of its last value."""

Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Scale:
    """Values between `low` and `high` by height; `logarithmic` needs both above zero."""

    low: float
    high: float
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """How high a value lies, 0 to 1."""
        if self.high <= self.low or (self.logarithmic and value <= 0):
            return 0.0
        if self.logarithmic:
            found = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            found = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, found))


def pressed(values: Values, width: int, whole: bool) -> list[float | None]:
    """Values for so many columns: the newest, or with `whole` all of them, several in one column as their mean."""
    if len(values) <= width or width < 1:
        return list(values)
    if not whole:
        return list(values[-width:])
    found: list[float | None] = []
    for column in range(width):
        here = values[column * len(values) // width : (column + 1) * len(values) // width]
        known = [v for v in here if v is not None]
        found.append(sum(known) / len(known) if known else None)
    return found


def area(values: Values, scale: Scale, height: int = 1) -> list[str]:
    """Rows of blocks, the highest first. What is known has at least the lowest block, what is not has none."""
    levels = len(_BLOCKS) - 1
    heights = [None if v is None else max(1, round(scale.share(v) * levels * height)) for v in values]
    return [
        "".join(" " if h is None else _BLOCKS[min(levels, max(0, h - row * levels))] for h in heights)
        for row in reversed(range(height))
    ]


@dataclass(frozen=True, slots=True)
class Chart:
    """What is drawn of a series: one direction, with the figures of one step before its lines.

    `marks`: (epoch seconds, text) of what a person noted. `whole`: all of the run, else as much of its end as there
    are columns, and all of the step. `height`: rows of a line.
    """

    series: Series
    step: StepResult
    direction: Direction
    marks: Sequence[tuple[float, str]]
    whole: bool
    height: int

    def of(self, quantity: Quantity) -> list[Line]:
        """The line of a quantity that rises highest."""
        found = [x for x in self.series.lines_of(quantity) if x.direction == self.direction]
        return sorted(found, key=lambda x: -max(v or 0.0 for v in x.values))[:1]

    @property
    def arrays(self) -> list[Line]:
        """The array as a whole before one of its volumes."""
        told = [x for x in self.series.lines_of("array_latency") if x.direction == self.direction]
        whole = [x for x in told if x.entity.startswith("array:")]
        return (whole or told)[:1]

    def value(self, line: Line) -> float | None:
        """What a line says of the step: the load's own figures, for others the mean of its moments. None: nothing."""
        result = self.step.directions.get(self.direction)
        if result is not None and line.quantity == "payload":
            return result.bytes_per_second
        if result is not None and line.quantity == "load_latency":
            return result.latency_seconds.mean
        name = self.step.name
        begin, end = next(((b, e) for n, b, e in self.series.steps if n == name), (0.0, math.inf))
        told = zip(self.series.moments, line.values, strict=True)
        known = [v for moment, v in told if v is not None and begin <= moment <= end]
        return sum(known) / len(known) if known else None

    def drawn(self, values: Values, columns: int) -> list[float | None]:
        """Values of the columns: the newest, but a step that is longer is drawn from its begin."""
        if self.whole:
            return pressed(values, columns, whole=True)
        begin = next((b for name, b, _ in self.series.steps if name == self.step.name), 0.0)
        before = sum(moment < begin for moment in self.series.moments)
        first = min(before, max(0, len(values) - columns))
        return pressed(values[first:], columns, whole=True)

    def moments(self, columns: int) -> list[float]:
        """The moments of the columns, seconds after the start of the series."""
        return [m for m in self.drawn(self.series.moments, columns) if m is not None]


def over_time(chart: Chart, width: int) -> Section:
    """What the load got, and what an I/O takes at the load, at the device and in the array."""
    payload, arrays = chart.of("payload"), chart.arrays
    if not payload:
        return Section(4, 0, ())
    columns = max(1, width - _LABEL - _VALUE)
    latency = [*chart.of("load_latency"), *chart.of("device_latency"), *arrays]
    told = [v for x in latency for v in x.values if v]
    flow = Scale(0.0, max((v for x in payload for v in x.values if v), default=1.0))
    waits = Scale(0.5 * min(told, default=1.0), max(told, default=1.0), logarithmic=True)
    moments = chart.moments(columns)
    span = f"{words.elapsed(moments[0])} to {words.elapsed(moments[-1])}"
    lines = [title(f"{chart.direction}, {span}; latencies on one logarithmic scale", width)]
    for x in payload:
        lines += _row(chart, x, flow, bandwidth, columns)
    for x in latency:
        lines += _row(chart, x, waits, duration, columns)
    if not arrays:
        lines.append(line(f"{'array':<{_LABEL}}", ("not seen: no array tells its latency", "yellow")))
    return Section(4, len(lines), [cut(text, width) for text in lines])


def trend(series: Series | None, entity: str, direction: str, width: int) -> str:
    """How busy a link was at last, in so many columns; spaces where nothing tells."""
    lines = series.lines_of("utilisation") if series is not None else []
    values = next((x.values for x in lines if (x.entity, x.direction) == (entity, direction)), ())
    return f"{area(pressed(values, width, whole=False), Scale(0.0, 1.0))[0]:<{width}}"


_NAMES = {"payload": "throughput", "load_latency": "load", "device_latency": "device", "array_latency": "array"}


def _row(chart: Chart, shown: Line, scale: Scale, say: Callable[[float], str], columns: int) -> list[Text]:
    name = "" if shown.entity == "load" else f" {words.short(shown.entity).rpartition('/')[2]}"
    value = chart.value(shown)
    head = cut(line(f"{_NAMES[shown.quantity]}{name}"), _LABEL - 1)
    head.append(" " * (_LABEL - head.cell_len) + f"{'-' if value is None else say(value):>{_VALUE - 1}} ")
    rows = area(chart.drawn(shown.values, columns), scale, chart.height)
    above = [line(" " * (_LABEL + _VALUE), (blocks, "cyan")) for blocks in rows[:-1]]
    return [*above, head.append_text(line((rows[-1], "cyan")))]


def foot(chart: Chart, width: int) -> Section:
    """Where steps began and what was marked, below the columns in which that was; marks before names of steps."""
    moments = chart.moments(max(1, width - _LABEL - _VALUE))
    noted = [(begin, f"|{name}") for name, begin, _ in chart.series.steps]
    marked = [(at - chart.series.start_us / 1e6, text) for at, text in chart.marks]
    noted += [(at, f"▲{words.elapsed(at)} {text}") for at, text in marked]
    said = ""
    for moment, text in sorted(noted):
        if moments and moments[0] <= moment <= moments[-1] + 1.0:
            column = sum(m < moment for m in moments)
            if column >= len(said) or text.startswith("▲"):
                said = f"{said[:column]:<{column}}{words.printable(text)} "
    return Section(9, 1, [cut(line((" " * (_LABEL + _VALUE) + said, "dim")), width)] if said else (), heading=0)
