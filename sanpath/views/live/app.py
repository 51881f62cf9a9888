"""The Textual application: asks for looks, answers keys, and paints the screenful."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Protocol

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input

from sanpath.pulse.model import Pulse
from sanpath.views.live.cursor import Cursor, Tab, next_direction, next_order
from sanpath.views.live.footer import at, keys
from sanpath.views.live.pages.now import Now
from sanpath.views.live.pages.path import stops
from sanpath.views.live.reading.feed import Feed
from sanpath.views.live.reading.shown_verdict import Steady, told_by
from sanpath.views.live.reading.snapshot import Look
from sanpath.views.live.screenful import screenful

_END_SECONDS = 0.2
"""How often the end of the run is asked for."""
PULSE_SECONDS = 1.0
_WHEEL_ROWS = 1
clock = time.monotonic


class Beats(Protocol):
    """Where the screen has its pulse from."""

    async def run(self) -> None:
        """Follow the recording until its end."""

    def pulse(self) -> Pulse | None:
        """What happens now, at once. None: nothing does."""


class LiveView(App[None]):
    """The screen of a run or a recording. It ends with `q`, or when `ended` says so.

    `interrupt`: what Ctrl-C does; None: it leaves, too. `beats`: what happens between two looks; None: nobody knows.
    `hint`: a line below
    the first for who tries it out. Losing this application ends nothing but the picture.
    """

    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False
    AUTO_FOCUS = None  # Keys are the application's until a text is asked for.
    CSS = """
    Canvas { width: 100%; height: 1fr; }
    Input { height: 1; border: none; padding: 0; display: none; }
    Input:focus { border: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit"),
        Binding("ctrl+q", "quit", priority=True),
        Binding("ctrl+c", "interrupt", priority=True),
        Binding("ctrl+z", "suspend_process"),
        Binding("p", "pause"),
        Binding("m", "ask('mark')"),
        Binding("slash", "ask('filter')"),
        Binding("t", "turn_to('path')"),
        Binding("s", "turn_to('steps')"),
        Binding("f", "turn_to('findings')"),
        Binding("o", "turn_to('sources')"),
        Binding("question_mark,h", "turn_to('help')"),
        Binding("d", "direction"),
        Binding("x", "sort"),
        Binding("n", "step(1)"),
        Binding("b", "step(-1)"),
        Binding("up,k", "move(-1)"),
        Binding("down,j", "move(1)"),
        Binding("pageup", "move(-10)"),
        Binding("pagedown,space", "move(10)"),
        Binding("escape", "newest"),
    ]

    def __init__(
        self,
        feed: Feed,
        ended: Callable[[], bool] | None = None,
        interrupt: Callable[[], None] | None = None,
        beats: Beats | None = None,
        hint: str = "",
    ) -> None:
        super().__init__()
        self._feed, self._ended, self._interrupt, self._beats = feed, ended, interrupt, beats
        self._look: Look | None = None
        self._pulse: Pulse | None = None
        self._judged_at, self._hint = 0.0, hint
        self._changed_at: float | None = None
        self._cursor, self._steady = Cursor(), Steady()
        self._going = asyncio.Event()
        self._going.set()

    def compose(self) -> ComposeResult:
        """One widget: a screenful is made as a whole, for the size that there is."""
        yield Canvas(self._painted)
        yield Asked()

    def _painted(self, width: int, height: int) -> list[Text]:
        return screenful(self._look, self._cursor, self._steady, width, height, self._now())

    def _now(self) -> Now:
        now, running = clock(), self._pulse is not None and self._look is not None
        judged = now - self._judged_at if running else None
        changed = now - self._changed_at if self._changed_at is not None else None
        return Now(self._pulse, judged, changed, self._hint)

    def on_mount(self) -> None:
        """Begin to look."""
        self.run_worker(self._watch())
        if self._beats is not None:
            self.run_worker(self._beats.run())
            self.set_interval(PULSE_SECONDS, self._beat)
            self._beat()
        if self._ended is not None:
            self.set_interval(_END_SECONDS, self._leave_at_the_end)

    async def on_unmount(self) -> None:
        """No more looks."""
        await self._feed.close()

    async def _watch(self) -> None:
        while True:
            await self._going.wait()
            look = await self._feed.look()
            if not self._going.is_set():
                continue  # Held still meanwhile: what follows begins with a look of its own.
            self._show(look)
            if look.ended:
                return  # Nothing will change any more.
            await asyncio.sleep(look.pause_seconds)

    def _beat(self) -> None:
        """Show what happens now, whatever the reader is doing."""
        if self._beats is None or self._cursor.paused:
            return
        look = self._look
        over = look is not None and (look.ended or look.silent)
        self._pulse = None if over else self._beats.pulse()
        for canvas in self.query(Canvas):  # None any more while the screen is being left.
            canvas.refresh()

    def _show(self, look: Look) -> None:
        before, said = self._look, self._steady
        if look.diagnosis is None:
            # What was known is still better than nothing.
            self._look = replace(before, failure=look.failure) if before is not None else look
        else:
            self._look = look
            self._judged_at = clock() - max(0.0, time.time() - look.taken)
            if look.ended:
                self._pulse = None
                self._steady = Steady()  # Nothing follows that could confirm the last word.
            if look.ended or before is None or before.newest != look.newest:
                # The same rows judged twice are no second witness.
                self._steady = self._steady.take(told_by(look.diagnosis, self._cursor))
            if self._steady.before is not None and self._steady.before is not said.before:
                self._changed_at = clock()
                self.bell()
        self.query_one(Canvas).refresh()

    def _leave_at_the_end(self) -> None:
        if self._ended is not None and self._ended():
            self.exit()

    def _point(self, cursor: Cursor) -> None:
        """Look elsewhere. Another step or direction is another verdict, not a change of it."""
        if (cursor.step, cursor.direction) != (self._cursor.step, self._cursor.direction) and self._look is not None:
            diagnosis = self._look.diagnosis
            self._steady = Steady().take(told_by(diagnosis, cursor) if diagnosis is not None else None)
        self._cursor = cursor
        self.query_one(Canvas).refresh()

    def action_interrupt(self) -> None:
        """End the run, or leave what is none of ours."""
        if self._interrupt is None:
            self.exit()
        else:
            self._interrupt()

    def action_pause(self) -> None:
        """Hold the screen still, or go on."""
        paused = not self._cursor.paused
        self._point(replace(self._cursor, paused=paused))
        if paused:
            self._going.clear()
        else:
            self._going.set()

    def action_turn_to(self, name: str) -> None:
        """Turn to a page, from that page back to the overview."""
        tab = Tab.overview if self._cursor.tab == name else Tab(name)
        self._point(replace(self._cursor, tab=tab, offset=0))

    def action_direction(self) -> None:
        """Both directions, read only, write only."""
        self._point(replace(self._cursor, direction=next_direction(self._cursor.direction)))

    def action_move(self, rows: int) -> None:
        """Choose a step on their page, scroll on another."""
        if self._cursor.tab is Tab.steps:
            self.action_step(rows)
        elif self._cursor.tab is Tab.path and self._look is not None:
            last = max(0, len(stops(self._look, self._cursor)) - 1)
            self._point(replace(self._cursor, offset=max(0, min(last, self._cursor.offset + rows))))
        elif self._cursor.tab is not Tab.overview:
            self._point(replace(self._cursor, offset=max(0, self._cursor.offset + rows)))

    def action_newest(self) -> None:
        """Back to the overview of the newest step."""
        self._point(replace(self._cursor, tab=Tab.overview, step=None, offset=0, filter=""))

    def action_step(self, steps: int) -> None:
        """The verdict of a later or earlier step."""
        self._point(replace(self._cursor, step=self._step_at(steps)))

    def action_sort(self) -> None:
        """Elements in another order."""
        self._point(replace(self._cursor, order=next_order(self._cursor.order)))

    def action_ask(self, what: str) -> None:
        """Have a text typed: what to filter by, or what to note in the recording."""
        self.query_one(Asked).ask(what)

    async def on_input_submitted(self, submitted: Input.Submitted) -> None:
        """What was typed is done. A mark waits for a look under way, and the screen for neither."""
        asked = self.query_one(Asked)
        what, text = asked.what, submitted.value.strip()
        asked.leave()
        if what == "filter":
            self._point(replace(self._cursor, filter=text, offset=0))
        elif text:
            self.run_worker(self._mark(text))

    async def _mark(self, text: str) -> None:
        failure = await self._feed.mark(text)
        self.notify(failure or f"marked: {text}", severity="error" if failure else "information", markup=False)

    async def on_click(self, event: events.Click) -> None:
        """A key of the last line is pressed."""
        canvas = self.query_one(Canvas)
        if event.screen_y == canvas.size.height - 1:
            key = at(keys(self._look, self._cursor), canvas.size.width, event.screen_x)
            if key is not None:
                await self.run_action(key.action)

    def on_mouse_scroll_down(self) -> None:
        """As the key does."""
        self.action_move(_WHEEL_ROWS)

    def on_mouse_scroll_up(self) -> None:
        """As the key does."""
        self.action_move(-_WHEEL_ROWS)

    def _step_at(self, rows: int) -> str | None:
        """The name of the step so many rows away from the one that is shown."""
        if self._look is None or self._look.diagnosis is None or self._steady.shown is None:
            return None
        names = [step.name for step in self._look.diagnosis.steps if step.directions]
        shown = self._steady.shown.step.name
        here = names.index(shown) if shown in names else len(names) - 1
        return names[max(0, min(len(names) - 1, here + rows))]


class Asked(Input):
    """The line in which a text is typed; not there until it is wanted. Escape leaves it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave")]

    def __init__(self) -> None:
        super().__init__(max_length=200)
        self.what = ""

    def ask(self, what: str) -> None:
        """Appear, and take the keys."""
        self.what, self.value = what, ""
        self.placeholder = {"mark": "note in the recording; Esc: do not", "filter": "only rows with; Enter: all"}[
            what
        ]
        self.display = True
        self.focus()

    def leave(self) -> None:
        """Give the keys back."""
        self.display = False
        self.screen.set_focus(None)

    def action_leave(self) -> None:
        """Nothing is to be done."""
        self.leave()


class Canvas(Widget):
    """Paints lines for its size."""

    def __init__(self, paint: Callable[[int, int], list[Text]]) -> None:
        super().__init__()
        self._paint = paint

    def render(self) -> Text:
        """The lines, as they fit now."""
        return Text("\n", no_wrap=True, overflow="crop").join(self._paint(self.size.width, self.size.height))
