"""The Textual application: requests snapshots, answers keys, and draws the screenful."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Protocol

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input

from sanpath.views.live.cursor import Cursor, Tab, next_direction, next_order
from sanpath.views.live.footer import key_at, keys
from sanpath.views.live.pages.now import Now
from sanpath.views.live.pages.path import stops
from sanpath.views.live.reading.pace import Pace
from sanpath.views.live.reading.shown_verdict import DebouncedVerdict, verdict_of
from sanpath.views.live.screenful import Painter

if TYPE_CHECKING:
    from sanpath.pulse.model import Pulse
    from sanpath.views.live.reading.feed import SnapshotFeed
    from sanpath.views.live.reading.snapshot import Snapshot

_END_SECONDS = 0.2
"""How often the application checks whether the run has ended."""
PULSE_SECONDS = 1.0
"""How often the screen shows the current state."""
_SIZE_SECONDS = 1.0
"""How often the size of the terminal is read: on a busy machine its signal can be lost, and Textual's timer for it
can stop without a call."""
_WHEEL_ROWS = 1
clock = time.monotonic


class PulseFeed(Protocol):
    """The source of the run's current state."""

    async def run(self) -> None:
        """Follow the recording to its end."""

    def pulse(self) -> Pulse | None:
        """Return the current state without waiting. None: the recording is not growing."""


