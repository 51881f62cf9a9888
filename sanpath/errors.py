"""The errors that sanpath raises on purpose, each with the exit code of the command.

SanpathError (1)
├── UsageError (2)            the command line, the configuration or a rule file must be changed
│   └── ConfigError           with file, line and key
│       └── ConfigMistakesError      several ConfigErrors
├── RecordingError (2)        a recording that cannot be read: newer format, not a recording
├── InterruptedByUserError (130)     Ctrl-C, with what became of the work
└── CollectorError            a source delivered nothing; never ends a run (see plugin/)

Exit codes: section "Exit codes" of docs/output-contract.md.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from enum import Enum, IntEnum
from pathlib import Path


def command(*words: object) -> str:
    """Return a command of sanpath as a person types it into a shell, with quotes where a word needs them.

    >>> command("diagnose", "my test.sanpath")
    "sanpath diagnose 'my test.sanpath'"
    """
    return shlex.join(("sanpath", *map(str, words)))


class ExitCode(IntEnum):
    """Exit codes of `run` and `diagnose`.

    The first that applies is used, in the order USAGE, INTERRUPTED, LOAD, FINDINGS, UNKNOWN.
    """

    OK = 0
    FINDINGS = 1
    USAGE = 2
    UNKNOWN = 3
    LOAD = 4
    INTERRUPTED = 130


class SanpathError(Exception):
    """An error that is reported as one line, never as a traceback."""

    exit_code: int = 1


class UsageError(SanpathError):
    """An error that the user can correct: the message says what to change."""

    exit_code = ExitCode.USAGE


class ConfigError(UsageError):
    """A mistake in sanpath.yaml. `line` counts from 1; None: the mistake has no place in the text."""

    def __init__(self, path: Path | str, line: int | None, key: str, problem: str) -> None:
        place = f"{path}:{line}" if line else str(path)
        super().__init__(f"{place}: {key}: {problem}" if key else f"{place}: {problem}")
        self.path, self.line, self.key = path, line, key


class ConfigMistakesError(ConfigError):
    """Several mistakes in sanpath.yaml, one line each. `mistakes`: two or more, in the order of the file."""

    def __init__(self, mistakes: Sequence[ConfigError]) -> None:
        first = mistakes[0]
        super().__init__(first.path, first.line, first.key, "")
        self.mistakes = tuple(mistakes)

    def __str__(self) -> str:
        return "\n".join(str(mistake) for mistake in self.mistakes)


class RecordingError(SanpathError):
    """The folder is not a recording, or was written by a newer sanpath."""

    exit_code = ExitCode.USAGE


class InterruptedByUserError(SanpathError):
    """Ctrl-C, or the end of the input at a question; the message says what became of the work."""

    exit_code = ExitCode.INTERRUPTED


class Failure(Enum):
    """Why a poll delivered nothing. Only UNREACHABLE is retried, and only by the recorder."""

    MISCONFIGURED = "misconfigured"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    UNREADABLE = "unreadable"


class CollectorError(SanpathError):
    """A source delivered nothing. `excerpt` is the unreadable part of the reply; the recorder shortens it."""

    def __init__(self, failure: Failure, message: str, excerpt: str = "") -> None:
        super().__init__(message)
        self.failure, self.excerpt = failure, excerpt
