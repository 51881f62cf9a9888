"""Parses the header of a job in fio's normal text output, and its abbreviated numbers. Pure.

    rw: (g=0): rw=randrw, bs=(R) 8192B-8192B, (W) 8192B-8192B, (T) 8192B-8192B, ioengine=libaio, iodepth=4
    ...

The second line means that the job has more processes, but not how many. Before fio 3.0 the sizes are printed as
`bs=8K-8K/8K-8K/8K-8K`, and K, KB, M and MB are always powers of 1024.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sanpath.model import DIRECTIONS, Direction
from sanpath.plugin import LoadProfile, common_value
from sanpath_collectors.fio.jobs.options import SYNCHRONOUS_ENGINES, profile_from_options
from sanpath_collectors.fio.jobs.status import integer

_HEADER = re.compile(
    r"(?P<name>.+): \(g=(?P<group>\d{1,9})\): rw=(?P<rw>\w+), bs=(?P<sizes>\S.*), ioengine=(?P<engine>[\w-]+), "
    r"iodepth=(?P<depth>\d{1,9})"
)
_RANGE = re.compile(r"(\d[\d.]{0,24}[kKMGTP]?i?B?)-(\d[\d.]{0,24}[kKMGTP]?i?B?)")
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([kKMGTP]?)(i?) ?B?")
_SUFFIXES = " KMGTP"


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a job.

    `depth`: I/Os that each process can keep in flight. `asked_depth`: the iodepth that was configured. `sizes`: block
    sizes of reads and writes in bytes; None: a range.
    """

    name: str
    group: int
    rw: str
    engine: str
    depth: int
    asked_depth: int
    sizes: tuple[float | None, float | None]

    @classmethod
    def parse(cls, line: str) -> Header | None:
        """Parses a header. None: the line is no header."""
        match = _HEADER.match(line)
        if match is None:
            return None
        limits = _RANGE.findall(match["sizes"])[: len(DIRECTIONS)]
        if len(limits) < len(DIRECTIONS):
            return None
        # Block sizes are always powers of 1024, whatever their unit is called.
        sizes = [parse_rounded_bytes(low, binary=True)[0] if low == high else None for low, high in limits]
        asked_depth = integer(match["depth"], 1)
        depth = 1 if match["engine"] in SYNCHRONOUS_ENGINES else asked_depth
        job = (match["name"], int(match["group"]), match["rw"], match["engine"])
        return cls(*job, depth, asked_depth, (sizes[0], sizes[1]))

    def block_bytes(self, direction: Direction) -> float | None:
        """Block size of one direction in bytes. None: a range of sizes."""
        return self.sizes[DIRECTIONS.index(direction)]

    @property
    def directions(self) -> Sequence[Direction]:
        """The directions in which the job does I/O."""
        return [d for d in DIRECTIONS if d in self.rw] or DIRECTIONS


class JobHeaders:
    """The headers of several jobs. Only what they have in common matters.

    `distinct`: the first header, and for each property the first header that differs from it. So thousands of headers
    are compared as quickly as a few. `number`, `summed_depth`: number and sum of depths of all added headers.
    """

    __slots__ = ("_differing", "distinct", "number", "summed_depth")

    def __init__(self) -> None:
        self.number = 0
        self.summed_depth = 0
        self.distinct: list[Header] = []
        self._differing: frozenset[int] = frozenset()

    def add(self, header: Header) -> None:
        """Adds a header. It is kept only if it differs in a property in which no earlier header differed."""
        self.number += 1
        self.summed_depth += header.depth
        first = self.distinct[0] if self.distinct else header
        pairs = enumerate(zip(_properties(first), _properties(header), strict=True))
        differing = {number for number, (one, other) in pairs if one != other} - self._differing
        if differing or not self.distinct:
            self.distinct.append(header)
            self._differing |= differing


def _properties(header: Header) -> tuple[object, ...]:
    used = frozenset(header.block_bytes(direction) for direction in header.directions)
    return header.rw, header.depth, header.asked_depth, header.engine in SYNCHRONOUS_ENGINES, *header.sizes, used


