"""The elements of the loaded path: how busy each is, how that went at last, and what the verdict says of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.text import Text

from sanpath.verdict.model import Diagnosis, ElementUse
from sanpath.verdict.units import bandwidth, percent
from sanpath.views import words
from sanpath.views.live.charts import trend
from sanpath.views.live.cursor import Cursor, Order
from sanpath.views.live.layout import Section, cut, line, title
from sanpath.views.live.reading.shown_verdict import Told
from sanpath.views.live.reading.snapshot import Look

_NAME = 32
"""Columns of an element's name, where the screen has so many."""


@dataclass(frozen=True, slots=True)
class Row:
    """An element in one direction. `busy` None: not known."""

    entity: str
    direction: str
    busy: float | None
    says: str
    limits: bool


def rows(look: Look, diagnosis: Diagnosis, told: Told, cursor: Cursor) -> list[Row]:
    """The elements of the loaded path and those that limit, as the cursor orders and filters them."""
    found = {(row.entity, row.direction): row for row in _used(diagnosis, told, cursor)}
    for row in _limiting(told):
        # What the verdict names is named, also where no link has its name: a queue, an array.
        found.setdefault((row.entity, row.direction), row)
    wanted = [row for row in found.values() if cursor.wants(words.short(row.entity), row.says)]
    place = {stop.entity: number for number, stop in enumerate(look.way)}
    match cursor.order:
        case Order.name:
            return sorted(wanted, key=lambda r: (words.short(r.entity), r.direction))
        case Order.path:
            return sorted(wanted, key=lambda r: (place.get(r.entity, len(place)), r.direction))
        case Order.busy:
            return sorted(wanted, key=lambda r: (not r.limits, -(r.busy or 0.0), words.short(r.entity)))


def _used(diagnosis: Diagnosis, told: Told, cursor: Cursor) -> Iterator[Row]:
    limiting = {(e, b.direction) for b in told.bottlenecks for e in (b.entity, *b.coincident)}
    culprits = {b.culprit for b in told.bottlenecks if b.culprit}
    for use in diagnosis.elements:
        if use.step != told.step.name or cursor.direction not in (None, use.direction):
            continue
        limits = (use.entity, use.direction) in limiting or use.entity in culprits
        if use.on_loaded_path is False and not limits and not cursor.filter:
            continue
        if use.utilisation is not None and use.utilisation < words.WORTH_A_ROW and not cursor.filter:
            continue
        yield Row(use.entity, use.direction, use.utilisation, _says(use, limits, use.entity in culprits), limits)


def _limiting(told: Told) -> Iterator[Row]:
    for b in told.bottlenecks:
        carries = f", carries at most {bandwidth(b.ceiling_bytes_per_second)}" if b.ceiling_bytes_per_second else ""
        yield Row(b.entity, b.direction, b.utilisation, f"LIMITS{carries}", limits=True)
        for other in b.coincident:
            yield Row(other, b.direction, None, "LIMITS too: relieve both or nothing moves", limits=True)


def _says(use: ElementUse, limits: bool, culprit: bool) -> str:
    """Whether it limits, and whether others use it."""
    said = ["CULPRIT" if culprit else "LIMITS"] if limits else []
    if use.on_loaded_path is not True:
        said.append("not on the path" if use.on_loaded_path is False else "perhaps not on the path")
    said += [use.speed] if use.speed else []
    said += [bandwidth(use.bytes_per_second)] if use.bytes_per_second is not None else []
    if use.foreign_bytes_per_second:
        said.append(f"others {bandwidth(use.foreign_bytes_per_second)}")
    return " ".join(said)


def elements(look: Look, diagnosis: Diagnosis, told: Told, cursor: Cursor, width: int) -> Section:
    """The busiest elements of the loaded path, and then what is cleared."""
    bar = max(5, min(20, (width - 62) // 3))
    name = max(8, min(_NAME, width // 3))
    found = rows(look, diagnosis, told, cursor)
    head = f"loaded path, {cursor.order.value}{f', only {cursor.filter!r}' if cursor.filter else ''}"
    lines = [title(head, width), *(_drawn(look, row, name, bar, width) for row in found)]
    first = len(lines)
    for cleared in diagnosis.cleared:
        if cursor.wants(words.short(cleared.entity), "cleared"):
            limits = words.up_to(dict(cleared.up_to))
            up_to = f" up to {limits}: " if any(cleared.up_to.values()) else ": "
            lines.append(_named(cleared.entity, name, ("cleared", "green"), f"{up_to}{cleared.because}"))
    return Section(5, min(3, first), [cut(text, width) for text in lines] if len(lines) > 1 else ())


def _drawn(look: Look, row: Row, name: int, bar: int, width: int) -> Text:
    busy = "?" if row.busy is None else percent(row.busy)
    filled = f"{words.bar(row.busy or 0.0, bar):<{bar}} "
    style = "red" if row.limits else "cyan"
    was = trend(look.series, row.entity, row.direction, bar + 3) if width >= 60 else ""
    return _named(
        row.entity,
        name,
        f"{row.direction:<6}{busy:>7} ",
        (filled, style),
        (f"{was} ", style),
        (row.says, _weight(row)),
    )


def _weight(row: Row) -> str:
    return "bold red" if row.limits else "dim"


def _named(entity: str, width: int, *parts: str | tuple[str, str]) -> Text:
    text = cut(line(words.short(entity)), width)
    text.append(" " * (width - text.cell_len + 1))
    return text.append_text(line(*parts))
