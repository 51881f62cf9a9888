r"""Parses SQLIO's output line by line into the settings and results of each run. Pure.

A file contains any number of runs, one after the other, with other console output between them:

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

_MAX_FILES = 10_000
"""Largest number of files of one run."""
_COUNT = "([0-9]{1,9})"
_DECIMAL = r"([0-9]{1,12}(?:\.[0-9]{1,6})?)"
_LABEL = re.compile(r"[0-9]{1,2}|24\+")
_DRIVE = re.compile(r"[A-Za-z]:|\\\\[^\\]{1,255}\\[^\\]{1,255}")
_CELL_CHARACTERS = 3
"""Width of a number in the two lines of the histogram."""


@dataclass(slots=True)
class Run:
    """One run, as far as its lines were read. None: not known yet.

    `outstanding`: outstanding I/Os of a thread, 1 by default. `pattern`: "random", "sequential", or "" for stripes.
    `direct`: its I/Os bypass the file cache. `files_named`, `sizes_bytes`, `thread_lines`: three indications of the
    number of files. `drives`: number of drives and network shares of the named files. `mean_ms`, `max_ms`: rounded
    down to milliseconds. `labels`, `percents`: the lines of the histogram.
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
    drives: int = 1
    thread_lines: int = 0
    sizes_bytes: list[int] = field(default_factory=list)
    has_result: bool = False
    ops_per_second: float | None = None
    mib_per_second: float | None = None
    mean_ms: int | None = None
    max_ms: int | None = None
    labels: list[str] = field(default_factory=list)
    percents: list[int] = field(default_factory=list)

    def read_line(self, line: str) -> bool:
        """Read one line of the run. Returns False if it is not a line of SQLIO, but for example a prompt."""
        line = line.strip()
        for pattern, setter in _LINES:
            if (match := pattern.match(line)) is not None:
                setter(self, match)
                return True
        return False

    @property
    def in_flight(self) -> int | None:
        """The I/Os in flight. SQLIO prints the number of threads as a sum over all files."""
        return None if self.threads is None else self.threads * self.outstanding

    @property
    def block_bytes(self) -> int | None:
        """The size of an I/O."""
        return None if self.block_kib is None else self.block_kib * KIB

    @property
    def name(self) -> str:
        """A descriptive name: "64 KiB random read, 64 threads x 8, 4 files on 2 drives".

        Runs with equal names count as repetitions. So the name contains the number of files and drives.
        """
        pattern = f"{self.pattern} " if self.pattern else ""
        stripes = f" over {self.stripe_kib} KiB stripes" if self.stripe_kib else ""
        threads = f"{self.threads} thread{'' if self.threads == 1 else 's'}"
        drives = f" on {self.drives} drives" if self.drives > 1 else ""
        files = f", {self.files} files{drives}" if self.files > 1 else ""
        return f"{self.block_kib} KiB {pattern}{self.direction}{stripes}, {threads} x {self.outstanding}{files}"

    @property
    def files(self) -> int:
        """The number of files."""
        return max(self.files_named, self.thread_lines, len(self.sizes_bytes))

    @property
    def profile(self) -> LoadProfile:
        """The configuration of the run."""
        return LoadProfile(
            engine="sqlio",
            engine_version=self.version,
            in_flight=self.in_flight,
            block_bytes=self.block_bytes,
            read_ratio=None if self.direction is None else float(self.direction == "read"),
            random_ratio=float(self.pattern == "random") if self.pattern else None,
            threads=self.threads,
            files=self.files,
            working_set_bytes=sum(self.sizes_bytes) or None,
            direct=self.direct,
            fill="zeros",  # SQLIO writes only zeros. Set for reads too, because a load may have both kinds of runs.
            seconds=self.seconds,
            rate_limited=False,  # SQLIO has no option for a rate.
        )


def histogram_buckets(run: Run) -> list[tuple[float | None, float]] | None:
    """Return the histogram as (upper bound in seconds, share) for each bucket.

    Bucket k contains latencies from k to k + 1 ms, "24+" all above. None: there is no histogram, or it is invalid.
    Percentages are rounded to integers, so the shares add up to a value between 0.97 and 1.03.
    """
    bounds = [None if label == "24+" else (int(label) + 1) / 1000 for label in run.labels if _LABEL.fullmatch(label)]
    if not bounds or len(bounds) != len(run.percents) or not 0.9 <= sum(run.percents) / 100 <= 1.1:
        return None
    return [(bound, percent / 100) for bound, percent in zip(bounds, run.percents, strict=True)]


