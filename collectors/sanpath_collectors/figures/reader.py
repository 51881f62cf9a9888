"""Reads a file of figures, as `sanpath import` does with the results of load generators."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sanpath.plugin import CollectorError, Event, Failure, Item, ResultReader, text_of, warning
from sanpath_collectors.figures.parse import entries, figure, separator_of

_MOST_BYTES = 1 << 20
"""A person writes no more than this."""


class Figures(ResultReader):
    """Yields an event a figure. They have no time: each is for the step it names, or for all."""

    clock = "none"

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._content = b""

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - the base class' signature
        """By the key `figures`, or the first line of the CSV."""
        text, _ = text_of(head)
        first = text.lstrip("\ufeff").partition("\n")[0]
        header = {word.strip() for word in first.split(separator_of(first))}
        return bool(re.search(r"^figures\s*:", text, re.MULTILINE)) or {"entity", "quantity", "value"} <= header

    def feed(self, added: bytes) -> Iterable[Item]:
        """Nothing yet: the file is small and is read as a whole."""
        self._content = (self._content + added)[: _MOST_BYTES + 1]
        return ()

    def finish(self) -> Iterator[Item]:
        """Every figure that can be read; a warning for each that cannot."""
        if len(self._content) > _MOST_BYTES:
            raise CollectorError(Failure.UNREADABLE, "more than 1 MiB of figures: this is no file a person wrote")
        text = text_of(self._content)[0].lstrip("\ufeff")
        found = 0
        problem = "no figure in it"
        try:
            for number, entry in entries(text):
                try:
                    told = figure(entry)
                except ValueError as error:
                    problem = f"figure {number}: {error}"
                    yield warning(0, "figure-unreadable", problem)
                    continue
                found += 1
                detail = {name: getattr(told, name) for name in told.__slots__}
                yield Event(0, "figure", detail)
        except ValueError as error:
            problem = str(error)
        if not found:
            raise CollectorError(Failure.UNREADABLE, problem)
