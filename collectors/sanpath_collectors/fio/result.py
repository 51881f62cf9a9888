"""Result files of fio: its output in any format, and the logs of its jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sanpath.plugin import CollectorError, Event, Item, ResultFile, ResultReader, text_of, warning
from sanpath_collectors.fio import report
from sanpath_collectors.fio.logs import log
from sanpath_collectors.fio.logs.histogram import HistogramLog
from sanpath_collectors.fio.logs.joined import JobSeries, read_joined, series_of_jobs
from sanpath_collectors.fio.logs.log import Log, LogName, parse_line
from sanpath_collectors.fio.logs.means import MeansLog
from sanpath_collectors.fio.logs.raw import RawLog
from sanpath_collectors.fio.logs.with_result import LogsOfResult, prefix_of_logs
from sanpath_collectors.fio.report import Report


class FioResult(ResultReader):
    """Reads one result file. `name`: the file's name, which is needed for logs: only the name shows what the values
    are."""

    def __init__(self, load: str, name: str = "") -> None:
        super().__init__(load)
        self._log_name = LogName.of(name)
        self._form: Report | Log | None = None
        self._start = b""

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """Whether a file is output or a log of fio."""
        return log.recognises(head, name) or report.recognises(text_of(head)[0])

    @classmethod
    def is_read_last(cls, name: str) -> bool:
        """Whether a file is a log: the unit of its latencies depends on the version of fio, which a result states."""
        return LogName.of(name) is not None

    @classmethod
    def part_of(cls, name: str) -> str:
        """The run whose jobs a log is of: the prefix of its name."""
        log = LogName.of(name)
        return log.prefix if log is not None else ""

    @classmethod
    def run_of_parts(cls, head: bytes) -> str:
        """The run whose logs lie beside its JSON: their prefix, which the options of the jobs have."""
        return prefix_of_logs(text_of(head)[0])

    def feed(self, added: bytes) -> Iterator[Item]:
        """Parses the next chunk of the file."""
        self._start += added
        # The first line of a log shows whether the log has a line for each I/O.
        if self._log_name is None or b"\n" in self._start:
            added, self._start = self._start, b""
            form = self._chosen_form(added)
            yield from self._with_clock(form, form.feed(added))

    def finish(self) -> Iterator[Item]:
        """Yields the remaining items at the end of the file."""
        form = self._chosen_form(self._start)
        yield from self._with_clock(form, form.feed(self._start))
        yield from self._with_clock(form, form.finish())

    def read(self, file: ResultFile) -> Iterator[Item]:
        """Reads a complete file."""
        self._log_name = LogName.of(file.name)
        if self._log_name is not None:
            self._form = self._log_of(self._log_name, file)
        form = self._chosen_form(b"")
        yield from self._with_clock(form, form.read(file)) if isinstance(form, Log) else super().read(file)

    def read_parts(self, files: Sequence[ResultFile]) -> Iterator[Item]:
        """Reads the logs of one run, those of one job are one load; or its result, and the logs beside it."""
        # That of a time which the job's engine does not have is empty.
        written = [file for file in files if next(iter(file.chunks()), b"")] or files
        names = [(LogName.of(file.name), file) for file in written]
        logs = [(name, file) for name, file in names if name is not None]
        results = [file for name, file in names if name is None]
        if results and logs:
            yield from self._result_and_logs(results[0], logs)
        elif logs:
            yield from self._logs(logs)
        else:
            yield from self.read(written[0])

    def _logs(self, logs: Sequence[tuple[LogName, ResultFile]]) -> Iterator[Item]:
        if len(logs) < 2:
            yield from self.read(logs[0][1])
            return
        for self.clock, item in read_joined([(self._log_of(name, file), file) for name, file in logs]):
            yield item

    def _result_and_logs(self, result: ResultFile, logs: Sequence[tuple[LogName, ResultFile]]) -> Iterator[Item]:
        def read_jobs(versions: frozenset[str]) -> Sequence[JobSeries]:
            self.versions = versions or self.versions
            return series_of_jobs([(self._log_of(name, file), file) for name, file in logs])

        items = LogsOfResult(self.load, read_jobs).joined(self.read(result))
        try:
            first = next(items)
        except CollectorError as error:
            yield from self._logs_alone(logs, f"{result.name}: {error}")
            return
        yield first
        yield from items

    def _logs_alone(self, logs: Sequence[tuple[LogName, ResultFile]], why: str) -> Iterator[Item]:
        self._form, seen_us = None, 0
        for item in self._logs(logs):
            seen_us = item.seen if isinstance(item, Event) else seen_us
            yield item
        yield warning(seen_us, "result-unreadable", f"only the logs of the run are read: {why}")

    def _log_of(self, name: LogName, file: ResultFile) -> Log:
        return self._log(name, next(iter(file.chunks()), b"").partition(b"\n")[0])

    def _chosen_form(self, start: bytes) -> Report | Log:
        if self._form is None:
            name = self._log_name
            self._form = Report(self.load) if name is None else self._log(name, start.partition(b"\n")[0])
        return self._form

    def _with_clock(self, form: Report | Log, items: Iterator[Item]) -> Iterator[Item]:
        for item in items:
            self.clock = form.clock
            yield item

    def _log(self, name: LogName, line: bytes) -> Log:
        """The log that begins with this line."""
        fields = parse_line(line)
        kind: type[Log] = MeansLog
        if name.kind == "clat_hist":
            kind = HistogramLog
        # A line for each I/O counts one. fio before 2.15 writes a mean each 500 ms even without log_avg_msec.
        elif fields is not None and fields[3] and not (name.kind == "iops" and fields[1] > 1):
            kind = RawLog
        return kind(self.load, name, self.versions)
