"""fio's output → status documents → samples. Pure: bytes in, objects out.

With `--status-interval` fio writes whole JSON documents one after the other, without a separator and not as an
array, with lines for people before and between them:

    fio: connected to NBD server
    {
      "fio version" : "fio-3.33",
      "timestamp_ms" : 1795150709122,
      "jobs" : [ { "jobname" : "t1", "groupid" : 0, ... } ]
    }
    {
      ...

All values are cumulative from the start of the job and reset once, when its ramp ends (fio 3.33, measured).
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Number = int | float | None

SYNCHRONOUS = frozenset(
    (
        *("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "ftruncate"),
        *("filecreate", "filestat", "filedelete"),
    )
)
"""Engines that keep one I/O in flight a process whatever iodepth says (fio HOWTO, "I/O depth")."""


class Documents:
    """Cuts a growing output into JSON documents and the text between them.

    A document begins with `{` and ends with `}`, each first on its line: fio indents everything inside. The end of
    what was fed may lie anywhere.
    """

    def __init__(self) -> None:
        self._rest = ""
        self._line_end_due = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, added: bytes) -> tuple[list[dict[str, Any]], str]:
        """Documents that are complete now, and the text that lies outside of documents."""
        self._rest += self._decoder.decode(added)
        if self._line_end_due and self._rest:
            self._rest, self._line_end_due = self._rest.removeprefix("\n"), False
        found: list[dict[str, Any]] = []
        text: list[str] = []
        while True:
            start = _line_start(self._rest, "{")
            if start is None:
                keep = self._rest.rfind("\n") + 1
                text.append(self._rest[:keep])
                self._rest = self._rest[keep:]
                break
            text.append(self._rest[:start])
            self._rest = self._rest[start:]
            length, end = len(self._rest), _line_start(self._rest, "}")
            if end is None:
                break
            body, self._rest = self._rest[: end + 1], self._rest[end + 1 :].removeprefix("\n")
            self._line_end_due = end + 1 == length
            document = _document(body)
            if document is None:
                text.append(body)
            else:
                found.append(document)
        return found, "".join(text)

    def rest(self) -> str:
        """What is left at the end: a document that was cut, or a line without an end."""
        left, self._rest = self._rest, ""
        return left


def _line_start(text: str, character: str) -> int | None:
    match = re.search(rf"^{re.escape(character)}", text, re.MULTILINE)
    return match.start() if match else None


def _document(body: str) -> dict[str, Any] | None:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        # Text with a brace at the start of a line came in between: the document may begin further down.
        later = body.rfind("\n{")
        return _document(body[later + 1 :]) if later > 0 else None
    return parsed if isinstance(parsed, dict) and isinstance(parsed.get("jobs"), list) else None


@dataclass(frozen=True, slots=True)
class JobStatus:
    """One entry of `jobs`. Latency sums in nanoseconds; None: fio did not say.

    `in_flight`: I/Os the entry was told to keep outstanding. `runtime_ms`: since its start or the end of its ramp,
    0 before its first I/O. `ops`: reads and writes it has begun; starts again when the ramp ends. `samples`: values
    of tables.LOAD, in fio's units.
    """

    name: str
    group: int
    options: Mapping[str, str]
    in_flight: int
    block_bytes: float | None
    runtime_ms: int
    ops: int
    error: int
    samples: Mapping[str, Number]


@dataclass(frozen=True, slots=True)
class Status:
    """One status document. `time_us`: fio's clock, microseconds since the epoch, None in old versions."""

    time_us: int | None
    jobs: tuple[JobStatus, ...]
    disks: Mapping[str, Mapping[str, Number]]


def status(document: Mapping[str, Any]) -> Status:
    """A status document as numbers. Entries that are not what they should be are left out."""
    defaults = _options(document.get("global options"))
    entries = [entry for entry in document["jobs"] if isinstance(entry, dict) and isinstance(entry.get("read"), dict)]
    keys = [(_integer(entry.get("groupid"), 0), str(entry.get("jobname", "?"))) for entry in entries]
    twins = Counter(keys)
    seen: Counter[str] = Counter()
    jobs = []
    for entry, (group, name) in zip(entries, keys, strict=True):
        seen[name] += 1
        alone = twins[group, name] == 1
        unique = name if seen[name] == 1 else f"{name}#{seen[name]}"
        jobs.append(_job(entry, unique, group, defaults | _options(entry.get("job options")), grouped=alone))
    disks = document.get("disk_util")
    return Status(
        _microseconds(document.get("timestamp_ms")),
        tuple(jobs),
        {
            str(disk["name"]): _disk(disk)
            for disk in (disks if isinstance(disks, list) else [])
            if isinstance(disk, dict) and "name" in disk
        },
    )


