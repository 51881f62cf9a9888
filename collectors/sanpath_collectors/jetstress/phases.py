"""The test's log, line by line: when the load began, when its measurement did, when both ended.

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
_BEGUN = re.compile(r"starting transaction dispatch", re.IGNORECASE)
_LOGGING = re.compile(r"performance logging (?:has )?(?:started|begun|began|begins)", re.IGNORECASE)
_ATTAINED = re.compile(r"\\.+, Last: ", re.IGNORECASE)
_ENDED = re.compile(r"performance logging (?:has )?ended|dispatching transactions ends", re.IGNORECASE)
_TROUBLE = re.compile(r"\b(?:error|failed|failure|exception)\b", re.IGNORECASE)
_NO_TROUBLE = re.compile(r"\b(?:0|no) errors?\b", re.IGNORECASE)
_MOST_TROUBLES = 20


@dataclass(slots=True)
class Phases:
    """Times as they are written, "" where the log does not tell. `measured`: from then on figures count: the
    database cache is filled. `troubles`: the first lines that speak of errors, with their times."""

    first: str = ""
    last: str = ""
    begun: str = ""
    logging: str = ""
    attained: str = ""
    ended: str = ""
    troubles: list[tuple[str, str]] = field(default_factory=list)

    def line(self, text: str) -> str | None:
        """The next line. Returns its date as it is written; None: it is none of a log."""
        match = LINE.match(text)
        if match is None:
            return None
        date, message = match[1], match[2]
        self.first, self.last = self.first or date, date
        if not self.begun and _BEGUN.match(message):
            self.begun = date
        elif not self.logging and _LOGGING.match(message):
            self.logging = date
        elif not self.attained and _ATTAINED.match(message):
            self.attained = date
        elif not self.ended and _ENDED.match(message):
            self.ended = date
        elif _TROUBLE.search(message) and not _NO_TROUBLE.search(message) and len(self.troubles) < _MOST_TROUBLES:
            self.troubles.append((date, message.strip()))
        return date

    @property
    def measured(self) -> str:
        """From when on figures count."""
        return self.attained or self.logging
