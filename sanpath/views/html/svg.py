"""SVG for charts: elements whose text cannot become markup, and scales with their ticks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup, escape

from sanpath.masking import printable

ValueFormat = Callable[[float], str]
"""Formats a number for people."""


def element(name: str, *content: str, **attributes: str | float) -> Markup:
    """One element. Text and attributes are escaped, `Markup` is not; `class_` is written class, `_` as a hyphen."""
    attribute_texts = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _attribute_text(value))
        for key, value in attributes.items()
    )
    children = Markup("").join(c if isinstance(c, Markup) else escape(printable(c)) for c in content)
    return Markup("<{0}{1}>{2}</{0}>").format(name, attribute_texts, children)


def _attribute_text(value: str | float) -> str:
    return printable(value) if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def picture(name: str, title: str, text: str, size: tuple[float, float], *content: str) -> Markup:
    """A drawing. `title` and `text` are for screen readers; their ids contain `name`."""
    return element(
        "svg",
        element("title", title, id=f"chart-{name}-title"),
        element("desc", text, id=f"chart-{name}-text"),
        *content,
        viewBox=f"0 0 {size[0]:g} {size[1]:g}",
        role="img",
        aria_labelledby=f"chart-{name}-title chart-{name}-text",
        class_="chart",
    )


TICK_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
"""Possible distances between labels of a time axis in seconds, as on a clock."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values to coordinates. `logarithmic`: only values above zero. `time`: values are seconds, and ticks are
    round minutes and hours."""

    low: float
    high: float
    first: float
    last: float
    logarithmic: bool = False
    time: bool = False

    def at(self, value: float) -> float:
        """The coordinate of a value."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(max(value, 1e-12))
        return self.first + (value - low) / ((high - low) or 1.0) * (self.last - self.first)

    def ticks(self) -> list[float]:
        """Round values within the limits."""
        if self.logarithmic:
            decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            for steps in ((1,), (1, 3), (1, 2, 5)):
                ticks = [m * 10.0**d for d in decades for m in steps if self.low <= m * 10.0**d * 1.0001 <= self.high]
                if len(ticks) >= 3:
                    break
            return ticks
        rough = (self.high - self.low) / 4 or 1.0
        if self.time:
            apart = next((s for s in TICK_SECONDS if s >= rough / 2), TICK_SECONDS[-1])
            return [float(n) for n in range(math.ceil(self.low / apart) * apart, math.floor(self.high) + 1, apart)]
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
        return [n * step for n in range(math.ceil(self.low / step), math.floor(self.high / step * 1.0001) + 1)]


def value_scale(values: Sequence[float], coordinates: tuple[float, float], logarithmic: bool = False) -> Scale:
    """A scale that contains all values; a linear scale begins at zero. `coordinates`: those of its ends."""
    positive = [v for v in values if v > 0]
    if not positive:
        return Scale(0.1 if logarithmic else 0.0, 1.0, *coordinates, logarithmic)
    if logarithmic:
        return Scale(min(positive) / 1.5, max(positive) * 1.5, *coordinates, True)
    return Scale(0.0, 1.15 * max(positive), *coordinates)


def grid(across: Scale, up: Scale, value_text: ValueFormat) -> Markup:
    """Horizontal lines with their values on the left."""
    return Markup("").join(
        element("line", x1=across.first, x2=across.last, y1=y, y2=y, class_="grid")
        + element("text", value_text(value), x=across.first - 6, y=y + 4, class_="tick left")
        for value in up.ticks()
        for y in (up.at(value),)
    )


def foot(across: Scale, bottom: float, value_text: ValueFormat) -> Markup:
    """The labels of the horizontal axis; a label that would overlap its neighbour is left out."""
    ticks = across.ticks()
    crowded = [b for a, b in pairwise(ticks) if abs(across.at(b) - across.at(a)) < 34]
    return Markup("").join(
        element("text", value_text(value), x=across.at(value), y=bottom + 16, class_="tick middle")
        for value in ticks
        if value not in crowded
    )


def bands(steps: Sequence[tuple[str, float, float]], across: Scale, top: float, bottom: float) -> Iterator[Markup]:
    """Steps (name, from, to) as shaded bands with their names above."""
    for name, begin, end in steps:
        left, right = across.at(begin), across.at(min(end, across.high))
        yield element("rect", x=left, width=max(0.5, right - left), y=top, height=bottom - top, class_="band")
        if right - left > 7 * len(name):
            yield element("text", name, x=(left + right) / 2, y=top - 6, class_="tick middle")


def mark(shape: str, x: float, y: float, css: str) -> Markup:
    """A data point: a circle or a square."""
    if shape == "circle":
        return element("circle", cx=x, cy=y, r=4.5, class_=css)
    return element("rect", x=x - 4, y=y - 4, width=8, height=8, class_=css)


def line_over_time(
    moments: Sequence[float], values: Sequence[float | None], across: Scale, up: Scale, css: str
) -> Markup:
    """A line over time, broken where there is no value or one that a logarithmic scale cannot show."""
    points = [
        None if value is None or (up.logarithmic and value <= 0) else (across.at(moment), up.at(value))
        for moment, value in zip(moments, values, strict=True)
    ]
    return polylines(points, css)


def polylines(points: Sequence[tuple[float, float] | None], css: str) -> Markup:
    """A line through the points, broken at missing points."""
    runs: list[list[tuple[float, float]]] = [[]]
    for point in points:
        if point is not None:
            runs[-1].append(point)
        elif runs[-1]:
            runs.append([])
    path = "".join(
        "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in (run if len(run) > 1 else [run[0], (run[0][0] + 1, run[0][1])]))
        for run in runs
        if run
    )
    return element("path", d=path, class_=css) if path else Markup("")
