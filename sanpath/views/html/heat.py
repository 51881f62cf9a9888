"""The utilisation of each hop over time as a heat strip, a row per hop from load to volume, and as a table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import Any

from markupsafe import Markup

from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.chart_series import Series
from sanpath.facts.hop_utilisation import HopUtilisation
from sanpath.masking import printable
from sanpath.model import DIRECTIONS
from sanpath.summary.names import noun_of
from sanpath.topology.names import named
from sanpath.topology.topology import Topology
from sanpath.units import percent_rounded
from sanpath.views import words
from sanpath.views.html import svg

TITLE = "Utilisation of each hop"
CLASSES = (0.2, 0.5, 0.8, 0.95)
"""Lower limits of the colour classes above the first: a link is free below 0.8 and full from 0.95 (link-full)."""
LEGEND = ("below 20 %", "20 to 50 %", "50 to 80 %", "80 to 95 %", "95 % and more")
_ROW, _BAR, _TOP, _BOTTOM = 40.0, 16.0, 22.0, 26.0
"""Heights: of a row with its label, of its bar, of the space above all rows, and of the space below."""
_WIDTH = 800.0
_MAX_STEPS = 16
"""Maximum steps with a column in the table; the CSV has all values."""
_MEASURES = {"cpu": "processors", "queue": "queue", "data_rate": ""}


@dataclass(frozen=True, slots=True)
class Row:
    """A hop. `peak`: highest utilisation, None: not measured."""

    label: str
    peak: float | None
    hop: HopUtilisation


def rows(diagnosis: Diagnosis, series: Series, topology: Topology) -> list[Row]:
    """The hops in path order; [] if none was measured."""
    if not any(hop.is_measured for hop in series.hops):
        return []
    limits = {(b.direction, e) for b in diagnosis.verdict.bottlenecks for e in b.elements}
    return [
        Row(_label(hop, limits, topology), max((v for v in hop.values if v is not None), default=None), hop)
        for hop in series.hops
    ]


def _label(hop: HopUtilisation, limits: Collection[tuple[str, str]], topology: Topology) -> str:
    measure = "busiest process" if hop.entity.startswith("load:") else _MEASURES[hop.measure]
    is_limit = any(
        (direction, hop.entity) in limits for direction in ([hop.direction] if hop.direction else DIRECTIONS)
    )
    texts = [named(noun_of(topology, hop.entity), words.short(hop.entity)), measure, hop.direction or ""]
    return f"{'LIMIT: ' if is_limit else ''}{', '.join(filter(None, texts))}"


def colour_class(value: float) -> int:
    """The colour class of a utilisation, 0 to 4."""
    return sum(value >= limit for limit in CLASSES)


def drawing(strip: Sequence[Row], series: Series) -> Markup:
    """The strip as SVG."""
    height = _TOP + _ROW * len(strip) + _BOTTOM
    across = svg.Scale(0.0, max((*series.moments, 1.0)), 98.0, _WIDTH - 12, time=True)
    texts = [
        f"{row.label}: {'not measured' if row.peak is None else f'at most {_percent(row.peak)}'}" for row in strip
    ]
    return svg.picture(
        "hops",
        TITLE,
        "; ".join(texts),
        (_WIDTH, height),
        *svg.bands(series.steps, across, _TOP, height - _BOTTOM),
        svg.foot(across, height - _BOTTOM, words.elapsed),
        *(element for number, row in enumerate(strip) for element in _row(row, series, across, number)),
    )


def _row(row: Row, series: Series, across: svg.Scale, number: int) -> Iterator[Markup]:
    top = _TOP + number * _ROW
    bar = top + _ROW - _BAR - 3
    yield svg.element("text", row.label, x=across.first, y=bar - 5, class_="start")
    yield svg.element("text", _percent(row.peak), x=across.first - 6, y=bar + 12, class_="tick left")
    yield svg.element(
        "rect", x=across.first, width=across.last - across.first, y=bar, height=_BAR, class_="unmeasured"
    )
    if row.peak is None:
        yield svg.element("text", "not measured", x=across.first + 6, y=bar + 12, class_="tick start")
    half = (series.moments[1] - series.moments[0]) / 2 if len(series.moments) > 1 else 0.5
    classes = [None if value is None else colour_class(value) for value in row.hop.values]
    for colour, group in groupby(zip(series.moments, classes, strict=True), key=lambda pair: pair[1]):
        moments = [moment for moment, _ in group]
        if colour is not None:
            left = across.at(max(0.0, moments[0] - half))
            right = across.at(min(across.high, moments[-1] + half))
            yield svg.element("rect", x=left, width=right - left, y=bar, height=_BAR, class_=f"heat-{colour}")


def _percent(ratio: float | None) -> str:
    return "-" if ratio is None else percent_rounded(ratio)


def header(series: Series) -> list[str]:
    """The header of the table: hop, peak, and the median in each step."""
    return ["hop", "highest", *(f"median in {name}" for name, _, _ in series.steps[:_MAX_STEPS])]


def table(strip: Sequence[Row], series: Series) -> list[list[str]]:
    """A row per hop: its highest utilisation, and its median in each of the first steps."""
    return [
        [
            row.label,
            "not measured" if row.peak is None else _percent(row.peak),
            *(_percent(_median(row, series, begin, end)) for _, begin, end in series.steps[:_MAX_STEPS]),
        ]
        for row in strip
    ]


def _median(row: Row, series: Series, begin: float, end: float) -> float | None:
    """Median utilisation in a period: windows at the edges of a step extend beyond it. None: not measured."""
    values = [v for m, v in zip(series.moments, row.hop.values, strict=True) if v is not None and begin <= m <= end]
    return median(values) if values else None


def data(strip: Sequence[Row]) -> dict[str, Any]:
    """The data from which the script draws the same strip, in the format of a chart's data."""
    return {
        "name": "hops",
        "unit": "percent",
        "heat": CLASSES,
        "logarithmic": False,
        "limits": [],
        "lines": [
            {
                "label": printable(row.label),
                "style": 0,
                "values": [None if value is None else round(value, 3) for value in row.hop.values],
            }
            for row in strip
        ],
    }
