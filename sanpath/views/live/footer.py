"""The last line: the keys that do something here, and where each stands for who clicks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from sanpath.views.live.cursor import Cursor, Tab
from sanpath.views.live.layout import cut
from sanpath.views.live.reading.snapshot import Look


@dataclass(frozen=True, slots=True)
class Key:
    """A key with what it does, and the action of the application; `on`: whether it is in force."""

    key: str
    meaning: str
    action: str
    on: bool = False

    @property
    def width(self) -> int:
        """Columns on the line."""
        return len(self.key) + len(self.meaning) + 2


def keys(look: Look | None, cursor: Cursor) -> list[Key]:
    """What can be done here and now, the most wanted first."""
    found = look.diagnosis if look is not None else None
    steps = [step for step in found.steps if step.directions] if found is not None else []
    growing, tab = look is None or not look.ended, cursor.tab
    both = any(len(step.directions) > 1 for step in steps) or cursor.direction is not None
    listed = [
        (True, Key("q", "quit", "quit")),
        (True, Key("?", "help", "turn_to('help')", tab is Tab.help)),
        (growing, Key("p", "go on" if cursor.paused else "pause", "pause", cursor.paused)),
        (growing and found is not None, Key("m", "mark", "ask('mark')")),
        (found is not None, Key("t", "path", "turn_to('path')", tab is Tab.path)),
        (bool(steps), Key("s", "steps", "turn_to('steps')", tab is Tab.steps)),
        (found is not None, Key("f", "findings", "turn_to('findings')", tab is Tab.findings)),
        (found is not None, Key("o", "sources", "turn_to('sources')", tab is Tab.sources)),
        (both, Key("d", cursor.direction or "both", "direction", cursor.direction is not None)),
        (
            found is not None and tab not in (Tab.help, Tab.sources),
            Key("/", cursor.filter or "only", "ask('filter')"),
        ),
        (len(steps) > 1 and tab is not Tab.help, Key("n b", "step", "step(1)", cursor.step is not None)),
        (tab is Tab.overview and found is not None, Key("x", "sort", "sort")),
        (tab is not Tab.overview, Key("Esc", "back", "newest")),
    ]
    return [key for works, key in listed if works]


def footer(listed: Sequence[Key], width: int) -> Text:
    """One line of them, as many as there is room for; how to get help stays."""
    text = Text(no_wrap=True)
    for key in _fitting(listed, width):
        text.append(f" {key.key} ", "bold").append(key.meaning, "reverse" if key.on else "dim")
    return cut(text, width)


def at(listed: Sequence[Key], width: int, column: int) -> Key | None:
    """The key that stands at a column. None: none does."""
    end = 0
    for key in _fitting(listed, width):
        end += key.width
        if column < end:
            return key
    return None


def _fitting(listed: Sequence[Key], width: int) -> list[Key]:
    kept = list(listed)
    while sum(key.width for key in kept) > width and len(kept) > 1:
        kept.pop()
    return kept
