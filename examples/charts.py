"""The charts of a published test: what its author printed, on the author's axes, beside the same test on sanpath's.

A chart in story.yaml has a `name` (its file, without .svg), a sentence `shows`, and two panels, `published` and
`judged`. A panel has `title`, and a `form`:

    bars     `bars`: a `label` each with a printed `value`, with a figure of claims.py, or with `text` instead:
             no figure. `unit`: of the values. `limit`: value of the red line; None: there is none.
    curve    `series`: a `name` each with printed `points`, or those of a `recording` and `direction`, whose values
             are `across` (outstanding I/Os, unless it is a path) and `up`, by the scales of the same name;
             `only`: words in the names of the steps; `without`: words that are not in them. `limits`: a `label` each
             with a value or a figure.

What sanpath draws is read from its output each time: a chart cannot differ from the verdict beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from examples.claims import Results, number, reproduced, value_at
from sanpath.views.html import svg

_WIDTH, _CURVE_HEIGHT = 470.0, 300.0
_TOP, _FOOT = 52.0, 44.0
_BAR, _ROW = 16.0, 46.0
_STYLE = """
text { fill: #1b1f23; } .tick { fill: #555d66; } .name { font-weight: 600; }
.value { font-weight: 600; paint-order: stroke; stroke: #fff; stroke-width: 4px; }
.caption { fill: #555d66; font-size: 11px; }
.page { fill: #fff; } .frame { fill: none; stroke: #d9dde1; } .grid { stroke: #d9dde1; }
.left, .right { text-anchor: end; } .middle { text-anchor: middle; }
.limit { stroke: #b3261e; stroke-width: 1.5; stroke-dasharray: 8 4; } .limit-label { fill: #b3261e; }
.line { fill: none; stroke-width: 2; } .line-0 { stroke: #0b57d0; } .line-1 { stroke: #b45309; }
.line-2 { stroke: #00796b; } .mark-0, .key-0 { fill: #0b57d0; } .mark-1, .key-1 { fill: #b45309; }
.mark-2, .key-2 { fill: #00796b; } .bar { fill: #6094db; } .over { fill: #b3261e; } .absent { fill: #555d66; }
"""
_COLOURS = 3
_AXIS = 62.0
"""Room for the numbers at the left of a curve, in pixels."""
_LABEL = 8.0
"""Height of a label above the foot of the bars, in pixels."""
_DIGIT, _TICKS_APART = 7.0, 2.0
"""Width of a digit, and the distance below which a number at the foot of a curve is left out, in pixels."""


def drawn(chart: Mapping[str, Any], results: Results) -> str:
    """Return the SVG of a chart. Raises KeyError, ValueError: a figure is not in the results."""
    height = max(_height(chart[name]) for name in ("published", "judged"))
    panels = [
        _panel(chart[name], caption, left, height, results)
        for name, caption, left in (
            ("published", "AS PUBLISHED", 0.0),
            ("judged", "AS SANPATH SEES IT", _WIDTH),
        )
    ]
    picture = svg.element(
        "svg",
        svg.element("title", chart["shows"]),
        svg.element("style", Markup(_STYLE)),  # noqa: S704 - a constant of this module
        svg.element("rect", x=0, y=0, width=2 * _WIDTH, height=height, class_="page"),
        *panels,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {2 * _WIDTH:g} {height:g}",
        font_family="system-ui, sans-serif",
        font_size="12",
        role="img",
    )
    return f"{picture}\n"


def _height(panel: Mapping[str, Any]) -> float:
    return _CURVE_HEIGHT if panel["form"] == "curve" else _TOP + _ROW * len(panel["bars"]) + 14


def _panel(panel: Mapping[str, Any], caption: str, left: float, height: float, results: Results) -> Markup:
    content = _bars(panel, results) if panel["form"] == "bars" else _curve(panel, height, results)
    return svg.element(
        "g",
        svg.element("rect", x=4, y=4, width=_WIDTH - 8, height=height - 8, rx=6, class_="frame"),
        svg.element("text", caption, x=14, y=22, class_="caption"),
        svg.element("text", panel["title"], x=14, y=40, class_="name"),
        *content,
        transform=f"translate({left:g} 0)",
    )


def _bars(panel: Mapping[str, Any], results: Results) -> Iterator[Markup]:
    """Yield horizontal bars, the labels above them; one that reaches the limit is red."""
    bars: Sequence[Mapping[str, Any]] = panel["bars"]
    values = [None if "text" in bar else _value(bar, results) for bar in bars]
    limit = panel.get("limit")
    most = max([value for value in values if value is not None] + ([limit] if limit else []))
    across = svg.Scale(0.0, most, 14.0, _WIDTH - 108)
    if limit:
        x, bottom = across.at(limit), _TOP + len(bars) * _ROW
        yield svg.element("line", x1=x, x2=x, y1=_TOP, y2=bottom - _LABEL, class_="limit")
        text = f"{_short(limit)}{panel.get('unit', '')}"
        yield svg.element("text", text, x=x, y=bottom + 4, class_="middle limit-label")
    for place, (bar, value) in enumerate(zip(bars, values, strict=True)):
        y = _TOP + place * _ROW
        yield svg.element("text", bar["label"], x=14, y=y + 13, class_="tick")
        if value is None:
            yield svg.element("text", bar["text"], x=14, y=y + 17 + _BAR, class_="absent")
            continue
        css = "over" if limit and value >= limit else "bar"
        width = max(1.0, across.at(value) - across.first)
        yield svg.element("rect", x=across.first, y=y + 19, width=width, height=_BAR, class_=css)
        text = f"{_short(value)}{panel.get('unit', '')}"
        yield svg.element("text", text, x=across.at(value) + 6, y=y + 16 + _BAR, class_="value")


def _short(value: float) -> str:
    return number(value) if value >= 1000 else f"{value:.1f}".removesuffix(".0")


def _curve(panel: Mapping[str, Any], height: float, results: Results) -> Iterator[Markup]:
    series = [(line["name"], sorted(_points(line, results))) for line in panel["series"]]
    limits = [(limit["label"], _value(limit, results)) for limit in panel.get("limits", ())]
    points = [point for _, line in series for point in line]
    up = svg.value_scale(
        [y for _, y in points] + [value for _, value in limits], (height - _FOOT, _TOP + 22), bool(panel.get("log"))
    )
    columns = sorted({x for x, _ in points})
    across = svg.Scale(columns[0] / 1.3, columns[-1] * 1.3, _AXIS, _WIDTH - 18, logarithmic=True)
    yield svg.grid(across, up, number)
    yield _foot(columns, across, height - _FOOT + 16)
    yield svg.element(
        "text", panel["across"], x=(across.first + across.last) / 2, y=height - 14, class_="tick middle"
    )
    yield svg.element("text", panel["up"], x=14, y=_TOP + 10, class_="tick")
    for label, value in limits:
        y = up.at(value)
        yield svg.element("line", x1=across.first, x2=across.last, y1=y, y2=y, class_="limit")
        yield svg.element("text", label, x=across.last - 4, y=y - 5, class_="right limit-label")
    for position, (name, line) in enumerate(series):
        colour = position % _COLOURS
        places = [(across.at(x), up.at(y)) for x, y in line]
        yield svg.polylines(places, f"line line-{colour}")
        for x, y in places:
            yield svg.mark("circle", x, y, f"mark-{colour}")
        x = across.last - 120 * (len(series) - position)
        yield svg.mark("square", x + 4, _TOP + 6, f"key-{colour}") + svg.element("text", name, x=x + 14, y=_TOP + 10)


def _foot(columns: Sequence[float], across: svg.Scale, y: float) -> Markup:
    text, taken = Markup(""), 0.0
    for value in columns:
        label, middle = _short(value), across.at(value)
        half = len(label) * _DIGIT / 2
        if middle - half >= taken:
            taken = middle + half + _TICKS_APART
            text += svg.element("text", label, x=middle, y=y, class_="tick middle")
    return text


def _points(series: Mapping[str, Any], results: Results) -> list[tuple[float, float]]:
    if "points" in series:
        return [(float(x), float(y)) for x, y in series["points"]]
    points = []
    for step in results.diagnoses[series["recording"]]["steps"]:
        direction = step["directions"].get(series["direction"])
        if direction is None or series.get("only", "") not in step["name"]:
            continue
        if "without" in series and series["without"] in step["name"]:
            continue
        x = value_at(direction, series["across"]) if "across" in series else step["in_flight"]["measured"]
        scaled = float(x) * series.get("across_scale", 1.0)
        points.append((scaled, float(value_at(direction, series["up"])) * series.get("up_scale", 1.0)))
    return points


def _value(figure: Mapping[str, Any], results: Results) -> float:
    """Return a printed value, or one of sanpath's."""
    if "value" in figure:
        return float(figure["value"])
    return reproduced(figure, results) * float(figure.get("scale", 1))
