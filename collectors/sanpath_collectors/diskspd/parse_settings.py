"""Parses lines of the section "Input parameters" into settings. Pure.

DiskSpd 2.1; 2.2 writes sizes as "4KiB" and mentions the pool of -F:

    timespan:   1
    -------------
    duration: 30s
    warm up time: 15s
    path: 'D:\\test.dat'
            software cache disabled
            performing mix test (read/write ratio: 70/30)
            block size: 4096
            using random I/O (alignment: 4096)
            number of outstanding I/O operations: 16
            threads per file: 4

DiskSpd for Linux writes "job:", and the flags with which it opens a target.
"""

from __future__ import annotations

import re

from sanpath_collectors.diskspd.settings import Span, Target
from sanpath_collectors.diskspd.values import parse_count, parse_number, parse_size_bytes

_PATH = re.compile(r"path: (?:template target )?'(.*)'")
_MIX = re.compile(r"\((read|write)/(?:read|write) ratio: (\d{1,3})/")
_POOL = re.compile(r"thread pool with (\d{1,9}) threads")
_SHARE = re.compile(r"\((\d{1,3})% random\)")
_CACHE_BYPASSED = re.compile(r"(?:local )?software (?:and hardware (?:write )?)?cache disabled")
_CACHED = re.compile(r"using software (?:and hardware (?:write )?)?cache")


def read_setting(line: str, spans: list[Span]) -> None:
    """Adds the setting of one line (without indentation) to `spans`; unknown lines are ignored."""
    if line.startswith(("timespan:", "job:")):
        spans.append(Span(is_of_linux=line.startswith("job:")))
    elif spans and (path := _PATH.fullmatch(line)):
        spans[-1].targets.append(Target(path[1], fill="repeating", direct=False if spans[-1].is_of_linux else None))
    elif spans and spans[-1].targets:
        if line.startswith("threads per file:"):
            spans[-1].pool_threads = None  # DiskSpd for Linux always prints the sum of all threads.
        _read_target_setting(line, spans[-1].targets[-1])
    elif spans:
        _read_span_setting(line, spans[-1])


def _read_span_setting(line: str, span: Span) -> None:
    name, _, value = line.partition(":")
    match name:
        case "duration":
            span.seconds = parse_number(value.rstrip("s"))
        case "warm up time":
            span.warmup_seconds = parse_number(value.rstrip("s"))
        case "cool down time":
            span.cooldown_seconds = parse_number(value.rstrip("s")) or 0.0
        case "number of outstanding I/O operations per thread":
            span.pool_outstanding = parse_count(value) or None
        case "total threads":
            span.pool_threads = parse_count(value) or None
        case "generating random data for each write IO":
            span.random_writes = True
        case _ if pool := _POOL.fullmatch(line):
            span.pool_threads = int(pool[1]) or None


def _read_target_setting(line: str, target: Target) -> None:
    name, _, value = line.partition(":")
    match name:
        case "block size":
            target.block_bytes = parse_size_bytes(value)
        case "number of outstanding I/O operations" | "number of outstanding I/O operations per thread":
            target.outstanding = parse_count(value.rstrip(")"))
        case "threads per file":
            target.threads = parse_count(value)
        case "max file size":
            target.limit_bytes = parse_size_bytes(value)
        case "think time":
            target.rate_limited = (parse_number(value.rstrip("ms")) or 0) > 0
        case "write buffer size":
            target.fill = "random"
        case "write buffer source" if value.strip() != "random fill":
            target.fill = None  # The content of a file.
        case "zeroing write buffers" | "zeroing I/O buffers":
            target.fill = "zeros"
        case "filling I/O buffers with random data":
            target.fill = "random"
        case "using O_DIRECT":
            target.direct = True
        case _:
            _read_target_phrase(line, target)


def _read_target_phrase(line: str, target: Target) -> None:
    # Versions before 2.0.16 call -h "software and hardware cache disabled".
    if line.endswith(("writethrough on", "software and hardware cache disabled")):
        target.write_through = True
    if line.startswith("performing "):
        mix = _MIX.search(line)
        # Versions with "write/read" write 100 as the second number (2.0.12).
        first = min(100, int(mix[2])) / 100 if mix else float("read test" in line)
        target.read_ratio = 1 - first if mix and mix[1] == "write" else first
    elif line.startswith("using mixed random/sequential"):
        percent = _SHARE.search(line)
        target.random_ratio = int(percent[1]) / 100 if percent else None
    elif line.startswith(("using random I/O", "using sequential I/O", "using interlocked sequential I/O")):
        target.random_ratio = float(line.startswith("using random"))
    elif line.startswith("memory mapped I/O enabled"):
        target.mapped = True
    elif line.startswith("throughput rate-limited"):
        target.rate_limited = True
    elif _CACHE_BYPASSED.match(line):
        target.direct = True
    elif _CACHED.match(line):
        target.direct = False
