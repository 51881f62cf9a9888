"""Parses fio's output in any of its formats into samples, entities, steps and warnings.

One stream may contain a status in several formats: terse, then JSON, then normal text. The most detailed one is read.
A stream may also contain several runs, one after the other.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from sanpath.plugin import CollectorError, Failure, Item, ResultClock, warning
from sanpath_collectors.fio.documents import MAX_DOCUMENT_CHARACTERS, Documents
from sanpath_collectors.fio.formats import client, terse
from sanpath_collectors.fio.formats.normal import NormalText
from sanpath_collectors.fio.formats.normal_entry import Entry, has_direction_totals
from sanpath_collectors.fio.inventory import Inventory
from sanpath_collectors.fio.jobs.status import Status
from sanpath_collectors.fio.parse import parse_status
from sanpath_collectors.fio.printed_run import LoadIds, Run
from sanpath_collectors.fio.truncated_document import parse_complete_jobs

_BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_LINES = re.compile(r"\r\n?|\n")
_KEY = re.compile(r'"(?:fio version|jobs|client_stats)"\s{0,8}:')
"""What only a document of fio has: another brace that is never closed, as in notes, hides no text after it."""
_WARNINGS_PER_CODE = 3
"""Maximum number of warnings with the same code."""

_FIRST_LINES = re.compile(
    r'\{\s*"fio version"\s*:|^(?:<[^>]+> )?[345];(?:fio-)?\d+\.\d[^;]*;|^.+: \(groupid=\d+, jobs=\d+\): err=|'
    r"^.+: \(g=\d+\): rw=\w+, bs=|^fio: pid=\d+, err=\d+/|^\S+: verify failed at file |"
    r"^[ \t]*(?:read|write|mixed) ?: (?:IOPS=[\d.]+k?, BW=|io=[\d.,]+[kKMGTP]? ?B?, bw=)",
    re.MULTILINE,
)
_CUT_FIGURES = re.compile(r"[ \t]*(?:read|write|mixed) *:|[^:]+: \(groupid=\d")
"""The beginning of a last line after which the figures of a job are missing."""
_ENGINES_WITHOUT_STORAGE = frozenset(("cpuio", "net", "netsplice", "rdma"))
"""Engines that burn processor time, or send data to another process of fio."""
_FIO_ERROR = re.compile(r"(?:error|fio): (?!pid=|terminating|connected|waiting)\S.*")
"""fio's message when it does not start."""
_WARNING_PATTERNS = {
    "load-error": re.compile(r"fio: (?:pid=\d+, err=\d+/|io_u error)"),
    "verify-failed": re.compile(r"\S+: (?:verify failed at |bad header |bad magic )"),
    "interrupted": re.compile(r"fio: terminating on signal"),
}
"""Code of a warning → the line of fio that causes it."""


def recognises(head: str) -> bool:
    """Whether a text is the beginning of fio's output."""
    return _FIRST_LINES.search(head) is not None


