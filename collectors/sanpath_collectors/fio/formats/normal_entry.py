"""Parses the entry of a job in fio's normal text output. Pure.

    rw: (groupid=0, jobs=1): err= 0: pid=11324: Fri Nov 20 02:53:27 2026
      read: IOPS=6284, BW=49.1MiB/s (51.5MB/s)(196MiB/4001msec)
        clat (nsec): min=471, max=17832k, avg=361076.11, stdev=586304.05
         lat (usec): min=35, max=18185, avg=377.83, stdev=607.77
        clat percentiles (usec):
         |  1.00th=[   72],  5.00th=[  126], 10.00th=[  157], 20.00th=[  190],
      cpu          : usr=1.27%, sys=12.57%, ctx=11826, majf=0, minf=14
         issued rwts: total=25143,10895,0,0 short=0,0,0,0 dropped=0,0,0,0

Before fio 3.0 some lines differ, and before 2.1 there is no date:

      read : io=196608KB, bw=50307KB/s, iops=6284 , runt=  4001msec
        clat (usec): min=471 , max=1783.2K, avg=361076.11, stdev=586304.05
         issued    : total=r=25143/w=10895/d=0, short=r=0/w=0/d=0

Numbers of operations are exact. Bytes are rounded to three or four digits, but can be computed exactly if the block
size is known. Mean latencies are rounded to the second decimal of their unit.
"""

from __future__ import annotations

import re
from calendar import timegm
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, log2

from sanpath.model import DIRECTIONS, Direction
from sanpath.plugin import LoadProfile, common_value, complete_sum
from sanpath_collectors.fio.formats.normal_header import (
    Header,
    Headers,
    JobHeaders,
    parse_abbreviated,
    parse_rate,
    parse_rounded_bytes,
    profile_from_headers,
)
from sanpath_collectors.fio.jobs import throughput
from sanpath_collectors.fio.jobs.flushes import ProcessTimes, flushes_between, flushes_between_remark
from sanpath_collectors.fio.jobs.job_profile import (
    Remark,
    depth_not_reached_remark,
    is_depth_unreached,
    is_submission_the_io,
    latency_target_remark,
    unified_remark,
)
from sanpath_collectors.fio.jobs.latency import Latency, latency_remarks
from sanpath_collectors.fio.jobs.options import is_positive
from sanpath_collectors.fio.jobs.phases import sequential_runtimes
from sanpath_collectors.fio.jobs.status import JobStatus, Number, integer, milliseconds

