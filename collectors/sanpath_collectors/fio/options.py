"""What a job's options come to: I/Os in flight, mix, working set. Options as fio prints them: name → text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal, TypeVar

from sanpath.plugin import LoadProfile

T = TypeVar("T")

SYNCHRONOUS = frozenset(
    (
        *("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "ftruncate"),
        *("filecreate", "filestat", "filedelete"),
    )
)
"""Engines that keep one I/O in flight a process whatever iodepth says (fio HOWTO, "I/O depth")."""

PAST_THE_CACHE = frozenset(
    ("nbd", "rbd", "rados", "libiscsi", "http", "sg", "io_uring_cmd", "spdk", "libblkio", "null", "net", "rdma")
)
"""Engines whose I/O meets no file cache of the operating system, so that `direct` says nothing."""

_HELD_BACK = ("rate", "rate_iops", "thinktime")
_SIZE = re.compile(r"([0-9]{1,18})(?:([kmgtp])(i?))?b?", re.IGNORECASE)
_DURATION = re.compile(r"([0-9]{1,12})(d|h|m|s|ms|us)?", re.IGNORECASE)
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6}
_ZEROS = re.compile(r"(?:0x)?0+", re.IGNORECASE)


@lru_cache(maxsize=4096)
def profile(told: tuple[tuple[str, str], ...], processes: int, version: str | None) -> LoadProfile:
    """What `processes` processes of a job with these options do together.

    fio does not print options that are given without a value (`zero_buffers`): what is written is known only where
    an option with a value tells it.
    """
    options = dict(told)
    engine = options.get("ioengine", "psync")
    asked = processes * whole(options.get("iodepth"), 1)
    synchronous = engine in SYNCHRONOUS
    files, working_set = _files(options, processes)
    kind = options.get("rw", "read").partition(":")[0]
    reads = _read_ratio(kind, options)
    return LoadProfile(
        engine="fio",
        engine_version=version,
        in_flight=processes if synchronous else asked,
        asked_in_flight=asked if synchronous and asked != processes else None,
        block_bytes=_block_bytes(reads, options),
        read_ratio=reads,
        random_ratio=_random_ratio(kind, options),
        threads=processes,
        files=files,
        working_set_bytes=working_set,
        direct=_direct(engine, options),
        synchronous=synchronous,
        fill=None if reads == 1 else _fill(options),
        seconds=duration(options.get("runtime")),
        warmup_seconds=duration(options.get("ramp_time")),
        rate_limited=rate_limited(options),
        requested_ops_per_second=_requested(options, processes, reads),
    )


def _requested(options: Mapping[str, str], processes: int, reads: float | None) -> float | None:
    """Operations a second that the processes were told to keep. None: no rate; or of reads and writes beside each
    other, where a rate holds for each of them and the mix decides which is reached."""
    if reads not in (0.0, 1.0):
        return None
    way = 0 if reads else 1
    operations, size = (_of_way(options.get(name), way) for name in ("rate_iops", "rate"))
    if (rate := size_bytes(operations)) is not None:
        return processes * rate or None
    block, rate = _block_bytes(reads, options), size_bytes(size, options.get("kb_base", "1024"))
    return processes * rate / block or None if rate and block else None


def _of_way(text: str | None, way: int) -> str | None:
    """The part of a rate for reads (0) or writes (1): "500,200", or one for both."""
    said = (text or "").split(",")
    return said[way] if len(said) > way and said[way] else said[0] if len(said) == 1 else None


def rate_limited(options: Mapping[str, str]) -> bool:
    """Whether the job was told to stay below a rate, or to think between I/Os."""
    return any(options.get(name, "0").strip("0,") != "" for name in _HELD_BACK)


def together(profiles: Iterable[LoadProfile]) -> LoadProfile:
    """What loads do that run at the same time; None where they differ, or where one does not know."""
    all_of = list(profiles)
    return LoadProfile(
        engine="fio",
        engine_version=common(p.engine_version for p in all_of),
        in_flight=_sum(p.in_flight for p in all_of),
        block_bytes=common(p.block_bytes for p in all_of),
        read_ratio=common(p.read_ratio for p in all_of),
        random_ratio=common(p.random_ratio for p in all_of),
        threads=None if (threads := _sum(p.threads for p in all_of)) is None else int(threads),
        direct=common(p.direct for p in all_of),
        synchronous=common(p.synchronous for p in all_of),
        fill=common(p.fill for p in all_of),
        seconds=common(p.seconds for p in all_of),
        warmup_seconds=common(p.warmup_seconds for p in all_of),
        rate_limited=any(p.rate_limited for p in all_of),
    )


def common(values: Iterable[T | None]) -> T | None:
    """The value that all of them are; None where they differ."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


