"""Removes what other programs add to the lines of a text: quotation marks, host names, log times and colours.

Line ends of the old Mac OS (CR), which spreadsheets on macOS still write, become LF.

> Linux 5.14.0 (db1)           a quotation in a mail
db1: Linux 5.14.0 (db1)        pdsh
14:30:05 DEBUG| [stdout] Linux 5.14.0 (db1)
2026-05-22T14:30:05.731Z Linux 5.14.0 (db1)        kubectl logs --timestamps
2026-05-22T14:30:05.731Z stdout F Linux 5.14.0 (db1)        a container's log (CRI)
[pod/test-7xk2p/fio] Linux 5.14.0 (db1)            kubectl logs --prefix
# Linux 5.14.0 (db1)           a comment in a script; "| " and "// " as well
     1  Linux 5.14.0 (db1)      cat -n; grep -n has "1:"
out/iostat.txt:Linux 5.14.0 (db1)                  grep -H
ESC[32;22msdaESC[0m  0.00      iostat, to a terminal
`Linux 5.14.0 (db1)`           Markdown whose author made each line code, with **`parts`** in bold type

Text inside JSON is taken out of it first (json_text.py).
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import IO, Any

from sanpath.recorder.importing.files.json_text import JsonText

_CHUNK_BYTES = 1 << 20
_QUOTES = re.compile(rb"^(?:>[ \t]?)+", re.MULTILINE)
_MIN_QUOTED_RATIO = 0.5
"""Share of the lines that begin with ">" above which a text is taken for a mail that quotes a report."""
_MIN_QUOTED_LINES = 3
"""Lines with ">" one after the other from which they are taken for a quotation in other text. No report of a tool has
them, unless it is XML."""
_MIN_PREFIXED_RATIO = 0.95
"""Share of the lines that must have the same prefix. The program that added it may have written lines of its own."""
_MIN_LINES = 5
_HOST = re.compile(rb"(?!fio: |\d{9,}: )([\w.-]{1,255}):(?: |$)")
"""The name of a host in front of a line. A long number is a time since the epoch, in seconds or milliseconds."""
_TIME = re.compile(
    rb"\[?(?:\d{4}-\d\d-\d\d[ T]|\w{3} [ \d]\d )?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?", re.ASCII
)
_TIME_OF_LOG = re.compile(rb"\[.*\]|.{10}T.*(?:Z|[+-]\d\d:?\d\d)|\w{3} [ \d]\d .*", re.ASCII | re.DOTALL)
"""A time in brackets, with date and zone (RFC 3339) or with the name of a month (`ts`): a log added it. Reports do
not print such times."""
_TIMED_REPORT = re.compile(rb" *(?:avg-cpu: +%|Device:? +(?:tps|rrqm/s|r/s) )")
"""A table of iostat, which reads the time in front of it unless it has its own (-t)."""
_OWN_TIME = re.compile(rb" *\d{1,4}\D\d\d\D\d{2,4}[ T]+\d\d:", re.ASCII)
_LABEL = re.compile(rb"(\[[^\]\s]{1,255}\]|[\w.-]{1,255} *\|)(?: |$)")
_STREAM = re.compile(rb" std(?:out|err) [FP](?: |$)")
"""Stream and completeness of a line in a container's log (Kubernetes, CRI)."""
_MARK = re.compile(rb"(?:[|#]|//)(?: |$)")
_NUMBER = re.compile(rb"[ \t]{0,8}(\d{1,7})(?:\t|:|  )")
_FILE = re.compile(rb"((?=[^:\s]{0,255}[./])[A-Za-z_.~/][\w./~-]{0,255}):")
"""The name of a file in front of a line: it has a dot or a slash."""
_UP_TO_DELIMITER = re.compile(rb".*[|\]:>]", re.DOTALL)
"""A log ends its prefix with a delimiter. The columns of a report that begins with times have none."""
_COLOUR = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")
"""A control sequence of a terminal (ECMA-48, CSI)."""
_CODE_LINE = re.compile(rb"^[ \t]*+[*_]{0,3}+(?:`[^`\r\n]++`[*_]{0,3}+[ \t]*+[*_]{0,3}+)++(?=\r?$)", re.MULTILINE)
"""A line that consists of code in Markdown. A fence of three marks has nothing between them. No part is tried in two
ways, so the time is linear in the length of the line."""
_CODE = re.compile(rb"[*_]{0,3}`([^`]++)`[*_]{0,3}")
"""Code between its marks, in a line that consists of code."""


