"""Reads a file of figures, as `sanpath import` does with the results of load generators."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sanpath.plugin import CollectorError, Event, Failure, Item, ResultReader, text_of, warning
from sanpath_collectors.figures.parse import entries, figure, separator_of

_MAX_BYTES = 1 << 20
"""Files written by a person are smaller."""


class Figures(ResultReader):
    """Yields an event per figure. Figures have no time: each applies to the step it names, or to all steps."""

    clock = "none"

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._content = b""

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - the base class' signature
        """Whether a file has figures: by the key `figures`, or the first line of the CSV."""
        text, _ = text_of(head)
        first = text.lstrip("\ufeff").partition("\n")[0]
        header = {word.strip() for word in first.split(separator_of(first))}
        return bool(re.search(r"^figures\s*:", text, re.MULTILINE)) or {"entity", "quantity", "value"} <= header

    def feed(self, added: bytes) -> Iterable[Item]:
        """Collect the content; yields nothing, because the small file is parsed at its end."""
        self._content = (self._content + added)[: _MAX_BYTES + 1]
        return ()

    def finish(self) -> Iterator[Item]:
        """Yield every figure, and a warning for each that cannot be parsed. Raises UNREADABLE: no figure."""
        if len(self._content) > _MAX_BYTES:
            raise CollectorError(Failure.UNREADABLE, "more than 1 MiB of figures: no person wrote this file by hand")
        text = text_of(self._content)[0].lstrip("\ufeff")
        count = 0
        problem = "no figure in it"
        try:
            for number, entry in entries(text):
                try:
                    parsed = figure(entry)
                except ValueError as error:
                    problem = f"figure {number}: {error}"
                    yield warning(0, "figure-unreadable", problem)
                    continue
                count += 1
                detail = {name: getattr(parsed, name) for name in parsed.__slots__}
                yield Event(0, "figure", detail)
        except ValueError as error:
            problem = str(error)
        if not count:
            raise CollectorError(Failure.UNREADABLE, problem)
