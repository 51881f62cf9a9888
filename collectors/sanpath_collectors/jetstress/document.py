"""What a report says, whether as HTML or as XML: labelled values, rows of tables, and lines of the test's log."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sanpath_collectors.jetstress.dates import DateOrder
from sanpath_collectors.jetstress.parse import folded, is_figure, measure
from sanpath_collectors.jetstress.phases import Phases

_MOST_ROWS = 100_000
_SECTIONS = frozenset(
    (
        *("testsummary", "databasesizingandthroughput", "jetstresssystemparameters", "databaseconfiguration"),
        *("transactionalioperformance", "backgrounddatabasemaintenanceioperformance", "logreplicationioperformance"),
        *("totalioperformance", "hostsystemperformance", "disksubsystemperformance", "memorysystemperformance"),
        *("checksumstatisticsall", "disksubsystemperformanceofchecksum", "testlog"),
    )
)
"""Headings that are taken for what they are wherever they stand."""
_BLG = re.compile(r"(?<![\w.-])[\w.-]+_\d{4}(?:_\d{1,2}){5}\.(?:blg|xml|html)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Row:
    """A row: the folded heading of its section, what it is of, and its cells by folded column name."""

    section: str
    name: str
    cells: Mapping[str, str]


@dataclass(slots=True)
class Document:
    """`headings`: as they are written. `values`: folded label → text, the first that has it."""

    headings: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    order: DateOrder = field(default_factory=DateOrder)
    phases: Phases = field(default_factory=Phases)
    _section: str = ""
    _columns: Sequence[str] = ()

    def heading(self, text: str) -> None:
        """A section begins."""
        self._section, self._columns = folded(text), ()
        if len(self.headings) < _MOST_ROWS:
            self.headings.append(text)

    def cells(self, texts: Sequence[str]) -> None:
        """A row of a table: a header, labels with a value, or figures."""
        if len(texts) == 2:
            self.value(*texts)
        elif len(texts) > 2 and self._is_header(texts):
            self._columns = [folded(text) for text in texts]
        elif len(texts) > 2 and len(texts) == len(self._columns):
            self.row(Row(self._section, texts[0], dict(zip(self._columns[1:], texts[1:], strict=True))))
        elif len(texts) == 1:
            self.text(texts[0])

    def _is_header(self, texts: Sequence[str]) -> bool:
        """A row of names; later ones of a table have to be names that are known: others are rows without figures."""
        if any(is_figure(text) for text in texts[1:]):
            return False
        return not self._columns or any(measure(folded(text)) for text in texts)

    def value(self, label: str, text: str) -> None:
        """A labelled value."""
        name = folded(label)
        if name and len(self.values) < _MOST_ROWS:
            self.values.setdefault(name, text)
        self.order.see(text)
        for file in _BLG.findall(text):
            self.order.see_name(file)

    def row(self, row: Row) -> None:
        """A row of a table."""
        if len(self.rows) < _MOST_ROWS:
            self.rows.append(row)

    def text(self, text: str) -> None:
        """Text beside tables: lines of the test's log, or a heading that is not marked as one."""
        for line in text.splitlines():
            date = self.phases.line(line)
            if date is not None:
                self.order.see(date)
                for file in _BLG.findall(line):
                    self.order.see_name(file)
            elif folded(line[:80]) in _SECTIONS:
                self.heading(line.strip())
