"""The comparison of two runs as one HTML page: both runs in one chart, and every quantity with its change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from sanpath.comparison.compare import Comparison, Pair
from sanpath.comparison.performance_changes import Change
from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.chart_series import Series
from sanpath.units import count, duration, percent_change
from sanpath.views import compare
from sanpath.views.html import curve, overlay, svg
from sanpath.views.html.document import Cells, document, rounded

_MAX_ROWS = 24
"""Maximum rows of the chart of latencies; the table has all."""
_ROW, _TOP, _BOTTOM, _WIDTH = 44.0, 8.0, 26.0, 600.0
_MAX_LETTERS = 52
"""Maximum letters in the name of a row, so that it fits a narrow screen."""


def render(
    comparison: Comparison, before: Diagnosis, after: Diagnosis, over_time: tuple[Series, Series] | None = None
) -> str:
    """The page. `before` and `after`: the compared runs. `over_time`: the series of both, None: not drawn."""
    overlays = overlay.charts(*over_time) if over_time is not None else []
    title, _, details = comparison.headline.partition(": ")
    latency_rows = _latency_rows(comparison)
    charts = [
        ("overlay-throughput", "Throughput", _overlay(comparison, before, after, curve.THROUGHPUT)),
        ("overlay-latency", "Mean latency", _overlay(comparison, before, after, curve.LATENCY)),
    ]
    return document(
        "compare.html.jinja",
        {
            "moments": [],
            "steps": [],
            "marks": [],
            "charts": [],
            "evidence": {},
            "tables": {
                "overlay-throughput": rounded(_curve_data(before, after)),
                "overlay-latency": rounded(_curve_data(before, after)),
                "changes": rounded(_change_data(comparison)),
                **{name: rounded(rows) for name, _, _, rows in overlays},
            },
        },
        ("save.js", "report.js"),
        title=comparison.headline,
        outcome=title if details else "",
        headline=details or title,
        comparison=comparison,
        compare=compare,
        reached=list(compare.reached_lines(comparison)),
        settings=list(compare.setting_lines(comparison)),
        findings=list(compare.finding_lines(comparison)),
        runs=(before.run, after.run),
        verdicts=(before.summary.verdict, after.summary.verdict),
        charts=[(name, f"{what} over outstanding I/Os", chart) for name, what, chart in charts if chart is not None],
        overlays=[(name, caption, chart) for name, caption, chart, _ in overlays],
        latencies=_changes(latency_rows[:_MAX_ROWS]) if latency_rows else None,
        left_out=max(0, len(latency_rows) - _MAX_ROWS),
    )


def _overlay(comparison: Comparison, before: Diagnosis, after: Diagnosis, quantity: curve.Quantity) -> Markup | None:
    """Both runs over I/Os in flight, with the change at each pair of steps. None: no values to draw."""
    is_latency = quantity is curve.LATENCY
    runs = [("before", curve.points_of(before)), ("after", curve.points_of(after))]
    every = [point for _, points in runs for point in points]
    if not every:
        return None
    across = curve.across_scale(every)
    up = quantity.scale([quantity.value(p) for p in every])
    texts = [
        f"{name}, {p.in_flight:.0f} outstanding {p.direction}s: {quantity.text(quantity.value(p))}"
        for name, points in runs
        for p in points
    ]
    return svg.picture(
        f"overlay-{quantity.name}",
        f"{'Mean latency' if is_latency else 'Throughput'} over outstanding I/Os, before and after",
        "; ".join(texts),
        (curve.WIDTH, curve.HEIGHT),
        svg.grid(across, up, quantity.text),
        curve.foot(every, across),
        *(element for name, points in runs for element in _curves(name, points, across, up, quantity)),
        *_labels(comparison, across, up, is_latency),
    )


def _curves(
    name: str, points: Sequence[curve.Point], across: svg.Scale, up: svg.Scale, quantity: curve.Quantity
) -> Iterator[Markup]:
    for direction, mark in curve.MARKS.items():
        chosen = [point for point in points if point.direction == direction]
        yield svg.polylines(curve.line_of(chosen, across, up, quantity), f"line {name}")
        for point in chosen:
            yield svg.mark(mark, across.at(point.in_flight), up.at(quantity.value(point)), f"mark {name}")


def _labels(comparison: Comparison, across: svg.Scale, up: svg.Scale, is_latency: bool) -> Iterator[Markup]:
    """The change at each pair, on the opposite side of its point from the value before. If labels would overlap, only
    the first of them is drawn."""
    label_positions: list[tuple[float, float]] = []
    for pair in comparison.pairs:
        value = pair.after.latency_seconds.mean if is_latency else pair.after.bytes_per_second
        change = pair.latency_change if is_latency else pair.throughput_change
        if not across.low <= pair.in_flight <= across.high or value <= 0:
            continue
        x, y = (
            min(max(across.at(pair.in_flight), across.first + 22), across.last - 22),
            up.at(value) + (20 if change < 0 else -12),
        )
        if all(abs(x - other_x) > 44 or abs(y - other_y) > 14 for other_x, other_y in label_positions):
            label_positions.append((x, y))
            yield svg.element("text", percent_change(change), x=x, y=y, class_="middle halo")


def _latency_rows(comparison: Comparison) -> list[tuple[Pair, Change]]:
    """Every latency that both runs report; pairs with the most I/Os in flight come first."""
    return [
        (pair, change)
        for pair in sorted(comparison.pairs, key=lambda p: -p.in_flight)
        for change in pair.changes
        if change.quantity.startswith("latency_") and change.before and change.after
    ]


def _changes(rows: Sequence[tuple[Pair, Change]]) -> Markup:
    """A row for each latency: a line from the old to the new value, and the change."""
    height = _TOP + _ROW * len(rows) + _BOTTOM
    values = [value for _, change in rows for value in (change.before or 0.0, change.after or 0.0)]
    across = svg.Scale(min(values) / 1.3, max(values) * 1.3, 12.0, _WIDTH - 84, logarithmic=True)
    texts = [f"{_row_name(p, c)}: {duration(c.before or 0.0)} to {duration(c.after or 0.0)}" for p, c in rows]
    return svg.picture(
        "changes",
        "Latency of each pair of steps, before and after",
        "; ".join(texts),
        (_WIDTH, height),
        *(
            svg.element("line", x1=x, x2=x, y1=_TOP, y2=height - _BOTTOM, class_="grid")
            for x in map(across.at, across.ticks())
        ),
        svg.foot(across, height - _BOTTOM, duration),
        *(element for number, row in enumerate(rows) for element in _change(*row, across, number)),
    )


def _change(pair: Pair, change: Change, across: svg.Scale, number: int) -> Iterator[Markup]:
    y = _TOP + number * _ROW + 32
    old, new = across.at(change.before or 0.0), across.at(change.after or 0.0)
    yield svg.element("text", _cut(_row_name(pair, change)), x=across.first, y=y - 12, class_="halo-card start")
    yield svg.element("line", x1=old, x2=new, y1=y, y2=y, class_="line after")
    yield svg.mark("circle", old, y, "mark before")
    yield svg.mark("square", new, y, "mark after")
    yield svg.element("text", compare.change_text(change).partition(" ")[0], x=_WIDTH - 6, y=y + 4, class_="right")


def _row_name(pair: Pair, change: Change) -> str:
    name = f"{compare.QUANTITIES[change.quantity]}, {pair.direction}, {count(pair.in_flight)} I/Os"
    return f"{name}: {compare.step_names(pair)}"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_LETTERS else f"{text[: _MAX_LETTERS - 1]}…"


def _curve_data(before: Diagnosis, after: Diagnosis) -> list[Cells]:
    header = ["run", "direction", "outstanding_ios", "bytes_per_second", "latency_mean_seconds"]
    runs = (("before", before), ("after", after))
    rows = [
        (name, p.direction, p.in_flight, p.bytes_per_second, p.latency_seconds)
        for name, run in runs
        for p in curve.points_of(run)
    ]
    return [header, *rows]


def _change_data(comparison: Comparison) -> list[Cells]:
    header = ["before_step", "after_step", "direction", "outstanding_ios", "quantity", "before", "after", "change"]
    rows = [
        (p.before_step, p.after_step, p.direction, p.in_flight, c.quantity, c.before, c.after, c.change, c.spread)
        for p in comparison.pairs
        for c in p.changes
    ]
    return [[*header, "spread"], *rows]
