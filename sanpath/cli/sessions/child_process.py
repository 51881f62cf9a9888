"""How a command starts other parts of sanpath as processes."""

from __future__ import annotations

import os
import sys

from sanpath.recorder.control import PYTHONPATH_BEFORE


def python(module: str, *arguments: str) -> list[str]:
    """A command line for `python -m module`, safe from modules in the current directory (-P)."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """The environment of this process with its module search path: the child must find the same sanpath."""
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        PYTHONPATH_BEFORE: os.environ.get("PYTHONPATH", ""),
    }
