"""Lines over time in characters: eight heights per row, a column per sample, one scale for lines to be compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from sanpath.masking import printable
from sanpath.units import bandwidth, duration
from sanpath.views import words
from sanpath.views.live.layout import Section, cut, line, title

if TYPE_CHECKING:
    from sanpath.diagnosis.model import StepResult
    from sanpath.facts.chart_series import Line, Quantity, Series
    from sanpath.model import Direction

_BLOCKS = " ▁▂▃▄▅▆▇█"
_LABEL, _VALUE = 15, 11
"""Columns of a line's name and of its last value."""

Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values from `low` to `high` to a height; `logarithmic` needs both above zero."""

    low: float
    high: float
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """The relative height of a value, 0 to 1."""
        if self.high <= self.low or (self.logarithmic and value <= 0):
            return 0.0
        if self.logarithmic:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, share))


def resampled(values: Values, width: int) -> list[float | None]:
    """Values for `width` columns. Several values in one column become their mean."""
    if len(values) <= width or width < 1:
        return list(values)
    means: list[float | None] = []
    for column in range(width):
        in_column = values[column * len(values) // width : (column + 1) * len(values) // width]
        measured = [v for v in in_column if v is not None]
        means.append(sum(measured) / len(measured) if measured else None)
    return means


def area(values: Values, scale: Scale, height: int = 1) -> list[str]:
    """Rows of blocks, the highest first. A value gets at least the lowest block, None gets none."""
    levels = len(_BLOCKS) - 1
    heights = [None if v is None else max(1, round(scale.share(v) * levels * height)) for v in values]
    return [
        "".join(" " if h is None else _BLOCKS[min(levels, max(0, h - row * levels))] for h in heights)
        for row in reversed(range(height))
    ]


@dataclass(frozen=True, slots=True)
class Chart:
    """One direction of a series, with the figures of one step before its lines.

    `marks`: (epoch seconds, text) of marks by a person. `entire`: all of the run; otherwise its last part, as many
    samples as there are columns, and all of the step. `height`: rows of a line.
    """

    series: Series
    step: StepResult
    direction: Direction
    marks: Sequence[tuple[float, str]]
    entire: bool
    height: int

    def lines_of(self, quantity: Quantity) -> list[Line]:
        """The line of a quantity with the highest maximum; [] if there is none."""
        lines = [x for x in self.series.lines_of(quantity) if x.direction == self.direction]
        return sorted(lines, key=lambda x: -max(v or 0.0 for v in x.values))[:1]

    @property
    def arrays(self) -> list[Line]:
        """The latency of the array, or else of one of its volumes; [] if there is none."""
        lines = [x for x in self.series.lines_of("array_latency") if x.direction == self.direction]
        of_array = [x for x in lines if x.entity.startswith("array:")]
        return (of_array or lines)[:1]

    def value(self, line: Line) -> float | None:
        """The value of a line in the step: the load's own figure, or for other lines their mean. None: no sample."""
        result = self.step.directions.get(self.direction)
        if result is not None and line.quantity == "payload":
            return result.bytes_per_second
        if result is not None and line.quantity == "load_latency":
            return result.latency_seconds.mean
        name = self.step.name
        begin, end = next(((b, e) for n, b, e in self.series.steps if n == name), (0.0, math.inf))
        samples = zip(self.series.moments, line.values, strict=True)
        measured = [v for moment, v in samples if v is not None and begin <= moment <= end]
        return sum(measured) / len(measured) if measured else None

    def drawn(self, values: Values, columns: int) -> list[float | None]:
        """The values to draw: the newest ones, or all since the beginning of the step if it is longer."""
        if self.entire:
            return resampled(values, columns)
        begin = next((b for name, b, _ in self.series.steps if name == self.step.name), 0.0)
        before = sum(moment < begin for moment in self.series.moments)
        first = min(before, max(0, len(values) - columns))
        return resampled(values[first:], columns)

    def moments(self, columns: int) -> list[float]:
        """The times of the columns, in seconds after the start of the series."""
        return [m for m in self.drawn(self.series.moments, columns) if m is not None]


def over_time(chart: Chart, width: int) -> Section:
    """The throughput of the load, and the latency at the load, at the device and in the array."""
    payload, arrays = chart.lines_of("payload"), chart.arrays
    if not payload:
        return Section(4, 0, ())
    columns = max(1, width - _LABEL - _VALUE)
    latency = [*chart.lines_of("load_latency"), *chart.lines_of("device_latency"), *arrays]
    latencies = [v for x in latency for v in x.values if v]
    payload_scale = Scale(0.0, max((v for x in payload for v in x.values if v), default=1.0))
    latency_scale = Scale(0.5 * min(latencies, default=1.0), max(latencies, default=1.0), logarithmic=True)
    moments = chart.moments(columns)
    span = f"{words.elapsed(moments[0])} to {words.elapsed(moments[-1])}"
    lines = [title(f"{chart.direction}, {span}; latencies on one logarithmic scale", width)]
    for x in payload:
        lines += _row(chart, x, payload_scale, bandwidth, columns)
    for x in latency:
        lines += _row(chart, x, latency_scale, duration, columns)
    if not arrays:
        lines.append(line(f"{'array':<{_LABEL}}", ("not measured: no array reports its latency", "yellow")))
    return Section(4, len(lines), [cut(time_text, width) for time_text in lines])


def trend(series: Series | None, entity: str, direction: str, width: int) -> str:
    """The recent utilisation of a link in `width` columns; spaces where there are no samples."""
    lines = series.lines_of("utilisation") if series is not None else []
    values = next((x.values for x in lines if (x.entity, x.direction) == (entity, direction)), ())
    return f"{area(values[-width:], Scale(0.0, 1.0))[0]:<{width}}"


_NAMES = {"payload": "throughput", "load_latency": "load", "device_latency": "device", "array_latency": "array"}


def _row(chart: Chart, shown: Line, scale: Scale, format_value: Callable[[float], str], columns: int) -> list[Text]:
    name = "" if shown.entity == "load" else f" {words.short(shown.entity).rpartition('/')[2]}"
    value = chart.value(shown)
    head = cut(line(f"{_NAMES[shown.quantity]}{name}"), _LABEL - 1)
    head.append(" " * (_LABEL - head.cell_len) + f"{'-' if value is None else format_value(value):>{_VALUE - 1}} ")
    rows = area(chart.drawn(shown.values, columns), scale, chart.height)
    above = [line(" " * (_LABEL + _VALUE), (blocks, "cyan")) for blocks in rows[:-1]]
    return [*above, head.append_text(line((rows[-1], "cyan")))]


def foot(chart: Chart, width: int) -> Section:
    """The beginnings of steps, and the marks, below their columns; marks take precedence."""
    moments = chart.moments(max(1, width - _LABEL - _VALUE))
    labels = [(begin, f"|{name}") for name, begin, _ in chart.series.steps]
    marked = [(epoch - chart.series.start_us / 1e6, text) for epoch, text in chart.marks]
    labels += [(seconds, f"▲{words.elapsed(seconds)} {text}") for seconds, text in marked]
    text = ""
    for moment, label in sorted(labels):
        if moments and moments[0] <= moment <= moments[-1] + 1.0:
            column = sum(m < moment for m in moments)
            if column >= len(text) or label.startswith("▲"):
                text = f"{text[:column]:<{column}}{printable(label)} "
    return Section(9, 1, [cut(line((" " * (_LABEL + _VALUE) + text, "dim")), width)] if text else (), heading=0)
