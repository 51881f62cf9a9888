"""Throughput and latency over time of two runs in one chart, each from its own beginning."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from markupsafe import Markup

from sanpath.facts.chart_series import Line, Quantity, Series
from sanpath.model import DIRECTIONS, Direction
from sanpath.units import bandwidth, duration
from sanpath.views import words
from sanpath.views.html import svg
from sanpath.views.html.document import Cells

_WIDTH, _HEIGHT = 600.0, 220.0
_QUANTITIES: Mapping[Quantity, tuple[str, Callable[[float], str]]] = {
    "payload": ("Throughput over time", bandwidth),
    "load_latency": ("Mean latency over time", duration),
}


def charts(before: Series, after: Series) -> list[tuple[str, str, Markup, list[Cells]]]:
    """(name, title, chart, rows of its CSV) of each quantity and direction that both runs report over time."""
    result = []
    for quantity, (title, _) in _QUANTITIES.items():
        for direction in DIRECTIONS:
            lines = _line(before, quantity, direction), _line(after, quantity, direction)
            if lines[0] is not None and lines[1] is not None:
                runs = ((before, lines[0]), (after, lines[1]))
                name = f"time-{quantity.replace('_', '-')}-{direction}"
                full_title = f"{title}, {direction}"
                result.append((name, full_title, _drawing(name, full_title, quantity, runs), _data(quantity, runs)))
    return result


Runs = tuple[tuple[Series, Line], tuple[Series, Line]]
"""Series and line of the first and of the second run."""


def _line(series: Series, quantity: Quantity, direction: Direction) -> Line | None:
    return next((line for line in series.lines_of(quantity) if line.direction == direction), None)


def _drawing(name: str, title: str, quantity: Quantity, runs: Runs) -> Markup:
    value_text = _QUANTITIES[quantity][1]
    top, bottom = 12.0, _HEIGHT - 26
    across = svg.Scale(
        0.0, max(moment for series, _ in runs for moment in series.moments), 98.0, _WIDTH - 12, time=True
    )
    values = [value for _, line in runs for value in line.values if value is not None]
    up = svg.value_scale(values, (bottom, top), logarithmic=quantity == "load_latency")
    peaks = [max(value for value in line.values if value is not None) for _, line in runs]
    return svg.picture(
        name,
        title,
        f"before: at most {value_text(peaks[0])}; after: at most {value_text(peaks[1])}",
        (_WIDTH, _HEIGHT),
        svg.grid(across, up, value_text),
        svg.foot(across, bottom, words.elapsed),
        *(
            svg.line_over_time(series.moments, line.values, across, up, f"line {run}")
            for run, (series, line) in zip(("before", "after"), runs, strict=True)
        ),
    )


def _data(quantity: Quantity, runs: Runs) -> list[Cells]:
    unit = "bytes_per_second" if quantity == "payload" else "latency_mean_seconds"
    rows = [
        (run, moment, value)
        for run, (series, line) in zip(("before", "after"), runs, strict=True)
        for moment, value in zip(series.moments, line.values, strict=True)
    ]
    return [["run", "seconds", unit], *rows]
