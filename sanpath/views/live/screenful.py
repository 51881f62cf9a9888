"""A screenful: everything on the screen, as a pure function of snapshot, cursor, verdict and size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePath
from typing import TYPE_CHECKING

from rich.text import Text

from sanpath.views import words
from sanpath.views.live.charts import Chart, foot, over_time
from sanpath.views.live.cursor import Cursor, Tab
from sanpath.views.live.footer import footer, keys
from sanpath.views.live.layout import NARROW, Section, bullet, columns, cut, fit, line, title, wrapped
from sanpath.views.live.pages import overview
from sanpath.views.live.pages import verdict as verdict_sections
from sanpath.views.live.pages.elements import elements
from sanpath.views.live.pages.lists import page
from sanpath.views.live.pages.now import Now, now_lines, step_now
from sanpath.views.live.reading.shown_verdict import DebouncedVerdict, ShownVerdict
from sanpath.views.live.reading.snapshot import Snapshot
from sanpath.views.progress import JUDGED_WINDOWS

if TYPE_CHECKING:
    from sanpath.diagnosis.model import Diagnosis
    from sanpath.model import Direction

WIDE = 110
"""Terminal columns from which there is a second column."""
WIDEST = 190
"""Terminal columns from which there is a third one."""
_NO_SNAPSHOT = Snapshot(0.0, None)
_SECOND_SHARE = 0.36
"""Share of the width for the last of two columns."""
_THIRD_SHARE = 0.25
"""Share of the width for the last of three columns."""
_LOW_ROWS = 8
"""With fewer rows, only the verdict is shown."""
_MEDIUM_ROWS = 16
"""With fewer rows, the busiest links are left out."""
_HIGH_ROWS = 40
"""From this number of rows on, charts are higher."""
_HIGH_CHART_ROWS = 3
"""The height of these charts in rows."""


class Painter:
    """Paints screenfuls. What depends only on the last snapshot is painted once, not with every pulse."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] = ()
        self._judged = _Judged(())

    def screenful(
        self,
        snapshot: Snapshot | None,
        cursor: Cursor,
        debounced: DebouncedVerdict,
        width: int,
        height: int,
        now: Now | None = None,
    ) -> list[Text]:
        """The lines of the screen: at most `height`, none wider than `width`."""
        now = now or Now()
        head, foot = _frame(snapshot, cursor, now, width, height)
        room = height - len(head) - len(foot)
        if snapshot is None or snapshot.diagnosis is None or debounced.shown is None:
            body = _unjudged(snapshot, cursor, now, width, room)
        else:
            judged = self._painted(snapshot, cursor, debounced, now, width, room)
            body = judged.lines(_headline(snapshot, debounced, debounced.shown, now, judged.width or width))
        lines = [*head, *body]
        if foot:
            lines += [Text()] * (height - 1 - len(lines)) + foot
        return lines[:height]

    def _painted(
        self, snapshot: Snapshot, cursor: Cursor, debounced: DebouncedVerdict, now: Now, width: int, height: int
    ) -> _Judged:
        key = (cursor, now.changed, width, height)
        if not (self._key[2:] == key and self._key[0] is snapshot and self._key[1] is debounced):
            self._judged = _judged(snapshot, cursor, debounced, now, width, height)
            self._key = (snapshot, debounced, *key)
        return self._judged


def _frame(
    snapshot: Snapshot | None, cursor: Cursor, now: Now, width: int, height: int
) -> tuple[list[Text], list[Text]]:
    """The lines above and below the body; none on a small screen."""
    framed = height >= _LOW_ROWS and width >= NARROW
    head = [_header(snapshot, cursor, now, width)] if framed else []
    if now.hint and height >= _MEDIUM_ROWS and framed:
        head.append(cut(line((now.hint, "italic")), width))
    if framed and now.pulse is not None:
        head += now_lines(now.pulse, width)[: 3 if height >= _MEDIUM_ROWS else 1]
    if framed and (snapshot is not None or now.pulse is not None):
        head.append(overview.freshness(snapshot or _NO_SNAPSHOT, now.pulse, width))
    foot = [cut(footer(keys(snapshot, cursor), width), width)] if framed else []
    return [cut(text, width) for text in head], foot


def _unjudged(snapshot: Snapshot | None, cursor: Cursor, now: Now, width: int, height: int) -> list[Text]:
    """The body while there is no verdict."""
    if snapshot is None or snapshot.diagnosis is None:
        if cursor.tab is Tab.help:
            lines = page(snapshot or _NO_SNAPSHOT, None, cursor, width, height)
        elif snapshot is None or (now.pulse is not None and not snapshot.failure):
            lines = _waiting("NOT JUDGED YET", "the first verdict is on its way", width)
        else:
            lines = _waiting("NOTHING RECORDED YET", snapshot.failure, width)
    elif cursor.tab is not Tab.overview:
        lines = page(snapshot, None, cursor, width, height)
    elif now.pulse is not None and (now.pulse.loads or now.pulse.last_step):
        lines = _waiting("NOT JUDGED YET", "I/O has begun; the first verdict is on its way", width)
    else:
        unseen = fit([overview.unseen(snapshot.diagnosis, width)], height - 2)
        lines = [*_waiting("WAITING FOR I/O", "no source has measured any yet", width), *unseen]
    return [cut(text, width) for text in lines]


