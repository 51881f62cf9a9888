"""The page of the path: every stop of the test's I/O from load to media, and all that is known of the chosen one."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from sanpath.verdict.model import Diagnosis
from sanpath.verdict.units import bandwidth, duration, percent
from sanpath.views import words
from sanpath.views.live.charts import trend
from sanpath.views.live.cursor import Cursor
from sanpath.views.live.layout import cut, line, title, wrapped
from sanpath.views.live.reading.io_path import Stop
from sanpath.views.live.reading.shown_verdict import Told
from sanpath.views.live.reading.snapshot import Look

_KIND, _TREND = 12, 12
_SHARE = 0.5
"""Of the page that the stops may take where what is known of one needs the rest."""


def stops(look: Look, cursor: Cursor) -> list[Stop]:
    """The stops that the cursor can choose."""
    return [stop for stop in look.way if cursor.wants(words.short(stop.entity), stop.kind.replace("_", " "))]


def path(look: Look, diagnosis: Diagnosis, told: Told | None, cursor: Cursor, width: int, height: int) -> list[Text]:
    """The stops around the chosen one, and below them what is known of it."""
    shown = stops(look, cursor)
    if not shown:
        return [title("path", width), line("no source says which way the I/O takes")]
    chosen = min(cursor.offset, len(shown) - 1)
    room = max(1, min(len(shown), round((height - 2) * _SHARE)))
    first = max(0, min(chosen - room // 2, len(shown) - room))
    head = f"path from load to media, {chosen + 1} of {len(shown)}: up and down choose"
    lines = [title(head, width)]
    for number, stop in enumerate(shown[first : first + room], start=first):
        lines.append(_row(look, diagnosis, told, stop, number == chosen, width))
    lines.append(title(_name(shown[chosen]), width))
    known = list(_known(diagnosis, told, shown[chosen], cursor, width))
    lines += known or wrapped("", "nothing more is known of it", width)
    return lines[:height]


def _name(stop: Stop) -> str:
    return f"{stop.kind.replace('_', ' ')} {words.short(stop.entity)}" if stop.entity else stop.kind.replace("_", " ")


def _row(look: Look, diagnosis: Diagnosis, told: Told | None, stop: Stop, chosen: bool, width: int) -> Text:
    name = max(10, min(36, width // 3))
    text = line(("► " if chosen else "  ", "bold"), (f"{stop.kind.replace('_', ' '):<{_KIND}}", "dim"))
    text.append_text(cut(line((words.short(stop.entity) or "-", "bold" if chosen else "")), name))
    text.append(" " * max(1, 2 + _KIND + name + 1 - text.cell_len))
    if told is None or not stop.entity:
        return cut(text.append_text(line(("" if stop.entity else "not seen: no source names one", "yellow"))), width)
    said = _states(diagnosis, told, stop.entity)
    used = [u for u in diagnosis.elements if (u.step, u.entity) == (told.step.name, stop.entity)]
    busy = [u for u in used if (u.utilisation or 0.0) >= words.WORTH_A_ROW]
    said += [("idle", "dim")] if used and not busy else []
    for use in busy:
        was = trend(look.series, use.entity, use.direction, _TREND).strip()
        said.append((f"{use.direction} {percent(use.utilisation or 0.0)} {was}", "cyan"))
    for state in said:
        text.append_text(line(state, "  "))
    return cut(text, width)


def _states(diagnosis: Diagnosis, told: Told, entity: str) -> list[tuple[str, str]]:
    """What the verdict says of an element, and what of the latency passes there; with how it is drawn."""
    said = []
    if any(entity in (b.entity, *b.coincident) for b in told.bottlenecks):
        said.append(("LIMITS", "bold red"))
    if any(entity == b.culprit for b in told.bottlenecks):
        said.append(("CULPRIT", "bold red"))
    if waits := _waits(diagnosis, told, entity):
        held = any(entity == b.wait_at for b in told.bottlenecks)
        said.append((f"{'I/O WAITS HERE' if held else 'takes'} {waits}", "bold" if held else ""))
    if any(entity == c.entity for c in diagnosis.cleared):
        said.append(("cleared", "green"))
    return said


def _waits(diagnosis: Diagnosis, told: Told, entity: str) -> str:
    """What of the latency passes at an element, of each direction."""
    said = []
    for budget in words.budgets_of(diagnosis, told.step.name):
        seconds = sum(words.middle(part.seconds) for part in budget.parts if part.entity == entity)
        if seconds > 0:
            said.append(f"{duration(seconds)} of {budget.direction}")
    return ", ".join(said)


def _known(diagnosis: Diagnosis, told: Told | None, stop: Stop, cursor: Cursor, width: int) -> Iterator[Text]:
    entity = stop.entity
    for b in told.bottlenecks if told is not None else ():
        if entity in (b.entity, *b.coincident, b.wait_at, b.culprit):
            for sentence in b.because:
                yield from wrapped("verdict", f"{b.direction}: {sentence}", width)
    for budget in words.budgets_of(diagnosis, told.step.name) if told is not None else ():
        for part in budget.parts:
            if part.entity == entity:
                share = words.share_text(words.middle(part.seconds), budget.total_seconds)
                yield from wrapped("waits", f"{share} of {budget.direction}: {words.part_text(part)}", width)
    for cleared in diagnosis.cleared:
        if cleared.entity == entity:
            yield from wrapped("cleared", words.cleared_text(cleared), width)
    for finding in words.hits(diagnosis):
        if entity in finding.entity.split(" > "):
            yield from wrapped(finding.role[:7], f"{finding.rule}: {finding.summary}", width)
    order = [step.name for step in diagnosis.steps]
    for use in sorted(diagnosis.elements, key=lambda u: (order.index(u.step), u.direction)):
        if use.entity == entity and cursor.direction in (None, use.direction) and use.utilisation is not None:
            counted = bandwidth(use.bytes_per_second) if use.bytes_per_second is not None else "not counted"
            yield from wrapped(
                "use", f"step {use.step}, {use.direction}: {percent(use.utilisation)}, {counted}, {use.speed}", width
            )
