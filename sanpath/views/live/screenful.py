"""A screenful: everything that is shown, as a pure function of look, cursor, verdict and size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath

from rich.text import Text

from sanpath.model import Direction
from sanpath.verdict.model import Diagnosis
from sanpath.views import words
from sanpath.views.live.charts import Chart, foot, over_time
from sanpath.views.live.cursor import Cursor, Tab
from sanpath.views.live.footer import footer, keys
from sanpath.views.live.layout import NARROW, Section, beside, bullet, cut, fit, line, title, wrapped
from sanpath.views.live.pages import overview, verdict
from sanpath.views.live.pages.elements import elements
from sanpath.views.live.pages.lists import page
from sanpath.views.live.pages.now import Now, now_lines, step_now
from sanpath.views.live.reading.shown_verdict import JUDGED_WINDOWS, Steady, Told
from sanpath.views.live.reading.snapshot import Look

WIDE = 110
"""From so many columns on there is a second column."""
WIDEST = 190
"""And from so many a third one."""
_NOTHING = Look(0.0, None)
_SECOND = 0.36
"""The share of the last column of two, or of three."""
_THIRD = 0.25
_LOW = 8
"""Below so many rows everything gives way to the verdict."""
_MIDDLE = 16
"""Below so many rows the busiest links do."""
_HIGH = 40
"""From so many rows on, charts are higher."""
_HIGHER = 3


def screenful(
    look: Look | None, cursor: Cursor, steady: Steady, width: int, height: int, now: Now | None = None
) -> list[Text]:
    """At most `height` lines, none wider than `width`."""
    now = now or Now()
    framed = height >= _LOW and width >= NARROW
    head = [_header(look, cursor, now, width)] if framed else []
    if now.hint and height >= _MIDDLE and framed:
        head.append(cut(line((now.hint, "italic")), width))
    if framed and now.pulse is not None:
        head += now_lines(now.pulse, width)[: 2 if height >= _MIDDLE else 1]
    if framed and (look is not None or now.pulse is not None):
        head.append(overview.freshness(look or _NOTHING, now.pulse, width))
    room = height - len(head) - (1 if framed else 0)
    lines = [*head, *_body(look, cursor, steady, now, width, room)]
    if framed:
        lines += [Text()] * (height - 1 - len(lines)) + [footer(keys(look, cursor), width)]
    return [cut(text, width) for text in lines[:height]]


def _body(look: Look | None, cursor: Cursor, steady: Steady, now: Now, width: int, height: int) -> list[Text]:
    if look is None or look.diagnosis is None:
        if cursor.tab is Tab.help:
            return page(look or _NOTHING, None, cursor, width, height)
        if look is None or (now.pulse is not None and not look.failure):
            return _waiting("NOT JUDGED YET", "the first verdict is on its way", width)
        return _waiting("NOTHING RECORDED YET", look.failure if look else "", width)
    told = steady.shown
    above = [verdict.headline(steady, told, now, _at(look), width)] if told is not None else []
    if cursor.tab is not Tab.overview:
        return [*above, *page(look, told, cursor, width, height - len(above))]
    if told is None:
        unseen = fit([overview.unseen(look.diagnosis, width)], height - 2)
        return [*_waiting("WAITING FOR I/O", "no source has seen any yet", width), *unseen]
    shown = Shown(look, look.diagnosis, told, steady, cursor, now)
    if width < WIDE:
        return fit(_narrow(shown, width, height), height)
    return _wide(shown, width, height) if width < WIDEST else _widest(shown, width, height)


@dataclass(frozen=True, slots=True)
class Shown:
    """All that the overview is made of."""

    look: Look
    diagnosis: Diagnosis
    told: Told
    steady: Steady
    cursor: Cursor
    now: Now


def _narrow(shown: Shown, width: int, height: int) -> list[Section]:
    said, fix, overturned, *rest = _judged(shown, width)
    blind = overview.blind(shown.diagnosis, width)
    steps = overview.steps(shown.diagnosis.steps, shown.told, shown.cursor, width)
    return [said, *rest[:1], fix, overturned, *rest[1:], *_measured(shown, width, height), steps, blind]


def _wide(shown: Shown, width: int, height: int) -> list[Text]:
    right = round(width * _SECOND)
    left = width - right - 3
    said, _, overturned, *rest = _judged(shown, left)
    first = [said, *rest[:1], overturned, *rest[1:], *_measured(shown, left, height)]
    first += [
        overview.steps(shown.diagnosis.steps, shown.told, shown.cursor, left),
        overview.sources(shown.look, shown.diagnosis, left),
    ]
    return beside(fit(first, height), fit(_to_do(shown.diagnosis, right), height), left)


def _widest(shown: Shown, width: int, height: int) -> list[Text]:
    right = round(width * _THIRD)
    left = (width - right - 6) * 48 // 100
    middle = width - right - 6 - left
    said, _, overturned, *rest = _judged(shown, left)
    first = [said, *rest[:1], overturned, *rest[1:], *_charts(shown, left, height)]
    second = [
        elements(shown.look, shown.diagnosis, shown.told, shown.cursor, middle),
        overview.steps(shown.diagnosis.steps, shown.told, shown.cursor, middle),
        overview.sources(shown.look, shown.diagnosis, middle),
    ]
    columns = beside(fit(first, height), fit(second, height), left)
    return beside(columns, fit(_to_do(shown.diagnosis, right), height), left + 3 + middle)


def _judged(shown: Shown, width: int) -> list[Section]:
    """The verdict, what to do first, what would overturn it, the evidence, and where the latency goes."""
    headline = verdict.headline(shown.steady, shown.told, shown.now, _at(shown.look), width)
    said = [headline, *verdict.where(shown.told, width)]
    was = verdict.changed(shown.steady, shown.told, width) if shown.now.changed else []
    return [
        Section(1, len(said), said),
        Section(7, 1, verdict.remedy(shown.diagnosis, width), heading=0),
        Section(9, 1, verdict.overturned_by(shown.told, width), heading=0),
        Section(2, 1, verdict.why(shown.told, width), heading=0),
        Section(2, len(was), was),
        overview.budget(shown.diagnosis, shown.told, shown.cursor, width),
    ]


def _measured(shown: Shown, width: int, height: int) -> list[Section]:
    return [
        *_charts(shown, width, height),
        elements(shown.look, shown.diagnosis, shown.told, shown.cursor, width),
    ]


def _charts(shown: Shown, width: int, height: int) -> list[Section]:
    budgets = words.budgets_of(shown.diagnosis, shown.told.step.name)
    busiest = budgets[0].direction if budgets else next(iter(shown.told.step.directions), None)
    direction: Direction = shown.cursor.direction or ("write" if busiest == "write" else "read")
    marks = [(_epoch(mark.at), mark.text) for mark in shown.diagnosis.marks]
    if shown.look.series is None:
        return []
    rows = _HIGHER if height >= _HIGH else 1
    chart = Chart(shown.look.series, shown.told.step, direction, marks, shown.look.ended, rows)
    return [over_time(chart, width), foot(chart, width)]


def _to_do(diagnosis: Diagnosis, width: int) -> list[Section]:
    return [
        overview.do_next(diagnosis, width),
        overview.next_limit(diagnosis, width),
        overview.findings(diagnosis, width),
        overview.unseen(diagnosis, width, rank=3),
        _so_far(diagnosis, width),
    ]


def _so_far(diagnosis: Diagnosis, width: int) -> Section:
    head = f"the run so far, from step {diagnosis.verdict.from_step}"
    return Section(5, 2, [title(head, width), *bullet(diagnosis.verdict.headline, width)])


def _waiting(word: str, why: str, width: int) -> list[Text]:
    return [line((word, "bold")), *wrapped("", why, width)]


def _header(look: Look | None, cursor: Cursor, now: Now, width: int) -> Text:
    text = line(("sanpath", "bold"), "  ")
    if look is None or look.diagnosis is None:
        if now.pulse is None:
            return text.append("starting")
        text.append_text(_running(now.pulse.elapsed_seconds, cursor))
        return cut(text.append_text(step_now(now.pulse)), width)
    text.append_text(_state(look, look.diagnosis, cursor, now))
    step = next(reversed(look.diagnosis.steps), None)
    windows = step.windows_used if step is not None else 0
    if now.pulse is not None:
        text.append_text(step_now(now.pulse))
        windows = windows if step is not None and step.name == now.pulse.step else 0
    elif step is not None and step.origin == "marks" and not look.ended:
        text.append_text(line(f"  step {step.name}  {words.elapsed(look.taken - _epoch(step.start))}"))
    marked = step is not None and step.origin == "marks" and (now.pulse is None or bool(now.pulse.step))
    if marked and not look.ended and windows < JUDGED_WINDOWS:
        text.append_text(line((f"  MEASURING {windows} of {JUDGED_WINDOWS} windows", "yellow")))
    cost = f"  judged in {look.cost_seconds:.1f} s" if width >= WIDE else ""
    if look.failure:
        text.append_text(line((f"  not judged now: {look.failure}", "red")))
    text.append_text(line((f"{cost}  {_command(look.command)}", "dim")))
    return cut(text, width)


def _command(command: Sequence[str]) -> str:
    return " ".join((PurePath(command[0]).name, *command[1:])) if command else ""


def _at(look: Look) -> float:
    """At how many seconds of the run it was judged."""
    return look.taken - _epoch(look.diagnosis.run.start) if look.diagnosis is not None else 0.0


def _running(elapsed_seconds: float, cursor: Cursor) -> Text:
    elapsed = words.elapsed(elapsed_seconds)
    if cursor.paused:
        return line(("PAUSED", "bold yellow"), f" at {elapsed}")
    return line(("RUNNING", "bold green"), f" {elapsed}")


def _state(look: Look, diagnosis: Diagnosis, cursor: Cursor, now: Now) -> Text:
    started, run = _epoch(diagnosis.run.start), diagnosis.run
    if look.ended:
        code = f", load failed with exit code {run.load_exit_code}" if run.load_exit_code else ""
        return line(("ENDED", "bold"), f" after {words.elapsed(_epoch(run.end) - started)}{code}")
    if look.silent:
        since = datetime.fromtimestamp(look.newest, UTC).isoformat(timespec="seconds")
        return line(("SILENT", "bold red"), f" since {since}: its recorder has gone")
    return _running(look.taken - started if now.pulse is None else now.pulse.elapsed_seconds, cursor)


def _epoch(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
