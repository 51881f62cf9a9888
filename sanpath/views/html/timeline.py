"""Charts over time: SVG for paper and browsers without scripts, and data for the script that makes them zoomable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.chart_series import Line, Series
from sanpath.masking import printable
from sanpath.rulebook.model import Finding
from sanpath.units import bandwidth, duration, percent
from sanpath.views import words
from sanpath.views.html import svg

_FORMATS = {"bandwidth": bandwidth, "duration": duration, "percent": percent}
_STYLES = 8
"""Line styles of the style sheet, each with its own colour and dash pattern."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """A chart. `unit`: key of the format of its values. `limits`: (label, value) of its horizontal lines."""

    name: str
    title: str
    text: str
    unit: str
    lines: tuple[tuple[str, Line], ...]
    limits: tuple[tuple[str, float], ...] = ()
    logarithmic: bool = False

    def legend(self) -> list[tuple[int, str, str]]:
        """(number of the style, label, highest value) of each line."""
        value_text = _FORMATS[self.unit]
        peaks = [max(v for v in line.values if v is not None) for _, line in self.lines]
        return [(n % _STYLES, label, value_text(peaks[n])) for n, (label, _) in enumerate(self.lines)]


def timelines(diagnosis: Diagnosis, series: Series) -> list[Timeline]:
    """The charts of a run that have lines."""
    ceilings = tuple(
        (f"ceiling of {words.short(b.entity)}, {b.direction}", b.ceiling_bytes_per_second)
        for b in diagnosis.verdict.bottlenecks
        if b.ceiling_bytes_per_second
    )
    latency = [
        *series.lines_of("load_latency"),
        *series.lines_of("device_latency"),
        *series.lines_of("array_latency"),
    ]
    charts = [
        Timeline(
            "throughput",
            "Throughput of the load",
            "Payload a second, with the ceilings of the limits.",
            "bandwidth",
            tuple((f"load, {line.direction}", line) for line in series.lines_of("payload")),
            ceilings,
        ),
        Timeline(
            "latency",
            "Latency at the load, at the device and in the array",
            "Mean time of an I/O, on a logarithmic scale. A line breaks where there was no I/O, or no sample.",
            "duration",
            tuple((_latency_label(line), line) for line in latency),
            logarithmic=True,
        ),
        Timeline(
            "links",
            "Busiest links",
            "Bytes counted on the link over its data rate, the busiest directions of all links.",
            "percent",
            tuple((f"{words.short(line.entity)}, {line.direction}", line) for line in series.lines_of("utilisation")),
            (("data rate of the link", 1.0),),
        ),
    ]
    return [chart for chart in charts if chart.lines]


Marks = tuple[tuple[str, float], ...]
"""(text, seconds after the start of the series) of each mark by a person."""


def marks_of(diagnosis: Diagnosis, series: Series) -> Marks:
    """The marks of a run."""
    return tuple((m.text, datetime.fromisoformat(m.at).timestamp() - series.start_us / 1e6) for m in diagnosis.marks)


def evidence(finding: Finding, number: int, other_findings: Sequence[Finding], series: Series) -> Timeline | None:
    """The chart of a finding, with only the lines of its elements and direction. None: there are no such lines."""
    entities = {e for f in (finding, *other_findings) for e in (f.entity, *f.entity.split(" > "))}
    entity_lines = [
        line for line in series.lines if line.entity in entities and finding.direction in (line.direction, "both", "")
    ]
    used = [line for line in entity_lines if line.quantity == "utilisation"]
    timed = [line for line in entity_lines if line.quantity in ("device_latency", "array_latency")]
    title = f"Evidence of {finding.rule}"
    if used:
        lines = tuple((f"{words.short(line.entity)}, {line.direction}", line) for line in used)
        text = "Bytes counted on the link over its data rate."
        return Timeline(f"finding-{number}", title, text, "percent", lines, (("data rate of the link", 1.0),))
    if timed:
        timed = [line for line in series.lines_of("load_latency") if line.direction == finding.direction] + timed
        lines = tuple((_latency_label(line), line) for line in timed)
        return Timeline(f"finding-{number}", title, "Mean time of an I/O.", "duration", lines, logarithmic=True)
    return None


def _latency_label(line: Line) -> str:
    place_of = {"load_latency": "at the load", "device_latency": "at the device", "array_latency": "in the array"}
    name = "" if line.entity == "load" else f" {words.short(line.entity)}"
    return f"{place_of[line.quantity]}{name}, {line.direction}"


def drawing(chart: Timeline, series: Series, marks: Marks, size: tuple[float, float] = (800.0, 220.0)) -> Markup:
    """The chart as SVG."""
    width, height = size
    top, bottom = 22.0, height - 26
    across = svg.Scale(0.0, max((*series.moments, 1.0)), 98.0, width - 12, time=True)
    values = [v for _, line in chart.lines for v in line.values if v is not None]
    up = svg.value_scale([*values, *(value for _, value in chart.limits)], (bottom, top), chart.logarithmic)
    return svg.picture(
        chart.name,
        chart.title,
        f"{chart.text} {'; '.join(f'{label}: at most {peak}' for _, label, peak in chart.legend())}",
        size,
        *svg.bands(series.steps, across, top, bottom),
        svg.grid(across, up, _FORMATS[chart.unit]),
        svg.foot(across, bottom, words.elapsed),
        *(
            svg.element("line", x1=across.first, x2=across.last, y1=up.at(v), y2=up.at(v), class_="limit")
            + svg.element("text", label, x=across.last - 4, y=up.at(v) - 6, class_="tick right limit-label")
            for label, v in chart.limits
        ),
        *(
            svg.line_over_time(series.moments, line.values, across, up, f"line line-{number % _STYLES}")
            for number, (_, line) in enumerate(chart.lines)
        ),
        *(
            svg.element("line", x1=across.at(seconds), x2=across.at(seconds), y1=top, y2=bottom, class_="noted")
            + svg.element("text", f"▲ {text}", x=across.at(seconds) + 4, y=bottom - 6, class_="tick")
            for text, seconds in marks
            if across.low <= seconds <= across.high
        ),
    )


def data(
    charts: Sequence[Timeline], series: Series, marks: Marks, evidence_charts: Sequence[Timeline] = ()
) -> dict[str, Any]:
    """The data from which the script draws the same charts and writes their CSV files.

    `evidence`: name of a finding's chart → (chart, line) of each of its lines, which are lines of the other charts.
    """
    places = {id(line): (n, m) for n, chart in enumerate(charts) for m, (_, line) in enumerate(chart.lines)}
    return {
        "start": datetime.fromtimestamp(series.start_us / 1e6, UTC).isoformat(),
        "evidence": {
            chart.name: [places[id(line)] for _, line in chart.lines if id(line) in places]
            for chart in evidence_charts
        },
        "moments": series.moments,
        "times": svg.TICK_SECONDS,
        "steps": [[printable(name), begin, end] for name, begin, end in series.steps],
        "marks": [[printable(text), seconds] for text, seconds in marks],
        "charts": [
            {
                "name": chart.name,
                "unit": chart.unit,
                "logarithmic": chart.logarithmic,
                "limits": [[printable(label), value] for label, value in chart.limits],
                "lines": [
                    {
                        "label": printable(label),
                        "style": number % _STYLES,
                        "values": [None if v is None else float(f"{v:.5g}") for v in line.values],
                    }
                    for number, (label, line) in enumerate(chart.lines)
                ],
            }
            for chart in charts
        ],
    }
