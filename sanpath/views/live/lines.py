"""`python -m sanpath.views.live.lines FOLDER [CHOICE]`: plain lines about a recording that grows, on standard output.

A process of its own, which is as nice as the one that reads for the screen. It ends when standard input closes.
"""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable, Iterator

from sanpath.errors import RecordingError
from sanpath.recording.layout import read_manifest
from sanpath.recording.store import Location, location
from sanpath.rulebook.site import Choice
from sanpath.views.live.look import look
from sanpath.views.live.priority import give_way
from sanpath.views.progress import every_seconds, line


def lines(folder: Location, choice: Choice, pause: Callable[[float], object] = time.sleep) -> Iterator[str]:
    """A line every few seconds until every writer has ended, or its recorder has gone without a word. `pause`: waits
    so many seconds."""
    seen = None
    while True:
        seen = look(folder, choice, seen)
        yield line(seen.diagnosis) if seen.diagnosis is not None else f"sanpath: {seen.failure}"
        if seen.ended or seen.silent:
            break
        pause(max(every_seconds(sys.stdout), seen.pause_seconds))
    if not seen.ended:
        yield "sanpath: nothing new for a long time: its recorder has gone"


def main(folder: Location, choice: Choice) -> None:
    """Print lines until there are no more, or nobody wants them."""
    give_way()

    def pause(seconds: float) -> None:
        if select.select([sys.stdin], [], [], seconds)[0]:
            sys.exit()

    while not _begun(folder):
        pause(every_seconds(sys.stdout))
    for told in lines(folder, choice, pause):
        print(told, flush=True)


def _begun(folder: Location) -> bool:
    try:
        read_manifest(folder)
    except RecordingError:
        return False
    return True


if __name__ == "__main__":
    main(location(sys.argv[1]), Choice.of(sys.argv[2:]))
