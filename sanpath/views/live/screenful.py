"""A screenful: everything that is shown, as a pure function of look, cursor, verdict and size."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import PurePath

from rich.text import Text

from sanpath.verdict.model import Diagnosis
from sanpath.views.live import overview, verdict
from sanpath.views.live.cursor import Cursor, Tab
from sanpath.views.live.layout import NARROW, Section, beside, bullet, cut, fit, line, title, wrapped
from sanpath.views.live.look import Look
from sanpath.views.live.pages import page
from sanpath.views.live.steady import Steady, Told

WIDE = 110
"""From so many columns on there is a second column."""
_SECOND = 0.36
"""Its share of the width."""
_LOW = 8
"""Below so many rows everything gives way to the verdict."""


def screenful(look: Look | None, cursor: Cursor, steady: Steady, width: int, height: int) -> list[Text]:
    """At most `height` lines, none wider than `width`."""
    framed = height >= _LOW and width >= NARROW
    head = [_header(look, cursor, width)] if framed else []
    if framed and look is not None:
        head.append(overview.freshness(look, width))
    room = height - len(head) - (1 if framed else 0)
    lines = [*head, *_body(look, cursor, steady, width, room)]
    if framed:
        lines += [Text()] * (height - 1 - len(lines)) + [_keys(cursor, width)]
    return [cut(text, width) for text in lines[:height]]


def _body(look: Look | None, cursor: Cursor, steady: Steady, width: int, height: int) -> list[Text]:
    if look is None or look.diagnosis is None:
        return _waiting("NOTHING RECORDED YET", look.failure if look else "", width)
    told = steady.shown
    above = [verdict.headline(steady, told, width)] if told is not None else []
    if cursor.tab is not Tab.overview:
        return [*above, *page(look, told, cursor, width, height - len(above))]
    if told is None:
        unseen = fit([overview.unseen(look.diagnosis, width)], height - 2)
        return [*_waiting("WAITING FOR I/O", "no source has seen any yet", width), *unseen]
    if width < WIDE:
        return fit(_narrow(look.diagnosis, told, steady, cursor, width), height)
    right = round(width * _SECOND)
    left = width - right - 3
    sections = [
        *_first_column(look.diagnosis, told, steady, cursor, left),
        overview.sources(look, look.diagnosis, left),
    ]
    first = fit(sections, height)
    return beside(first, fit(_second_column(look.diagnosis, right), height), left)


def _narrow(diagnosis: Diagnosis, told: Told, steady: Steady, cursor: Cursor, width: int) -> list[Section]:
    verdict_and_reasons, *others = _first_column(diagnosis, told, steady, cursor, width)
    fix = Section(7, 1, verdict.remedy(diagnosis, width), heading=0)
    return [verdict_and_reasons, fix, *others, overview.unseen(diagnosis, width)]


def _first_column(diagnosis: Diagnosis, told: Told, steady: Steady, cursor: Cursor, width: int) -> list[Section]:
    said = [verdict.headline(steady, told, width), *verdict.reasons(told, width)]
    return [
        Section(1, len(said), said),
        Section(8, 1, verdict.overturned_by(told, width), heading=0),
        overview.budget(diagnosis, told, cursor, width),
        overview.elements(diagnosis, told, width),
        overview.steps(diagnosis.steps, told, cursor, width),
    ]


def _second_column(diagnosis: Diagnosis, width: int) -> list[Section]:
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


def _header(look: Look | None, cursor: Cursor, width: int) -> Text:
    text = line(("sanpath", "bold"), "  ")
    if look is None or look.diagnosis is None:
        return text.append("starting")
    text.append_text(_state(look, look.diagnosis, cursor))
    step = next(reversed(look.diagnosis.steps), None)
    if step is not None and step.origin == "marks" and not look.ended:
        text.append_text(line(f"  step {step.name}  {_clock(look.taken - _epoch(step.start))}"))
    cost = f"  judged in {look.cost_seconds:.1f} s" if width >= WIDE else ""
    if look.failure:
        text.append_text(line((f"  not judged now: {look.failure}", "red")))
    text.append_text(line((f"{cost}  {_command(look.command)}", "dim")))
    return cut(text, width)


def _command(command: Sequence[str]) -> str:
    return " ".join((PurePath(command[0]).name, *command[1:])) if command else ""


def _state(look: Look, diagnosis: Diagnosis, cursor: Cursor) -> Text:
    started, run = _epoch(diagnosis.run.start), diagnosis.run
    if look.ended:
        code = f", load failed with exit code {run.load_exit_code}" if run.load_exit_code else ""
        return line(("ENDED", "bold"), f" after {_clock(_epoch(run.end) - started)}{code}")
    elapsed = _clock(look.taken - started)
    if look.silent:
        since = datetime.fromtimestamp(look.newest, UTC).isoformat(timespec="seconds")
        return line(("SILENT", "bold red"), f" since {since}: its recorder has gone")
    if cursor.paused:
        return line(("PAUSED", "bold yellow"), f" at {elapsed}")
    return line(("RUNNING", "bold green"), f" {elapsed}")


def _keys(cursor: Cursor, width: int) -> Text:
    words = (
        ("q", "quit", False),
        ("p", "go on" if cursor.paused else "pause", cursor.paused),
        ("s", "steps", cursor.tab is Tab.steps),
        ("f", "findings", cursor.tab is Tab.findings),
        ("o", "sources", cursor.tab is Tab.sources),
        ("d", f"direction: {cursor.direction or 'both'}", cursor.direction is not None),
        ("?", "help", cursor.tab is Tab.help),
    )
    text = Text(no_wrap=True)
    for key, meaning, on in words:
        text.append(f" {key} ", "bold").append(f"{meaning} ", "reverse" if on else "dim")
    return cut(text, width)


def _epoch(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
