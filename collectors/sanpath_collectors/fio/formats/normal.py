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

The date is that of the output, in local time; fio before 2.1 prints none. Jobs that have not begun are missing.
People indent the whole text when they copy it into a document, or lose all indentation.

fio --client prints a line for each client, and before its entries the client's name. fio 3.33 prints a
client when that one ends, and once only, whatever --status-interval says. The entries of all clients are one status,
which their sum ends, however far apart their dates are:

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

from sanpath_collectors.fio.formats.broken_lines import BrokenLines
from sanpath_collectors.fio.formats.command_line import jobs_of_command
from sanpath_collectors.fio.formats.normal_entry import ALL_CLIENTS, Entry, begins_figures
from sanpath_collectors.fio.formats.normal_header import Header, Headers
from sanpath_collectors.fio.options import positive_count
from sanpath_collectors.fio.parse import disk_values
from sanpath_collectors.fio.phases import in_phases
from sanpath_collectors.fio.status import Number, Status, unique_names

_BANNER = re.compile(r"(?:fio[- ])?(\d+\.\d[\w.-]*)\s*")
"""`fio-3.33`, `fio 1.59`; `2.0.8` of some distributions."""
_DISK = re.compile(
    r"\s+(\S+): ios=(\d{1,18})/(\d{1,18}),(?: sectors=(\d{1,18})/(\d{1,18}),)?.*"
    r"\bticks=(\d{1,18})/(\d{1,18}), in_queue=(\d{1,18})"
)
_AT_ONCE_US = 5_000_000
"""Most that the dates differ of entries that fio prints together: thousands take it a while."""
_STARTED = re.compile(r"\s*Starting (\d{1,6}) (?:process|thread)")
_CLIENT = re.compile(r"hostname=(\S+), be=\d, .*\bfio=(?:fio-)?(\d+\.\d[\w.-]*)")
"""What fio --client prints of a client when it answers."""
_BY_CLIENT = re.compile(r"<([^<>\s]+)>(?: (.*)|)")
"""A line that a client has sent: its name, and the line."""


