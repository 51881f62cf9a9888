"""Reads a file of figures, which is imported like a result of a load generator."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sanpath.plugin import CollectorError, Event, Failure, Item, ResultReader, text_of, warning
from sanpath_collectors.figures.parse import find_separator, parse_entries, parse_figure

_MAX_BYTES = 1 << 20
"""Largest size of a file. Files that people write are smaller."""


class Figures(ResultReader):
    """Yields an event for each figure. Figures have no time: they apply to the step that they name, or to all
    steps."""

    clock = "none"

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._content = b""

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - the base class' signature
        """Whether a file contains figures. It is recognised by the key `figures`, or the first line of the CSV."""
        text, _ = text_of(head)
        first = text.lstrip("\ufeff").partition("\n")[0]
        header = {word.strip() for word in first.split(find_separator(first))}
        return bool(re.search(r"^figures\s*:", text, re.MULTILINE)) or {"entity", "quantity", "value"} <= header

    def feed(self, added: bytes) -> Iterable[Item]:
        """Collect the content. Yields nothing, because the file is parsed at its end."""
        self._content = (self._content + added)[: _MAX_BYTES + 1]
        return ()

    def finish(self) -> Iterator[Item]:
        """Yield every figure, and a warning for each that cannot be parsed. Raises CollectorError(UNREADABLE) if
        there is no figure."""
        if len(self._content) > _MAX_BYTES:
            raise CollectorError(Failure.UNREADABLE, "more than 1 MiB of figures: no person wrote this file by hand")
        text = text_of(self._content)[0].lstrip("\ufeff")
        count = 0
        problem = "no figure in it"
        try:
            for number, entry in parse_entries(text):
                try:
                    parsed = parse_figure(entry)
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
