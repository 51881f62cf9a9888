"""Throughput and latency over outstanding I/Os, with ceiling and knee, as SVG."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import log
from statistics import fmean

from markupsafe import Markup

from sanpath.diagnosis.model import Diagnosis
from sanpath.units import bandwidth, count, duration
from sanpath.views.html import svg
from sanpath.views.html.document import Cells

WIDTH, HEIGHT = 600.0, 220.0
MARKS = {"read": "circle", "write": "square"}


_SAME_IN_FLIGHT = 0.05
_SAME_SIZE = 0.05
"""Relative differences up to which two steps have the same number of I/Os in flight, and the same block size."""


@dataclass(frozen=True, slots=True)
class Point:
    """A step and direction of the curve."""

    direction: str
    in_flight: float
    bytes_per_second: float
    latency_seconds: float
    operation_bytes: float


@dataclass(frozen=True, slots=True)
class Quantity:
    """What a chart shows over outstanding I/Os: its name, its value at a point, and that value as text."""

    name: str
    value: Callable[[Point], float]
    text: svg.ValueFormat
    logarithmic: bool = False

    def scale(self, values: Sequence[float]) -> svg.Scale:
        """The vertical scale of values."""
        return svg.value_scale(values, (HEIGHT - 26, 24), self.logarithmic)


THROUGHPUT = Quantity("throughput", lambda point: point.bytes_per_second, bandwidth)
LATENCY = Quantity("latency", lambda point: point.latency_seconds, duration, logarithmic=True)


def chart(diagnosis: Diagnosis, quantity: Quantity) -> Markup | None:
    """A quantity over outstanding I/Os, throughput with its ceilings. None: fewer than two steps."""
    measured = points_of(diagnosis)
    if len(measured) < 2:
        return None
    across = across_scale(measured)
    ceilings = _ceilings(diagnosis) if quantity is THROUGHPUT else []
    up = quantity.scale([*map(quantity.value, measured), *(value for _, value in ceilings)])
    texts = [f"{count(p.in_flight)} outstanding {p.direction}s: {quantity.text(quantity.value(p))}" for p in measured]
    return svg.picture(
        f"curve-{quantity.name}",
        f"{quantity.name.capitalize()} over outstanding I/Os",
        "; ".join(texts),
        (WIDTH, HEIGHT),
        svg.grid(across, up, quantity.text),
        foot(measured, across),
        *(element for ceiling in ceilings for element in _ceiling_line(*ceiling, across, up)),
        *_knee(diagnosis, across),
        *_curves(measured, across, up, quantity),
    )


def _ceilings(diagnosis: Diagnosis) -> list[tuple[str, float]]:
    """(direction, payload) of each ceiling of the verdict."""
    bottlenecks = diagnosis.verdict.bottlenecks
    return sorted({(b.direction, b.ceiling_bytes_per_second) for b in bottlenecks if b.ceiling_bytes_per_second})


def _ceiling_line(direction: str, value: float, across: svg.Scale, up: svg.Scale) -> Iterator[Markup]:
    y, text = up.at(value), f"ceiling, {direction}: {bandwidth(value)}"
    yield svg.element("line", x1=across.first, x2=across.last, y1=y, y2=y, class_="limit")
    yield svg.element("text", text, x=across.last - 4, y=y - 5, class_="tick right limit-label")


def data(diagnosis: Diagnosis) -> list[Cells]:
    """Both curves for their CSV: a header, then a row per step and direction."""
    header = ["direction", "outstanding_ios", "bytes_per_second", "latency_mean_seconds"]
    rows = [(p.direction, p.in_flight, p.bytes_per_second, p.latency_seconds) for p in points_of(diagnosis)]
    return [header, *rows]


def points_of(diagnosis: Diagnosis) -> list[Point]:
    """Every step and direction with I/Os in flight, its own by Little's law, and a latency."""
    return [
        Point(
            direction,
            result.ops_per_second * result.latency_seconds.mean,
            result.bytes_per_second,
            result.latency_seconds.mean,
            result.bytes_per_second / result.ops_per_second,
        )
        for step in diagnosis.steps
        for direction, result in step.directions.items()
        if step.in_flight.measured and result.latency_seconds.mean > 0 and result.ops_per_second > 0
    ]


def across_scale(points: Sequence[Point]) -> svg.Scale:
    """I/Os in flight of all points, logarithmic."""
    in_flight = [p.in_flight for p in points]
    return svg.Scale(min(in_flight) / 1.3, max(in_flight) * 1.3, 98.0, WIDTH - 12, logarithmic=True)


def foot(points: Sequence[Point], across: svg.Scale) -> Markup:
    """The tested numbers of I/Os in flight, below the axis, as far as there is room."""
    text, last = Markup(""), -100.0
    for value in sorted({p.in_flight for p in points}):
        if across.at(value) - last >= 34:
            last = across.at(value)
            text += svg.element("text", count(value), x=last, y=HEIGHT - 10, class_="tick middle")
    return text


def _knee(diagnosis: Diagnosis, across: svg.Scale) -> Iterator[Markup]:
    knee, below = diagnosis.verdict.knee_in_flight, diagnosis.verdict.knee_below
    if knee is not None and across.low <= knee <= across.high:
        x, label = across.at(knee), f"knee at {count(knee)}"
    elif knee is not None and knee < across.low:
        x, label = across.first, f"knee at {count(knee)}, left of here"
    elif below is not None:
        x, label = across.at(max(below, across.low)), f"the knee lies below {count(below)}"
    else:
        return
    yield svg.element("line", x1=x, x2=x, y1=20, y2=HEIGHT - 26, class_="knee")
    yield svg.element("text", label, x=x + 5, y=16, class_="tick start")


def line_of(
    points: Sequence[Point], across: svg.Scale, up: svg.Scale, quantity: Quantity
) -> list[tuple[float, float]]:
    """Coordinates of the line through the points of one direction; repetitions of a step are averaged. [] for points
    of several block sizes."""
    sizes = [point.operation_bytes for point in points]
    if not points or max(sizes) > (1 + _SAME_SIZE) * min(sizes):
        return []
    by_number: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
    for point in points:
        place = across.at(point.in_flight), up.at(quantity.value(point))
        by_number[round(log(point.in_flight) / _SAME_IN_FLIGHT)].append(place)
    return sorted((fmean(x for x, _ in places), fmean(y for _, y in places)) for places in by_number.values())


def _curves(measured: Sequence[Point], across: svg.Scale, up: svg.Scale, quantity: Quantity) -> Iterator[Markup]:
    for number, (direction, mark) in enumerate(MARKS.items()):
        points = [point for point in measured if point.direction == direction]
        yield svg.polylines(line_of(points, across, up, quantity), f"line line-{number}")
        for point in points:
            yield svg.mark(mark, across.at(point.in_flight), up.at(quantity.value(point)), f"mark mark-{number}")
