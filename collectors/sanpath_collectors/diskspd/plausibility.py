"""Checks whether a timespan's results are plausible and complete."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath_collectors.diskspd.outcome import SpanOutcome

_DASHES = ("-", "\N{EN DASH}", "\N{EM DASH}", "\N{MINUS SIGN}")
_TOLERANCE_SECONDS = 2.0
"""A timespan that is shorter than configured by more than this was interrupted."""


def span_remarks(span: SpanOutcome) -> Iterator[tuple[str, str]]:
    """Yields (code, text) of everything that limits the use of the results."""
    timespan = f"timespan {span.number}"
    for path in dict.fromkeys([target.path for target in span.settings.targets] + list(span.targets)):
        if path.startswith(_DASHES):
            text = f"{timespan}: the target {path!r} looks like an option that begins with another kind of dash"
            yield "dash-path", f"{text}: DiskSpd took it for a file and ran with its defaults"
    if not span.adds_up:
        text = f"{timespan}: the rows of the threads differ from the total row by more than 1 %"
        yield "rows-do-not-add-up", f"{text}: the total row is used"
    if span.lacks_totals:
        yield "no-totals", f"{timespan}: the row with the totals of a table is missing: its rows are summed up"
    if span.cut_table:
        text = f"{timespan}: rows of the table {span.cut_table} are missing: its figures are what Total IO leaves"
        yield "cut-file", text
    configured, running, with_results = span.configured_threads, span.stated_threads, len(span.threads)
    if running is not None and (running != with_results or (configured is not None and configured != running)):
        expected = "an unknown number of" if configured is None else configured
        text = f"{timespan}: {expected} threads were requested, {running} ran and {with_results} have results"
        yield "threads-differ", f"{text}: the number of outstanding I/Os is uncertain"
    if span.missing == "latencies":
        yield "cut-file", f"{timespan}: the file ends within its percentiles"
    if span.settings.seconds and span.seconds and span.seconds < span.settings.seconds - _TOLERANCE_SECONDS:
        yield "interrupted", f"{timespan}: it ran for {span.seconds:g} of {span.settings.seconds:g} seconds"


def reason_without_results(span: SpanOutcome) -> tuple[str, str] | None:
    """(code, text) of the reason why a timespan has no results; None: it has results."""
    timespan = f"timespan {span.number}"
    if span.interrupted_early:
        return "interrupted", f"{timespan}: it was interrupted before its measured part began: run it again"
    if span.missing == "directions":
        text = f"{timespan}: only the sums of reads and writes, in the table Total IO, are in the file"
        return "no-directions", f"{text}: give the tables Read IO and Write IO that follow it as well"
    if span.missing == "other direction":
        text = f"{timespan}: of the tables Read IO and Write IO only one is in the file, and Total IO is not"
        return "no-directions", f"{text}: give these as well"
    if span.missing == "figures":
        return "cut-file", f"{timespan}: the file ends before its results do: they are left out"
    if not span.seconds or not span.targets:
        return "no-figures", f"{timespan}: neither its duration nor its I/Os can be read"
    return None