class LiveView(App[None]):
    """The screen of a run or a recording. It ends with `q`, or when `ended` returns True.

    `interrupt`: the action of Ctrl-C; None: it quits. `pulse_feed` creates the source of the current state between
    two snapshots; None: there is none. `begin` starts the run. Both are called in a thread once the screen is drawn.
    `hint`: a line below the first for the user of a demo. Closing this application ends no run.
    """

    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False
    AUTO_FOCUS = None  # Keys belong to the application until the user types a text.
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
        feed: SnapshotFeed,
        ended: Callable[[], bool] | None = None,
        interrupt: Callable[[], None] | None = None,
        pulse_feed: Callable[[], PulseFeed] | None = None,
        begin: Callable[[], None] | None = None,
        hint: str = "",
    ) -> None:
        super().__init__()
        self._feed, self._ended, self._interrupt, self._begin = feed, ended, interrupt, begin
        self._make_pulse_feed = pulse_feed
        self._pulse_feed: PulseFeed | None = None
        self._snapshot: Snapshot | None = None
        self._pulse: Pulse | None = None
        self._judged_at, self._hint = 0.0, hint
        self._changed_at: float | None = None
        self._cursor, self._verdict = Cursor(), DebouncedVerdict()
        self._pace = Pace(lambda: self._pulse)
        self._painter = Painter()
        self._unpaused = asyncio.Event()
        self._unpaused.set()

    def compose(self) -> ComposeResult:
        """One widget: a screenful is laid out as a whole, for the size of the terminal."""
        yield Canvas(self._screenful)
        yield TextPrompt()

    def _screenful(self, width: int, height: int) -> list[Text]:
        return self._painter.screenful(self._snapshot, self._cursor, self._verdict, width, height, self._now())

    def _now(self) -> Now:
        now, running = clock(), self._pulse is not None and self._snapshot is not None
        judged = now - self._judged_at if running else None
        changed = now - self._changed_at if self._changed_at is not None else None
        return Now(self._pulse, judged, changed, self._hint)

    def on_mount(self) -> None:
        """Draw the first screen, and only then follow the recording."""
        self.call_after_refresh(self.run_worker, self._follow())
        if not self.is_headless:
            self.set_interval(_SIZE_SECONDS, self._follow_size)
        if self._ended is not None:
            self.run_worker(self._exit_when(self._ended))

    async def _follow(self) -> None:
        if self._begin is not None:
            await asyncio.to_thread(self._begin)
        self.run_worker(self._watch())
        if self._make_pulse_feed is not None:
            self._pulse_feed = await asyncio.to_thread(self._make_pulse_feed)
            self.run_worker(self._pulse_feed.run())
            self.set_interval(PULSE_SECONDS, self._refresh_pulse)
            self._refresh_pulse()

    def _follow_size(self) -> None:
        size = Size(*shutil.get_terminal_size())
        if size != self.screen.size:
            resize = events.Resize(size, size)
            self.post_message(resize)
            self.screen.post_message(resize)

    async def on_unmount(self) -> None:
        """Close the feed."""
        await self._feed.close()

    async def _watch(self) -> None:
        while True:
            await self._unpaused.wait()
            snapshot = await self._feed.snapshot()
            if not self._unpaused.is_set():
                continue  # The screen was paused meanwhile: it continues with a new snapshot.
            self._show(snapshot)
            if snapshot.ended:
                return  # Nothing will change any more.
            await self._pace.wait(snapshot, self._verdict)

    def _refresh_pulse(self) -> None:
        """Show the current state, also while the reader is busy."""
        if self._pulse_feed is None or self._cursor.paused:
            return
        snapshot = self._snapshot
        stopped = snapshot is not None and (snapshot.ended or snapshot.silent)
        self._pulse = None if stopped else self._pulse_feed.pulse()
        for canvas in self.query(Canvas):  # The application is exiting and has no canvas.
            canvas.redraw()

    def _show(self, snapshot: Snapshot) -> None:
        before, verdict_before = self._snapshot, self._verdict
        if snapshot.diagnosis is None:
            # An old snapshot is better than none.
            self._snapshot = replace(before, failure=snapshot.failure) if before is not None else snapshot
        else:
            self._snapshot = snapshot
            self._judged_at = clock() - max(0.0, time.time() - snapshot.taken)
            if snapshot.ended:
                self._pulse = None
                self._verdict = DebouncedVerdict()  # No later snapshot can confirm the last verdict.
            if snapshot.ended or before is None or before.newest != snapshot.newest:
                # The same rows judged again confirm nothing.
                self._verdict = self._verdict.update(verdict_of(snapshot.diagnosis, self._cursor))
            previous = self._verdict.previous
            if previous is not None and previous is not verdict_before.previous:
                self._changed_at = clock()
                self.bell()
        self.query_one(Canvas).redraw()

    async def _exit_when(self, ended: Callable[[], bool]) -> None:
        while not ended():
            await asyncio.sleep(_END_SECONDS)  # A timer of Textual costs three times as much.
        self.exit()

    def _move_cursor(self, cursor: Cursor) -> None:
        """Show another selection. The verdict of another step or direction does not count as a changed verdict."""
        before, snapshot = self._cursor, self._snapshot
        if (cursor.step, cursor.direction) != (before.step, before.direction) and snapshot is not None:
            diagnosis = snapshot.diagnosis
            verdict = verdict_of(diagnosis, cursor) if diagnosis is not None else None
            self._verdict = DebouncedVerdict().update(verdict)
        self._cursor = cursor
        self.query_one(Canvas).redraw()

    def action_interrupt(self) -> None:
        """End the run, or quit if the run belongs to another process."""
        if self._interrupt is None:
            self.exit()
        else:
            self._interrupt()

    def action_pause(self) -> None:
        """Pause the screen or resume it."""
        paused = not self._cursor.paused
        self._move_cursor(replace(self._cursor, paused=paused))
        if paused:
            self._unpaused.clear()
        else:
            self._unpaused.set()

    def action_turn_to(self, name: str) -> None:
        """Show a page, or the overview if that page is already shown."""
        tab = Tab.overview if self._cursor.tab == name else Tab(name)
        self._move_cursor(replace(self._cursor, tab=tab, offset=0))

    def action_direction(self) -> None:
        """Switch between both directions, reads only and writes only."""
        self._move_cursor(replace(self._cursor, direction=next_direction(self._cursor.direction)))

    def action_move(self, rows: int) -> None:
        """Choose a step or stop on its page; scroll on other pages."""
        if self._cursor.tab is Tab.steps:
            self.action_step(rows)
        elif self._cursor.tab is Tab.path and self._snapshot is not None:
            last = max(0, len(stops(self._snapshot, self._cursor)) - 1)
            self._move_cursor(replace(self._cursor, offset=max(0, min(last, self._cursor.offset + rows))))
        elif self._cursor.tab is not Tab.overview:
            self._move_cursor(replace(self._cursor, offset=max(0, self._cursor.offset + rows)))

    def action_newest(self) -> None:
        """Return to the overview of the newest step."""
        self._move_cursor(replace(self._cursor, tab=Tab.overview, step=None, offset=0, filter=""))

    def action_step(self, steps: int) -> None:
        """Show the verdict of a later or earlier step."""
        self._move_cursor(replace(self._cursor, step=self._step_at(steps)))

    def action_sort(self) -> None:
        """Change the order of the elements."""
        self._move_cursor(replace(self._cursor, order=next_order(self._cursor.order)))

    def action_ask(self, purpose: str) -> None:
        """Ask for a text: the "filter", or a "mark" for the recording."""
        self.query_one(TextPrompt).ask(purpose)

    async def on_input_submitted(self, submitted: Input.Submitted) -> None:
        """Apply the typed text. A mark waits until the current snapshot is done; the screen does not."""
        prompt = self.query_one(TextPrompt)
        purpose, text = prompt.purpose, submitted.value.strip()
        prompt.action_close()
        if purpose == "filter":
            self._move_cursor(replace(self._cursor, filter=text, offset=0))
        elif text:
            self.run_worker(self._mark(text))

    async def _mark(self, text: str) -> None:
        failure = await self._feed.mark(text)
        self._pace.renew()
        self.notify(failure or f"marked: {text}", severity="error" if failure else "information", markup=False)

    async def on_click(self, event: events.Click) -> None:
        """A click on a key of the last line presses it."""
        canvas = self.query_one(Canvas)
        if event.screen_y == canvas.size.height - 1:
            key = key_at(keys(self._snapshot, self._cursor), canvas.size.width, event.screen_x)
            if key is not None:
                await self.run_action(key.action)

    def on_mouse_scroll_down(self) -> None:
        """Scroll as the arrow key does."""
        self.action_move(_WHEEL_ROWS)

    def on_mouse_scroll_up(self) -> None:
        """Scroll as the arrow key does."""
        self.action_move(-_WHEEL_ROWS)

    def _step_at(self, rows: int) -> str | None:
        """The name of the step this many rows from the shown one. None: no step is shown."""
        if self._snapshot is None or self._snapshot.diagnosis is None or self._verdict.shown is None:
            return None
        names = [step.name for step in self._snapshot.diagnosis.steps if step.directions]
        shown = self._verdict.shown.step.name
        position = names.index(shown) if shown in names else len(names) - 1
        return names[max(0, min(len(names) - 1, position + rows))]


