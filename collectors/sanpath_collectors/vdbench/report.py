"""What summary.html and totals.html have in common: their two header lines, their rows, their dates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from sanpath.plugin import Item, Lines, ResultReader
from sanpath_collectors.vdbench.clock import ReportClock
from sanpath_collectors.vdbench.columns import Columns, Figures
from sanpath_collectors.vdbench.parse import day, time_of_day, unlocalised
from sanpath_collectors.vdbench.runs import Runs
from sanpath_collectors.vdbench.told import Start, start

_MEGABYTES = {"1024**2": 1024.0**2, "1000**2": 1000.0**2}
_NAMES = {
    **{"i/o rate": "rate", "bytes i/o": "bytes/io", "read pct": "read%", "resp time": "resp"},
    **{"read resp": "read_resp", "write resp": "write_resp", "resp max": "resp_max", "queue depth": "queue_depth"},
    **{"read max": "read_max", "write max": "write_max"},
}
"""The upper and the lower line of a device column → its name in flatfile.html."""


class Report(ResultReader):
    """Reads a report whose rows stand under lines of text, between the lines with which runs begin."""

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._lines = Lines()
        self._upper: tuple[str, list[str], bool] | None = None
        self._columns: Columns | None = None
        self._clock, self._runs = ReportClock(), Runs(load)
        self.storages: int | None = None

    def feed(self, added: bytes) -> Iterable[Item]:
        """Items of the lines that are whole now."""
        for line in self._lines.feed(added):
            yield from self._line(line)

    def finish(self) -> Iterable[Item]:
        """The last line may have been cut; a run may not have ended."""
        yield from self._line(self._lines.last_line())
        yield from self._runs.end()

    @abstractmethod
    def started(self, begun: Start, tick: int) -> Iterator[Item]:
        """A run begins, at this tick of the clock."""

    @abstractmethod
    def row(self, label: str, tick: int, figures: Figures) -> Iterator[Item]:
        """A row of a run."""

    def other(self, line: str) -> None:
        """A line that is none of these."""

    def seen(self, tick: int) -> int:
        """Microseconds on the file's clock."""
        moment = self._clock.at(tick)
        self.clock = self._clock.kind
        return moment

    def _line(self, line: str) -> Iterator[Item]:
        if (begun := start(line, self.storages)) is not None:
            yield from self.started(begun, self._clock.tick(begun.time_of_day))
        elif (header := _header(line.split())) is not None:
            self._upper = header
        elif self._upper is not None:
            (date, upper, files), self._upper = self._upper, None
            self._columns = _columns(upper, line.split(), files)
            if (number := day(date)) is not None:
                self._clock.dated(number)
        else:
            cells = line.split()
            time = time_of_day(cells[0]) if len(cells) > 2 else None
            if time is None:
                self.other(line)
            elif self._columns is not None:
                yield from self._row(self._columns, cells, time)

    def _row(self, columns: Columns, cells: list[str], time: int) -> Iterator[Item]:
        told = cells[2:] if not any("," in cell for cell in cells[2:]) else unlocalised(cells[2:])
        # Beside what is in the header some versions print the figures of an auxiliary report.
        if not cells[1].startswith(("std_", "max_")) and len(told) >= columns.width:
            figures = columns.figures(told)
            if figures is not None:
                yield from self.row(cells[1], self._clock.tick(time), figures)
                return
        if cells[1][:1].isdecimal() and self._runs.begun:
            text = f"a row is damaged or cut and left out: {cells[0]} ..."
            yield from self._runs.warn(self.seen(self._clock.tick(time)), "damaged-row", text)


def _header(words: list[str]) -> tuple[str, list[str], bool] | None:
    """The upper line of a header: its date, its columns, and whether they are of files; None: it is none."""
    for at, (word, first) in enumerate(pairwise(words)):
        files = word.strip(".") == "Interval" and first.startswith(".") and first.lstrip(".").startswith("ReqstdOps.")
        if files or (word == "interval" and first == "i/o"):
            return " ".join(words[:at]), words[at + 1 :], files
    return None


def _columns(upper: Sequence[str], lower: Sequence[str], files: bool) -> Columns | None:
    """Both lines of a header, without the date and the interval. None: one of them is damaged."""
    if files:
        return _file_columns(upper, lower)
    if len(upper) != len(lower):
        return None
    pairs = [f"{above} {below}".lower() for above, below in zip(upper, lower, strict=True)]
    unit = next((pair.partition(" ")[2] for pair in pairs if pair.startswith("mb/sec ")), "")
    names = ["mb/sec" if pair.startswith("mb/sec ") else _NAMES.get(pair, pair) for pair in pairs]
    return Columns(names, _MEGABYTES.get(unit, _MEGABYTES["1024**2"])) if "rate" in names else None


def _file_columns(upper: Sequence[str], lower: Sequence[str]) -> Columns | None:
    """`.ReqstdOps...` above `rate   resp`: a group stands above one column or two."""
    names: list[str] = []
    left = list(lower)
    for group in upper:
        kind = group.strip(".").lower()
        wide = 2 if left[:2] in (["rate", "resp"], ["total", "sys"], ["read", "write"]) else 1
        for below in left[:wide]:
            match kind:
                case "reqstdops":
                    names.append(below)
                case "mb/sec":
                    names.append("mb/sec" if below == "total" else f"mb_{below}")
                case _:
                    names.append(f"{kind}_{below}")
        left = left[wide:]
    return Columns(names) if not left and "read_rate" in names else None
