"""Text inside JSON, as programs that run other programs store their output.

{"log":"Linux 5.14.0 (db1)\\n","stream":"stdout","time":"2026-01-31T14:00:00Z"}      Docker, a line
"stdout": "Linux 5.14.0 (db1)\\n\\navg-cpu: ...",                                    Ansible, a whole text
"Linux 5.14.0 (db1)",                                                              Ansible, stdout_lines
"""

from __future__ import annotations

import json
import re

_STRING = rb'"((?:[^"\\\r\n]|\\.)*+)"'
_KEY = rb"(?:std)?out(?:put)?"
"""Key of the output of a program. Other keys are of a report, which its own reader reads as JSON."""
_LIST = re.compile(rb'_lines"[ \t]*:[ \t]*\[')
_LOG = re.compile(rb'^\{"log": ?' + _STRING + rb', ?"stream":.*\}(?=\r?$)', re.MULTILINE)
_ITEM = re.compile(rb"^[ \t]*+" + _STRING + rb",?[ \t]*(?=\r?$)", re.MULTILINE)
_TEXT = re.compile(rb'^[ \t]*+"' + _KEY + rb'"[ \t]*:[ \t]*' + _STRING + rb",?[ \t]*(?=\r?$)", re.MULTILINE)
_MIN_LINES = 5
"""Number of lines from which text counts as the output of a program. A description in a report has fewer."""
_BEGINS_TEXT = re.compile(
    rb'^[ \t]*+"%s"[ \t]*:[ \t]*"(?:(?:[^"\\\r\n]|\\[^n])*+\\n){%d}' % (_KEY, _MIN_LINES), re.MULTILINE
)
_MIN_ITEMS_RATIO = 0.5
"""Share of strings among the lines from which they count as a list of lines."""


class JsonText:
    """Replaces strings of JSON by the text that they hold, if the beginning of a file has such strings."""

    def __init__(self, head: bytes) -> None:
        lines = [line for line in head.splitlines() if line.strip()][:-1]  # The last one may be cut.
        logged = sum(map(bool, map(_LOG.match, lines)))
        items = sum(map(bool, map(_ITEM.match, lines)))
        self._pattern: re.Pattern[bytes] | None = None
        self._has_items = _LIST.search(head) is not None and items >= max(_MIN_LINES, _MIN_ITEMS_RATIO * len(lines))
        if logged >= max(1, _MIN_ITEMS_RATIO * len(lines)):
            self._pattern = _LOG
        elif _BEGINS_TEXT.search(head) is not None:
            self._pattern, self._has_items = _TEXT, False

    @property
    def is_found(self) -> bool:
        """Whether there is something to replace."""
        return self._pattern is not None or self._has_items

    def replace(self, text: bytes) -> bytes:
        """Return complete lines, with the text instead of the strings."""
        if self._pattern is not None:
            text = self._pattern.sub(_text_of, text)
        if self._pattern is _TEXT or self._has_items:
            text = _ITEM.sub(b"" if self._pattern is _TEXT else _text_of, text)
        return text


def _text_of(found: re.Match[bytes]) -> bytes:
    """Return the text of a string. A short one beside a text is the name or the state of a program: it stays."""
    if found.re is _TEXT and found[1].count(rb"\n") < _MIN_LINES:
        return found[0]
    try:
        return str(json.loads(b'"' + found[1] + b'"')).removesuffix("\n").encode("utf-8", "replace")
    except ValueError:
        return found[0]
