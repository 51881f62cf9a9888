"""Coordinates the recorders of one recording: compares clocks, ends with the load, and rejects duplicates."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from sanpath.errors import UsageError, command
from sanpath.plugin import Item
from sanpath.recording.format.recorder_starts import Start, latest, starts
from sanpath.recording.storage.store import Location, Store
from sanpath.recording.writing.store_clock import StoreClock

CHECK_SECONDS = 3.0
"""How often a recorder without a load checks whether the load of another recorder has ended."""
COMPARE_SECONDS = 15.0
"""How often clocks are compared; each comparison is also a sign of life."""
FIRST_COMPARISONS = 6
"""Number of comparisons right after the start.

If a store has a resolution of whole seconds, it is queried around a change of the second; each comparison halves the
uncertainty.
"""


def refuse_duplicate_sources(all_starts: Iterable[Start], recorder: str, sources: Iterable[str]) -> None:
    """Raise UsageError for a source that another recorder polls: two recorders' samples of a counter give no rate."""
    wanted = set(sources)
    for start in _latest(all_starts):
        shared = sorted(wanted & {source.name for source in start.header.sources})
        if start.ending is None and start.recorder_id != recorder and shared:
            raise UsageError(
                f"{', '.join(shared)}: recorded by {start.recorder_id!r} already; choose others with --only-sources, "
                f"or take its place with --writer {start.recorder_id}"
            )


def refuse_second_load(all_starts: Iterable[Start], folder: Location, plan: str, running: Sequence[int]) -> None:
    """Raise UsageError if the load of a recording has been started before, even if it has ended.

    It may still run, and the steps of two loads would be judged as those of one. A sweep may continue: `plan` is the
    digest of its plan, "" for no sweep. `running`: ids of the processes of the recording's loads on this machine.
    """
    first = next(
        (start for start in all_starts if start.header.load_command and not (plan and start.header.plan == plan)),
        None,
    )
    if first is None:
        return
    if running:
        state = f"still runs (process {', '.join(map(str, running))})"
    elif first.ending is not None:
        state = "has ended"
    else:
        state = f"has not ended (see on {first.header.host} whether it still runs)"
    raise UsageError(
        f"{folder}: the load of {first.recorder_id!r} {state}, and no second one is started: judge "
        f"what was recorded with {command('diagnose', folder)}, or begin a new test with another --into"
    )


def load_has_ended(all_starts: Iterable[Start]) -> bool:
    """Return whether a recorder ran a load, and every recorder that ran one has ended normally."""
    loads = [start for start in _latest(all_starts) if start.header.load_command]
    return bool(loads) and all(start.ending is not None for start in loads)


def unfinished_recorders(all_starts: Iterable[Start], recorder: str) -> list[str]:
    """Return the names of other recorders that have not ended, whether they still record or were killed."""
    running = [start for start in _latest(all_starts) if start.ending is None]
    return [start.recorder_id for start in running if start.recorder_id != recorder]


def _latest(all_starts: Iterable[Start]) -> list[Start]:
    """Return the last start of each recorder; other writers, such as imports, are not recorders."""
    return latest([start for start in all_starts if start.header.recorder])


class OtherRecorders:
    """Watches the other recorders in a thread, so that a slow store delays nothing else.

    `take` records an event. `load_ended` is called once when the load of the other recorders has ended; None: not
    needed.
    """

    def __init__(
        self,
        store: Store,
        clock: StoreClock,
        take: Callable[[int, Item], None],
        load_ended: Callable[[], None] | None,
    ) -> None:
        self._store, self._clock, self._take, self._load_ended = store, clock, take, load_ended
        self._stopped = threading.Event()

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="others", daemon=True).start()

    def stop(self) -> None:
        """Stop the thread."""
        self._stopped.set()

    def _run(self) -> None:
        comparisons, due = 0, 0.0
        while not self._stopped.is_set():
            if time.monotonic() >= due:
                self._compare()
                comparisons += 1
                is_early = comparisons < FIRST_COMPARISONS and not self._clock.exact
                due = time.monotonic() + (self._clock.best_pause_seconds if is_early else COMPARE_SECONDS)
            if self._load_ended is not None and self._load_has_ended():
                self._load_ended()
                self._load_ended = None
            self._stopped.wait(min(CHECK_SECONDS, max(0.0, due - time.monotonic())))

    def _compare(self) -> None:
        # If the store does not answer, writing the recording will report it.
        with contextlib.suppress(OSError):
            event = self._clock.compare()
            if event is not None and not self._stopped.is_set():
                self._take(event.seen, event)

    def _load_has_ended(self) -> bool:
        with contextlib.suppress(OSError):
            return load_has_ended(starts(self._store, set()))
        return False
