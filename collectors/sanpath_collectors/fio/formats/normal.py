"""Parses fio's normal text output (--output-format=normal) into statuses. Pure.

    fio-3.33
    Starting 1 process

    rw: (groupid=0, jobs=1): err= 0: pid=11324: Fri Nov 20 02:53:27 2026
      read: IOPS=6284, BW=49.1MiB/s (51.5MB/s)(196MiB/4001msec)
         issued rwts: total=25143,10895,0,0 short=0,0,0,0 dropped=0,0,0,0

    Run status group 0 (all jobs):
       READ: bw=200MiB/s (210MB/s), ...

    Disk stats (read/write):
      vda: ios=173268/10656, merge=0/3858, ticks=36167/2738, in_queue=38908, util=82.16%

The date is the local time of the output; fio before 2.1 prints none. Jobs that have not begun are missing. Copies in
documents may be indented as a whole, or may have lost all indentation.

fio --client prints a line for each client, and the client's name before its entries. fio 3.33 prints the entries of a
client once, when that client ends, whatever --status-interval is. The entries of all clients form one status, however
far apart their dates are. The sum of all clients ends it:

    hostname=h1, be=0, 64-bit, os=Linux, arch=x86-64, fio=fio-3.33, flags=1
    <h1> rw: (g=0): rw=randread, bs=(R) 8192B-8192B, (W) 8192B-8192B, (T) 8192B-8192B, ioengine=libaio, iodepth=8
    <h1>
    rw: (groupid=0, jobs=1): err= 0: pid=11324: Fri Nov 20 02:53:27 2026
    <h2>
    rw: (groupid=0, jobs=1): err= 0: pid=2051: Fri Nov 20 02:54:05 2026
    All clients: (groupid=0, jobs=2): err= 0: pid=0: Fri Nov 20 02:54:05 2026
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sanpath_collectors.fio.formats.command_line import parse_command_line
from sanpath_collectors.fio.formats.missing_entries import GroupTotals, add_missing
from sanpath_collectors.fio.formats.normal_entry import (
    ALL_CLIENTS,
    Entry,
    has_direction_totals,
    is_end_of_figures,
)
from sanpath_collectors.fio.formats.normal_header import Header, Headers
from sanpath_collectors.fio.formats.wrapped_lines import WrappedLines, separate_entry, separate_figures
from sanpath_collectors.fio.jobs.options import positive_count
from sanpath_collectors.fio.jobs.phases import split_phases
from sanpath_collectors.fio.jobs.status import Number, Status, unique_names
from sanpath_collectors.fio.parse import disk_values

_BANNER = re.compile(r"(?:fio[- ])?(\d+\.\d[\w.-]*)\s*")
"""`fio-3.33`, `fio 1.59`; `2.0.8` of some distributions."""
_DISK = re.compile(
    r"\s+(\S+): ios=(\d{1,18})/(\d{1,18}),(?: sectors=(\d{1,18})/(\d{1,18}),)?.*"
    r"\bticks=(\d{1,18})/(\d{1,18}), in_queue=(\d{1,18})"
)
_MAX_SAME_STATUS_US = 5_000_000
"""Largest difference between the dates of entries of one status: printing thousands of entries takes a while."""
_STARTED = re.compile(r"\s*Starting (\d{1,6}) (?:process|thread)")
_CLIENT = re.compile(r"hostname=(\S+), be=\d, .*\bfio=(?:fio-)?(\d+\.\d[\w.-]*)")
"""The line that fio --client prints when a client answers."""
_BY_CLIENT = re.compile(r"<([^<>\s]+)>(?: (.*)|)")
"""A line from a client: the client's name, and the line."""


