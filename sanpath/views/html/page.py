"""The report as one HTML page: it fetches nothing, and only its own script and styles may run."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from sanpath.facts.timeline import Series
from sanpath.topology.identity import Topology
from sanpath.verdict.model import Diagnosis
from sanpath.verdict.units import bandwidth, count, duration, iops, percent, percent_rounded
from sanpath.views import curve as curve_table
from sanpath.views import first_screen, probe, words
from sanpath.views.html import appendix, curve, timeline
from sanpath.views.html.drawing import drawing
from sanpath.views.html.path import drawn

_MOST = 12
"""Links and cleared elements that are shown at once; a fabric has hundreds."""
_ROWS = 400
"""Rows of a table in all: of thousands of ports a reader wants the JSON."""


def render(diagnosis: Diagnosis, topology: Topology, series: Series) -> str:
    """The page. `topology` and `series` are those of the recording that was diagnosed."""
    charts = timeline.timelines(diagnosis, series)
    marks = timeline.noted(diagnosis, series)
    path = drawn(diagnosis, topology)
    links = words.element_cells(diagnosis)
    style = _file("vendor/uPlot.min.css") + _file("report.css")
    licence = f"/*\n{_file('vendor/uPlot.LICENSE')}*/\n"
    script = licence + _file("vendor/uPlot.iife.min.js") + _file("report.js")
    page = _environment().get_template("report.html.jinja")
    return page.render(
        run=diagnosis.run,
        diagnosis=diagnosis,
        verdict=diagnosis.verdict,
        summary=diagnosis.summary,
        first=first_screen,
        latency_note=_latency_note(diagnosis),
        policy=_policy(script, style),
        style=Markup(style),  # noqa: S704 - files of this package
        script=Markup(script),  # noqa: S704 - files of this package
        data=_json(timeline.data(charts, series, marks)),
        charts=[(chart, timeline.drawing(chart, series, marks)) for chart in charts],
        curves=[chart for chart in (curve.throughput(diagnosis), curve.latency(diagnosis)) if chart is not None],
        curve_title=curve_table.TITLE,
        knee=curve_table.knee(diagnosis),
        path=path,
        topology=drawing(path),
        findings=_findings(diagnosis, series, marks),
        words=words,
        probe=probe,
        most=_MOST,
        links=links[:_ROWS],
        cleared=[words.cleared_text(cleared) for cleared in diagnosis.cleared[:_ROWS]],
        left_out=max(0, len(links) - _ROWS) + max(0, len(diagnosis.cleared) - _ROWS),
        notes=[f"{step.name}: {note}" for step in diagnosis.steps for note in step.valid],
        steps=[row for step in diagnosis.steps for row in words.step_cells(step)],
        ceilings=_ceilings(diagnosis),
        unobserved=[(u.what, u.why, u.consequence) for u in diagnosis.unobserved[:_ROWS]],
        appendix=appendix.appendix(diagnosis, topology),
    )


def _latency_note(diagnosis: Diagnosis) -> str:
    """The largest part of the latency, as a note beside the title."""
    budgets = words.budgets_of(diagnosis, diagnosis.verdict.from_step)
    if not budgets or not budgets[0].parts:
        return ""
    first = budgets[0]
    most = max(first.parts, key=lambda part: words.middle(part.seconds))
    share = percent_rounded(words.middle(most.seconds) / first.total_seconds)
    return f"{share} of {duration(first.total_seconds)} in the {words.LAYERS[most.layer]}"


def _ceilings(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """What each step reached, next to the ceilings of its limits."""
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


def _findings(diagnosis: Diagnosis, series: Series, marks: timeline.Noted) -> list[dict[str, Any]]:
    entries = []
    for number, (finding, other_findings) in enumerate(words.grouped(words.hits(diagnosis))):
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


@cache
def _environment() -> Environment:
    # Control characters are removed from every expression first; then it is escaped.
    environment = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(bandwidth=bandwidth, count=count, duration=duration, iops=iops, percent=percent)
    environment.filters["short"] = words.short
    return environment


def _shown(value: object) -> object:
    return words.printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _file(name: str) -> str:
    return files("sanpath.views.html").joinpath(name).read_text(encoding="utf-8")


def _policy(script: str, style: str) -> str:
    """The content security policy: only this script and these styles, identified by their hashes."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    return (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _json(value: object) -> Markup:
    """JSON that stays inside of its script element, whatever it holds."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 - no markup is left in it
