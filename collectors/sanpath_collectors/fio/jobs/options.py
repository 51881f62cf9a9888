"""The configuration of a job from its options: I/Os in flight, mix of reads and writes, working set.

Options are as fio prints them: name → text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal

from sanpath.plugin import FIO_OVER_NETWORK, LoadProfile, common_value, complete_sum, is_block_device

SYNCHRONOUS_ENGINES = frozenset(
    (
        *("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "ftruncate"),
        *("filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete", "falloc", "e4defrag"),
        *("http", "gfapi", "libhdfs", "libpmem", "dev-dax", "mtd", "libzbc", "ime_psync", "ime_psyncv"),
        *("libcufile", "libhipfile"),
    )
)
"""Engines that keep one I/O in flight per process, whatever iodepth is (fio HOWTO, "I/O depth"; their FIO_SYNCIO)."""

UNCACHED_ENGINES = frozenset(
    ("nbd", "rbd", "rados", "libiscsi", "http", "sg", "io_uring_cmd", "spdk", "libblkio", "null", "net", "rdma")
)
"""Engines whose I/O bypasses the file cache of the operating system, so that `direct` has no effect."""

_IN_MEMORY = ("mmap", "libpmem", "dev-dax")
"""Engines that write to memory that a file is mapped to."""
_THROTTLING = ("rate", "rate_iops", "thinktime", "latency_target")
_TRIMS = ("trim", "randtrim")
_NOT_ZERO = re.compile(r"[1-9]")
_CHARACTER_DEVICE = re.compile(r"/dev/(?:sg|bsg/)[^/]+")
"""Devices on which the engine sg keeps several I/Os in flight. On block devices it waits for each I/O."""
_NAME_END = re.compile(r"(?<!\\):")
_SIZE = re.compile(r"([0-9]{1,18})(?:([kmgtp])(i?))?b?", re.IGNORECASE)
_DURATION = re.compile(r"([0-9]{1,12})(d|h|m|s|ms|us)?", re.IGNORECASE)
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6}
_ZEROS = re.compile(r"(?:0x)?0+", re.IGNORECASE)


@lru_cache(maxsize=4096)
def profile_from_options(printed: tuple[tuple[str, str], ...], processes: int, version: str | None) -> LoadProfile:
    """The load profile of a job with this number of processes. `printed`: (name, text) of each option.

    fio does not print options without a value (`zero_buffers`), so the content of writes is known only from options
    with a value.
    """
    options = dict(printed)
    engine = options.get("ioengine", "psync")
    configured_depth = processes * positive_count(options.get("iodepth"), 1)
    synchronous = engine in SYNCHRONOUS_ENGINES or (engine == "sg" and not _are_character_devices(options))
    files, working_set = _count_files(options, processes)
    kind = options.get("rw", "read").partition(":")[0]
    reads = read_ratio(options)
    # With latency_target, fio chooses the depth while the job runs; iodepth is only its maximum.
    in_flight = processes if synchronous else None if has_latency_target(options) else configured_depth
    is_ignored = synchronous and configured_depth != processes
    if kind in _TRIMS:  # No reads or writes are outstanding, and nothing else is read.
        in_flight, is_ignored = 0, False
    return LoadProfile(
        engine="fio",
        engine_version=version,
        in_flight=in_flight,
        asked_in_flight=configured_depth if is_ignored else None,
        block_bytes=_block_bytes(reads, options),
        read_ratio=reads,
        random_ratio=_random_ratio(kind, options),
        threads=processes,
        files=files,
        working_set_bytes=working_set,
        direct=_is_direct(engine, options),
        write_through=_is_write_through(engine, options),
        block_devices=_are_block_devices(options),
        over_network=engine in FIO_OVER_NETWORK,
        synchronous=synchronous,
        fill=None if reads == 1 else _buffer_content(options),
        seconds=parse_duration_seconds(options.get("runtime")),
        warmup_seconds=parse_duration_seconds(options.get("ramp_time")),
        rate_limited=is_rate_limited(options),
        requested_ops_per_second=_requested_ops_per_second(options, processes, reads),
    )


def _requested_ops_per_second(options: Mapping[str, str], processes: int, reads: float | None) -> float | None:
    """IOPS to which the processes are limited, in all their directions together. None: a direction has no limit.

    A job that reads and writes has a limit for each. Where one is reached, fio does the other, whatever the mix
    (measured with fio 3.33: with rate_iops=400,100 and rwmixread=50 it does 400 and 100).
    """
    if reads is None:
        return None
    indices = [index for index, share in enumerate((reads, 1 - reads)) if share]
    limits = [_ops_limit(options, index, _block_bytes(reads, options)) for index in indices]
    return processes * sum(limit for limit in limits if limit) if all(limits) else None


def _ops_limit(options: Mapping[str, str], index: int, block_bytes: float | None) -> float | None:
    """IOPS to which a process is limited in reads (index 0) or writes (1). None or 0: it is not."""
    operations, size = (_rate_of_direction(options.get(name), index) for name in ("rate_iops", "rate"))
    if (limit := parse_size_bytes(operations)) is not None:
        return limit
    rate = parse_size_bytes(size, options.get("kb_base", "1024"))
    return rate / block_bytes if rate and block_bytes else None


def _rate_of_direction(text: str | None, index: int) -> str | None:
    """The rate of reads (index 0) or writes (1) in "500,200", or the single rate for both. None: not given."""
    values = (text or "").split(",")
    return values[index] if len(values) > index and values[index] else values[0] if len(values) == 1 else None


def is_rate_limited(options: Mapping[str, str]) -> bool:
    """Whether the job has a rate limit, a think time between I/Os, or a latency target."""
    return any(is_positive(options.get(name, "")) for name in _THROTTLING)


def has_latency_target(options: Mapping[str, str]) -> bool:
    """Whether fio lowers the queue depth of the job to keep its latency below a target."""
    return is_positive(options.get("latency_target", ""))


def is_positive(text: str) -> bool:
    """Whether a rate or a time is above 0 in any direction. "0us" and "0,0" are not."""
    return _NOT_ZERO.search(text) is not None


def combined_profile(profiles: Iterable[LoadProfile]) -> LoadProfile:
    """The profile of loads that run at the same time. A field is None if the loads differ or one is unknown."""
    all_profiles = list(profiles)
    limited = [p.rate_limited for p in all_profiles]
    return LoadProfile(
        engine="fio",
        engine_version=common_value(p.engine_version for p in all_profiles),
        in_flight=complete_sum(p.in_flight for p in all_profiles),
        block_bytes=common_value(p.block_bytes for p in all_profiles),
        read_ratio=common_value(p.read_ratio for p in all_profiles),
        random_ratio=common_value(p.random_ratio for p in all_profiles),
        threads=None if (threads := complete_sum(p.threads for p in all_profiles)) is None else int(threads),
        direct=common_value(p.direct for p in all_profiles),
        write_through=common_value(p.write_through for p in all_profiles),
        block_devices=common_value(p.block_devices for p in all_profiles),
        over_network=common_value(p.over_network for p in all_profiles),
        synchronous=common_value(p.synchronous for p in all_profiles),
        fill=common_value(p.fill for p in all_profiles),
        seconds=common_value(p.seconds for p in all_profiles),
        warmup_seconds=common_value(p.warmup_seconds for p in all_profiles),
        rate_limited=True if any(limited) else None if None in limited else False,
    )


def positive_count(text: str | None, default: int) -> int:
    """A text as a positive count; the default for anything else."""
    return int(text) if text is not None and re.fullmatch(r"[1-9][0-9]{0,8}", text.strip()) else default


def parse_size_bytes(text: str | None, kb_base: str = "1024") -> float | None:
    """fio's sizes: "64k" → 65536.0. None for shares ("50%") and ranges ("4k-64k").

    By default fio reads "KiB" as 1000 and "k" as 1024 bytes; kb_base=1000 swaps them (fio HOWTO, "int").
    """
    match = _SIZE.fullmatch((text or "").strip())
    if match is None:
        return None
    binary = (kb_base != "1000") != bool(match[3])
    return int(match[1]) * (1024.0 if binary else 1000.0) ** " kmgtp".index((match[2] or " ").lower())


def parse_duration_seconds(text: str | None) -> float | None:
    """fio's times in seconds: "10" → 10.0, "500ms" → 0.5. None for anything else."""
    match = _DURATION.fullmatch((text or "").strip())
    return int(match[1]) * _SECONDS[(match[2] or "s").lower()] if match else None