@dataclass(frozen=True, slots=True)
class _Judged:
    """The body below the headline of the verdict; only the headline shows a time. `columns`: where the second and
    third column begin, and their lines from the height of the headline on."""

    below: Sequence[Text]
    columns: Sequence[tuple[int, Sequence[Text]]] = ()

    @property
    def width(self) -> int:
        """The width of the headline. 0: the width of the screen."""
        return self.columns[0][0] if self.columns else 0

    def lines(self, headline: Text) -> list[Text]:
        """The whole body."""
        first = [headline]
        for width, column in self.columns:
            first = columns(first, column, width)
        return [*first, *self.below]


def _judged(
    snapshot: Snapshot, cursor: Cursor, debounced: DebouncedVerdict, now: Now, width: int, height: int
) -> _Judged:
    verdict, diagnosis = debounced.shown, snapshot.diagnosis
    assert verdict is not None and diagnosis is not None, "not judged yet"  # noqa: PT018, S101 - misuse
    shown = OverviewInput(snapshot, diagnosis, verdict, debounced, cursor, now)
    if cursor.tab is not Tab.overview:
        judged = _Judged(page(snapshot, verdict, cursor, width, height - 1))
    elif width < WIDE:
        judged = _Judged(fit(_one_column(shown, width, height), height)[1:])
    else:
        judged = _two_columns(shown, width, height) if width < WIDEST else _three_columns(shown, width, height)
    return replace(judged, below=[cut(text, width) for text in judged.below])


def _headline(snapshot: Snapshot, debounced: DebouncedVerdict, verdict: ShownVerdict, now: Now, width: int) -> Text:
    began = snapshot.taken if snapshot.diagnosis is None else _epoch(snapshot.diagnosis.run.start)
    return verdict_sections.headline(debounced, verdict, now, snapshot.taken - began, width)


@dataclass(frozen=True, slots=True)
class OverviewInput:
    """The input of the overview."""

    snapshot: Snapshot
    diagnosis: Diagnosis
    verdict: ShownVerdict
    debounced: DebouncedVerdict
    cursor: Cursor
    now: Now


def _one_column(shown: OverviewInput, width: int, height: int) -> list[Section]:
    head, fix, overturned, *evidence = _judgement(shown, width)
    blind = overview.blind(shown.diagnosis, width)
    steps = overview.steps(shown.diagnosis.steps, shown.verdict, shown.cursor, width)
    return [head, *evidence[:1], fix, overturned, *evidence[1:], *_measured(shown, width, height), steps, blind]


def _two_columns(shown: OverviewInput, width: int, height: int) -> _Judged:
    right = round(width * _SECOND_SHARE)
    left = width - right - 3
    head, _, overturned, *evidence = _judgement(shown, left)
    first = [head, *evidence[:1], overturned, *evidence[1:], *_measured(shown, left, height)]
    first += [
        overview.steps(shown.diagnosis.steps, shown.verdict, shown.cursor, left),
        overview.sources(shown.snapshot, shown.diagnosis, left),
    ]
    actions = fit(_actions(shown.diagnosis, right), height)
    return _Judged(columns(fit(first, height), actions, left)[1:], [(left, actions[:1])])


def _three_columns(shown: OverviewInput, width: int, height: int) -> _Judged:
    right = round(width * _THIRD_SHARE)
    left = (width - right - 6) * 48 // 100
    midpoint = width - right - 6 - left
    head, _, overturned, *evidence = _judgement(shown, left)
    first = [head, *evidence[:1], overturned, *evidence[1:], *_charts(shown, left, height)]
    second = [
        elements(shown.snapshot, shown.diagnosis, shown.verdict, shown.cursor, midpoint),
        overview.steps(shown.diagnosis.steps, shown.verdict, shown.cursor, midpoint),
        overview.sources(shown.snapshot, shown.diagnosis, midpoint),
    ]
    measured, actions = fit(second, height), fit(_actions(shown.diagnosis, right), height)
    below = columns(columns(fit(first, height), measured, left), actions, left + 3 + midpoint)[1:]
    return _Judged(below, [(left, measured[:1]), (left + 3 + midpoint, actions[:1])])


def _judgement(shown: OverviewInput, width: int) -> list[Section]:
    """The verdict, the first action, what would overturn it, the evidence, and the latency budget."""
    headline = _headline(shown.snapshot, shown.debounced, shown.verdict, shown.now, width)
    lines = [headline, *verdict_sections.limits(shown.verdict, width)]
    change = verdict_sections.changed(shown.debounced, shown.verdict, width) if shown.now.changed else []
    return [
        Section(1, len(lines), lines),
        Section(7, 1, verdict_sections.remedy(shown.diagnosis, width), heading=0),
        Section(9, 1, verdict_sections.overturned_by(shown.verdict, width), heading=0),
        Section(2, 1, verdict_sections.evidence(shown.verdict, width), heading=0),
        Section(2, len(change), change),
        overview.budget(shown.diagnosis, shown.verdict, shown.cursor, width),
    ]