class Report:
    """Reads one file. `load`: local id of its load. `clock` is set before the first item is yielded."""

    def __init__(self, load: str) -> None:
        self.clock: ResultClock = "elapsed"
        self._inventory, self._load_ids = Inventory(load), LoadIds(load)
        self._start = b""
        self._documents: Documents | None = None
        self._normal, self._terse = NormalText(), terse.TerseText()
        self._form: Literal["json", "normal", "terse"] | None = None
        self._run: Run | None = None
        self._pending_warnings: list[tuple[str, str]] = []
        self._has_prefixed_entry = self._interrupted = False
        self._fio_error = self._last_line = ""
        self._warning_counts: Counter[str] = Counter()
        self._seen: set[int] = set()

    def feed(self, added: bytes) -> Iterator[Item]:
        """Yields the items of the next chunk."""
        self._start += added
        if self._documents is None and len(self._start) < len(codecs.BOM_UTF8):
            return
        added, self._start = self._start, b""
        for part in self._open_documents(added).parts(added):
            yield from self._read_part(part)

    def finish(self) -> Iterator[Item]:
        """Yields the remaining items at the end of the file. Raises CollectorError when it has no result of fio."""
        documents = self._open_documents(self._start)
        for part in (*documents.parts(self._start), *documents.last_parts()):
            yield from self._read_part(part)
        remaining = documents.remaining().lstrip(" \t")
        cut = remaining.startswith("{") and _KEY.search(remaining) is not None
        if not cut:
            yield from self._read_part(remaining)
        else:
            self._add_warning("cut-file", "the file ends inside a document: what came before it is used")
            # Without an earlier status, the complete jobs in this document are the only result.
            if self._run is None and (document := parse_complete_jobs(remaining)) is not None:
                yield from self._read_part(document)
        for form, text in (("normal", self._normal), ("terse", self._terse)):
            if self._form in (None, form) and (last_status := text.finish()) is not None:
                self._form = "normal" if text is self._normal else "terse"
                yield from self._add_status(last_status)
        if self._terse.damaged_lines:
            self._add_warning(
                "cut-line", f"{self._terse.damaged_lines:,} lines of terse output are incomplete and were left out"
            )
        if self._normal.skipped_lines and self._form == "normal":
            missing = "figures of reads or writes without a line with (groupid= before them were left out"
            self._add_warning("no-beginning", f"{missing}: {self._normal.skipped_lines:,}")
        if self._run is None:
            reason = "copy from the line with (groupid= on; logs are read under the names that fio has given them"
            if self._has_prefixed_entry:
                reason = "there is something in front of its lines, such as a name of a host; remove it first"
                if _CUT_FIGURES.match(self._last_line) is not None:
                    reason = "the text ends before the figures of its job do: copy what follows, too"
            if cut:
                reason = "the file ends inside its first document: copy the whole file"
            elif self._fio_error:
                reason = f"fio says {self._fio_error!r}"
            elif self._pending_warnings:
                reason = self._pending_warnings[0][1]
            raise CollectorError(Failure.UNREADABLE, f"it contains no result of fio: {reason}")
        yield from self._end_run(self._run)
        yield from self._emit_warnings()

    def _end_run(self, run: Run) -> Iterator[Item]:
        if run.truncated and not self._interrupted:
            self._add_warning("no-end", "fio was still running when this was written: what came later is missing")
        self._interrupted = False
        yield from run.finish()

    def _open_documents(self, start: bytes) -> Documents:
        if self._documents is None:
            encoding = next((name for mark, name in _BYTE_ORDER_MARKS.items() if start.startswith(mark)), "utf-8")
            self._documents = Documents(encoding, list_keys=("jobs", "client_stats"))
        return self._documents

    def _read_part(self, part: Mapping[str, Any] | str) -> Iterator[Item]:
        if not isinstance(part, str):
            if self._form is None:
                self._form = "json"
            if self._form == "json":
                for status in client.parse_statuses(part) if "client_stats" in part else [parse_status(part)]:
                    yield from self._add_status(status)
            else:
                self._add_warning("several-forms", f"documents that follow {self._form} output are not read")
            return
        if len(part) > MAX_DOCUMENT_CHARACTERS:
            self._add_warning("too-large", f"a document of more than {MAX_DOCUMENT_CHARACTERS >> 20} MiB is not read")
            return
        for line in _LINES.split(part):
            yield from self._read_line(line)

    def _read_line(self, line: str) -> Iterator[Item]:
        status, line = None, line.replace("**", "")  # Pages print what they stress in bold type.
        self._last_line = line if line.strip() else self._last_line
        if terse.LINE.match(line):
            if self._form in (None, "terse") and (status := self._terse.read_line(line)) is not None:
                self._form = "terse"
        elif self._form in (None, "normal"):
            if ("(groupid=" in line and Entry.parse(line) is not None) or has_direction_totals(line):
                self._form = "normal"
                self._has_prefixed_entry |= "(groupid=" in line
            status = self._normal.read_line(line)
        if status is not None:
            yield from self._add_status(status)
        if not self._fio_error and (error := _FIO_ERROR.match(line)) is not None:
            self._fio_error = error[0].strip()[:200]
        if line[:1] not in ("", " "):
            for code, pattern in _WARNING_PATTERNS.items():
                if pattern.match(line):
                    self._add_warning(code, line.strip()[:300])
                    self._interrupted |= code == "interrupted"
        yield from self._emit_warnings()

    def _add_status(self, current: Status) -> Iterator[Item]:
        without = {job.options.get("ioengine") for job in current.jobs} & _ENGINES_WITHOUT_STORAGE
        if without:
            text = (
                f"jobs with ioengine={', '.join(sorted(map(str, without)))} do no I/O on storage: they are left out"
            )
            self._add_warning("no-storage", text)
            jobs = tuple(job for job in current.jobs if job.options.get("ioengine") not in without)
            if not jobs:
                return
            current = replace(current, jobs=jobs)
        if self._run is None:
            wall_clock: ResultClock = "local" if self._form == "normal" else "utc"
            self.clock = "elapsed" if current.time_us is None else wall_clock
        if (self.clock == "elapsed") != (current.time_us is None):
            current = replace(current, time_us=None if self.clock == "elapsed" else self._estimate_end_us(current))
        if self._run is None or not self._run.continues(current):
            if current.figures in self._seen:  # Notes, and files to which output is appended, hold some twice.
                self._add_warning("copy", "the file holds a result twice: it is counted once")
                return
            first_step, end_us = 0, self._end_us()
            if self._run is not None:
                yield from self._end_run(self._run)
                yield from self._emit_warnings()
                first_step = self._run.next_step
            begin_us = end_us if current.time_us is None else current.time_us
            for_people = self._form == "normal"
            self._run = Run(self._inventory, self._load_ids, first_step, begin_us, for_people=for_people)
        self._seen |= {current.figures} if current.time_us is not None else set()
        yield from self._run.add(current)
        yield from self._emit_warnings()

    def _estimate_end_us(self, current: Status) -> int:
        """The estimated time of a status without a time, if others have times: a run begins when the one before it
        has ended."""
        run = self._run
        if run is None:
            return 0
        return run.end_us + current.runtime_us - (run.runtime_us if run.continues(current) else 0)

    def _end_us(self) -> int:
        return self._run.end_us if self._run is not None else 0

    def _add_warning(self, code: str, text: str) -> None:
        self._warning_counts[code] += 1
        if self._warning_counts[code] <= _WARNINGS_PER_CODE:
            self._pending_warnings.append((code, text))

    def _emit_warnings(self) -> Iterator[Item]:
        if self._run is not None:
            for code, text in self._pending_warnings:
                yield warning(self._run.end_us, code, text)
            self._pending_warnings.clear()