def read_ratio(options: Mapping[str, str]) -> float | None:
    """Share of the I/Os that are configured to be reads. None: not known."""
    if "read_iolog" in options:  # The job replays a log.
        return None
    match options.get("rw", "read").partition(":")[0].removeprefix("rand"):
        case "read":
            return 1.0
        case "write":
            return 0.0
        case "rw" | "readwrite":
            writes = options.get("rwmixwrite")
            return (
                (100 - positive_count(writes, 0)) / 100
                if writes
                else positive_count(options.get("rwmixread", "50"), 0) / 100
            )
        case _:
            return None


def _random_ratio(kind: str, options: Mapping[str, str]) -> float | None:
    if "read_iolog" in options:
        return None
    if not kind.startswith("rand"):
        return 0.0
    share = common_value(positive_count(text, 0) for text in options.get("percentage_random", "100").split(","))
    return None if share is None else share / 100


def _block_bytes(read_ratio: float | None, options: Mapping[str, str]) -> float | None:
    if options.keys() & {"bsrange", "bssplit", "read_iolog"}:
        return None
    sizes = [
        parse_size_bytes(size or "4k", options.get("kb_base", "1024")) for size in options.get("bs", "4k").split(",")
    ]
    reads, writes = sizes[0], sizes[1] if len(sizes) > 1 else sizes[0]
    if read_ratio in (0.0, 1.0):
        return reads if read_ratio else writes
    return common_value(sizes)