def _measured(shown: OverviewInput, width: int, height: int) -> list[Section]:
    return [
        *_charts(shown, width, height),
        elements(shown.snapshot, shown.diagnosis, shown.verdict, shown.cursor, width),
    ]


def _charts(shown: OverviewInput, width: int, height: int) -> list[Section]:
    budgets = words.budgets_of(shown.diagnosis, shown.verdict.step.name)
    busiest = budgets[0].direction if budgets else next(iter(shown.verdict.step.directions), None)
    direction: Direction = shown.cursor.direction or ("write" if busiest == "write" else "read")
    marks = [(_epoch(mark.at), mark.text) for mark in shown.diagnosis.marks]
    if shown.snapshot.series is None:
        return []
    rows = _HIGH_CHART_ROWS if height >= _HIGH_ROWS else 1
    chart = Chart(shown.snapshot.series, shown.verdict.step, direction, marks, shown.snapshot.ended, rows)
    return [over_time(chart, width), foot(chart, width)]


def _actions(diagnosis: Diagnosis, width: int) -> list[Section]:
    return [
        overview.do_next(diagnosis, width),
        overview.next_limit(diagnosis, width),
        overview.findings(diagnosis, width),
        overview.unseen(diagnosis, width, rank=3),
        _so_far(diagnosis, width),
    ]


def _so_far(diagnosis: Diagnosis, width: int) -> Section:
    head = f"the run so far, from step {diagnosis.verdict.from_step}"
    return Section(5, 2, [title(head, width), *bullet(words.sentence(diagnosis.verdict.headline), width)])


def _waiting(heading: str, reason: str, width: int) -> list[Text]:
    return [line((heading, "bold")), *wrapped("", reason, width)]


def _header(snapshot: Snapshot | None, cursor: Cursor, now: Now, width: int) -> Text:
    text = line(("sanpath", "bold"), "  ")
    if snapshot is None or snapshot.diagnosis is None:
        if now.pulse is None:
            return text.append("starting")
        text.append_text(_running(now.pulse.elapsed_seconds, cursor))
        return cut(text.append_text(step_now(now.pulse)), width)
    text.append_text(_state(snapshot, snapshot.diagnosis, cursor, now))
    step = next(reversed(snapshot.diagnosis.steps), None)
    windows = step.windows_used if step is not None else 0
    if now.pulse is not None:
        text.append_text(step_now(now.pulse))
        windows = windows if step is not None and step.name == now.pulse.step else 0
    elif step is not None and step.origin == "marks" and not snapshot.ended:
        text.append_text(line(f"  step {step.name}  {words.elapsed(snapshot.taken - _epoch(step.start))}"))
    marked = step is not None and step.origin == "marks" and (now.pulse is None or bool(now.pulse.step))
    if marked and not snapshot.ended and windows < JUDGED_WINDOWS:
        text.append_text(line((f"  MEASURING {windows} of {JUDGED_WINDOWS} windows", "yellow")))
    cost = f"  judged in {snapshot.cost_seconds:.1f} s" if width >= WIDE else ""
    if snapshot.failure:
        text.append_text(line((f"  not judged now: {snapshot.failure}", "red")))
    text.append_text(line((f"{cost}  {_command(snapshot.command)}", "dim")))
    return cut(text, width)


def _command(command: Sequence[str]) -> str:
    return " ".join((PurePath(command[0]).name, *command[1:])) if command else ""


def _running(elapsed_seconds: float, cursor: Cursor) -> Text:
    elapsed = words.elapsed(elapsed_seconds)
    if cursor.paused:
        return line(("PAUSED", "bold yellow"), f" at {elapsed}")
    return line(("RUNNING", "bold green"), f" {elapsed}")


def _state(snapshot: Snapshot, diagnosis: Diagnosis, cursor: Cursor, now: Now) -> Text:
    started, run = _epoch(diagnosis.run.start), diagnosis.run
    if snapshot.ended:
        code = f", load failed with exit code {run.load_exit_code}" if run.load_exit_code else ""
        return line(("ENDED", "bold"), f" after {words.elapsed(_epoch(run.end) - started)}{code}")
    if snapshot.silent:
        since = datetime.fromtimestamp(snapshot.newest, UTC).isoformat(timespec="seconds")
        return line(("SILENT", "bold red"), f" since {since}: its recorder is no longer running")
    return _running(snapshot.taken - started if now.pulse is None else now.pulse.elapsed_seconds, cursor)


def _epoch(iso_time: str) -> float:
    return datetime.fromisoformat(iso_time).timestamp()
