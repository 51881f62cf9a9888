r"""SQLIO's output, line by line → what each run was and what came of it. Pure.

One file holds any number of runs, one after the other, with whatever stands on the console between them:

    sqlio v1.5.SG
    using system counter for latency timings, 2539060 counts per second
    64 threads reading for 15 secs from file G:\testfile.dat
            using 64KB random IOs
            enabling multiple I/Os per thread with 8 outstanding
            buffering set to use hardware disk cache (but not file cache)
    using specified size: 50000 MB for file: G:\testfile.dat
    initialization done
    CUMULATIVE DATA:
    throughput metrics:
    IOs/sec:  6250.11
    MBs/sec:   390.63
    latency metrics:
    Min_Latency(ms): 1
    Avg_Latency(ms): 81
    Max_Latency(ms): 118
    histogram:
    ms: 0  1  2  3 ... 23 24+
    %:  0  0  0  0 ...  0 100
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from sanpath.model import Direction
from sanpath.plugin import LoadProfile

KIB = 1024
MIB = 1024 * KIB

_MOST_FILES = 10_000
_COUNT = "([0-9]{1,9})"
_NUMBER = r"([0-9]{1,12}(?:\.[0-9]{1,6})?)"
_LABEL = re.compile(r"[0-9]{1,2}|24\+")
_CELL = 3
"""Characters of a number in the two lines of the histogram."""


@dataclass(slots=True)
class Run:
    """One run, as far as it has told of itself: nothing of the run before it. None: it has not told.

    `outstanding`: I/Os a thread keeps in flight, 1 when no line tells. `pattern`: "random", "sequential", or "" for
    stripes. `direct`: past the file cache. `files_named`, `sizes_bytes`, `thread_lines`: what tells how many files
    there are. `mean_ms`, `max_ms`: cut down to whole milliseconds. `labels`, `percents`: the lines of the histogram.
    """

    version: str
    threads: int | None = None
    direction: Direction | None = None
    seconds: int | None = None
    block_kib: int | None = None
    pattern: str = ""
    stripe_kib: int | None = None
    outstanding: int = 1
    direct: bool = True
    files_named: int = 1
    thread_lines: int = 0
    sizes_bytes: list[int] = field(default_factory=list)
    has_result: bool = False
    ops_per_second: float | None = None
    mib_per_second: float | None = None
    mean_ms: int | None = None
    max_ms: int | None = None
    labels: list[str] = field(default_factory=list)
    percents: list[int] = field(default_factory=list)

    def tell(self, line: str) -> bool:
        """Take in one line of the run. False: it tells nothing, as the console's prompt."""
        line = line.strip()
        for pattern, take in _LINES:
            if (found := pattern.match(line)) is not None:
                take(self, found)
                return True
        return False

    @property
    def in_flight(self) -> int | None:
        """I/Os it keeps in flight: the line of threads is their sum over all files."""
        return None if self.threads is None else self.threads * self.outstanding

    @property
    def block_bytes(self) -> int | None:
        """Size of an I/O."""
        return None if self.block_kib is None else self.block_kib * KIB

    @property
    def name(self) -> str:
        """What people would call the run: "64 KiB random read, 64 threads x 8"."""
        pattern = f"{self.pattern} " if self.pattern else ""
        stripes = f" over {self.stripe_kib} KiB stripes" if self.stripe_kib else ""
        threads = f"{self.threads} thread{'' if self.threads == 1 else 's'}"
        return f"{self.block_kib} KiB {pattern}{self.direction}{stripes}, {threads} x {self.outstanding}"

    @property
    def profile(self) -> LoadProfile:
        """What it was told to do."""
        return LoadProfile(
            engine="sqlio",
            engine_version=self.version,
            in_flight=self.in_flight,
            block_bytes=self.block_bytes,
            read_ratio=None if self.direction is None else float(self.direction == "read"),
            random_ratio=float(self.pattern == "random") if self.pattern else None,
            threads=self.threads,
            files=max(self.files_named, self.thread_lines, len(self.sizes_bytes)),
            working_set_bytes=sum(self.sizes_bytes) or None,
            direct=self.direct,
            seconds=self.seconds,
        )


def histogram_of(run: Run) -> list[tuple[float | None, float]] | None:
    """(Upper bound in seconds, share) a bucket: bucket k holds latencies of k up to k + 1 ms, "24+" all above.

    None: there is none, or it makes no sense. Percents are whole numbers, so that shares add up to 0.97 to 1.03.
    """
    bounds = [None if label == "24+" else (int(label) + 1) / 1000 for label in run.labels if _LABEL.fullmatch(label)]
    if not bounds or len(bounds) != len(run.percents) or not 0.9 <= sum(run.percents) / 100 <= 1.1:
        return None
    return [(bound, percent / 100) for bound, percent in zip(bounds, run.percents, strict=True)]


