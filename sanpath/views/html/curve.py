"""Throughput and latency over outstanding I/Os, with ceiling and knee, as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from sanpath.verdict.model import Diagnosis
from sanpath.verdict.units import bandwidth, count, duration
from sanpath.views.html import svg

_WIDTH, _HEIGHT = 600.0, 220.0
_MARKS = {"read": "circle", "write": "square"}


@dataclass(frozen=True, slots=True)
class _Point:
    """A step and direction of the curve."""

    direction: str
    in_flight: float
    bytes_per_second: float
    latency_seconds: float


def throughput(diagnosis: Diagnosis) -> Markup | None:
    """Payload over I/Os in flight. None: fewer than two steps."""
    points = _points(diagnosis)
    ceilings = {
        (b.direction, b.ceiling_bytes_per_second) for b in diagnosis.verdict.bottlenecks if b.ceiling_bytes_per_second
    }
    if len(points) < 2:
        return None
    across = _across(points)
    values = [p.bytes_per_second for p in points] + [value for _, value in ceilings]
    up = svg.value_scale(values, (_HEIGHT - 26, 24))
    lines = [
        svg.element("line", x1=across.first, x2=across.last, y1=up.at(v), y2=up.at(v), class_="limit")
        + svg.element(
            "text",
            f"ceiling, {direction}: {bandwidth(v)}",
            x=across.last - 4,
            y=up.at(v) - 5,
            class_="tick right limit-label",
        )
        for direction, v in sorted(ceilings)
    ]
    texts = "; ".join(
        f"{count(p.in_flight)} in flight, {p.direction}: {bandwidth(p.bytes_per_second)}" for p in points
    )
    return svg.picture(
        "curve-throughput",
        "Throughput over outstanding I/Os",
        "; ".join(texts),
        (_WIDTH, _HEIGHT),
        svg.grid(across, up, bandwidth),
        _foot(points, across),
        *lines,
        *_knee(diagnosis, across),
        *_curves([(p.direction, across.at(p.in_flight), up.at(p.bytes_per_second)) for p in points]),
    )


def latency(diagnosis: Diagnosis) -> Markup | None:
    """Latency over outstanding I/Os, both logarithmic. None: fewer than two steps."""
    points = _points(diagnosis)
    if len(points) < 2:
        return None
    across = _across(points)
    up = svg.value_scale([p.latency_seconds for p in points], (_HEIGHT - 26, 24), logarithmic=True)
    texts = [f"{count(p.in_flight)} in flight, {p.direction}: {duration(p.latency_seconds)}" for p in points]
    return svg.picture(
        "curve-latency",
        "Latency over outstanding I/Os",
        "; ".join(texts),
        (_WIDTH, _HEIGHT),
        svg.grid(across, up, duration),
        _foot(points, across),
        *_knee(diagnosis, across),
        *_curves([(p.direction, across.at(p.in_flight), up.at(p.latency_seconds)) for p in points]),
    )


def data(diagnosis: Diagnosis) -> list[Sequence[str | float | None]]:
    """Both curves for their CSV: a header, then a row per step and direction."""
    header = ["direction", "outstanding_ios", "bytes_per_second", "latency_mean_seconds"]
    return [header, *((p.direction, p.in_flight, p.bytes_per_second, p.latency_seconds) for p in _points(diagnosis))]


def _points(diagnosis: Diagnosis) -> list[_Point]:
    return [
        _Point(direction, step.in_flight.measured, result.bytes_per_second, result.latency_seconds.mean)
        for step in diagnosis.steps
        for direction, result in step.directions.items()
        if step.in_flight.measured and result.latency_seconds.mean > 0
    ]


def _across(points: list[_Point]) -> svg.Scale:
    in_flight = [p.in_flight for p in points]
    return svg.Scale(min(in_flight) / 1.3, max(in_flight) * 1.3, 98.0, _WIDTH - 12, logarithmic=True)


def _foot(points: list[_Point], across: svg.Scale) -> Markup:
    """The numbers that were tried stand below the axis, as far as there is room."""
    text, last = Markup(""), -100.0
    for value in sorted({p.in_flight for p in points}):
        if across.at(value) - last >= 34:
            last = across.at(value)
            text += svg.element("text", count(value), x=last, y=_HEIGHT - 10, class_="tick middle")
    return text


def _knee(diagnosis: Diagnosis, across: svg.Scale) -> Iterator[Markup]:
    knee, below = diagnosis.verdict.knee_in_flight, diagnosis.verdict.knee_below
    if knee is not None and across.low <= knee <= across.high:
        x, label, side = across.at(knee), f"knee at {count(knee)}", "start"
    elif knee is not None and knee < across.low:
        x, label, side = across.first, f"knee at {count(knee)}, left of here", "start"
    elif below is not None:
        x, label, side = across.at(max(below, across.low)), f"the knee lies below {count(below)}", "start"
    else:
        return
    yield svg.element("line", x1=x, x2=x, y1=20, y2=_HEIGHT - 26, class_="knee")
    yield svg.element("text", label, x=x + 5, y=16, class_=f"tick {side}")


def _curves(points: list[tuple[str, float, float]]) -> Iterator[Markup]:
    for number, direction in enumerate(("read", "write")):
        coordinates = sorted((x, y) for which, x, y in points if which == direction)
        # Steps of other block sizes at the same number in flight are no curve.
        if len({x for x, _ in coordinates}) == len(coordinates):
            yield svg.polylines(coordinates, f"line line-{number}")
        for x, y in coordinates:
            if _MARKS[direction] == "circle":
                yield svg.element("circle", cx=x, cy=y, r=4.5, class_=f"mark mark-{number}")
            else:
                yield svg.element("rect", x=x - 4, y=y - 4, width=8, height=8, class_=f"mark mark-{number}")
