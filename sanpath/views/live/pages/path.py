"""The page of the path: every stop of the test's I/O from load to media, and all facts of the chosen stop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from sanpath.topology.names import named, noun
from sanpath.units import bandwidth, duration, percent
from sanpath.views import cells, words
from sanpath.views.live.charts import trend
from sanpath.views.live.layout import ROLE_LABELS, cut, line, title, wrapped

if TYPE_CHECKING:
    from sanpath.diagnosis.model import Diagnosis
    from sanpath.topology.load_path import Stop
    from sanpath.views.live.cursor import Cursor
    from sanpath.views.live.reading.shown_verdict import ShownVerdict
    from sanpath.views.live.reading.snapshot import Snapshot

_KIND, _TREND = 14, 12
"""Widths of two columns, in characters."""
_SHARE = 0.5
"""Share of the page for the stops; the details of the chosen stop take the rest."""


def stops(snapshot: Snapshot, cursor: Cursor) -> list[Stop]:
    """The stops that pass the filter of the cursor."""
    return [stop for stop in snapshot.io_path if cursor.matches(words.short(stop.entity), _noun(stop))]


def path(
    snapshot: Snapshot, diagnosis: Diagnosis, verdict: ShownVerdict | None, cursor: Cursor, width: int, height: int
) -> list[Text]:
    """The stops around the chosen one, and its details below."""
    shown = stops(snapshot, cursor)
    if not shown:
        return [title("path", width), line("no source reports the path of the I/O")]
    chosen = min(cursor.offset, len(shown) - 1)
    room = max(1, min(len(shown), round((height - 2) * _SHARE)))
    first = max(0, min(chosen - room // 2, len(shown) - room))
    head = f"path from load to media, {chosen + 1} of {len(shown)}: up and down choose"
    lines = [title(head, width)]
    for number, stop in enumerate(shown[first : first + room], start=first):
        lines.append(_row(snapshot, diagnosis, verdict, stop, number == chosen, width))
    lines.append(title(_name(shown[chosen]), width))
    details = list(_details(diagnosis, verdict, shown[chosen], cursor, width))
    lines += details or wrapped("", "no source reports more about it", width)
    return lines[:height]


def _name(stop: Stop) -> str:
    return named(_noun(stop), words.short(stop.entity)) if stop.entity else _noun(stop)


def _noun(stop: Stop) -> str:
    return noun(stop.entity or f"{stop.kind}:")


def _row(
    snapshot: Snapshot, diagnosis: Diagnosis, verdict: ShownVerdict | None, stop: Stop, chosen: bool, width: int
) -> Text:
    name = max(10, min(36, width // 3))
    text = line(("► " if chosen else "  ", "bold"), (f"{_noun(stop):<{_KIND}}", "dim"))
    text.append_text(cut(line((words.short(stop.entity) or "-", "bold" if chosen else "")), name))
    text.append(" " * max(1, 2 + _KIND + name + 1 - text.cell_len))
    if verdict is None or not stop.entity:
        return cut(
            text.append_text(line(("" if stop.entity else "not measured: no source reports one", "yellow"))), width
        )
    states = _states(diagnosis, verdict, stop.entity)
    used = [u for u in diagnosis.elements if (u.step, u.entity) == (verdict.step.name, stop.entity)]
    busy = [u for u in used if (u.utilisation or 0.0) >= cells.MIN_UTILISATION]
    states += [("idle", "dim")] if not busy and any(u.utilisation is not None for u in used) else []
    for use in busy:
        recent = trend(snapshot.series, use.entity, use.direction, _TREND).strip()
        states.append((f"{use.direction} {percent(use.utilisation or 0.0)} {recent}", "cyan"))
    for state in states:
        text.append_text(line(state, "  "))
    return cut(text, width)


def _states(diagnosis: Diagnosis, verdict: ShownVerdict, entity: str) -> list[tuple[str, str]]:
    """(text, style) of each state of an element: the verdict on it, and its share of the latency."""
    states = []
    if any(entity in b.elements for b in verdict.bottlenecks):
        states.append(("LIMITS", "bold red"))
    if any(entity == b.culprit for b in verdict.bottlenecks):
        states.append(("CULPRIT", "bold red"))
    if delay := _delay(diagnosis, verdict, entity):
        is_queue = any(entity == b.wait_at for b in verdict.bottlenecks)
        states.append((f"{'I/Os QUEUE HERE' if is_queue else 'takes'} {delay}", "bold" if is_queue else ""))
    if any(entity == c.entity for c in diagnosis.cleared):
        states.append(("cleared", "green"))
    return states


def _delay(diagnosis: Diagnosis, verdict: ShownVerdict, entity: str) -> str:
    """The time that I/Os spend at an element, for each direction."""
    times = []
    for budget in words.budgets_of(diagnosis, verdict.step.name):
        seconds = sum(words.midpoint(part.seconds) for part in budget.parts if part.entity == entity)
        if seconds > 0:
            times.append(f"{duration(seconds)} of {budget.direction}")
    return ", ".join(times)


def _details(
    diagnosis: Diagnosis, verdict: ShownVerdict | None, stop: Stop, cursor: Cursor, width: int
) -> Iterator[Text]:
    entity = stop.entity
    for b in verdict.bottlenecks if verdict is not None else ():
        if entity in (*b.elements, b.wait_at, b.culprit):
            for sentence in b.because:
                yield from wrapped("verdict", words.sentence(f"{b.direction}: {sentence}"), width)
    for budget in words.budgets_of(diagnosis, verdict.step.name) if verdict is not None else ():
        for part in budget.parts:
            if part.entity == entity:
                share = words.share_text(words.midpoint(part.seconds), budget.total_seconds)
                yield from wrapped("waits", f"{share} of {budget.direction}: {words.part_text(part)}", width)
    for cleared in diagnosis.cleared:
        if cleared.entity == entity:
            yield from wrapped("cleared", words.cleared_text(cleared), width)
    for finding in words.hits(diagnosis):
        if entity in finding.entity.split(" > "):
            yield from wrapped(ROLE_LABELS[finding.role].lower(), f"{finding.rule}: {finding.summary}", width)
    order = [step.name for step in diagnosis.steps]
    for use in sorted(diagnosis.elements, key=lambda u: (order.index(u.step), u.direction)):
        if use.entity == entity and cursor.direction in (None, use.direction) and use.utilisation is not None:
            counted = bandwidth(use.bytes_per_second) if use.bytes_per_second is not None else "not counted"
            yield from wrapped(
                "use", f"step {use.step}, {use.direction}: {percent(use.utilisation)}, {counted}, {use.speed}", width
            )
