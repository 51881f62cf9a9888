"""Files that fio has left behind: what it printed, in any form, and the logs of its jobs."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.plugin import Item, ResultFile, ResultReader, text_of
from sanpath_collectors.fio import log, report
from sanpath_collectors.fio.log import Log, LogName, numbers
from sanpath_collectors.fio.log_histogram import HistogramLog
from sanpath_collectors.fio.log_means import MeansLog
from sanpath_collectors.fio.log_raw import RawLog
from sanpath_collectors.fio.report import Report


class FioResult(ResultReader):
    """`name`: what the file is called; without it logs cannot be fed: only their name says what the values are."""

    def __init__(self, load: str, name: str = "") -> None:
        super().__init__(load)
        self._log_name = LogName.of(name)
        self._form: Report | Log | None = None
        self._start = b""

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """Whether a file is one of these."""
        return log.recognises(head, name) or report.recognises(text_of(head)[0])

    def feed(self, added: bytes) -> Iterator[Item]:
        """Parse what follows what was fed before."""
        self._start += added
        # A log shows by its first line whether it has one for each I/O.
        if self._log_name is None or b"\n" in self._start:
            added, self._start = self._start, b""
            form = self._chosen(added)
            yield from self._clocked(form, form.feed(added))

    def finish(self) -> Iterator[Item]:
        """The file has ended."""
        form = self._chosen(self._start)
        yield from self._clocked(form, form.feed(self._start))
        yield from self._clocked(form, form.finish())

    def read(self, file: ResultFile) -> Iterator[Item]:
        """The whole file."""
        self._log_name = LogName.of(file.name)
        form = self._chosen(next(iter(file.chunks()), b"") if self._log_name is not None else b"")
        yield from self._clocked(form, form.read(file)) if isinstance(form, Log) else super().read(file)

    def _chosen(self, start: bytes) -> Report | Log:
        if self._form is None:
            name = self._log_name
            self._form = Report(self.load) if name is None else _log(self.load, name, start.partition(b"\n")[0])
        return self._form

    def _clocked(self, form: Report | Log, items: Iterator[Item]) -> Iterator[Item]:
        for item in items:
            self.clock = form.clock
            yield item


def _log(load: str, name: LogName, line: bytes) -> Log:
    if name.kind == "clat_hist":
        return HistogramLog(load, name)
    told = numbers(line)
    return RawLog(load, name) if told is not None and told[3] else MeansLog(load, name)
