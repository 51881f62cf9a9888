"""`python -m sanpath.views.live.reader FOLDER [RULES]`: looks at a recording each time it is asked to.

A process of its own: judging a long recording takes seconds, and the screen must answer its keys meanwhile. A line on
standard input asks for a look, which is written to standard output (see feed.py); a closed input ends it.
"""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

from sanpath.recording.store import Location, location
from sanpath.views.live.look import look

SIZE_BYTES = 8
"""A look is preceded by its size as an integer of so many bytes, the highest first."""


def main(folder: Location, rules: Path | None) -> None:
    """Answer until the input is closed."""
    os.nice(10)  # Recorder and load generator go first.
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr
    for _ in sys.stdin:
        answer = pickle.dumps(look(folder, rules))
        answers.write(len(answer).to_bytes(SIZE_BYTES, "big") + answer)
        answers.flush()


if __name__ == "__main__":
    main(location(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