class NormalText:
    """Reads the text line by line. `left_out`: lines of figures without the line that begins an entry, of which it is
    not known what they are of."""

    def __init__(self) -> None:
        self.left_out = 0
        self._headers = Headers()
        self._has_used_headers = False
        self._version: str | None = None
        self._client: str | None = None
        self._clients = 0
        self._has_printed = False
        self._banner = 0
        self._entries: list[Entry] = []
        self._known: set[tuple[str | None, str, str]] = set()
        self._printed_us: dict[str | None, int | None] = {}
        self._disks: dict[str, dict[str, Number]] = {}
        self._ended = False
        self._has_whole_entry = False
        self._indentation = ""
        self._processes: int | None = None
        self._broken = BrokenLines()
        self._commanded: Mapping[str, Mapping[str, str]] = {}
        self._next_commanded: Mapping[str, Mapping[str, str]] = {}

    def read_line(self, line: str) -> Status | None:
        """Reads a line. Returns the previous status if this line begins the next one, else None."""
        completed = None
        for joined in self._broken.join(line):
            completed = self._read_joined(joined) or completed
        return completed

    def _read_joined(self, line: str) -> Status | None:
        # The tags of a page look like names of clients.
        may_be_sent = self._clients or "(g=" in line or "(groupid=" in line
        if may_be_sent and (match := _BY_CLIENT.fullmatch(line)):
            self._client, line = match[1], match[2] or ""
        elif "(g=" in line and (self._entries or self._has_printed):
            self._client, self._clients = None, 0
        if "(g=" in line or "(groupid=" in line:
            self._indentation = line[: len(line) - len(line.lstrip())]
        line = line.removeprefix(self._indentation)
        if (fragment := self._fragment(f" {line}")) is not None:
            completed = self.finish()
            self._take_command()
            self._begin(fragment)
            fragment.read_line(f" {line}")
            return completed
        if match := _STARTED.match(line):
            self._processes = int(match[1])
        if line[:1] not in ("", " ", "\t"):
            return self._unindented_line(line)
        if not self._read_disk(line) and self._entries and not self._ended:
            self._entries[-1].read_line(line)
        return None

    def _read_disk(self, line: str) -> bool:
        """Reads a line of the disk statistics; whether it is one."""
        match = _DISK.match(line) if self._entries and self._ended else None
        if match is not None:
            device, reads, writes, *sectors = match.groups()[:5]
            name = device if self._client is None else f"{self._client}/{device}"
            counts = [int(count) for count in (reads, writes, *match.groups()[5:])]
            self._disks[name] = disk_values(counts, [int(count) for count in sectors if count is not None])
        return match is not None

    def finish(self) -> Status | None:
        """Returns the last status; None: there is none.

        Entries that end before their number of I/Os are left out, unless all do, as where a copy lacks these lines.
        So are sums of clients beside their entries, and rates that a page with whole entries quotes.
        """
        if self._has_whole_entry:
            self._entries = [entry for entry in self._entries if not entry.is_quotation]
        complete = [entry for entry in self._entries if entry.issued is not None]
        complete = complete or [entry for entry in self._entries if entry.has_run]
        entries = [entry for entry in complete if entry.name != ALL_CLIENTS] or complete
        disks, self._disks = self._disks, {}
        self._entries, self._ended, self._processes = [], False, None
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
            entry.status(name, self._headers, self._version, self._commanded.get(entry.name, {}))
            for entry, name in zip(entries, names, strict=True)
        ]
        return Status(
            time_us=max((entry.time_us for entry in entries if entry.time_us is not None), default=None),
            time_in_seconds=True,
            jobs=tuple(in_phases(jobs)),
            disks=disks,
            version=self._version,
            banner=self._banner,
        )

    def _fragment(self, line: str) -> Entry | None:
        """The entry that begins with this line of figures, in a copy without the line before it. None: it continues
        one, or the number of its processes is not known."""
        is_open = bool(self._entries) and not self._ended and not self._next_commanded
        if not begins_figures(line) or (is_open and self._entries[-1].expects(line)):
            return None
        jobs = self._next_commanded or self._commanded
        name, options = next(iter(jobs.items()), ("", dict[str, str]()))
        processes = self._processes or (positive_count(options.get("numjobs"), 1) if jobs else None)
        if len(self._headers) > 1 or len(jobs) > 1 or processes is None:
            self.left_out += 1
            return None
        header = self._headers.first
        return Entry(header.name if header is not None else name, None, 0, processes, 0, None, is_fragment=True)

    def _begin(self, entry: Entry) -> None:
        self._entries.append(entry)
        self._known.add((entry.host, entry.name, entry.process))
        if entry.time_us is not None or entry.host not in self._printed_us:
            self._printed_us[entry.host] = entry.time_us

    def _is_of_another_status(self, entry: Entry) -> bool:
        """Whether an entry is not of the status whose entries were read. The end of a client's entries is not that of
        the others', nor is their time; their sum is the end of all."""
        if self._entries and self._entries[-1].name == ALL_CLIENTS:
            return True
        if entry.name == ALL_CLIENTS:
            has_clients = self._clients > 1 or self._printed_us.keys() - {None}
            return not has_clients and self._is_at_another_time(entry)
        is_new = (entry.host, entry.name, entry.process) not in self._known
        is_of_next_client = self._clients > 1 or entry.host not in self._printed_us
        return not (is_new and is_of_next_client) and (self._ended or self._is_at_another_time(entry))

    def _is_at_another_time(self, entry: Entry) -> bool:
        """Whether an entry was not printed together with those before it of the same client."""
        before = self._printed_us.get(entry.host)
        return before is not None and entry.time_us is not None and abs(entry.time_us - before) > _AT_ONCE_US

    def _next_client(self, match: re.Match[str]) -> Status | None:
        """Begins a run with its first client. Returns the last status of the run before it, if there is one."""
        completed = self.finish()
        if self._has_printed:  # Other clients answer while some have begun.
            self._clients, self._headers, self._client, self._has_printed = 0, Headers(), None, False
            self._banner += 1
        self._clients += 1
        self._version = match[2]
        return completed

    def _take_command(self) -> None:
        if self._next_commanded:
            self._commanded, self._next_commanded = self._next_commanded, {}

    def _unindented_line(self, line: str) -> Status | None:
        completed = None
        if self._read_disk(f" {line}"):
            pass
        elif entry := Entry.of(line, self._client):
            # A command that no header has taken is that of a run whose header is missing.
            is_of_next_run = bool(self._next_commanded)
            completed = self.finish() if is_of_next_run or self._is_of_another_status(entry) else None
            if is_of_next_run:
                self._headers = Headers() if self._has_used_headers else self._headers
                self._take_command()
            self._begin(entry)
            self._has_whole_entry, self._ended = True, False
        elif header := Header.of(line):
            completed = self.finish()
            # A header after the banner, or after results, belongs to the next run.
            if (self._version and self._client is None) or not self._headers or self._has_used_headers:
                self._headers = Headers()
                self._take_command()
            self._headers.add(self._client, header)
            self._has_used_headers = False
            self._version = None if self._client is None else self._version
        elif match := _CLIENT.match(line):
            completed = self._next_client(match)
        elif match := _BANNER.fullmatch(line):
            completed = self.finish()
            if self._has_used_headers:  # They are of the run before.
                self._headers, self._commanded = Headers(), {}
            self._version = match[1]
            self._banner += 1
        elif line.startswith(("Run status group", "Disk stats")):
            self._ended = True
        elif jobs := jobs_of_command(line):
            self._next_commanded = jobs
        elif self._entries and not self._ended:
            self._entries[-1].read_line(f" {line}")  # many pages lose the indentation
        return completed
