"""`python -m sanpath.views.live.reading.reader FOLDER [CHOICE]`: looks at a recording each time it is asked to.

A process of its own: judging a long recording takes seconds, and the screen must answer its keys meanwhile. A line on
standard input asks for a look, or has something marked: `mark MICROSECONDS TEXT`. The answer, a look or why the mark
could not be made, is written to standard output (see feed.py). A closed input ends it.
"""

from __future__ import annotations

import pickle
import sys
from contextlib import suppress

from sanpath.errors import SanpathError
from sanpath.recording.format.writers import ended, starts
from sanpath.recording.reading.sample_cache import SampleCache
from sanpath.recording.storage.store import Location, location, store_at
from sanpath.recording.writing.mark import MARK, add_mark
from sanpath.rulebook.site import Choice
from sanpath.views.live.reading.priority import give_way
from sanpath.views.live.reading.snapshot import Look, look, prepare

SIZE_BYTES = 8
"""An answer is preceded by its size as an integer of so many bytes, the highest first."""


def main(folder: Location, choice: Choice) -> None:
    """Answer until the input is closed."""
    prepare(choice)
    if not _has_ended(folder):  # Else there is no load to give way to, and somebody waits.
        give_way()
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr
    last, held = None, SampleCache(store_at(folder))
    for line in sys.stdin:
        word, _, rest = line.rstrip("\n").partition(" ")
        said: Look | str
        if word == MARK:
            said = _marked(folder, rest)
        else:
            said = last = look(folder, choice, last, held)
        answer = pickle.dumps(said)
        answers.write(len(answer).to_bytes(SIZE_BYTES, "big") + answer)
        answers.flush()


def _has_ended(folder: Location) -> bool:
    with suppress(SanpathError, OSError):
        return ended(starts(store_at(folder), set()))
    return False


def _marked(folder: Location, words: str) -> str:
    """Mark what the line says. Returns why that could not be done, "" when it was."""
    moment, _, text = words.partition(" ")
    try:
        add_mark(folder, int(moment), text)
    except (SanpathError, OSError) as error:
        return str(error)
    return ""


if __name__ == "__main__":
    main(location(sys.argv[1]), Choice.from_arguments(sys.argv[2:]))
