"""Lines of text, and the choice of lines to leave out when there is not enough room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from sanpath.masking import printable

LABEL = 8
"""Columns of the label before a wrapped text."""
ROLE_LABELS = {
    "cause": "CAUSE",
    "culprit": "CULPRIT",
    "symptom": "SYMPTOM",
    "risk": "RISK",
    "validity": "TEST",
    "data-quality": "DATA",
    "information": "INFO",
}
"""Roles of findings as labels."""
NARROW = 40
"""With fewer columns, the labels before texts are left out."""

_CONSOLE = Console(width=80)
Part = str | tuple[str, str]
"""A text, or (text, style)."""


@dataclass(frozen=True, slots=True)
class Section:
    """Lines that belong together. `rank`: 1 gets room first. `min_rows`: with fewer rows the section is left out.

    `heading`: number of first lines that are always shown. If not all others fit, the last of them are shown with
    `newest`, otherwise the first.
    """

    rank: int
    min_rows: int
    lines: Sequence[Text]
    heading: int = 1
    newest: bool = False


def fit(sections: Sequence[Section], height: int) -> list[Text]:
    """The lines of the sections in their order, at most `height`; room is given by rank."""
    remaining = height
    rows = dict.fromkeys(range(len(sections)), 0)
    by_rank = sorted(rows, key=lambda number: sections[number].rank)
    for position, number in enumerate(by_rank):
        requested = min(sections[number].min_rows, len(sections[number].lines))
        # The first section is the most important one: showing some of its lines is better than none.
        rows[number] = min(requested, remaining) if requested <= remaining or position == 0 else 0
        remaining -= rows[number]
    for number in by_rank:
        if rows[number]:
            added = min(remaining, len(sections[number].lines) - rows[number])
            rows[number] += added
            remaining -= added
    return [text for number, section in enumerate(sections) for text in _cropped(section, rows[number])]


def _cropped(section: Section, rows: int) -> Sequence[Text]:
    if rows >= len(section.lines) or rows <= section.heading:
        return section.lines[:rows]
    shown = rows - section.heading
    head, body = section.lines[: section.heading], section.lines[section.heading :]
    if section.newest:
        return [*head, *body[-shown:]]
    return [*head, *body[: shown - 1], body[shown - 1].copy().append(" …", "dim")]


def columns(left: Sequence[Text], right: Sequence[Text], width: int) -> list[Text]:
    """Two columns, the left one `width` columns wide."""
    joined = []
    for number in range(max(len(left), len(right))):
        text = cut(left[number] if number < len(left) else Text(), width)
        text.append(" " * (width - text.cell_len))
        text.append(" │ ", "dim")
        joined.append(text.append_text(right[number]) if number < len(right) else text)
    return joined


def line(*segments: Part) -> Text:
    """A line from texts, or (text, style). Names come from devices: nothing in them can change the layout."""
    text = Text(no_wrap=True)
    for segment in segments:
        content, style = (segment, "") if isinstance(segment, str) else segment
        text.append(printable(content), style)
    return text


def cut(text: Text, width: int) -> Text:
    """A copy of the text, cut to `width` columns."""
    copy = text.copy()
    copy.truncate(max(0, width), overflow="ellipsis")
    return copy


def wrapped(
    label: str, content: str, width: int, style: str = "", indent: int = LABEL, label_style: str = "dim"
) -> list[Text]:
    """A text after its label, on as many lines as needed."""
    indent = indent if width >= NARROW else 0
    text = Text(printable(content), style)
    lines = list(text.wrap(_CONSOLE, max(1, width - indent))) if content else []
    heads = [label, *[""] * (len(lines) - 1)] if indent else [""] * len(lines)
    labels = (line((f"{head:<{indent}}", label_style)) for head in heads)
    return [before.append_text(row) for before, row in zip(labels, lines, strict=False)]


def bullet(content: str, width: int) -> list[Text]:
    """A text as an item of a list."""
    return wrapped("-", content, width, indent=2)


def title(content: str, width: int) -> Text:
    """The first line of a section."""
    text = cut(line(("─ ", "dim"), (content, "bold"), " "), width)
    return text.append("─" * (width - text.cell_len), "dim")


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[Text]:
    """Cells in columns as wide as needed; the columns in `right` are right-aligned."""
    widths = [max(cell_len(printable(cell)) for cell in column) for column in zip(*rows, strict=True)]
    lines: list[Text] = []
    for row in rows:
        text = line()
        for number, cell in enumerate(row):
            cell_text = printable(cell)
            space = " " * (widths[number] - cell_len(cell_text))
            text.append(f"{space}{cell_text}  " if number in right else f"{cell_text}{space}  ")
        lines.append(text)
    return lines
