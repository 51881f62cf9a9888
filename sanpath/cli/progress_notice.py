"""A notice on the terminal about a slow activity and how long it has been running."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

AFTER_SECONDS = 2.0
"""Shorter activities need no notice."""
_EACH_SECONDS = 0.5


@contextmanager
def progress_notice(activity: str) -> Iterator[None]:
    """Show on standard error, if it is a terminal, that `activity` is running, until the context ends."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    from sanpath.masking import printable

    done = threading.Event()
    thread = threading.Thread(target=_print_elapsed, args=(printable(activity), done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _print_elapsed(activity: str, done: threading.Event) -> None:
    began = time.monotonic()
    if done.wait(AFTER_SECONDS):
        return
    while True:
        print(f"\rsanpath: {activity}, {time.monotonic() - began:.0f} s ... ", end="", file=sys.stderr, flush=True)
        if done.wait(_EACH_SECONDS):
            # The line is erased: it is not part of the output.
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            return
