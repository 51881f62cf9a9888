"""The reader of SQLIO's files: the output of runs, or their parameter file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from typing import Protocol

from sanpath.errors import CollectorError, Failure
from sanpath.plugin import Item, Lines, LoadProfile, ResultClock, ResultReader, SourceEntity, text_of, warning
from sanpath_collectors.sqlio.parse import Run, is_remark, parameter_line
from sanpath_collectors.sqlio.runs import Runs

_HEADER = re.compile(r"\s*sqlio (v[0-9]\S*)\s*")


class _Document(Protocol):
    """A file of SQLIO, read line by line."""

    @property
    def now_us(self) -> int:
        """The present time on the reader's clock."""
        ...

    def line(self, line: str) -> Iterable[Item]:
        """Read a line, and return the items that it completes."""
        ...

    def end(self, cut_line: str) -> Iterable[Item]:
        """Read the last line, which has no line end. Raises CollectorError: the file has no usable content."""
        ...


class SqlioReader(ResultReader):
    """Reads output or a parameter file; the first line that is not a remark decides which."""

    clock: ResultClock = "elapsed"

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._lines = Lines()
        self._document: _Document | None = None

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """Recognise output by SQLIO's first line, a parameter file by its name and all of its lines."""
        lines = text_of(head)[0].splitlines()
        if any(_HEADER.fullmatch(line) for line in lines):
            return True
        statements = [line for line in lines if not is_remark(line)]
        return bool(statements) and fnmatch(name.casefold(), "*param*.txt") and all(map(parameter_line, statements))

    def feed(self, added: bytes) -> Iterable[Item]:
        """Yield the items of the runs that are now complete."""
        for line in self._lines.feed(added):
            yield from self._document_of(line).line(line)

    def finish(self) -> Iterable[Item]:
        """Yield the items of the last run. Raises CollectorError(UNREADABLE): no run has finished."""
        cut_line = self._lines.last_line()
        document = self._document_of(cut_line)
        yield from document.end(cut_line)
        if self._lines.guessed:
            text = "the text is in the code page of a machine, read as cp1252: names may be off"
            yield warning(document.now_us, "code-page", text)

    def _document_of(self, line: str) -> _Document:
        if self._document is None and parameter_line(line):
            self.clock = "none"
            self._document = _ParameterFile(self.load)
        elif self._document is None and not is_remark(line):
            self._document = _Output(self.load)
        return self._document or _Output(self.load)


class _Output:
    """Output with runs, one after the other; a run is complete when the next begins."""

    def __init__(self, load: str) -> None:
        self._runs = Runs(load)
        self._run: Run | None = None

    @property
    def now_us(self) -> int:
        return self._runs.now_us

    def line(self, line: str) -> Iterator[Item]:
        header = _HEADER.fullmatch(line)
        if header is None:
            if self._run is not None:
                self._run.read_line(line)
            return
        yield from self._close()
        self._run = Run(header[1])

    def end(self, cut_line: str) -> Iterator[Item]:
        # A prompt has no line end either; a cut line of a run may end inside a number.
        cut = self._run is not None and Run("").read_line(cut_line)
        yield from self._close()
        if not self._runs.finished:
            reason = "it contains no finished run" if self._runs.started else "it contains no run"
            text = f"{reason}: give the output of SQLIO from its first line to its last"
            raise CollectorError(Failure.UNREADABLE, text)
        if cut:
            text = f"the file ends inside a line, which is left out: {cut_line.strip()[:60]!r}"
            yield warning(self.now_us, "cut-file", text)

    def _close(self) -> Iterator[Item]:
        if self._run is not None:
            yield from self._runs.items(self._run)
        self._run = None


class _ParameterFile:
    """A parameter file, with files, their sizes and threads, but without results."""

    now_us = 0

    def __init__(self, load: str) -> None:
        self._load = load
        self._files = self._threads = self._bytes = self._unread = 0

    def line(self, line: str) -> Iterator[Item]:
        file = parameter_line(line)
        if file is not None:
            self._files += 1
            self._threads += file.threads
            self._bytes += file.size_bytes
        elif not is_remark(line):
            self._unread += 1
        yield from ()

    def end(self, cut_line: str) -> Iterator[Item]:
        yield from self.line(cut_line)
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
            yield warning(self.now_us, "lines-unreadable", text)