def _test(run: Run, found: re.Match[str]) -> None:
    run.threads, run.seconds = int(found[1]), int(found[3])
    run.direction = "read" if found[2] == "reading" else "write"
    # A path may hold the word "and"; what follows it in a list of files begins with a drive or a server.
    run.files_named = 1 + len(re.findall(r" and (?=[A-Za-z]:|\\\\)", found[4]))


def _blocks(run: Run, found: re.Match[str]) -> None:
    run.block_kib, run.pattern = int(found[1]), found[2] or ""
    run.stripe_kib = int(found[3]) if found[3] else None


def _outstanding(run: Run, found: re.Match[str]) -> None:
    run.outstanding = max(1, int(found[1]))


def _buffering(run: Run, found: re.Match[str]) -> None:
    run.direct = "file" not in found[1] or re.search(r"\bnot (use )?file", found[1]) is not None


def _thread_line(run: Run, _: re.Match[str]) -> None:
    run.thread_lines += 1


def _size(run: Run, found: re.Match[str]) -> None:
    if len(run.sizes_bytes) < _MOST_FILES:
        run.sizes_bytes.append(int(found[1]) * MIB)


def _result(run: Run, _: re.Match[str]) -> None:
    run.has_result = True


def _ops(run: Run, found: re.Match[str]) -> None:
    run.ops_per_second = float(found[1])


def _mib(run: Run, found: re.Match[str]) -> None:
    run.mib_per_second = float(found[1])


def _mean(run: Run, found: re.Match[str]) -> None:
    run.mean_ms = int(found[1])


def _max(run: Run, found: re.Match[str]) -> None:
    run.max_ms = int(found[1])


def _labels(run: Run, found: re.Match[str]) -> None:
    run.labels = found[1].split()


def _percents(run: Run, found: re.Match[str]) -> None:
    cells = found[1].split()
    if len(cells) != len(run.labels):
        # 100 fills its cell: no blank stands before it.
        cells = [found[1][at : at + _CELL] for at in range(0, len(found[1]), _CELL)]
    run.percents = [int(cell) for cell in cells if cell.strip().isdecimal() and len(cell) <= _CELL]


_LINES: tuple[tuple[re.Pattern[str], Callable[[Run, re.Match[str]], None]], ...] = tuple(
    (re.compile(pattern), take)
    for pattern, take in (
        (rf"{_COUNT} threads? (reading|writing) for {_COUNT} secs? (?:from|to) files? ?(.*)", _test),
        (rf"using {_COUNT}KB (?:(random|sequential) )?IOs(?: over {_COUNT}KB stripes)?", _blocks),
        (rf"enabling multiple I/Os per thread with {_COUNT} outstanding", _outstanding),
        (r"buffering set to (.*)", _buffering),
        (r"file .* with [0-9]+ threads? \(", _thread_line),
        (rf"using (?:specified|current) size: {_COUNT} MB", _size),
        (r"CUMULATIVE DATA:", _result),
        (rf"IOs/sec:\s*{_NUMBER}$", _ops),
        (rf"MBs/sec:\s*{_NUMBER}$", _mib),
        (rf"Avg_Latency\(ms\):\s*{_COUNT}$", _mean),
        (rf"Max_Latency\(ms\):\s*{_COUNT}$", _max),
        (r"ms:([0-9+ ]+)$", _labels),
        (r"%:([0-9 ]+)$", _percents),
    )
)


@dataclass(frozen=True, slots=True)
class ParameterLine:
    """A line of a parameter file (`-F`): a file, the threads that work on it, and its size."""

    path: str
    threads: int
    size_bytes: int


_LONGEST_PATH = 1000
_PARAMETERS = re.compile(rf"\s*(\S.*?)\s+{_COUNT}\s+0x[0-9a-fA-F]{{1,16}}\s+{_COUNT}\s*(?:#.*)?")


def parameter_line(line: str) -> ParameterLine | None:
    r"""A line of a parameter file, `path threads mask size_MB`; None: it is none.

    >>> parameter_line(r"G:\test data.dat 16 0x0 50000 # LUN 7")
    ParameterLine(path='G:\\test data.dat', threads=16, size_bytes=52428800000)
    """
    found = _PARAMETERS.fullmatch(line) if len(line) < _LONGEST_PATH else None
    return None if found is None else ParameterLine(found[1], int(found[2]), int(found[3]) * MIB)


def is_remark(line: str) -> bool:
    """Whether a line of a parameter file says nothing."""
    return not line.strip() or line.lstrip().startswith("#")
