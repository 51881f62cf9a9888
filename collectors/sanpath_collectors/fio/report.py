"""What fio printed, in any of its forms → samples, things, steps and warnings.

One stream may hold several forms of a status, first terse, then JSON, then normal text; the one that tells most is
read. It may hold several runs, one after the other.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from sanpath.plugin import CollectorError, Failure, Item, ResultClock, warning
from sanpath_collectors.fio import client, terse
from sanpath_collectors.fio.inventory import Inventory
from sanpath_collectors.fio.normal import NormalText
from sanpath_collectors.fio.normal_entry import Entry
from sanpath_collectors.fio.parse import LARGEST, Documents, status
from sanpath_collectors.fio.run import Names, Run
from sanpath_collectors.fio.status import Status

_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_LINES = re.compile(r"[\r\n]+")
_OF_EACH = 3
"""So many warnings of a kind are told."""

_BEGINNING = re.compile(
    r'^\{\s*"fio version"\s*:|^(?:<[^>]+> )?[345];fio-\d[^;]*;|^.+: \(groupid=\d+, jobs=\d+\): err=|'
    r"^.+: \(g=\d+\): rw=\w+, bs=|^fio: pid=\d+, err=\d+/|^\S+: verify failed at file ",
    re.MULTILINE,
)
_NOTES = {
    "load-error": re.compile(r"fio: (?:pid=\d+, err=\d+/|io_u error)"),
    "verify-failed": re.compile(r"\S+: (?:verify failed at |bad header |bad magic )"),
    "interrupted": re.compile(r"fio: terminating on signal"),
}
"""What fio says that a person should know."""


def recognises(head: str) -> bool:
    """Whether this is how something begins that fio printed."""
    return _BEGINNING.search(head) is not None


class Report:
    """One file. `clock` is set before the first item comes."""

    def __init__(self, load: str) -> None:
        self.clock: ResultClock = "elapsed"
        self._inventory, self._names = Inventory(load), Names(load)
        self._start = b""
        self._documents: Documents | None = None
        self._normal, self._terse = NormalText(), terse.TerseText()
        self._form: Literal["json", "normal", "terse"] | None = None
        self._run: Run | None = None
        self._notes: list[tuple[str, str]] = []
        self._interrupted = False
        self._noted: Counter[str] = Counter()

    def feed(self, added: bytes) -> Iterator[Item]:
        """What became known."""
        self._start += added
        if self._documents is None and len(self._start) < len(codecs.BOM_UTF8):
            return
        added, self._start = self._start, b""
        for part in self._opened(added).parts(added):
            yield from self._part(part)

    def finish(self) -> Iterator[Item]:
        """The file has ended. Raises CollectorError when there was nothing to read."""
        documents = self._opened(self._start)
        for part in (*documents.parts(self._start), *documents.last_parts()):
            yield from self._part(part)
        if documents.rest().startswith("{"):
            self._note("cut-file", "the file ends inside a document: what came before it is used")
        for form, text in (("normal", self._normal), ("terse", self._terse)):
            if self._form in (None, form) and (last := text.finish()) is not None:
                self._form = "normal" if text is self._normal else "terse"
                yield from self._status(last)
        if self._terse.damaged:
            self._note("cut-line", f"{self._terse.damaged:,} lines of terse output are cut and were left out")
        if self._run is None:
            said = self._notes[0][1] if self._notes else "its logs are read under the names that fio has given them"
            raise CollectorError(Failure.UNREADABLE, f"there is no result of fio in this: {said}")
        yield from self._ended(self._run)
        yield from self._warnings()

    def _ended(self, run: Run) -> Iterator[Item]:
        if run.cut and not self._interrupted:
            self._note("no-end", "fio was still running when this was written: what came later is missing")
        self._interrupted = False
        yield from run.finish()

    def _opened(self, start: bytes) -> Documents:
        if self._documents is None:
            encoding = next((name for mark, name in _MARKS.items() if start.startswith(mark)), "utf-8")
            self._documents = Documents(encoding, holds=("jobs", "client_stats"))
        return self._documents

    def _part(self, part: Mapping[str, Any] | str) -> Iterator[Item]:
        if not isinstance(part, str):
            if self._form is None:
                self._form = "json"
            if self._form == "json":
                for one in client.statuses(part) if "client_stats" in part else [status(part)]:
                    yield from self._status(one)
            else:
                self._note("several-forms", f"documents that follow {self._form} output are not read")
            return
        if len(part) > LARGEST:
            self._note("too-large", f"a document of more than {LARGEST >> 20} MiB is not read")
            return
        for line in _LINES.split(part):
            yield from self._line(line)

    def _line(self, line: str) -> Iterator[Item]:
        found = None
        if terse.LINE.match(line):
            if self._form in (None, "terse") and (found := self._terse.line(line)) is not None:
                self._form = "terse"
        elif self._form in (None, "normal"):
            if Entry.of(line) is not None:
                self._form = "normal"
            found = self._normal.line(line)
        if found is not None:
            yield from self._status(found)
        if line[:1] not in ("", " "):
            for code, pattern in _NOTES.items():
                if pattern.match(line):
                    self._note(code, line.strip()[:300])
                    self._interrupted |= code == "interrupted"
        yield from self._warnings()

    def _status(self, now: Status) -> Iterator[Item]:
        if self._run is None:
            timed: ResultClock = "local" if self._form == "normal" else "utc"
            self.clock = "elapsed" if now.time_us is None else timed
        end = self._run.end if self._run is not None else 0
        if (self.clock == "elapsed") != (now.time_us is None):
            now = replace(now, time_us=None if self.clock == "elapsed" else end)
        if self._run is None or not self._run.continues(now):
            first = 0
            if self._run is not None:
                yield from self._ended(self._run)
                yield from self._warnings()
                first = self._run.next_step
            self._run = Run(self._inventory, self._names, first, end if now.time_us is None else now.time_us)
        yield from self._run.add(now)
        yield from self._warnings()

    def _note(self, code: str, text: str) -> None:
        self._noted[code] += 1
        if self._noted[code] <= _OF_EACH:
            self._notes.append((code, text))

    def _warnings(self) -> Iterator[Item]:
        if self._run is not None:
            for code, text in self._notes:
                yield warning(self._run.end, code, text)
            self._notes.clear()