class NormalText:
    """Reads the text line by line. `skipped_lines`: number of lines of figures that belong to an unknown entry,
    because its first line is missing."""

    def __init__(self) -> None:
        self.skipped_lines = 0
        self._headers = Headers()
        self._has_used_headers = False
        self._version: str | None = None
        self._client: str | None = None
        self._clients = 0
        self._has_printed = False
        self._banners = 0
        self._entries: list[Entry] = []
        self._known: set[tuple[str | None, str, str]] = set()
        self._printed_us: dict[str | None, int | None] = {}
        self._disks: dict[str, dict[str, Number]] = {}
        self._ended = False
        self._has_whole_entry = False
        self._indentation = ""
        self._processes: int | None = None
        self._started: int | None = None
        self._totals = GroupTotals()
        self._broken = WrappedLines()
        self._command_jobs: Mapping[str, Mapping[str, str]] = {}
        self._next_command_jobs: Mapping[str, Mapping[str, str]] = {}

    def read_line(self, line: str) -> Status | None:
        """Reads a line. Returns the previous status if this line begins the next one, else None."""
        completed = None
        for whole in (joined for each in separate_entry(line) for joined in self._broken.join(each)):
            in_entry = (self._entries and not self._ended) or "(groupid=" in whole
            for part in separate_figures(whole) if in_entry else (whole,):
                completed = self._read_joined(part) or completed
        return completed

    def _read_joined(self, line: str) -> Status | None:
        # HTML tags look like names of clients.
        may_have_client = self._clients or "(g=" in line or "(groupid=" in line
        if may_have_client and (match := _BY_CLIENT.fullmatch(line)):
            self._client, line = match[1], match[2] or ""
        elif "(g=" in line and (self._entries or self._has_printed):
            self._client, self._clients = None, 0
        if "(g=" in line or "(groupid=" in line:
            self._indentation = line[: len(line) - len(line.lstrip())]
        line = line.removeprefix(self._indentation)
        if (fragment := self._parse_fragment(f" {line}")) is not None:
            completed = self.finish()
            self._use_next_command()
            self._add_entry(fragment)
            fragment.read_line(f" {line}")
            return completed
        self._totals.read_line(line)
        if match := _STARTED.match(line):
            self._processes = self._started = int(match[1])
        if line[:1] not in ("", " ", "\t"):
            return self._read_unindented(line)
        if not self._read_disk(line) and self._entries and not self._ended:
            self._entries[-1].read_line(line)
        elif not (self._entries or self._has_printed or self.skipped_lines) and is_end_of_figures(line):
            self.skipped_lines += 1
        return None

    def _read_disk(self, line: str) -> bool:
        """Reads a line of the disk statistics. Returns whether it is one."""
        match = _DISK.match(line) if self._entries and self._ended else None
        if match is not None:
            device, reads, writes, *sectors = match.groups()[:5]
            name = device if self._client is None else f"{self._client}/{device}"
            counts = [int(count) for count in (reads, writes, *match.groups()[5:])]
            self._disks[name] = disk_values(counts, [int(count) for count in sectors if count is not None])
        return match is not None

    def finish(self) -> Status | None:
        """Returns the last status; None: there is none.

        Incomplete entries, without a number of I/Os, are left out, unless all are incomplete because the copy lacks
        these lines. Sums of clients are left out if there are entries of clients. Quoted rates are left out if the
        text has whole entries.
        """
        if self._has_whole_entry:
            self._entries = [entry for entry in self._entries if not entry.is_quotation]
        complete = [entry for entry in self._entries if entry.issued is not None]
        complete = complete or [entry for entry in self._entries if entry.has_run]
        entries = [entry for entry in complete if entry.name != ALL_CLIENTS] or complete
        if not self._clients:
            alike, one_job = self._headers.are_alike, len(self._headers) == 1
            add_missing(entries, self._started, self._totals, alike=alike, one_job=one_job)
        disks, self._disks = self._disks, {}
        self._entries, self._ended, self._processes, self._totals = [], False, None, GroupTotals()
        self._known, self._printed_us = set(), {}
        if not entries:
            return None
        self._has_printed = self._has_used_headers = True
        several_clients = self._clients > 1 or len({entry.host for entry in entries}) > 1
        names = unique_names(
            [
                f"{entry.host}/{entry.name}" if several_clients and entry.host is not None else entry.name
                for entry in entries
            ]
        )
        jobs = [
            entry.status(name, self._headers, self._version, self._command_jobs.get(entry.name, {}))
            for entry, name in zip(entries, names, strict=True)
        ]
        return Status(
            time_us=max((entry.time_us for entry in entries if entry.time_us is not None), default=None),
            time_in_seconds=True,
            jobs=tuple(split_phases(jobs)),
            disks=disks,
            version=self._version,
            banner=self._banners,
        )

    def _parse_fragment(self, line: str) -> Entry | None:
        """The entry that begins with this line of figures, if the copy lacks the entry's first line. None: the line
        continues an entry, or the number of processes is not known."""
        is_open = bool(self._entries) and not self._ended and not self._next_command_jobs
        if not has_direction_totals(line) or (is_open and self._entries[-1].expects(line)):
            return None
        jobs = self._next_command_jobs or self._command_jobs
        name, options = next(iter(jobs.items()), ("", dict[str, str]()))
        processes = self._processes or (positive_count(options.get("numjobs"), 1) if jobs else None)
        if len(self._headers) > 1 or len(jobs) > 1 or processes is None:
            self.skipped_lines += 1
            return None
        header = self._headers.first
        return Entry(header.name if header is not None else name, None, 0, processes, 0, None, is_fragment=True)

    def _add_entry(self, entry: Entry) -> None:
        self._entries.append(entry)
        self._known.add((entry.host, entry.name, entry.process))
        if entry.time_us is not None or entry.host not in self._printed_us:
            self._printed_us[entry.host] = entry.time_us

    def _belongs_to_next_status(self, entry: Entry) -> bool:
        """Whether an entry belongs to a later status than the entries read so far.

        Entries of several clients belong to one status, even if they end at different times. Their sum ends it.
        """
        if self._entries and self._entries[-1].name == ALL_CLIENTS:
            return True
        if entry.name == ALL_CLIENTS:
            has_clients = self._clients > 1 or self._printed_us.keys() - {None}
            return not has_clients and self._has_other_time(entry)
        is_new = (entry.host, entry.name, entry.process) not in self._known
        is_of_next_client = self._clients > 1 or entry.host not in self._printed_us
        return not (is_new and is_of_next_client) and (self._ended or self._has_other_time(entry))

    def _has_other_time(self, entry: Entry) -> bool:
        """Whether an entry was printed at another time than the entries before it of the same client."""
        before = self._printed_us.get(entry.host)
        return before is not None and entry.time_us is not None and abs(entry.time_us - before) > _MAX_SAME_STATUS_US

    def _begin_client(self, match: re.Match[str]) -> Status | None:
        """Begins a run with its first client. Returns the last status of the run before it, if there is one."""
        completed = self.finish()
        if self._has_printed:  # Otherwise this is another client of the same run.
            self._clients, self._client, self._has_printed = 0, None, False
            self._forget_headers()
            self._banners += 1
        self._clients += 1
        self._version = match[2]
        return completed

    def _forget_headers(self) -> None:
        """Forgets what fio has printed before the first status of a run, for the next run."""
        self._headers, self._started = Headers(), None

    def _use_next_command(self) -> None:
        if self._next_command_jobs:
            self._command_jobs, self._next_command_jobs = self._next_command_jobs, {}

    def _read_unindented(self, line: str) -> Status | None:
        completed = None
        if self._read_disk(f" {line}"):
            pass
        elif entry := Entry.parse(line, self._client):
            # A command line that no header followed belongs to a run whose header is missing.
            is_of_next_run = bool(self._next_command_jobs)
            completed = self.finish() if is_of_next_run or self._belongs_to_next_status(entry) else None
            if is_of_next_run:
                if self._has_used_headers:
                    self._forget_headers()
                self._use_next_command()
            self._add_entry(entry)
            self._has_whole_entry, self._ended = True, False
        elif header := Header.parse(line):
            completed = self.finish()
            # A header after the banner, or after results, belongs to the next run.
            if (self._version and self._client is None) or not self._headers or self._has_used_headers:
                self._forget_headers()
                self._use_next_command()
            self._headers.add(self._client, header)
            self._has_used_headers = False
            self._version = None if self._client is None else self._version
        elif match := _CLIENT.match(line):
            completed = self._begin_client(match)
        elif match := _BANNER.fullmatch(line):
            completed = self.finish()
            if self._has_used_headers:  # They belong to the previous run.
                self._forget_headers()
                self._command_jobs = {}
            self._version = match[1]
            self._banners += 1
        elif line.startswith(("Run status group", "Disk stats")):
            self._ended = True
        elif jobs := parse_command_line(line):
            self._next_command_jobs = jobs
        elif self._entries and not self._ended:
            self._entries[-1].read_line(f" {line}")  # Copies often lose the indentation.
        return completed
