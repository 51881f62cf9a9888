"""Tables for a terminal, and plain text rendered by rich."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from sanpath.masking import printable


def as_lines(*parts: RenderableType, width: int | None = None, colour: bool = False) -> str:
    """The parts below each other, without spaces at the ends of lines. `width`: columns, None: the terminal's."""
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=colour, highlight=False, markup=False)
    for part in parts:
        console.print(part)
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def table(header: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int] = (), **options: Any) -> Table:
    """A table without lines; the columns in `right` are right-aligned. `options`: of rich's Table."""
    shown = Table(*header, box=None, **options)
    for number in right:
        shown.columns[number].justify = "right"
    for row in rows:
        shown.add_row(*(Text(printable(cell)) for cell in row))
    return shown
