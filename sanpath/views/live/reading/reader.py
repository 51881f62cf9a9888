"""`python -m sanpath.views.live.reading.reader FOLDER [CHOICE]`: reads snapshots of a recording on request.

It is a separate process: judging a long recording takes seconds, and the screen must still respond to keys. A line on
standard input requests a snapshot, or adds a mark: `mark MICROSECONDS TEXT`. The response on standard output (see
feed.py) is a snapshot, or the reason why the mark could not be added. A closed input ends the process.
"""

from __future__ import annotations

import pickle
import sys
from contextlib import suppress

from sanpath.errors import SanpathError
from sanpath.model import MARK
from sanpath.recording.format.recorder_starts import ended, starts
from sanpath.recording.reading.sample_cache import SampleCache
from sanpath.recording.storage.store import Location, location, store_at
from sanpath.recording.writing.mark import add_mark
from sanpath.rulebook.site.options import Choice
from sanpath.views.live.reading.feed import SIZE_BYTES
from sanpath.views.live.reading.judging import prepare, read_snapshot
from sanpath.views.live.reading.priority import lower_priority
from sanpath.views.live.reading.snapshot import Snapshot


def main(folder: Location, choice: Choice) -> None:
    """Answer requests until the input is closed."""
    prepare(choice)
    if not _has_ended(folder):  # Without a load, the reader need not lower its priority, and a person waits.
        lower_priority()
    responses = sys.stdout.buffer
    sys.stdout = sys.stderr
    previous, cache = None, SampleCache(store_at(folder))
    for line in sys.stdin:
        command, _, argument = line.rstrip("\n").partition(" ")
        response: Snapshot | str
        if command == MARK:
            response = _add_mark(folder, argument)
        else:
            response = previous = read_snapshot(folder, choice, previous, cache)
        message = pickle.dumps(response)
        responses.write(len(message).to_bytes(SIZE_BYTES, "big") + message)
        responses.flush()


def _has_ended(folder: Location) -> bool:
    with suppress(SanpathError, OSError):
        return ended(starts(store_at(folder), set()))
    return False


def _add_mark(folder: Location, argument: str) -> str:
    """Add the mark `MICROSECONDS TEXT`. Returns the reason for a failure, "" on success."""
    time_us, _, text = argument.partition(" ")
    try:
        add_mark(folder, int(time_us), text)
    except (SanpathError, OSError) as error:
        return str(error)
    return ""


if __name__ == "__main__":
    main(location(sys.argv[1]), Choice.from_arguments(sys.argv[2:]))
