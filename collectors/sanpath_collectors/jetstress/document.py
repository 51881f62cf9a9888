"""The content of a report in HTML or XML: labelled values, rows of tables, and lines of the test's log."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sanpath_collectors.jetstress.dates import DateOrder
from sanpath_collectors.jetstress.parse import fold, is_figure, parse_measure
from sanpath_collectors.jetstress.phases import Phases

_MAX_ROWS = 100_000
"""Largest number of headings, of values and of rows in a document, so that no file fills the memory."""
_SECTIONS = frozenset(
    (
        *("testsummary", "databasesizingandthroughput", "jetstresssystemparameters", "databaseconfiguration"),
        *("transactionalioperformance", "backgrounddatabasemaintenanceioperformance", "logreplicationioperformance"),
        *("totalioperformance", "hostsystemperformance", "disksubsystemperformance", "memorysystemperformance"),
        *("checksumstatisticsall", "disksubsystemperformanceofchecksum", "testlog"),
    )
)
"""Headings that are recognised even if the text is not marked as a heading."""
_FILE_NAME = re.compile(r"(?<![\w.-])[\w.-]+_\d{4}(?:_\d{1,2}){5}\.(?:blg|xml|html)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table.

    `section`: folded heading of its section; `name`: of the instance or volume; `cells`: folded column name → text.
    """

    section: str
    name: str
    cells: Mapping[str, str]


@dataclass(slots=True)
class Document:
    """The content of one report.

    `headings`: as written. `values`: folded label → the first text with this label. `order`: order of day and month
    in its dates. `phases`: the times in the log.
    """

    headings: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    order: DateOrder = field(default_factory=DateOrder)
    phases: Phases = field(default_factory=Phases)
    _section: str = ""
    _columns: Sequence[str] = ()

    def add_heading(self, text: str) -> None:
        """Begin a section."""
        self._section, self._columns = fold(text), ()
        if len(self.headings) < _MAX_ROWS:
            self.headings.append(text)

    def add_cells(self, texts: Sequence[str]) -> None:
        """Add a row of a table: a header, a label with a value, or figures."""
        if len(texts) == 2:
            self.add_value(*texts)
        elif len(texts) > 2 and self._is_header(texts):
            self._columns = [fold(text) for text in texts]
        elif len(texts) > 2 and len(texts) == len(self._columns):
            self.add_row(Row(self._section, texts[0], dict(zip(self._columns[1:], texts[1:], strict=True))))
        elif len(texts) == 1:
            self.add_text(texts[0])

    def _is_header(self, texts: Sequence[str]) -> bool:
        """Whether a row is a header: it has no figures, and it is the first row of a table or contains the name of a
        measure."""
        if any(is_figure(text) for text in texts[1:]):
            return False
        return not self._columns or any(parse_measure(fold(text)) for text in texts)

    def add_value(self, label: str, text: str) -> None:
        """Add a labelled value."""
        name = fold(label)
        if name and len(self.values) < _MAX_ROWS:
            self.values.setdefault(name, text)
        self.order.add_date(text)
        for file_name in _FILE_NAME.findall(text):
            self.order.add_file_name(file_name)

    def add_row(self, row: Row) -> None:
        """Add a row of figures."""
        if len(self.rows) < _MAX_ROWS:
            self.rows.append(row)

    def add_text(self, text: str) -> None:
        """Add text outside of tables: lines of the test's log, or a heading that is not marked as such."""
        for line in text.splitlines():
            date = self.phases.add_line(line)
            if date is not None:
                self.order.add_date(date)
                for file_name in _FILE_NAME.findall(line):
                    self.order.add_file_name(file_name)
            elif fold(line[:80]) in _SECTIONS:
                self.add_heading(line.strip())
