"""The reader of SQLIO's files: the output of runs, or their parameter file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch

from sanpath.errors import CollectorError, Failure
from sanpath.plugin import (
    Item,
    LineDocument,
    LineDocumentReader,
    LoadProfile,
    ResultClock,
    SourceEntity,
    text_of,
    warning,
)
from sanpath_collectors.sqlio.parse import Run, is_comment, parse_parameter_line
from sanpath_collectors.sqlio.runs import Runs

_HEADER = re.compile(r"\s*sqlio (v[0-9]\S*)\s*")


class SqlioReader(LineDocumentReader):
    """Reads output or a parameter file, depending on the first line that is not a comment."""

    clock: ResultClock = "elapsed"

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """Recognise output by SQLIO's first line, and a parameter file by its name and all of its lines."""
        lines = text_of(head)[0].splitlines()
        if any(_HEADER.fullmatch(line) for line in lines):
            return True
        statements = [line for line in lines if not is_comment(line)]
        return (
            bool(statements)
            and fnmatch(name.casefold(), "*param*.txt")
            and all(map(parse_parameter_line, statements))
        )

    def document_for(self, line: str) -> LineDocument:
        """Return the document to which this line belongs."""
        if self.document is None and parse_parameter_line(line):
            self.clock = "none"
            self.document = _ParameterFile(self.load)
        elif self.document is None and not is_comment(line):
            self.document = _Output(self.load)
        return self.document or _Output(self.load)


class _Output:
    """Output of runs. A run is complete when the next one begins."""

    def __init__(self, load: str) -> None:
        self._runs = Runs(load)
        self._run: Run | None = None

    @property
    def time_us(self) -> int:
        return self._runs.now_us

    def read_line(self, line: str) -> Iterator[Item]:
        header = _HEADER.fullmatch(line)
        if header is None:
            if self._run is not None:
                self._run.read_line(line)
            return
        yield from self._end_run()
        self._run = Run(header[1])

    def end(self, cut_line: str) -> Iterator[Item]:
        # A truncated line of a run may end inside a number. A prompt at the end has no line end either.
        cut = self._run is not None and Run("").read_line(cut_line)
        yield from self._end_run()
        if not self._runs.finished:
            reason = "it contains no finished run" if self._runs.started else "it contains no run"
            text = f"{reason}: give the output of SQLIO from its first line to its last"
            raise CollectorError(Failure.UNREADABLE, text)
        if cut:
            text = f"the file ends inside a line, which is left out: {cut_line.strip()[:60]!r}"
            yield warning(self.time_us, "cut-file", text)

    def _end_run(self) -> Iterator[Item]:
        if self._run is not None:
            yield from self._runs.items(self._run)
        self._run = None


class _ParameterFile:
    """A parameter file, with files, their sizes and threads, but without results."""

    time_us = 0

    def __init__(self, load: str) -> None:
        self._load = load
        self._files = self._threads = self._bytes = self._unread = 0

    def read_line(self, line: str) -> Iterator[Item]:
        file = parse_parameter_line(line)
        if file is not None:
            self._files += 1
            self._threads += file.threads
            self._bytes += file.size_bytes
        elif not is_comment(line):
            self._unread += 1
        yield from ()

    def end(self, cut_line: str) -> Iterator[Item]:
        yield from self.read_line(cut_line)
        profile = LoadProfile(
            engine="sqlio",
            threads=self._threads,
            files=self._files,
            working_set_bytes=self._bytes,
            rate_limited=False,
        )
        yield SourceEntity("load", self._load, self._load, {"name": (self._load,)}, profile.attributes)
        if self._unread:
            text = f"{self._unread} lines are not of the form: path threads mask size_MB"
            yield warning(self.time_us, "lines-unreadable", text)