def _count_files(options: Mapping[str, str], processes: int) -> tuple[int | None, float | None]:
    """(number of files, bytes in all of them); None: unknown.

    Processes share files that are named; otherwise each process has separate files.
    """
    names = _file_names(options)
    if "filename_format" in options or "opendir" in options:
        return None, None
    separate_copies = processes if not names or positive_count(options.get("offset_increment", "0")[:1], 0) else 1
    files = len(names) or processes * positive_count(options.get("nrfiles"), 1)
    base = options.get("kb_base", "1024")
    if "filesize" in options:
        file_bytes = parse_size_bytes(options["filesize"], base)
        return files, None if file_bytes is None else file_bytes * files
    size = parse_size_bytes(options.get("size"), base)
    return files, None if size is None else size * separate_copies


def _file_names(options: Mapping[str, str]) -> list[str]:
    return [name for name in _NAME_END.split(options.get("filename", "")) if name]


def _are_block_devices(options: Mapping[str, str]) -> bool | None:
    """Whether all files of a job are block devices. None: it names no file."""
    names = _file_names(options)
    return all(map(is_block_device, names)) if names else None


def _are_character_devices(options: Mapping[str, str]) -> bool:
    """Whether all files of a job are character devices of SCSI."""
    names = _file_names(options)
    return bool(names) and all(map(_CHARACTER_DEVICE.fullmatch, names))


def _is_direct(engine: str, options: Mapping[str, str]) -> bool | None:
    if "direct" in options:
        return options["direct"] != "0"
    if "buffered" in options:
        return options["buffered"] == "0"
    return None if engine in UNCACHED_ENGINES else False


def _is_write_through(engine: str, options: Mapping[str, str]) -> bool | None:
    """Whether the job writes with O_SYNC or O_DSYNC (fio HOWTO, "sync"). None: its engine does not open files."""
    has_files = engine not in UNCACHED_ENGINES and engine not in _IN_MEMORY
    return options.get("sync", "0") not in ("0", "none") if has_files else None


def _buffer_content(options: Mapping[str, str]) -> Literal["zeros", "repeating", "random"] | None:
    if options.get("zero_buffers", "0") != "0":
        return "zeros"
    pattern = options.get("buffer_pattern") or options.get("verify_pattern")
    if pattern:
        return "zeros" if _ZEROS.fullmatch(pattern) else "repeating"
    if options.get("dedupe_percentage") or options.get("buffer_compress_percentage"):
        return None
    return "random" if options.get("refill_buffers", "0") != "0" else None


def named_devices(options: Mapping[str, str]) -> set[str]:
    """The block devices that a job names as its files, without /dev."""
    return {name.rpartition("/")[2] for name in _file_names(options) if is_block_device(name)}


def target_addresses(options: Mapping[str, str]) -> list[str]:
    """Addresses that a network engine connects to: the host of `uri=nbd://10.0.0.2:10809` or `hostname=`."""
    uri = re.match(r"[a-z+]+://(?:[^/@]*@)?(?:\[([^\]]+)\]|([^:/?]+))", options.get("uri", ""))
    if uri:
        return [uri[1] or uri[2]]
    return [options["hostname"]] if options.get("hostname") else []


def rbd_image(options: Mapping[str, str]) -> str:
    """The image that the engine rbd opens, as pool/image. "": another engine, or not given.

    >>> rbd_image({"ioengine": "rbd", "pool": "rbd", "rbdname": "vol1"})
    'rbd/vol1'
    """
    pool, image = options.get("pool", ""), options.get("rbdname", "")
    return f"{pool}/{image}" if options.get("ioengine") == "rbd" and pool and image else ""