class LineCleaner:
    """Removes the prefix of lines, colours and old line ends; all of them are detected in the beginning of the text.

    `removed_prefix`: the text in front of the lines, for people; "": nothing worth mentioning.
    """

    def __init__(self, head: bytes) -> None:
        head = head if b"\0" not in head else b""  # Archives, and text in UTF-16.
        # The last byte may be the first half of a CRLF.
        self._has_cr_line_ends = b"\r" in head[:-1] and b"\n" not in head
        head = self.normalise_line_ends(head)
        json_text = JsonText(head)
        self._json_text = json_text if json_text.is_found else None
        head = head if self._json_text is None else self._json_text.replace(head)
        self.removed_prefix = ""
        self._colour = _COLOUR if _COLOUR.search(head) else None
        lines = [line for line in self._remove_colour(head).splitlines() if line.strip()]
        self._code = _CODE_LINE if any(map(_CODE_LINE.match, lines)) else None
        self._prefix = _QUOTES if _has_quotation(lines) else None
        self._kept = b""
        if self._prefix is None and len(lines) >= _MIN_LINES:
            # The last line may be cut.
            finders = (self._log_prefix, self._host_prefix, self._label_prefix, self._mark_prefix)
            self._prefix = next((prefix for find in finders if (prefix := find(lines[:-1])) is not None), None)

    @property
    def changes_nothing(self) -> bool:
        """Whether there is nothing to remove."""
        found = (self._prefix, self._colour, self._code, self._json_text)
        return not self._has_cr_line_ends and all(each is None for each in found)

    def normalise_line_ends(self, text: bytes) -> bytes:
        """Return a part of the text with LF instead of CR."""
        return text.replace(b"\r", b"\n") if self._has_cr_line_ends else text

    def clean(self, text: bytes) -> bytes:
        """Return complete lines without prefix and colours, and with LF as line end."""
        text = self.normalise_line_ends(text)
        text = self._remove_colour(text if self._json_text is None else self._json_text.replace(text))
        if self._code is not None:
            text = self._code.sub(lambda line: _CODE.sub(rb"\1", line[0]), text)
        return text if self._prefix is None else self._prefix.sub(self._kept, text)

    def wrap(self, file: IO[bytes]) -> IO[bytes]:
        """Return a file that reads as the cleaned text of `file`."""
        return file if self.changes_nothing else io.BufferedReader(_CleanedFile(file, self))

    def _remove_colour(self, text: bytes) -> bytes:
        return text if self._colour is None else self._colour.sub(b"", text)

    def _host_prefix(self, lines: list[bytes]) -> re.Pattern[bytes] | None:
        found = _HOST.match(lines[0])
        if found is None or _prefixed_hosts(lines) != [found[1]]:
            return None
        return self._set_prefix(b"", found[0])

    def _label_prefix(self, lines: list[bytes]) -> re.Pattern[bytes] | None:
        labels = Counter(found[1] for line in lines if (found := _LABEL.match(line)) is not None)
        return next((self._set_prefix(b"", label) for label, n in labels.items() if _are_nearly_all(n, lines)), None)

    def _log_prefix(self, lines: list[bytes]) -> re.Pattern[bytes] | None:
        times = [(line, found) for line in lines if (found := _TIME.match(line)) is not None]
        remainders = [line[found.end() :] for line, found in times]
        if not _are_nearly_all(len(remainders), lines):
            return None
        first, last = min(remainders), max(remainders)
        common_length = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
        if all(map(_STREAM.match, remainders)):
            time = self._time_prefix([_STREAM.sub(b"", rest, count=1) for rest in remainders])
            self.removed_prefix = ""
            return re.compile(b"^" + time + b" std(?:out|err) [FP] ?", re.MULTILINE | re.ASCII)
        common = _UP_TO_DELIMITER.match(first[:common_length])
        if common is not None:
            time = self._time_prefix([rest[common.end() :].lstrip() for rest in remainders])
            return self._set_prefix(time, common[0])
        are_log_times = all(_TIME_OF_LOG.fullmatch(found[0]) for _, found in times)
        if _needs_times(remainders):
            return None
        are_separated = all(rest[:1] in (b"", b" ") for rest in remainders)
        return self._set_prefix(_TIME.pattern, b"") if are_log_times and are_separated else None

    def _time_prefix(self, reports: Sequence[bytes]) -> bytes:
        """Return the pattern of the time in front of the lines, which is kept where their report needs it."""
        if not _needs_times(reports):
            return _TIME.pattern
        self._kept = rb"\1 "
        return b"(" + _TIME.pattern + b")"

    def _mark_prefix(self, lines: list[bytes]) -> re.Pattern[bytes] | None:
        """Return the mark of a comment, the number of the line, or the name of a file, in front of each line."""
        for pattern in (_MARK, _FILE):
            counts = Counter(found[0].rstrip() for line in lines if (found := pattern.match(line)) is not None)
            if any(_are_nearly_all(count, lines) for count in counts.values()):
                return self._set_prefix(b"", counts.most_common(1)[0][0])
        numbers = [int(found[1]) for line in lines if (found := _NUMBER.match(line)) is not None]
        steps = [after - before for before, after in pairwise(numbers)]
        if _are_nearly_all(len(numbers), lines) and _are_nearly_all(steps.count(1), lines[1:]):
            return re.compile(b"^" + _NUMBER.pattern, re.MULTILINE)
        return None

    def _set_prefix(self, pattern: bytes, common: bytes) -> re.Pattern[bytes]:
        self.removed_prefix = common.decode("utf-8", "replace").strip()
        return re.compile(b"^" + pattern + re.escape(common.rstrip()) + b" ?", re.MULTILINE | re.ASCII)


