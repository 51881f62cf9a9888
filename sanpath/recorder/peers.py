"""What a recorder has to do with the others of its recording: compare clocks, end with their load, repeat nothing."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from sanpath.errors import UsageError
from sanpath.plugin import Item
from sanpath.recording.format.writers import Start, latest, starts
from sanpath.recording.storage.store import Location, Store
from sanpath.recording.writing.store_clock import StoreClock

LOOK_SECONDS = 3.0
"""How often a recorder without a load looks whether that of another one has ended."""
COMPARE_SECONDS = 15.0
"""How often clocks are compared: it is a sign of life too."""
SOON = 6
"""Comparisons right after the start: a store that tells whole seconds is asked around the turn of one, and each
answer halves what is left of the second."""

Take = Callable[[int, Item], None]


def refuse_twice(told: Iterable[Start], recorder: str, sources: Iterable[str]) -> None:
    """Raises UsageError for a source that another recorder is reading: what two say of one counter is no rate."""
    wanted = set(sources)
    for start in latest([s for s in told if s.header.recorder]):
        both = sorted(wanted & {source.name for source in start.header.sources})
        if start.ending is None and start.who != recorder and both:
            raise UsageError(
                f"{', '.join(both)}: recorded by {start.who!r} already; choose others with --only-sources, "
                f"or take its place with --writer {start.who}"
            )


def refuse_second_load(told: Iterable[Start], folder: Location, plan: str, running: Sequence[int]) -> None:
    """Raises UsageError where the load of a recording has been started before, whatever became of it: it may still
    run, and the steps of two would be judged as those of one. A sweep goes on with its own `plan`, "" for none.
    `running`: processes of the recording's loads on this machine."""
    first = next((s for s in told if s.header.load_command and not (plan and s.header.plan == plan)), None)
    if first is None:
        return
    if running:
        state = f"still runs (process {', '.join(map(str, running))})"
    elif first.ending is not None:
        state = "has ended"
    else:
        state = f"has not ended (see on {first.header.host} whether it still runs)"
    raise UsageError(
        f"{folder}: the load of {first.who!r} {state}: none is started a second time; "
        f"sanpath diagnose {folder} judges what was recorded, another --into begins a new test"
    )


def load_has_ended(told: Iterable[Start]) -> bool:
    """Whether a recorder ran a load, and every one that did has ended as it should."""
    loads = [start for start in latest([s for s in told if s.header.recorder]) if start.header.load_command]
    return bool(loads) and all(start.ending is not None for start in loads)


def going_on(told: Iterable[Start], recorder: str) -> list[str]:
    """Other recorders that have not ended, whether they still record or were killed."""
    return [s.who for s in latest([s for s in told if s.header.recorder]) if s.ending is None and s.who != recorder]


class Others:
    """A thread beside the recorder: a store that does not answer delays nothing else.

    `take` records an event. `load_ended`: called once when the load of the others has ended; None: nobody waits.
    """

    def __init__(self, store: Store, clock: StoreClock, take: Take, load_ended: Callable[[], None] | None) -> None:
        self._store, self._clock, self._take, self._load_ended = store, clock, take, load_ended
        self._stopped = threading.Event()

    def start(self) -> None:
        """Begin."""
        threading.Thread(target=self._run, name="others", daemon=True).start()

    def stop(self) -> None:
        """End."""
        self._stopped.set()

    def _run(self) -> None:
        compared, due = 0, 0.0
        while not self._stopped.is_set():
            if time.monotonic() >= due:
                self._compare()
                compared += 1
                soon = compared < SOON and not self._clock.exact
                due = time.monotonic() + (self._clock.best_pause_seconds if soon else COMPARE_SECONDS)
            if self._load_ended is not None and self._others_done():
                self._load_ended()
                self._load_ended = None
            self._stopped.wait(min(LOOK_SECONDS, max(0.0, due - time.monotonic())))

    def _compare(self) -> None:
        with contextlib.suppress(OSError):  # Whether the store answers is told by what cannot be written to it.
            event = self._clock.compare()
            if event is not None and not self._stopped.is_set():
                self._take(event.seen, event)

    def _others_done(self) -> bool:
        with contextlib.suppress(OSError):
            return load_has_ended(starts(self._store, set()))
        return False