class TextPrompt(Input):
    """The input line for a text, hidden until it is needed. Escape closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close")]

    def __init__(self) -> None:
        super().__init__(max_length=200)
        self.purpose = ""

    def ask(self, purpose: str) -> None:
        """Show the line and give it the focus. `purpose`: "mark" or "filter"."""
        self.purpose, self.value = purpose, ""
        self.placeholder = {
            "mark": "text of the note; Esc: cancel",
            "filter": "text that a row must contain; empty: all rows",
        }[purpose]
        self.display = True
        self.focus()

    def action_close(self) -> None:
        """Hide the line and return the focus."""
        self.display = False
        self.screen.set_focus(None)


class Canvas(Widget):
    """Draws lines for its size. Only rows that changed are sent to the terminal."""

    def __init__(self, paint: Callable[[int, int], list[Text]]) -> None:
        super().__init__()
        self._paint = paint
        self._lines: list[Text] = []
        self._painted_size = Size(0, 0)
        self._style = Style()

    def redraw(self) -> None:
        """Paint again, and draw the rows that changed."""
        before = self._lines
        self._paint_lines()
        width, height = self.size
        changed = [y for y in range(height) if not _look_equal(before[y : y + 1], self._lines[y : y + 1])]
        if changed:
            self.refresh(*(Region(0, y, width, 1) for y in changed))

    def _paint_lines(self) -> None:
        self._painted_size = self.size
        self._style = self.rich_style
        self._lines = self._paint(self.size.width, self.size.height)

    def render_line(self, y: int) -> Strip:
        """A row, padded to the width."""
        if self._painted_size != self.size:
            self._paint_lines()
        style = self._style
        drawn = [segment for line in self._lines[y : y + 1] for segment in line.render(self.app.console)]
        return Strip(Segment.apply_style(drawn, style)).adjust_cell_length(self.size.width, style)


def _look_equal(before: list[Text], after: list[Text]) -> bool:
    """Whether two rows look the same: rich compares characters and spans, but not the style of the whole text."""
    if len(before) == len(after) == 1 and before[0] is after[0]:
        return True
    return before == after and [line.style for line in before] == [line.style for line in after]
