"""What rich renders, as plain text."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType


def as_lines(*parts: RenderableType, width: int | None = None, colour: bool = False) -> str:
    """The parts below each other, without spaces at the ends of lines. `width`: columns, None for the terminal's."""
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=colour, highlight=False, markup=False)
    for part in parts:
        console.print(part)
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())