def _set_test(run: Run, match: re.Match[str]) -> None:
    run.threads, run.seconds = int(match[1]), int(match[3])
    run.direction = "read" if match[2] == "reading" else "write"
    # A path may contain the word "and". Between two files, it is followed by a drive or a server.
    files = re.split(r" and (?=[A-Za-z]:|\\\\)", match[4])
    run.files_named = len(files)
    run.drives = len({drive[0].upper() for file in files if (drive := _DRIVE.match(file)) is not None}) or 1


def _set_blocks(run: Run, match: re.Match[str]) -> None:
    run.block_kib, run.pattern = int(match[1]), match[2] or ""
    run.stripe_kib = int(match[3]) if match[3] else None


def _set_outstanding(run: Run, match: re.Match[str]) -> None:
    run.outstanding = max(1, int(match[1]))


def _set_buffering(run: Run, match: re.Match[str]) -> None:
    run.direct = "file" not in match[1] or re.search(r"\bnot (use )?file", match[1]) is not None


def _count_thread_line(run: Run, _: re.Match[str]) -> None:
    run.thread_lines += 1


def _add_size(run: Run, match: re.Match[str]) -> None:
    if len(run.sizes_bytes) < _MAX_FILES:
        run.sizes_bytes.append(int(match[1]) * MIB)


def _set_has_result(run: Run, _: re.Match[str]) -> None:
    run.has_result = True


def _set_ops(run: Run, match: re.Match[str]) -> None:
    run.ops_per_second = float(match[1])


def _set_mib(run: Run, match: re.Match[str]) -> None:
    run.mib_per_second = float(match[1])


def _set_mean(run: Run, match: re.Match[str]) -> None:
    run.mean_ms = int(match[1])


def _set_max(run: Run, match: re.Match[str]) -> None:
    run.max_ms = int(match[1])


def _set_labels(run: Run, match: re.Match[str]) -> None:
    run.labels = match[1].split()


def _set_percents(run: Run, match: re.Match[str]) -> None:
    cells = match[1].split()
    if len(cells) != len(run.labels):
        # 100 fills its cell, without a space before it.
        cells = [match[1][start : start + _CELL_CHARACTERS] for start in range(0, len(match[1]), _CELL_CHARACTERS)]
    run.percents = [int(cell) for cell in cells if cell.strip().isdecimal() and len(cell) <= _CELL_CHARACTERS]


_LINES: tuple[tuple[re.Pattern[str], Callable[[Run, re.Match[str]], None]], ...] = tuple(
    (re.compile(pattern), setter)
    for pattern, setter in (
        (rf"{_COUNT} threads? (reading|writing) for {_COUNT} secs? (?:from|to) files? ?(.*)", _set_test),
        (rf"using {_COUNT}KB (?:(random|sequential) )?IOs(?: over {_COUNT}KB stripes)?", _set_blocks),
        (rf"enabling multiple I/Os per thread with {_COUNT} outstanding", _set_outstanding),
        (r"buffering set to (.*)", _set_buffering),
        (r"file .* with [0-9]+ threads? \(", _count_thread_line),
        (rf"using (?:specified|current) size: {_COUNT} MB", _add_size),
        (r"CUMULATIVE DATA:", _set_has_result),
        (rf"IOs/sec:\s*{_DECIMAL}$", _set_ops),
        (rf"MBs/sec:\s*{_DECIMAL}$", _set_mib),
        (rf"Avg_Latency\(ms\):\s*{_COUNT}$", _set_mean),
        (rf"Max_Latency\(ms\):\s*{_COUNT}$", _set_max),
        (r"ms:([0-9+ ]+)$", _set_labels),
        (r"%:([0-9 ]+)$", _set_percents),
    )
)


@dataclass(frozen=True, slots=True)
class ParameterLine:
    """A line of a parameter file (`-F`): number of threads and size of a test file."""

    threads: int
    size_bytes: int


_MAX_LINE_CHARACTERS = 1000
_PARAMETERS = re.compile(rf"\s*\S.*?\s+{_COUNT}\s+0x[0-9a-fA-F]{{1,16}}\s+{_COUNT}\s*(?:#.*)?")


def parse_parameter_line(line: str) -> ParameterLine | None:
    r"""Parse a line of a parameter file, `path threads mask size_MB`; None: another line.

    >>> parse_parameter_line(r"G:\test data.dat 16 0x0 50000 # LUN 7")
    ParameterLine(threads=16, size_bytes=52428800000)
    """
    match = _PARAMETERS.fullmatch(line) if len(line) < _MAX_LINE_CHARACTERS else None
    return None if match is None else ParameterLine(int(match[1]), int(match[2]) * MIB)


def is_comment(line: str) -> bool:
    """Whether a line of a parameter file is empty or a comment."""
    return not line.strip() or line.lstrip().startswith("#")
