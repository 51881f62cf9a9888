"""The report as one HTML page: it fetches nothing, and only its own script and styles may run."""

from __future__ import annotations

from functools import partial
from typing import Any

from markupsafe import Markup

from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.chart_series import Series
from sanpath.model import DIRECTIONS
from sanpath.summary.names import noun_of
from sanpath.topology.topology import Topology
from sanpath.units import duration, first_of, percent_rounded
from sanpath.views import cells, first_screen, probe, words
from sanpath.views import curve as curve_table
from sanpath.views.html import appendix, curve, heat, percentiles, timeline
from sanpath.views.html.document import document, rounded
from sanpath.views.html.path_drawing import path_drawing
from sanpath.views.html.path_graph import path_graph
from sanpath.views.step_notes import step_notes

_MAX_UNFOLDED = 12
"""Maximum links and cleared elements that are shown unfolded: a fabric has hundreds."""
_MAX_NAMES = 6
"""Maximum names in the note of a fold."""
_MAX_ROWS = 400
"""Maximum rows of a table: for thousands of ports, the JSON is better suited."""


def render(diagnosis: Diagnosis, topology: Topology, series: Series) -> str:
    """The page. `topology` and `series` are those of the recording that was diagnosed."""
    charts = timeline.timelines(diagnosis, series)
    marks = timeline.marks_of(diagnosis, series)
    strip = heat.rows(diagnosis, series, topology)
    findings = _findings(diagnosis, series, marks)
    path = path_graph(diagnosis, topology)
    links = cells.element_cells(diagnosis)
    return document(
        "report.html.jinja",
        _data(diagnosis, series, charts, marks, strip, findings),
        ("vendor/uPlot.iife.min.js", "save.js", "report.js"),
        run=diagnosis.run,
        diagnosis=diagnosis,
        verdict=diagnosis.verdict,
        summary=diagnosis.summary,
        title=diagnosis.summary.verdict,
        first=first_screen,
        noun=partial(noun_of, topology),
        latency_note=_latency_note(diagnosis),
        unmeasured_note=first_of([unobserved.what for unobserved in diagnosis.unobserved], _MAX_NAMES),
        charts=[(chart, timeline.drawing(chart, series, marks)) for chart in charts],
        heat=heat,
        strip=strip,
        strip_drawing=heat.drawing(strip, series) if strip else None,
        series=series,
        percentiles=percentiles,
        curves=_curves(diagnosis),
        curve_title=curve_table.TITLE,
        knee=curve_table.knee(diagnosis),
        path=path,
        topology=path_drawing(path),
        findings=findings,
        probe=probe,
        most=_MAX_UNFOLDED,
        links=links[:_MAX_ROWS],
        cleared=[words.cleared_text(cleared) for cleared in diagnosis.cleared[:_MAX_ROWS]],
        left_out=max(0, len(links) - _MAX_ROWS) + max(0, len(diagnosis.cleared) - _MAX_ROWS),
        notes=step_notes(diagnosis),
        steps=[row for step in diagnosis.steps for row in cells.step_cells(step)],
        ceilings=_ceilings(diagnosis),
        unobserved=[(u.what, u.why, words.consequence_text(u)) for u in diagnosis.unobserved[:_MAX_ROWS]],
        appendix=appendix.appendix(diagnosis, topology),
    )


def _curves(diagnosis: Diagnosis) -> list[tuple[str, str, Markup]]:
    """(name, title, chart) of throughput and of latency over outstanding I/Os; [] with fewer than two steps."""
    charts = (
        ("curve-throughput", "Throughput", curve.chart(diagnosis, curve.THROUGHPUT)),
        ("curve-latency", "Mean latency", curve.chart(diagnosis, curve.LATENCY)),
    )
    return [(name, title, chart) for name, title, chart in charts if chart is not None]


def _data(
    diagnosis: Diagnosis,
    series: Series,
    charts: list[timeline.Timeline],
    marks: timeline.Marks,
    strip: list[heat.Row],
    findings: list[dict[str, Any]],
) -> dict[str, Any]:
    """The numbers of every chart: for the script that draws them, and for their CSV files."""
    evidence_charts = [entry["chart"] for entry in findings if entry["chart"] is not None]
    data = timeline.data(charts, series, marks, evidence_charts)
    if strip:
        data["charts"].append(heat.data(strip))
    points = rounded(curve.data(diagnosis))
    header, *rows = rounded(percentiles.data(diagnosis))
    data["tables"] = {"curve-throughput": points, "curve-latency": points}
    for direction in DIRECTIONS:
        data["tables"][f"percentiles-{direction}"] = [header, *(row for row in rows if row[1] == direction)]
    return data


def _latency_note(diagnosis: Diagnosis) -> str:
    """The largest part of the latency, as a note next to the title."""
    budgets = words.budgets_of(diagnosis, diagnosis.verdict.from_step)
    if not budgets or not budgets[0].parts:
        return ""
    first = budgets[0]
    largest = max(first.parts, key=lambda part: words.midpoint(part.seconds))
    unexplained = words.midpoint(first.unexplained_seconds)
    if unexplained > words.midpoint(largest.seconds):
        name, _ = words.remainder_of(first)
        place = "in no measured part" if name == "unexplained" else "in the block device or behind it"
        return f"{percent_rounded(unexplained / first.total_seconds)} of {duration(first.total_seconds)} {place}"
    share = percent_rounded(words.midpoint(largest.seconds) / first.total_seconds)
    place = "waiting for the configured limit" if largest.is_limit_wait else f"in the {words.LAYERS[largest.layer]}"
    return f"{share} of {duration(first.total_seconds)} {place}"


def _ceilings(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """The throughput of each step, next to the ceilings of its limits."""
    return [
        {
            "step": step.name,
            "direction": limit.direction,
            "payload": step.directions[limit.direction].bytes_per_second,
            "ceiling": limit.ceiling_bytes_per_second,
            "entity": limit.entity,
        }
        for step in diagnosis.steps
        for limit in step.verdict.bottlenecks
        if limit.ceiling_bytes_per_second and limit.direction in step.directions
    ]


def _findings(diagnosis: Diagnosis, series: Series, marks: timeline.Marks) -> list[dict[str, Any]]:
    entries = []
    for number, (finding, other_findings) in enumerate(words.group_findings(words.hits(diagnosis))):
        chart = timeline.evidence(finding, number, other_findings, series)
        entries.append(
            {
                "finding": finding,
                "count": len(other_findings) + 1,
                "text": words.finding_text(finding, other_findings),
                "facts": appendix.evidence(finding),
                "chart": chart,
                "drawing": timeline.drawing(chart, series, marks, (600.0, 190.0)) if chart else None,
                "steps": ", ".join(finding.steps) or "the whole run",
            }
        )
    return entries