class _CleanedFile(io.RawIOBase):
    """A file with cleaned lines. A line longer than a chunk is cleaned in parts."""

    def __init__(self, file: IO[bytes], line_cleaner: LineCleaner) -> None:
        self._file, self._cleaner = file, line_cleaner
        self._cleaned = self._rest = b""

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer and return the number of bytes; 0 at the end."""
        while not self._cleaned:
            chunk = self._cleaner.normalise_line_ends(self._file.read(_CHUNK_BYTES))
            text = self._rest + chunk
            if not text:
                return 0
            complete = (text.rfind(b"\n") + 1 if chunk else 0) or len(text)
            self._cleaned, self._rest = self._cleaner.clean(text[:complete]), text[complete:]
        view = memoryview(buffer)
        part, self._cleaned = self._cleaned[: len(view)], self._cleaned[len(view) :]
        view[: len(part)] = part
        return len(part)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def _needs_times(lines: Sequence[bytes]) -> bool:
    """Whether the lines are a report of iostat without times of its own."""
    return any(map(_TIMED_REPORT.match, lines)) and not any(map(_OWN_TIME.match, lines))


def _has_quotation(lines: list[bytes]) -> bool:
    """Whether lines are quoted: most of them, or several in a row."""
    quoted = [line.startswith(b">") for line in lines]
    longest = max((len(run) for run in "".join("x" if each else " " for each in quoted).split()), default=0)
    is_markup = any(line.lstrip().startswith(b"<") for line in lines)
    return sum(quoted) > _MIN_QUOTED_RATIO * len(lines) or (longest >= _MIN_QUOTED_LINES and not is_markup)


def prefixed_hosts(head: bytes) -> list[str]:
    """Return the host names in front of the lines, if nearly all lines have one and there are several hosts.

    `head`: the beginning of the text.
    """
    names = _prefixed_hosts([line for line in head.splitlines() if line.strip()][:-1])
    return [name.decode("utf-8", "replace") for name in names] if len(names) > 1 else []


def _prefixed_hosts(lines: list[bytes]) -> list[bytes]:
    """Return the host names in front of the lines, each in front of several; []: not nearly all lines have one."""
    counts = Counter(found[1] for line in lines if (found := _HOST.match(line)) is not None)
    names = [name for name, count in counts.items() if count >= _MIN_LINES - 1]
    return names if names and _are_nearly_all(sum(counts[name] for name in names), lines) else []


def _are_nearly_all(count: int, lines: list[bytes]) -> bool:
    return count >= _MIN_PREFIXED_RATIO * len(lines)