class Headers:
    """The headers of a run's jobs, by client. Client None: a run without clients."""

    def __init__(self) -> None:
        self.first: Header | None = None
        self._number = 0
        self._of_group: dict[tuple[str | None, int], JobHeaders] = {}
        self._of_job: dict[tuple[str | None, int, str], JobHeaders] = {}

    def __len__(self) -> int:
        return self._number

    def add(self, client: str | None, header: Header) -> None:
        """Adds the header of a client's job."""
        self.first = self.first or header
        self._number += 1
        self._of_group.setdefault((client, header.group), JobHeaders()).add(header)
        of_job = self._of_job.setdefault((client, header.group, header.name), JobHeaders())
        if of_job.number == 0:
            of_job.add(header)

    @property
    def are_alike(self) -> bool:
        """Whether all jobs are of one group, and differ in nothing but their names."""
        return [len(jobs.distinct) for jobs in self._of_group.values()] == [1]

    def of_group(self, client: str | None, group: int) -> JobHeaders:
        """All headers of a group of jobs."""
        return self._of_group.get((client, group)) or JobHeaders()

    def of_job(self, client: str | None, group: int, name: str) -> JobHeaders:
        """The first header of this job, or nothing."""
        return self._of_job.get((client, group, name)) or JobHeaders()


def profile_from_headers(
    jobs: JobHeaders, processes: int, version: str | None, command_options: Mapping[str, str]
) -> LoadProfile:
    """The load profile of an entry with this number of processes.

    `command_options`: the jobs' options in the command line, which contains more than a header; empty: not known.
    """
    headers = jobs.distinct
    common_depth, in_flight = common_value(header.depth for header in headers), None
    if common_depth is not None:
        in_flight = common_depth * processes
    elif jobs.number == processes:
        in_flight = jobs.summed_depth
    asked_depth = common_value(header.asked_depth for header in headers)
    is_ignored = asked_depth is not None and common_depth == 1 < asked_depth
    kind = common_value(header.rw for header in headers) or ""
    base = (
        profile_from_options(tuple(command_options.items()), processes, version)
        if command_options
        else LoadProfile(engine="fio")
    )
    if command_options and not headers:
        return base
    return replace(
        base,
        engine_version=version,
        in_flight=in_flight,
        asked_in_flight=asked_depth * processes if asked_depth is not None and is_ignored else None,
        block_bytes=common_value(header.block_bytes(d) for header in headers for d in header.directions),
        read_ratio={"read": 1.0, "randread": 1.0, "write": 0.0, "randwrite": 0.0}.get(kind),
        random_ratio=float(kind.startswith("rand")) if kind else None,
        threads=processes,
        synchronous=common_value(header.engine in SYNCHRONOUS_ENGINES for header in headers),
    )


def parse_rounded_bytes(text: str, *, binary: bool = False) -> tuple[float | None, float]:
    """Bytes of "296MiB" (2^20), "310MB" (10^6) or "1,445MB", and the largest rounding error: one in the last digit.

    (None, 0): the text is not a size. `binary`: "MB" and "M" are 2^20 as well. A decimal of 0 does not count as a
    digit, because fio 3.1 prints 24.98 GiB as "24.0GiB".
    """
    match = _SIZE.fullmatch(text.replace(",", ""))
    if match is None:
        return None, 0.0
    scale = (1024.0 if binary or match[3] else 1000.0) ** _SUFFIXES.index(match[2].upper() or " ")
    fraction = match[1].partition(".")[2]
    decimals = len(fraction) if fraction.strip("0") else 0
    return float(match[1]) * scale, 10**-decimals * scale


def parse_abbreviated(text: str) -> float:
    """A number with an optional suffix for a power of a thousand: "17832k", "1,325K". 0 for anything else."""
    power = max(0, _SUFFIXES.find(text[-1:].upper() or " "))
    try:
        return float(text.rstrip("kKMGTP").replace(",", "")) * 1000.0**power
    except ValueError:
        return 0.0


def parse_rate(text: str) -> tuple[float, float]:
    """The lowest and the highest rate that fio prints like this: it cuts off decimals, and rounds thousands.

    >>> parse_rate("6284"), parse_rate("15.3k")
    ((6284.0, 6285.0), (15200.0, 15400.0))
    """
    rate = parse_abbreviated(text)
    unit = 1000.0 ** max(0, _SUFFIXES.find(text[-1:].upper() or " "))
    error = unit * 10.0 ** -len(text.rstrip("kKMGTP").partition(".")[2])
    return (rate, rate + error) if unit == 1 else (rate - error, rate + error)
