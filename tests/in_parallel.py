"""All tests in two processes beside each other: `python -m tests.in_parallel [options of pytest]`.

Half of the suite waits for labs in real time and half computes, so that a machine of two processors is used by both.
What the second prints comes after the first. The exit code is that of the first that fails.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

IN_REAL_TIME = ("end_to_end", "faults", "real_lab")
"""Folders whose tests mostly wait: the two halves take about as long (an hour together on two processors)."""


def main() -> int:
    """Run both halves."""
    tests = Path(__file__).parent
    pytest = [sys.executable, "-m", "pytest", *sys.argv[1:]]
    waiting = [str(tests / folder) for folder in IN_REAL_TIME]
    with tempfile.TemporaryFile() as kept:
        beside = subprocess.Popen([*pytest, *waiting], stdout=kept, stderr=subprocess.STDOUT)
        first = subprocess.run([*pytest, str(tests), *(f"--ignore={folder}" for folder in waiting)], check=False)
        second = beside.wait()
        kept.seek(0)
        sys.stdout.flush()
        sys.stdout.buffer.write(kept.read())
    return first.returncode or second


if __name__ == "__main__":
    sys.exit(main())
