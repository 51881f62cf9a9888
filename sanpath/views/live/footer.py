"""The last line: the keys of the page, and their columns for mouse clicks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from sanpath.views.live.cursor import Cursor, Tab
from sanpath.views.live.layout import cut

if TYPE_CHECKING:
    from sanpath.views.live.reading.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Key:
    """A key, its meaning, and the action of the application. `on`: whether it is active."""

    key: str
    meaning: str
    action: str
    on: bool = False

    @property
    def width(self) -> int:
        """Columns that the key takes."""
        return len(self.key) + len(self.meaning) + 2


def keys(snapshot: Snapshot | None, cursor: Cursor) -> list[Key]:
    """The keys that have an effect on this page now, the most important first."""
    diagnosis = snapshot.diagnosis if snapshot is not None else None
    steps = [step for step in diagnosis.steps if step.directions] if diagnosis is not None else []
    growing, tab = snapshot is None or not snapshot.ended, cursor.tab
    both = any(len(step.directions) > 1 for step in steps) or cursor.direction is not None
    candidates = [
        (True, Key("q", "quit", "quit")),
        (True, Key("?", "help", "turn_to('help')", tab is Tab.help)),
        (growing, Key("p", "go on" if cursor.paused else "pause", "pause", cursor.paused)),
        (growing and diagnosis is not None, Key("m", "mark", "ask('mark')")),
        (diagnosis is not None, Key("t", "path", "turn_to('path')", tab is Tab.path)),
        (bool(steps), Key("s", "steps", "turn_to('steps')", tab is Tab.steps)),
        (diagnosis is not None, Key("f", "findings", "turn_to('findings')", tab is Tab.findings)),
        (diagnosis is not None, Key("o", "sources", "turn_to('sources')", tab is Tab.sources)),
        (both, Key("d", cursor.direction or "both", "direction", cursor.direction is not None)),
        (
            diagnosis is not None and tab not in (Tab.help, Tab.sources),
            Key("/", cursor.filter or "only", "ask('filter')"),
        ),
        (len(steps) > 1 and tab is not Tab.help, Key("n b", "step", "step(1)", cursor.step is not None)),
        (tab is Tab.overview and diagnosis is not None, Key("x", "sort", "sort")),
        (tab is not Tab.overview, Key("Esc", "back", "newest")),
    ]
    return [key for is_active, key in candidates if is_active]


def footer(listed: Sequence[Key], width: int) -> Text:
    """A line of keys, as many as fit; the first ones always do."""
    text = Text(no_wrap=True)
    for key in _fitting_keys(listed, width):
        text.append(f" {key.key} ", "bold").append(key.meaning, "reverse" if key.on else "dim")
    return cut(text, width)


def key_at(listed: Sequence[Key], width: int, column: int) -> Key | None:
    """The key at a column. None: there is none."""
    end = 0
    for key in _fitting_keys(listed, width):
        end += key.width
        if column < end:
            return key
    return None


def _fitting_keys(listed: Sequence[Key], width: int) -> list[Key]:
    fitting = list(listed)
    while sum(key.width for key in fitting) > width and len(fitting) > 1:
        fitting.pop()
    return fitting
