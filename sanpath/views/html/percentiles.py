"""Latency percentiles over the steps of a run as SVG, and as a table: mean, p50, p95, p99 and the maximum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from sanpath.diagnosis.model import Diagnosis, Latency
from sanpath.masking import printable
from sanpath.model import DIRECTIONS
from sanpath.units import count, duration
from sanpath.views.html import svg
from sanpath.views.html.document import Cells

TITLE = "Latency percentiles over the steps"
QUANTITIES = ("mean", "p50", "p95", "p99", "max")
HEADER: Sequence[str] = ("step", "direction", "outstanding", *QUANTITIES)
STYLES: Mapping[str, int] = {"mean": 0, "p50": 2, "p95": 4, "p99": 3, "max": 7}
"""Quantity → number of its line style."""
_WIDTH, _HEIGHT = 600.0, 240.0
_SPACING = 44.0
"""Smallest distance between two labels below the axis."""


@dataclass(frozen=True, slots=True)
class Point:
    """The latency of one step and direction. `values`: quantity → seconds, None: the load does not report it."""

    step: str
    direction: str
    in_flight: float | None
    values: Mapping[str, float | None]


def points(diagnosis: Diagnosis) -> list[Point]:
    """Steps in the order of the run; [] if no load reports more than a mean."""
    result = [
        Point(step.name, direction, step.in_flight.configured or step.in_flight.measured, _values(r.latency_seconds))
        for step in diagnosis.steps
        for direction, r in step.directions.items()
    ]
    return (
        result if any(value is not None for p in result for name, value in p.values.items() if name != "mean") else []
    )


def _values(latency: Latency) -> dict[str, float | None]:
    return {name: getattr(latency, name) for name in QUANTITIES}


def drawings(diagnosis: Diagnosis) -> list[tuple[str, Markup, Sequence[str]]]:
    """(direction, chart, quantities in it) for each direction; all charts have the same scale."""
    reported = points(diagnosis)
    positive = [value for point in reported for value in point.values.values() if value]
    if not positive:
        return []
    up = svg.value_scale(positive, (_HEIGHT - 38, 12), logarithmic=True)
    result: list[tuple[str, Markup, Sequence[str]]] = []
    for direction in DIRECTIONS:
        chosen = [point for point in reported if point.direction == direction]
        shown = [name for name in QUANTITIES if any(point.values[name] for point in chosen)]
        if chosen and shown:
            result.append((direction, _drawing(direction, chosen, shown, up), shown))
    return result


def _drawing(direction: str, chosen: Sequence[Point], shown: Sequence[str], up: svg.Scale) -> Markup:
    across = svg.Scale(-0.5, len(chosen) - 0.5, 98.0, _WIDTH - 12)
    texts = [f"{point.step}: {', '.join(_texts(point, shown))}" for point in chosen]
    marks = []
    for name in shown:
        places = [
            (across.at(number), up.at(value)) if (value := point.values[name]) else None
            for number, point in enumerate(chosen)
        ]
        marks.append(svg.polylines(places, f"line line-{STYLES[name]}"))
        marks += [svg.element("circle", cx=p[0], cy=p[1], r=3.5, class_=f"mark-{STYLES[name]}") for p in places if p]
    return svg.picture(
        f"percentiles-{direction}",
        f"{TITLE}, {direction}",
        "; ".join(texts),
        (_WIDTH, _HEIGHT),
        svg.grid(across, up, duration),
        *marks,
        _axis_labels(chosen, across),
    )


def _texts(point: Point, shown: Sequence[str]) -> Iterator[str]:
    return (f"{name} {duration(value)}" for name in shown if (value := point.values[name]) is not None)


def _axis_labels(chosen: Sequence[Point], across: svg.Scale) -> Markup:
    """Names and outstanding I/Os of the steps below the axis, as far as there is room."""
    text, last = Markup(""), -100.0
    spacing = max(_SPACING, across.at(1) - across.at(0))
    for number, point in enumerate(chosen):
        x = across.at(number)
        if x - last >= _SPACING:
            last = x
            name = printable(point.step)
            letters = int(spacing / 7)
            name = name if len(name) <= letters else f"{name[: letters - 1]}…"
            text += svg.element("text", name, x=x, y=_HEIGHT - 22, class_="tick middle")
            if point.in_flight is not None:
                text += svg.element(
                    "text", f"{count(point.in_flight)} I/Os", x=x, y=_HEIGHT - 7, class_="tick middle"
                )
    return text


def table(diagnosis: Diagnosis) -> list[list[str]]:
    """The same numbers as cells of a table."""
    return [
        [
            printable(point.step),
            point.direction,
            "-" if point.in_flight is None else count(point.in_flight),
            *("-" if value is None else duration(value) for value in point.values.values()),
        ]
        for point in points(diagnosis)
    ]


def data(diagnosis: Diagnosis) -> list[Cells]:
    """The same numbers for the CSV: a header, then latencies in seconds."""
    header = ["step", "direction", "outstanding_ios", *(f"latency_{name}_seconds" for name in QUANTITIES)]
    return [header, *((p.step, p.direction, p.in_flight, *p.values.values()) for p in points(diagnosis))]
