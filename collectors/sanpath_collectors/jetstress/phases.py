"""Reads the begin of the load, the begin of its measurement, and the end of both from the test's log.

5/31/2007 12:59:31 AM -- Starting transaction dispatch ..
5/31/2007 12:59:32 AM -- Performance logging started (interval: 15000 ms).
5/31/2007 12:59:32 AM -- Attaining prerequisites:
5/31/2007 1:09:18 AM -- \\MSExchange Database(JetstressWin)\\Database Cache Size, Last: 1208266000.0 (lower bound: ...
5/31/2007 3:09:19 AM -- Performance logging has ended.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sanpath_collectors.jetstress.dates import DATE_TIME

LINE = re.compile(rf"\s*({DATE_TIME})\s+--\s?(.*)")
_BEGIN = re.compile(r"starting transaction dispatch", re.IGNORECASE)
_LOGGING_BEGIN = re.compile(r"performance logging (?:has )?(?:started|begun|began|begins)", re.IGNORECASE)
_ATTAINED = re.compile(r"\\.+, Last: ", re.IGNORECASE)
_END = re.compile(r"performance logging (?:has )?ended|dispatching transactions ends", re.IGNORECASE)
_ERROR = re.compile(r"\b(?:error|failed|failure|exception)\b", re.IGNORECASE)
_NO_ERROR = re.compile(r"\b(?:0|no) errors?\b", re.IGNORECASE)
_MAX_ERRORS = 20
"""Largest number of error messages that are kept."""


@dataclass(slots=True)
class Phases:
    """Times as written in the log. "": not in the log.

    `first`, `last`: first and last line. `begin`, `end`: begin and end of the load. `logging_begin`: begin of the
    performance log. `prerequisites_attained`: when the database cache was filled. `errors`: (time, text) of the first
    lines about errors.
    """

    first: str = ""
    last: str = ""
    begin: str = ""
    logging_begin: str = ""
    prerequisites_attained: str = ""
    end: str = ""
    errors: list[tuple[str, str]] = field(default_factory=list)

    def add_line(self, text: str) -> str | None:
        """Add the next line. Returns its date as written; None: it is not a line of a log."""
        match = LINE.match(text)
        if match is None:
            return None
        date, message = match[1], match[2]
        self.first, self.last = self.first or date, date
        if not self.begin and _BEGIN.match(message):
            self.begin = date
        elif not self.logging_begin and _LOGGING_BEGIN.match(message):
            self.logging_begin = date
        elif not self.prerequisites_attained and _ATTAINED.match(message):
            self.prerequisites_attained = date
        elif not self.end and _END.match(message):
            self.end = date
        elif _ERROR.search(message) and not _NO_ERROR.search(message) and len(self.errors) < _MAX_ERRORS:
            self.errors.append((date, message.strip()))
        return date

    @property
    def measurement_begin(self) -> str:
        """The time from which the report's figures are measured."""
        return self.prerequisites_attained or self.logging_begin
