"""The pages besides the overview: all steps, findings and sources, and the help. Only visible lines are built."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from rich.text import Text

from sanpath.units import counted
from sanpath.views import words
from sanpath.views.live.cursor import Cursor, Tab
from sanpath.views.live.layout import NARROW, ROLE_LABELS, line, title, wrapped
from sanpath.views.live.pages.overview import sources, steps
from sanpath.views.live.pages.path import path

if TYPE_CHECKING:
    from sanpath.diagnosis.model import Diagnosis
    from sanpath.rulebook.model import Finding
    from sanpath.views.live.reading.shown_verdict import ShownVerdict
    from sanpath.views.live.reading.snapshot import Snapshot

HELP = (
    ("q", "leave the view; the run goes on, with plain lines"),
    ("Ctrl-C", "end the run; twice: at once. `sanpath watch` only closes its view"),
    ("p", "hold the screen still; the recording goes on"),
    ("m", 'add a note of what you just changed, such as "changed to RR"'),
    ("t", "the path from load to media; up and down go along it"),
    ("s f o", "all steps, findings, sources; press the key again to go back"),
    ("n b", "the verdict of the next step, of the step before"),
    ("d", "both directions, read only, write only"),
    ("x", "sort: busiest first, along the path, by name"),
    ("/", "only rows with a word in them; an empty word: all"),
    ("up down", "scroll; choose a step on the page of steps, a stop on the path"),
    ("Esc", "back to the overview of the newest step, without a filter"),
    ("mouse", "click a key below, turn the wheel; with Shift the terminal selects"),
    ("", ""),
    ("confidence", "of 100 verdicts with A, 97 or more are right; with B, 85"),
    ("windows", "complete intervals of the slowest source within the step"),
    ("R", "latency = outstanding I/Os / IOPS (Little's law), true in any test"),
    ("colours", "red: limits, saturated; yellow: busy, in doubt; green: free, cleared"),
    ("now", "by the newest samples; percentiles since the step began"),
    ("judged", "when the verdict was judged; CHANGED and a bell: it is new"),
    ("caused by", "a queue that is full because of an element below it"),
    ("cleared", "what did not limit, as far as it was tested"),
    ("LATE", "a source whose answer is overdue: what it shows may be old"),
)
_WORD = max(len(word) for word, _ in HELP) + 1


def page(snapshot: Snapshot, verdict: ShownVerdict | None, cursor: Cursor, width: int, height: int) -> list[Text]:
    """The visible rows of a page."""
    if snapshot.diagnosis is not None and cursor.tab is Tab.path:
        return path(snapshot, snapshot.diagnosis, verdict, cursor, width, height)
    if snapshot.diagnosis is not None and cursor.tab is Tab.steps:
        return _steps(snapshot.diagnosis, verdict, cursor, width, height)
    if snapshot.diagnosis is not None and cursor.tab is Tab.findings:
        body = _findings(snapshot.diagnosis, cursor, width)
    elif snapshot.diagnosis is not None and cursor.tab is Tab.sources:
        body = _sources(snapshot.diagnosis, snapshot, width)
    else:
        body = _help(width)
    shown = list(islice(body, cursor.offset, cursor.offset + max(0, height - 1)))
    scope = f", from row {cursor.offset + 1}" if cursor.offset else ""
    scope += f", only {cursor.filter!r}" if cursor.filter and cursor.tab is Tab.findings else ""
    return [title(f"{cursor.tab}{scope}", width), *(shown or [line("nothing more here")])]


def _steps(diagnosis: Diagnosis, verdict: ShownVerdict | None, cursor: Cursor, width: int, height: int) -> list[Text]:
    """The steps around the chosen one, and the notes on that one."""
    invalid_for = verdict.step.valid if verdict is not None else ()
    notes = [text for note in invalid_for for text in wrapped("not for", note, width)]
    names = [step.name for step in diagnosis.steps]
    chosen = names.index(verdict.step.name) if verdict is not None and verdict.step.name in names else len(names) - 1
    room = max(1, height - 2 - len(notes))
    first = max(0, min(chosen - room // 2, len(names) - room))
    rows = steps(diagnosis.steps[first : first + room], verdict, cursor, width).lines
    return [title(f"{counted(len(names), 'step')}: up and down choose one", width), *rows, *notes][:height]


def _findings(diagnosis: Diagnosis, cursor: Cursor, width: int) -> Iterator[Text]:
    def matches(finding: Finding) -> bool:
        return cursor.matches(finding.rule, finding.summary, finding.role, words.short(finding.entity))

    for finding in filter(matches, words.hits(diagnosis)):
        yield from wrapped(
            ROLE_LABELS[finding.role], words.sentence(f"{finding.rule}: {finding.summary}"), width, "bold"
        )
        yield from wrapped("why", finding.why, width)
        if finding.gain:
            yield from wrapped("gain", finding.gain, width)
        for fix in finding.fix:
            yield from wrapped("fix", f"{fix.platform} ({words.DISRUPTION[fix.disruption]}): {fix.scope}", width)
            for command in fix.commands:
                yield from wrapped("  $", command, width)
    for finding in filter(matches, words.not_judged(diagnosis)):
        yield from wrapped("unknown", words.sentence(f"{finding.rule}: {finding.summary}"), width)


def _sources(diagnosis: Diagnosis, snapshot: Snapshot, width: int) -> Iterator[Text]:
    yield from sources(snapshot, diagnosis, width).lines
    for mark in diagnosis.marks:
        yield from wrapped("marked", f"{mark.at}: {mark.text}", width)
    for source in diagnosis.sources:
        yield from wrapped("failed", f"{source.name}: {source.last_failure}" if source.last_failure else "", width)
    for gap in words.unmeasured_lines(diagnosis):
        yield from wrapped("missing", gap, width)
    for c in diagnosis.cleared:
        yield from wrapped("cleared", words.cleared_text(c), width)


def _help(width: int) -> Iterator[Text]:
    for word, meaning in HELP:
        if width < NARROW:
            yield from wrapped("", f"{word} {meaning}".strip(), width) or [Text()]
        else:
            yield from wrapped(word, meaning, width, indent=_WORD, label_style="bold") or [Text()]