def _sum(values: Iterable[float | None]) -> float | None:
    told = list(values)
    known = [value for value in told if value is not None]
    return sum(known) if known and len(known) == len(told) else None


def whole(text: str | None, default: int) -> int:
    """A positive count; the default for anything else."""
    return int(text) if text is not None and re.fullmatch(r"[1-9][0-9]{0,8}", text.strip()) else default


def size_bytes(text: str | None, kb_base: str = "1024") -> float | None:
    """fio's sizes: "64k" → 65536.0. None for shares ("50%") and ranges ("4k-64k").

    As fio has it, "KiB" is 1000 and "k" is 1024 bytes, and kb_base=1000 turns them round (fio HOWTO, "int").
    """
    match = _SIZE.fullmatch((text or "").strip())
    if match is None:
        return None
    binary = (kb_base != "1000") != bool(match[3])
    return int(match[1]) * (1024.0 if binary else 1000.0) ** " kmgtp".index((match[2] or " ").lower())


def duration(text: str | None) -> float | None:
    """fio's times in seconds: "10" → 10.0, "500ms" → 0.5. None for anything else."""
    match = _DURATION.fullmatch((text or "").strip())
    return int(match[1]) * _SECONDS[(match[2] or "s").lower()] if match else None


def _read_ratio(kind: str, options: Mapping[str, str]) -> float | None:
    match kind.removeprefix("rand"):
        case "read":
            return 1.0
        case "write":
            return 0.0
        case "rw" | "readwrite":
            writes = options.get("rwmixwrite")
            return (100 - whole(writes, 0)) / 100 if writes else whole(options.get("rwmixread", "50"), 0) / 100
        case _:
            return None


def _random_ratio(kind: str, options: Mapping[str, str]) -> float | None:
    if not kind.startswith("rand"):
        return 0.0
    shares = {whole(share, 0) for share in options.get("percentage_random", "100").split(",")}
    return shares.pop() / 100 if len(shares) == 1 else None


def _block_bytes(read_ratio: float | None, options: Mapping[str, str]) -> float | None:
    if "bsrange" in options or "bssplit" in options:
        return None
    sizes = [size_bytes(size or "4k", options.get("kb_base", "1024")) for size in options.get("bs", "4k").split(",")]
    reads, writes = sizes[0], sizes[1] if len(sizes) > 1 else sizes[0]
    if read_ratio in (0.0, 1.0):
        return reads if read_ratio else writes
    return common(sizes)


def _files(options: Mapping[str, str], processes: int) -> tuple[int | None, float | None]:
    """How many files, and bytes in all of them. Processes share files that have a name and else have their own."""
    names = [name for name in re.split(r"(?<!\\):", options.get("filename", "")) if name]
    if "filename_format" in options or "opendir" in options:
        return None, None
    own_parts = processes if not names or whole(options.get("offset_increment", "0")[:1], 0) else 1
    files = len(names) or processes * whole(options.get("nrfiles"), 1)
    base = options.get("kb_base", "1024")
    if "filesize" in options:
        each = size_bytes(options["filesize"], base)
        return files, None if each is None else each * files
    size = size_bytes(options.get("size"), base)
    return files, None if size is None else size * own_parts


def _direct(engine: str, options: Mapping[str, str]) -> bool | None:
    if "direct" in options:
        return options["direct"] != "0"
    if "buffered" in options:
        return options["buffered"] == "0"
    return None if engine in PAST_THE_CACHE else False


def _fill(options: Mapping[str, str]) -> Literal["zeros", "repeating", "random"] | None:
    if options.get("zero_buffers", "0") != "0":
        return "zeros"
    pattern = options.get("buffer_pattern") or options.get("verify_pattern")
    if pattern:
        return "zeros" if _ZEROS.fullmatch(pattern) else "repeating"
    if options.get("dedupe_percentage") or options.get("buffer_compress_percentage"):
        return None
    return "random" if options.get("refill_buffers", "0") != "0" else None


def target_addresses(options: Mapping[str, str]) -> list[str]:
    """Addresses that a network engine talks to: the host of `uri=nbd://10.0.0.2:10809` or `hostname=`."""
    uri = re.match(r"[a-z+]+://(?:\[([^\]]+)\]|([^:/?]+))", options.get("uri", ""))
    if uri:
        return [uri[1] or uri[2]]
    return [options["hostname"]] if options.get("hostname") else []
