"""Result files of fio: its output in any format, and the logs of its jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sanpath.plugin import CollectorError, Event, Item, ResultFile, ResultReader, text_of, warning
from sanpath_collectors.fio import output
from sanpath_collectors.fio.logs import log
from sanpath_collectors.fio.logs.histogram import HistogramLog
from sanpath_collectors.fio.logs.join import JobSeries, read_job_series, read_joined_logs
from sanpath_collectors.fio.logs.log import Log, LogName, parse_line
from sanpath_collectors.fio.logs.means import MeansLog
from sanpath_collectors.fio.logs.raw import RawLog
from sanpath_collectors.fio.logs.with_result import ResultWithLogs, find_log_prefix
from sanpath_collectors.fio.output import Report


class FioResult(ResultReader):
    """Reads one result file. `name`: the file's name, which is needed for logs: only the name shows the kind of their
    values."""

    def __init__(self, load: str, name: str = "") -> None:
        super().__init__(load)
        self._log_name = LogName.parse(name)
        self._form: Report | Log | None = None
        self._start = b""

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """Whether a file is output or a log of fio."""
        return log.recognises(head, name) or output.recognises(text_of(head)[0])

    @classmethod
    def is_read_last(cls, name: str) -> bool:
        """Whether a file is a log: the unit of its latencies depends on the version of fio, which a result states."""
        return LogName.parse(name) is not None

    @classmethod
    def part_of(cls, name: str) -> str:
        """The run that a log belongs to: the prefix of its name."""
        log = LogName.parse(name)
        return log.prefix if log is not None else ""

    @classmethod
    def run_of_parts(cls, head: bytes) -> str:
        """The run to which a JSON result belongs: the prefix of its logs, from the options of the jobs."""
        return find_log_prefix(text_of(head)[0])

    def feed(self, added: bytes) -> Iterator[Item]:
        """Parses the next chunk of the file."""
        self._start += added
        # The first line of a log shows whether the log has a line for each I/O.
        if self._log_name is None or b"\n" in self._start:
            added, self._start = self._start, b""
            form = self._choose_form(added)
            yield from self._with_clock(form, form.feed(added))

    def finish(self) -> Iterator[Item]:
        """Yields the remaining items at the end of the file."""
        form = self._choose_form(self._start)
        yield from self._with_clock(form, form.feed(self._start))
        yield from self._with_clock(form, form.finish())

    def read(self, file: ResultFile) -> Iterator[Item]:
        """Reads a complete file."""
        self._log_name = LogName.parse(file.name)
        if self._log_name is not None:
            self._form = self._open_log(self._log_name, file)
        form = self._choose_form(b"")
        yield from self._with_clock(form, form.read(file)) if isinstance(form, Log) else super().read(file)

    def read_parts(self, files: Sequence[ResultFile]) -> Iterator[Item]:
        """Reads the logs of one run, one load for each job; or its result together with its logs."""
        # A log is empty if the engine does not measure its kind of latency.
        written = [file for file in files if next(iter(file.chunks()), b"")] or files
        names = [(LogName.parse(file.name), file) for file in written]
        logs = [(name, file) for name, file in names if name is not None]
        results = [file for name, file in names if name is None]
        if results and logs:
            yield from self._read_result_and_logs(results[0], logs)
        elif logs:
            yield from self._read_logs(logs)
        else:
            yield from self.read(written[0])

    def _read_logs(self, logs: Sequence[tuple[LogName, ResultFile]]) -> Iterator[Item]:
        if len(logs) < 2:
            yield from self.read(logs[0][1])
            return
        for self.clock, item in read_joined_logs([(self._open_log(name, file), file) for name, file in logs]):
            yield item

    def _read_result_and_logs(self, result: ResultFile, logs: Sequence[tuple[LogName, ResultFile]]) -> Iterator[Item]:
        def read_jobs(versions: frozenset[str]) -> Sequence[JobSeries]:
            self.versions = versions or self.versions
            return read_job_series([(self._open_log(name, file), file) for name, file in logs])

        items = ResultWithLogs(self.load, read_jobs).join(self.read(result))
        try:
            first = next(items)
        except CollectorError as error:
            yield from self._read_logs_alone(logs, f"{result.name}: {error}")
            return
        yield first
        yield from items

    def _read_logs_alone(self, logs: Sequence[tuple[LogName, ResultFile]], reason: str) -> Iterator[Item]:
        self._form, seen_us = None, 0
        for item in self._read_logs(logs):
            seen_us = item.seen if isinstance(item, Event) else seen_us
            yield item
        yield warning(seen_us, "result-unreadable", f"only the logs of the run are read: {reason}")

    def _open_log(self, name: LogName, file: ResultFile) -> Log:
        return self._create_log(name, next(iter(file.chunks()), b"").partition(b"\n")[0])

    def _choose_form(self, start: bytes) -> Report | Log:
        if self._form is None:
            name = self._log_name
            self._form = Report(self.load) if name is None else self._create_log(name, start.partition(b"\n")[0])
        return self._form

    def _with_clock(self, form: Report | Log, items: Iterator[Item]) -> Iterator[Item]:
        for item in items:
            self.clock = form.clock
            yield item

    def _create_log(self, name: LogName, line: bytes) -> Log:
        """The log that begins with this line."""
        fields = parse_line(line)
        kind: type[Log] = MeansLog
        if name.kind == "clat_hist":
            kind = HistogramLog
        # An iops log with a line for each I/O has only ones. fio before 2.15 writes a mean every 500 ms even without
        # log_avg_msec.
        elif fields is not None and fields[3] and not (name.kind == "iops" and fields[1] > 1):
            kind = RawLog
        return kind(self.load, name, self.versions)