def _options(raw: Any) -> dict[str, str]:
    return {str(k): str(v) for k, v in raw.items()} if isinstance(raw, dict) else {}


def _job(entry: Mapping[str, Any], name: str, group: int, options: Mapping[str, str], grouped: bool) -> JobStatus:
    depth = 1 if options.get("ioengine", "psync") in SYNCHRONOUS else _integer(options.get("iodepth"), 1)
    # With group_reporting one entry stands for all processes of the job; without it each has an entry of its own,
    # and every one of them still says numjobs.
    processes = _integer(options.get("numjobs"), 1) if grouped else 1
    samples: dict[str, Number] = {}
    for direction in ("read", "write"):
        samples |= _direction(_mapping(entry.get(direction)), direction)
    in_flight = depth * processes
    samples["in_flight_configured"] = in_flight
    samples["cpu_ratio"] = (_number(entry.get("usr_cpu")) or 0) + (_number(entry.get("sys_cpu")) or 0)
    return JobStatus(
        name,
        group,
        options,
        in_flight,
        size_bytes(options.get("bs")),
        max(_integer(_mapping(entry.get(direction)).get("runtime"), 0) for direction in ("read", "write")),
        sum(_integer(_mapping(entry.get(direction)).get("total_ios"), 0) for direction in ("read", "write")),
        _integer(entry.get("error"), 0),
        samples,
    )


def _direction(body: Mapping[str, Any], direction: str) -> dict[str, Number]:
    # fio < 3.0 wrote "lat" in microseconds.
    latency, scale = (_mapping(body["lat_ns"]), 1) if "lat_ns" in body else (_mapping(body.get("lat")), 1000)
    completion = _mapping(body.get("clat_ns") or body.get("clat"))
    percentiles = _mapping(latency.get("percentile") or completion.get("percentile"))
    begun = _integer(body.get("total_ios"), 0)
    count = _integer(latency.get("N"), begun)
    return {
        # total_ios counts at submission and is not brought up to date in the last document (fio 3.33, measured); the
        # latencies count completions, as io_bytes does. There are none during the ramp, or with disable_lat.
        f"ops_{direction}_total": count or begun,
        f"bytes_{direction}_total": _integer(body.get("io_bytes"), 0),
        f"latency_seconds_{direction}_total": _integer((_number(latency.get("mean")) or 0.0) * count * scale, 0),
        f"latency_seconds_max_{direction}": _scaled(latency.get("max"), scale, count),
        f"latency_seconds_p50_{direction}": _scaled(percentiles.get("50.000000"), scale, count),
        f"latency_seconds_p95_{direction}": _scaled(percentiles.get("95.000000"), scale, count),
        f"latency_seconds_p99_{direction}": _scaled(percentiles.get("99.000000"), scale, count),
    }


def _disk(body: Mapping[str, Any]) -> dict[str, Number]:
    return {
        "ops_read_total": _integer(body.get("read_ios"), 0),
        "ops_write_total": _integer(body.get("write_ios"), 0),
        "latency_seconds_read_total": _integer(body.get("read_ticks"), 0),
        "latency_seconds_write_total": _integer(body.get("write_ticks"), 0),
        "in_flight_seconds_total": _integer(body.get("in_queue"), 0),
    }


def _scaled(value: Any, scale: int, count: int) -> Number:
    number = _number(value)
    return number * scale if count and number is not None else None


def _integer(value: Any, default: int) -> int:
    """A count that fits a 64-bit counter; the default for anything else."""
    try:
        number = round(value) if isinstance(value, float) else int(value)
    except (TypeError, ValueError, OverflowError):
        return default
    return number if 0 <= number < 2**64 else default


def _number(value: Any) -> float | None:
    """A finite number; None for anything else, NaN included."""
    try:
        number = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _microseconds(milliseconds: Any) -> int | None:
    """A time that fits a recording's 64-bit clock."""
    return milliseconds * 1000 if isinstance(milliseconds, int) and 0 <= milliseconds < 2**63 // 1000 else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def size_bytes(text: str | None) -> float | None:
    """fio's block size: "64k" → 65536.0. None when it is not one size for both directions ("4k,8k", ranges)."""
    match = re.fullmatch(r"([0-9]{1,18})([kKmMgG]?)(?:i?[bB])?", (text or "4k").strip())
    if match is None:
        return None
    return int(match[1]) * 1024.0 ** " kmg".index(match[2].lower() or " ")


def target_addresses(options: Mapping[str, str]) -> list[str]:
    """Addresses that a network engine talks to: the host of `uri=nbd://10.0.0.2:10809` or `hostname=`."""
    uri = re.match(r"[a-z+]+://(?:\[([^\]]+)\]|([^:/?]+))", options.get("uri", ""))
    if uri:
        return [uri[1] or uri[2]]
    return [options["hostname"]] if options.get("hostname") else []
