"""A word to whoever waits at a terminal: what is being done, and for how long already."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

AFTER_SECONDS = 2.0
"""What takes less needs no word."""
_EACH_SECONDS = 0.5


@contextmanager
def patience(what: str) -> Iterator[None]:
    """Say on standard error, where that is a terminal, that `what` is under way, until it is done."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    from sanpath.views.words import printable

    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(printable(what), done), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _tell(what: str, done: threading.Event) -> None:
    began = time.monotonic()
    if done.wait(AFTER_SECONDS):
        return
    while True:
        print(f"\rsanpath: {what}, {time.monotonic() - began:.0f} s ... ", end="", file=sys.stderr, flush=True)
        if done.wait(_EACH_SECONDS):
            # The line is taken back: it is no part of the answer.
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            return