_ENTRY = re.compile(
    r"(?:-{3,} )?(?P<name>.+): \(groupid=(?P<group>\d{1,9}), jobs=(?P<jobs>\d{1,9})\): err=\s*"
    r"(?P<error>\d{1,9})(?: \(.*\))?:(?: pid=(?P<process>\d+)(?::|\s*$))?(?: \w{3} (?P<month>\w{3}) "
    r"+(?P<day>\d{1,2}) (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d) (?P<year>\d{4}))?"
)
ALL_CLIENTS = "All clients"
"""The name that fio --client gives to the sum of all clients."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TOTALS = re.compile(
    r"\s+(?P<direction>read|write|mixed)\s*: IOPS=(?P<iops>[\d.]+[kKMGTP]?).*"
    r"\((?P<moved>[\d.]+[kKMGTP]?i?B)/(?P<runtime>\d{1,15})msec\)"
)
_NUMBER = r"(?:\d{1,3}(?:,\d{3})+|[\d.]+)[kKMGTP]?"
"""Up to fio 1.x, thousands are separated by a comma: "1,325K"."""
_TOTALS_BEFORE_3 = re.compile(
    rf"\s+(?P<direction>read|write|mixed)\s*: io=(?P<moved>{_NUMBER} ?B?), (?:.{{0,80}}iops=(?P<iops>{_NUMBER}))?"
    r".{0,80}runt=\s*(?P<runtime>\d{1,15})msec"
)
_TRIMS = re.compile(r"\s+trim\s*:")
_LATENCY = re.compile(
    rf"\s+(lat|clat|slat) \((nsec|usec|msec|sec)\)\s*: min=.*max=\s*({_NUMBER})\s*, avg=\s*({_NUMBER})\s*,"
)
_THROUGHPUT = re.compile(
    rf"\s+bw \(\s*[kKMG]?i?B\s*/s\)\s*: min=[^=]{{0,80}}max=\s*({_NUMBER})\s*,(?:\s*per=\s*([\d.]{{1,9}})%,)?"
    rf".{{0,80}}avg=\s*({_NUMBER})\s*,"
    rf" stdev=\s*({_NUMBER})(?:, samples=(\d{{1,9}}))?"
)
_PERCENTILES = re.compile(r"\s+(\S.{0,60}) percentiles \((nsec|usec|msec|sec)\):")
_PERCENTILE = re.compile(r"(50|95|99)\.00th=\[\s*(\d{1,18})\]")
_FLUSHES = re.compile(rf"\s+sync \((nsec|usec|msec|sec)\)\s*: min=.*avg=\s*({_NUMBER})\s*,")
_CPU = re.compile(r"\s+cpu\s+: usr=([\d.]+)%, sys=([\d.]+)%")
_ISSUED = re.compile(
    r"\s+issued[^:]*: total=(?:r=)?(\d{1,18})[,/](?:w=)?(\d{1,18})(?:[,/](?:d=)?(\d{1,18}))?(?:,(\d{1,18}))?(?!\d)"
)
"""`issued rwts: total=1,2,3,0`, before 3.6 `rwt: total=1,2,3`, before 3.0 `: total=r=1/w=2/d=3`, before 2.0 `r/w:
total=1/2`."""
_ERRORS = re.compile(r"\s+errors\s*: total=(\d{1,18}), first_error=")
_DEPTHS = re.compile(r"\s+IO depths\s*: (1=.*%)")
_DEPTH = re.compile(r"\s+latency\s*: target=([^,]*),.*\bdepth=(\d{1,9})")
_MIXED_KINDS = {"rw", "readwrite", "randrw"}
_MIN_STEADY_PERCENT = 50.0
"""Share of the I/Os, in per cent, at one depth from which the job kept this depth."""
_UNIT_NS = {"nsec": 1, "usec": 1_000, "msec": 1_000_000, "sec": 1_000_000_000}


@dataclass(slots=True)
class _DirectionFigures:
    """Figures of reads or writes. None: not read yet.

    `moved_bytes`: bytes as printed, with an error of at most `rounding_bytes`. `ops_per_second`: the lowest and the
    highest number that is printed like this. `from_submission`: the percentiles are of the whole latency since
    submission, not of the completion latency. `completion_ns`, `submission_ns`: means of the two parts of the
    latency. `throughput`: mean, standard deviation and maximum over `windows`. `share_percent`: of the throughput of
    its group of jobs.
    """

    moved_bytes: float = 0.0
    rounding_bytes: float = 0.0
    ops_per_second: tuple[float, float] = (0.0, 0.0)
    runtime_ms: int = 0
    mean_ns: float | None = None
    max_ns: float | None = None
    completion_ns: float | None = None
    submission_ns: float | None = None
    percentiles_ns: dict[int, int] = field(default_factory=dict)
    from_submission: bool = False
    throughput: tuple[float, float, float] | None = None
    windows: int | None = None
    share_percent: float | None = None

    def multiply(self, factor: float) -> None:
        """Turns the figures of one process into those of as many as `factor` that are alike."""
        self.moved_bytes, self.rounding_bytes = self.moved_bytes * factor, self.rounding_bytes * factor
        self.ops_per_second = self.ops_per_second[0] * factor, self.ops_per_second[1] * factor
        self.throughput = self.windows = None

    def estimate_ops(self, block_bytes: float | None) -> float:
        """Estimated number of I/Os: what agrees with the IOPS and with the bytes, both of which are rounded. If none
        does, the bytes count. `block_bytes`: None: not known, then only the IOPS count."""
        low, high = (rate * self.runtime_ms / 1000 for rate in self.ops_per_second)
        if not block_bytes:
            return (low + high) / 2
        fewest, most = (
            (self.moved_bytes + error) / block_bytes for error in (-self.rounding_bytes, self.rounding_bytes)
        )
        low, high = (max(low, fewest), min(high, most)) if high else (fewest, most)
        return (low + high) / 2 if low <= high else self.moved_bytes / block_bytes

    def estimate_block_bytes(self, ops: int | None) -> float | None:
        """The power of two that is the block size of a job whose header is missing: the only one within what is
        rounded. None: there is none, or several. `ops`: number of I/Os; None: only their rate is known."""
        low, high = (rate * self.runtime_ms / 1000 if ops is None else ops for rate in self.ops_per_second)
        if low <= 0 or self.moved_bytes <= self.rounding_bytes:
            return None
        smallest, largest = (
            (self.moved_bytes - self.rounding_bytes) / high,
            (self.moved_bytes + self.rounding_bytes) / low,
        )
        power = 2.0 ** ceil(log2(smallest))
        return power if power <= largest < 2 * power else None


@dataclass(slots=True)
class Entry:
    """The entry of one job.

    `time_us`: when it was written; None: not printed. `issued`: numbers of reads, writes, trims and flushes; None:
    not read yet. `is_fragment`: its first line is missing. `process`: its process id; "": not printed.
    """

    name: str
    host: str | None
    group: int
    processes: int
    error: int
    time_us: int | None
    issued: tuple[int, ...] | None = None
    is_fragment: bool = False
    process: str = ""
    _by_direction: dict[Direction, _DirectionFigures] = field(
        default_factory=lambda: {d: _DirectionFigures() for d in DIRECTIONS}
    )
    _current: _DirectionFigures | None = None
    _unit_ns: int | None = None
    _user_percent: float | None = None
    _system_percent: float | None = None
    _flush_ns: float | None = None
    _unified: bool = False
    _levels: dict[int, float] = field(default_factory=dict)
    _depth: int | None = None
    _counted_errors: int = 0
    _has_latency_target: bool = False
    _lacking: str = ""

    @classmethod
    def parse(cls, line: str, host: str | None = None) -> Entry | None:
        """Parses the first line of an entry. None: it is not one. `host`: the client that sent the line; it is
        dropped for a sum of clients."""
        match = _ENTRY.match(line)
        if match is None:
            return None
        group, jobs, error = (int(match[part]) for part in ("group", "jobs", "error"))
        host = None if match["name"] == ALL_CLIENTS else host
        time_us = _time_us(match) if match["year"] else None
        return cls(match["name"], host, group, jobs, error, time_us, process=match["process"] or "")

    @property
    def _cpu_percent(self) -> float | None:
        return complete_sum((self._user_percent, self._system_percent))

    @property
    def is_quotation(self) -> bool:
        """Whether it consists only of rates, which people quote without the lines that follow them."""
        has_latencies = any(figures.mean_ns is not None for figures in self._by_direction.values())
        has_more = has_latencies or self.issued is not None or self._cpu_percent is not None or bool(self._levels)
        return self.is_fragment and not has_more

    def share_percent(self, direction: Direction) -> float | None:
        """Share of its processes in the throughput of their group, as fio says. None: it does not, or the text ends
        before. Before fio 3.8, an entry of several processes has the share of one of them."""
        share = self._by_direction[direction].share_percent
        return None if share is None else share * self.processes

    def moved_bytes(self, direction: Direction) -> float:
        """What it has moved in this direction, rounded."""
        return self._by_direction[direction].moved_bytes

    def stand_for(self, processes: int | None, text: str) -> None:
        """Remarks that entries of its group are missing. `processes`: it stands for as many; None: for its own."""
        self._lacking = text
        if processes is not None:
            factor, self.processes = processes / self.processes, processes
            self.issued = None if self.issued is None else tuple(round(count * factor) for count in self.issued)
            for figures in self._by_direction.values():
                figures.multiply(factor)

    def expects(self, line: str) -> bool:
        """Whether a line with the figures of a direction continues this entry: this direction was not read yet, nor
        was the number of I/Os, which comes later."""
        match = _match_totals(line)
        direction = match["direction"] if match is not None else ""
        read = {name for name, figures in self._by_direction.items() if figures.runtime_ms}
        return self.issued is None and direction not in read

    def read_line(self, line: str) -> None:
        """Reads one of the lines that follow."""
        if match := _match_totals(line):
            # unified_rw_reporting=both: their sum follows after reads and writes. It is not needed.
            if match["direction"] == "mixed" and any(figures.runtime_ms for figures in self._by_direction.values()):
                self._current = None
                return
            self._current = self._by_direction["write" if match["direction"] == "write" else "read"]
            self._unified = match["direction"] == "mixed"
            is_old = match.re is _TOTALS_BEFORE_3
            moved_bytes, self._current.rounding_bytes = parse_rounded_bytes(match["moved"], binary=is_old)
            self._current.moved_bytes, self._current.runtime_ms = moved_bytes or 0.0, milliseconds(match["runtime"])
            self._current.ops_per_second = parse_rate(match["iops"] or "0")
        elif match := _CPU.match(line):
            self._user_percent, self._system_percent = parse_abbreviated(match[1]), parse_abbreviated(match[2])
        elif match := _FLUSHES.match(line):
            self._flush_ns = parse_abbreviated(match[2]) * _UNIT_NS[match[1]]
        elif match := _ERRORS.match(line):
            self._counted_errors = integer(match[1], 0)
        elif match := _DEPTHS.match(line):
            levels = re.findall(r"(\d+)=([\d.]+)%", match[1])
            self._levels = {int(level): parse_abbreviated(share) for level, share in levels}
        elif match := _DEPTH.match(line):
            self._depth, self._has_latency_target = int(match[2]), is_positive(match[1])
        elif match := _ISSUED.match(line):
            self.issued = tuple(int(count) for count in match.groups("0"))
        elif _TRIMS.match(line):
            self._current = None  # Their latencies have the same form. Copies lose indentation: it says nothing.
        elif self._current is not None:
            self._read_latency(line, self._current)

    def status(
        self, name: str, headers: Headers, version: str | None, command_options: Mapping[str, str]
    ) -> JobStatus:
        """The status of the job. `headers`: those of all jobs. `command_options`: the job's options in the command
        line; empty: not known."""
        if self.processes > 1:
            jobs = headers.of_group(self.host, self.group)
        else:
            jobs = headers.of_job(self.host, self.group, self.name)
        load_profile = self._profile(jobs, version, command_options)
        reads, writes, trims, flushes = self.issued or self._estimate_issued(jobs.distinct)
        if self._unified and load_profile.read_ratio == 0.0:
            reads, writes = writes, reads
            self._by_direction = dict(zip(DIRECTIONS, reversed(self._by_direction.values()), strict=True))
        issued: Mapping[Direction, int] = {"read": reads, "write": writes}
        latencies = {direction: self._latency_of(direction, ops) for direction, ops in issued.items()}
        samples: dict[str, Number] = {}
        for direction, ops in issued.items():
            samples |= self._total_samples(direction, ops, jobs.distinct) | latencies[direction].samples(direction)
            samples |= self._throughput_samples(direction)
        samples |= self._flush_samples(reads + writes, flushes)
        waited_ns = sum((latency.mean_ns or 0.0) * latency.ops for latency in latencies.values())
        in_flight = waited_ns / (1e6 * self._runtime_ms) if self._runtime_ms else None
        unreached = is_depth_unreached(load_profile, self.processes, self._levels, self._cpu_percent, in_flight)
        own_remarks = self._remarks(name, load_profile, jobs, command_options, unreached)
        remarks = [*latency_remarks(name, latencies.values()), *own_remarks]
        if self._flush_ns is None and all(latency.mean_ns is not None for latency in latencies.values()):
            times = ProcessTimes(self._runtime_ms, 0, self._user_percent, self._system_percent)
            between = flushes_between(command_options, load_profile, writes, waited_ns, times)
            samples |= between
            remarks += [flushes_between_remark(name)] if between else []
        if unreached:
            load_profile = replace(load_profile, in_flight=None, asked_in_flight=load_profile.in_flight)
        if is_submission_the_io(load_profile, latencies.values()):
            load_profile = replace(load_profile, synchronous=True)
        if trims:
            remarks.append(("trims", f"{name} has trimmed {trims:,} times; trims are not read"))
        options = {"rw": jobs.distinct[0].rw, "ioengine": jobs.distinct[0].engine} if jobs.number == 1 else {}
        own_ms = {direction: figures.runtime_ms for direction, figures in self._by_direction.items()}
        return JobStatus(
            name=name,
            group=self.group,
            profile=load_profile,
            options=options,
            host=self.host,
            runtime_ms=self._runtime_ms,
            ops=reads + writes,
            error=self.error,
            counted_errors=self._counted_errors,
            samples={**samples, "in_flight_configured": load_profile.in_flight, "cpu_ratio": self._cpu_percent},
            remarks=remarks,
            runtimes_ms=sequential_runtimes(options, own_ms, 0) if issued["read"] and issued["write"] else {},
        )

    def _profile(self, jobs: JobHeaders, version: str | None, command_options: Mapping[str, str]) -> LoadProfile:
        """The load profile, from the headers of its jobs and the depths that it kept."""
        load_profile = profile_from_headers(jobs, self.processes, version, command_options)
        if self._lacks_direction(jobs, command_options):
            return replace(load_profile, in_flight=None, asked_in_flight=None)
        if self._has_latency_target:
            in_flight = load_profile.in_flight if load_profile.synchronous else None
            return replace(load_profile, in_flight=in_flight, rate_limited=True)
        if not jobs.distinct and (depth := self._steady_depth()) is not None:
            return replace(load_profile, in_flight=depth * self.processes)
        return load_profile

    def _lacks_direction(self, jobs: JobHeaders, command_options: Mapping[str, str]) -> bool:
        """Whether the text of a job that reads and writes ends before its second direction: then nothing says how
        many I/Os were outstanding in all."""
        kinds = {header.rw for header in jobs.distinct} or {command_options.get("rw", "").partition(":")[0]}
        read = [figures for figures in self._by_direction.values() if figures.runtime_ms]
        return self.issued is None and len(read) == 1 and kinds <= _MIXED_KINDS and not self._unified

    def _remarks(
        self,
        name: str,
        profile: LoadProfile,
        jobs: JobHeaders,
        command_options: Mapping[str, str],
        unreached: bool,
    ) -> Iterator[Remark]:
        """Yields what limits the use of its figures. `unreached`: it did not reach its configured queue depth."""
        if self._lacks_direction(jobs, command_options):
            missing = "writes" if self._by_direction["read"].runtime_ms else "reads"
            text = f"{name} reads and writes, and the text ends before its {missing}: they are not known"
            yield "cut-mixed", text
        if self._lacking:
            yield "lacks-entries", self._lacking
        if self.issued is None:
            text = f"{name} has no line of the I/Os that were issued: they follow from its rates, rounded"
            yield "no-count", text
        if unreached:
            yield depth_not_reached_remark(name, profile, self.processes, self._levels)
        elif self._has_latency_target and profile.in_flight is None:
            yield latency_target_remark(name)
        elif jobs.distinct and profile.in_flight is None and not self._lacks_direction(jobs, command_options):
            processes_text = f"{self.processes} processes of jobs with different queue depths"
            yield "mixed-jobs", f"{name} stands for {processes_text}: how many I/Os are outstanding is not known"
        if self._unified and profile.read_ratio is None:
            yield unified_remark(name)

    @property
    def has_run(self) -> bool:
        """Whether its run time and the bytes that it has moved were read."""
        return any(figures.moved_bytes and figures.runtime_ms for figures in self._by_direction.values())

    @property
    def _runtime_ms(self) -> int:
        return max(figures.runtime_ms for figures in self._by_direction.values())

    def _steady_depth(self) -> int | None:
        """I/Os that each process kept outstanding most of the time. None: not known, or not reached.

        Used if the header, which contains the depth, was not copied. A depth level counts the I/Os that were issued
        at this depth or more, up to the next level.
        """
        level = max((level for level in self._levels if level <= (self._depth or 0)), default=0)
        if self._depth is not None and self._levels.get(level, 0.0) >= _MIN_STEADY_PERCENT:
            return self._depth
        return 1 if self._levels.get(1, 0.0) >= 100.0 else None

    def _estimate_issued(self, headers: Sequence[Header]) -> tuple[int, int, int, int]:
        """Estimated numbers of reads and writes, from IOPS and from bytes. No trims or flushes."""
        numbers = []
        for direction, figures in self._by_direction.items():
            block_bytes = common_value(header.block_bytes(direction) for header in headers)
            numbers.append(integer(figures.estimate_ops(block_bytes or figures.estimate_block_bytes(None)), 0))
        return numbers[0], numbers[1], 0, 0

    def _flush_samples(self, ops: int, flushes: int) -> dict[str, Number]:
        """Number of the flushes that the job waited for (fsync, fdatasync), and the sum of their latencies in
        nanoseconds.

        Some versions do not print the number, but count flushes in the I/O depths: if these add up to 200 % of the
        I/Os, there were as many flushes as I/Os.
        """
        if self._flush_ns is None:
            return {}
        number = flushes or integer(ops * (sum(self._levels.values()) / 100 - 1), 0)
        if number == 0:
            return {}
        return {"ops_flush_total": number, "latency_seconds_flush_total": integer(number * self._flush_ns, 0)}

    def _read_latency(self, line: str, figures: _DirectionFigures) -> None:
        if match := _LATENCY.match(line):
            max_ns, mean_ns = (parse_abbreviated(text) * _UNIT_NS[match[2]] for text in match.groups()[2:])
            if match[1] == "slat":
                figures.submission_ns = mean_ns
            elif match[1] == "clat":
                # The line of the whole latency follows, but a copy may lack it. The maxima cannot be added.
                figures.completion_ns, figures.mean_ns = mean_ns, mean_ns + (figures.submission_ns or 0.0)
                figures.max_ns = None if figures.submission_ns else max_ns
            else:
                figures.max_ns, figures.mean_ns = max_ns, mean_ns
        elif match := _THROUGHPUT.match(line):
            most, mean, deviation = (parse_abbreviated(match[number]) for number in (1, 3, 4))
            figures.throughput = mean, deviation, most
            figures.windows = int(match[5]) if match[5] else None
            figures.share_percent = parse_abbreviated(match[2]) if match[2] else None
        elif match := _PERCENTILES.match(line):
            preferred = match[1] == "lat" or (match[1] == "clat" and not figures.from_submission)
            self._unit_ns = _UNIT_NS[match[2]] if preferred else None
            figures.from_submission |= match[1] == "lat"
        elif self._unit_ns is not None:
            for percent, value in _PERCENTILE.findall(line):
                figures.percentiles_ns[int(percent)] = int(value) * self._unit_ns

    def _total_samples(self, direction: Direction, ops: int, headers: Sequence[Header]) -> dict[str, Number]:
        figures = self._by_direction[direction]
        block_bytes = common_value(header.block_bytes(direction) for header in headers)
        if not headers:
            block_bytes = figures.estimate_block_bytes(None if self.issued is None else ops)
        exact_bytes = ops * (block_bytes or 0.0)
        moved_bytes = (
            exact_bytes if abs(exact_bytes - figures.moved_bytes) <= figures.rounding_bytes else figures.moved_bytes
        )
        return {f"ops_{direction}_total": ops, f"bytes_{direction}_total": integer(moved_bytes, 0)}

    def _throughput_samples(self, direction: Direction) -> dict[str, Number]:
        figures = self._by_direction[direction]
        mean, deviation, most = figures.throughput or (None, None, None)
        windows, runtime_ms = figures.windows, figures.runtime_ms
        return throughput.samples(direction, mean, deviation, most, windows, runtime_ms, self.processes)

    def _latency_of(self, direction: Direction, ops: int) -> Latency:
        figures = self._by_direction[direction]
        return Latency(
            mean_ns=figures.mean_ns if ops else 0.0,
            max_ns=figures.max_ns,
            completion_ns=figures.completion_ns,
            percentiles=figures.percentiles_ns,
            of_completion=not figures.from_submission,
            ops=ops,
            runtime_ms=self._runtime_ms,
        )


def has_direction_totals(line: str) -> bool:
    """Whether a line contains the totals of a direction. A copy may begin with such a line."""
    return _match_totals(line) is not None


def is_end_of_figures(line: str) -> bool:
    """Whether a line has the numbers of I/Os of an entry. A copy may begin between the totals and it."""
    return _ISSUED.match(line) is not None


def _match_totals(line: str) -> re.Match[str] | None:
    return _TOTALS.match(line) or _TOTALS_BEFORE_3.match(line)


def _time_us(match: re.Match[str]) -> int:
    month = _MONTHS.index(match["month"]) + 1 if match["month"] in _MONTHS else 1
    date = [int(match["year"]), month, *(int(match[part]) for part in ("day", "hour", "minute", "second"))]
    seconds = timegm(tuple(date)) if date[0] >= 1970 and 0 < date[2] <= 31 else 0
    return max(0, seconds) * 1_000_000
