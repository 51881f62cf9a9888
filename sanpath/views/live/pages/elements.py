"""The elements of the loaded path: utilisation, its recent trend, and what the verdict says about each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from sanpath.units import bandwidth, percent
from sanpath.views import cells, words
from sanpath.views.live.charts import trend
from sanpath.views.live.cursor import Cursor, Order
from sanpath.views.live.layout import Section, cut, line, title

if TYPE_CHECKING:
    from sanpath.diagnosis.model import Diagnosis, ElementUse
    from sanpath.views.live.reading.shown_verdict import ShownVerdict
    from sanpath.views.live.reading.snapshot import Snapshot

_NAME = 32
"""Columns of an element's name on a wide screen."""


@dataclass(frozen=True, slots=True)
class Row:
    """An element in one direction. `utilisation` None: unknown. `remarks`: the verdict on the element."""

    entity: str
    direction: str
    utilisation: float | None
    remarks: str
    limits: bool


def rows(snapshot: Snapshot, diagnosis: Diagnosis, verdict: ShownVerdict, cursor: Cursor) -> list[Row]:
    """The elements of the loaded path and the limiting ones, ordered and filtered by the cursor."""
    by_key = {(row.entity, row.direction): row for row in _rows_of_links(diagnosis, verdict, cursor)}
    for row in _rows_of_limits(verdict):
        # The verdict may name an element that is not a link, such as a queue or an array.
        by_key.setdefault((row.entity, row.direction), row)
    wanted = [row for row in by_key.values() if cursor.matches(words.short(row.entity), row.remarks)]
    position = {stop.entity: number for number, stop in enumerate(snapshot.io_path)}
    match cursor.order:
        case Order.name:
            return sorted(wanted, key=lambda r: (words.short(r.entity), r.direction))
        case Order.path:
            return sorted(wanted, key=lambda r: (position.get(r.entity, len(position)), r.direction))
        case Order.busy:
            return sorted(wanted, key=lambda r: (not r.limits, -(r.utilisation or 0.0), words.short(r.entity)))


def _rows_of_links(diagnosis: Diagnosis, verdict: ShownVerdict, cursor: Cursor) -> Iterator[Row]:
    limiting = {(e, b.direction) for b in verdict.bottlenecks for e in b.elements}
    culprits = {b.culprit for b in verdict.bottlenecks if b.culprit}
    for use in diagnosis.elements:
        if use.step != verdict.step.name or cursor.direction not in (None, use.direction):
            continue
        limits = (use.entity, use.direction) in limiting or use.entity in culprits
        if use.on_loaded_path is False and not limits and not cursor.filter:
            continue
        if use.utilisation is not None and use.utilisation < cells.MIN_UTILISATION and not cursor.filter:
            continue
        yield Row(use.entity, use.direction, use.utilisation, _remarks(use, limits, use.entity in culprits), limits)


def _rows_of_limits(verdict: ShownVerdict) -> Iterator[Row]:
    for b in verdict.bottlenecks:
        carries = f", carries at most {bandwidth(b.ceiling_bytes_per_second)}" if b.ceiling_bytes_per_second else ""
        yield Row(b.entity, b.direction, b.utilisation, f"LIMITS{carries}", limits=True)
        for entity in b.coincident:
            yield Row(entity, b.direction, None, "LIMITS too: relieve both, or nothing improves", limits=True)


def _remarks(use: ElementUse, limits: bool, culprit: bool) -> str:
    """Whether it limits, its speed and rate, and the bytes that are not the test's."""
    remarks = ["CULPRIT" if culprit else "LIMITS"] if limits else []
    if use.on_loaded_path is not True:
        remarks.append("not on the path" if use.on_loaded_path is False else "perhaps not on the path")
    remarks += [use.speed] if use.speed else []
    remarks += [bandwidth(use.bytes_per_second)] if use.bytes_per_second is not None else []
    if use.foreign_bytes_per_second:
        remarks.append(f"other I/O {bandwidth(use.foreign_bytes_per_second)}")
    return " ".join(remarks)


def elements(snapshot: Snapshot, diagnosis: Diagnosis, verdict: ShownVerdict, cursor: Cursor, width: int) -> Section:
    """The busiest elements of the loaded path, then the cleared ones."""
    bar = max(5, min(20, (width - 62) // 3))
    name = max(8, min(_NAME, width // 3))
    shown = rows(snapshot, diagnosis, verdict, cursor)
    head = f"loaded path, {cursor.order.value}{f', only {cursor.filter!r}' if cursor.filter else ''}"
    lines = [title(head, width), *(_row_text(snapshot, row, name, bar, width) for row in shown)]
    row_count = len(lines)
    for cleared in diagnosis.cleared:
        if cursor.matches(words.short(cleared.entity), "cleared"):
            limits = words.up_to(cleared.up_to)
            up_to = f" up to {limits}: " if any(cleared.up_to.values()) else ": "
            lines.append(_name_text(cleared.entity, name, ("cleared", "green"), f"{up_to}{cleared.because}"))
    return Section(5, min(3, row_count), [cut(text, width) for text in lines] if len(lines) > 1 else ())


def _row_text(snapshot: Snapshot, row: Row, name: int, bar: int, width: int) -> Text:
    utilisation = "?" if row.utilisation is None else percent(row.utilisation)
    filled = f"{words.bar(row.utilisation or 0.0, bar):<{bar}} "
    style = "red" if row.limits else "cyan"
    recent = trend(snapshot.series, row.entity, row.direction, bar + 3) if width >= 60 else ""
    return _name_text(
        row.entity,
        name,
        f"{row.direction:<6}{utilisation:>7} ",
        (filled, style),
        (f"{recent} ", style),
        (row.remarks, "bold red" if row.limits else "dim"),
    )


def _name_text(entity: str, width: int, *segments: str | tuple[str, str]) -> Text:
    text = cut(line(words.short(entity)), width)
    text.append(" " * (width - text.cell_len + 1))
    return text.append_text(line(*segments))
