"""fio's output → status documents → what they say of its jobs. Pure: bytes in, objects out.

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
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sanpath.model import DIRECTIONS, Direction
from sanpath.plugin import LoadProfile, read_json
from sanpath_collectors.fio.options import profile, rate_limited, whole
from sanpath_collectors.fio.status import (
    JobStatus,
    Number,
    Status,
    finite,
    integer,
    mapping,
    milliseconds,
    told_apart,
)

LARGEST = 64 << 20
"""Characters of a document. fio writes about 6,000 a job, and 60,000 with json+."""
_SETTLED_MS = 100
"""Run times are exact to so many milliseconds."""
_ETA_UNKNOWN = 2**31 - 1


class Documents:
    """Cuts a growing output into JSON documents and the text between them.

    A document begins with `{` and ends with `}`, each first on its line: fio indents everything inside; or it is one
    line, as other programs write it anew. The end of what was fed may lie anywhere. `holds`: a document has a list
    under one of these keys.
    """

    def __init__(self, encoding: str = "utf-8", holds: Sequence[str] = ("jobs",)) -> None:
        self._rest = ""
        self._searched = 0
        self._line_end_due = False
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._holds = tuple(holds)

    def feed(self, added: bytes) -> tuple[list[dict[str, Any]], str]:
        """Documents that are complete now, and the text that lies outside of documents."""
        parts = list(self.parts(added))
        found = [part for part in parts if not isinstance(part, str)]
        return found, "".join(part for part in parts if isinstance(part, str))

    def parts(self, added: bytes) -> Iterator[dict[str, Any] | str]:
        """Documents and text in the order they were written; text comes by whole lines."""
        return self._cut(self._decoder.decode(added))

    def last_parts(self) -> Iterator[dict[str, Any] | str]:
        """What is still complete when the output has ended, with a line end or without."""
        return self._cut(self._decoder.decode(b"", final=True) + "\n")

    def rest(self) -> str:
        """What is left at the end: a document that was cut, or a line without an end."""
        left, self._rest, self._searched = self._rest, "", 0
        return left

    def _cut(self, added: str) -> Iterator[dict[str, Any] | str]:
        output = self._rest + added
        if self._line_end_due and output:
            output, self._line_end_due = output.removeprefix("\n"), False
        at, searched, self._searched = 0, self._searched, 0
        while (start := _line_start(output, "{", at)) is not None:
            if start > at:
                yield output[at:start]
                at, searched = start, 0
            end = _end(output, start, max(start + 1, searched))
            if end is None:
                self._searched = len(output) - start
                break
            body, at, searched = output[start:end], end, 0
            document = self._document(body)
            yield body if document is None else document
            self._line_end_due = at == len(output)
            at += output.startswith("\n", at)
        else:
            keep = output.rfind("\n") + 1
            if keep > at:
                yield output[at:keep]
                at = keep
        self._rest = output[at:]
        if len(self._rest) > LARGEST:
            yield self.rest()

    def _document(self, body: str) -> dict[str, Any] | None:
        try:
            parsed = read_json(body)
        except ValueError:
            # Text with a brace at the start of a line came in between: the document may begin further down.
            later = body.rfind("\n{")
            return self._document(body[later + 1 :]) if later > 0 else None
        known = isinstance(parsed, dict) and any(isinstance(parsed.get(key), list) for key in self._holds)
        return parsed if known else None


def _line_start(text: str, character: str, at: int) -> int | None:
    """Where a character stands first on a line; `at` is the start of one."""
    if text.startswith(character, at):
        return at
    found = text.find("\n" + character, at)
    return found + 1 if found >= 0 else None


def _end(text: str, start: int, at: int) -> int | None:
    """Where the document that begins at `start` ends; None: not yet. `at`: up to there it was looked for."""
    line_end = text.find("\n", start)
    if line_end > start and text[start + 1 : line_end].strip() and text[start:line_end].rstrip().endswith("}"):
        return line_end
    found = text.find("\n}", max(start, at - 2))
    return found + 2 if found >= 0 else None


def status(document: Mapping[str, Any]) -> Status:
    """A status document as numbers. Entries that are not what they should be are left out."""
    entries = [entry for entry in document["jobs"] if isinstance(entry, dict) and isinstance(entry.get("read"), dict)]
    defaults = _options(document.get("global options"))
    keys = [(integer(entry.get("groupid"), 0), str(entry.get("jobname", "?"))) for entry in entries]
    twins = Counter(keys)
    names = told_apart([name for _, name in keys])
    version = version_of(document)
    jobs = [
        job(entry, name, defaults, version, grouped=twins[key] == 1)
        for entry, name, key in zip(entries, names, keys, strict=True)
    ]
    milliseconds, seconds = document.get("timestamp_ms"), document.get("timestamp")
    disks = document.get("disk_util")
    return Status(
        time_us=_time(milliseconds, 1_000) or _time(seconds, 1_000_000),
        whole_seconds=_time(milliseconds, 1_000) is None,
        jobs=tuple(jobs),
        disks={
            str(disk["name"]): disk_samples(disk)
            for disk in (disks if isinstance(disks, list) else [])
            if isinstance(disk, dict) and "name" in disk
        },
        version=version,
        elapsed_seconds=max((integer(entry.get("elapsed"), 0) for entry in entries), default=0) or None,
        running=any(map(_goes_on, entries, jobs)),
    )


def _goes_on(entry: Mapping[str, Any], job: JobStatus) -> bool:
    """Whether a job is not at its end. fio gives no estimate of the time left in the first seconds (2147483647)."""
    left = 0 if job.error else integer(entry.get("eta"), 0)
    if left < _ETA_UNKNOWN:
        return left > 0
    return 1000 * (job.profile.seconds or 0) > job.runtime_ms + _SETTLED_MS


def version_of(document: Mapping[str, Any]) -> str | None:
    """The version of fio: "3.33"."""
    return str(document["fio version"]).removeprefix("fio-") if "fio version" in document else None


def job(
    entry: Mapping[str, Any], name: str, defaults: Mapping[str, str], version: str | None, *, grouped: bool
) -> JobStatus:
    """An entry of `jobs`. `grouped`: no other entry is of the same job: it may stand for all its processes."""
    options = {**defaults, **_options(entry.get("job options"))}
    # With group_reporting one entry stands for all processes of the job; without it each has an entry of its own,
    # and every one of them still says numjobs.
    processes = whole(options.get("numjobs"), 1) if grouped else 1
    wall_ms = max(milliseconds(mapping(entry.get(d)).get("runtime")) for d in ("read", "write", "trim"))
    summed_ms = milliseconds(entry.get("job_runtime"))
    remarks = []
    mixed = grouped and "verify" not in options and _more_than(processes, wall_ms, summed_ms)
    if mixed:
        told = LoadProfile(engine="fio", engine_version=version, rate_limited=rate_limited(options))
        runs = f"{round(summed_ms / wall_ms)} processes, and fio tells the options of {processes} of them"
        remarks.append(("mixed-jobs", f"{name} stands for {runs}: how many I/Os they keep in flight is not known"))
    else:
        told = profile(tuple(options.items()), processes, version)
        # Where a job writes and then verifies, its run times of reads and writes follow each other.
        wall_ms = max(wall_ms, summed_ms // processes) if wall_ms else 0
    trims = integer(mapping(entry.get("trim")).get("total_ios"), 0)
    if trims:
        remarks.append(("trims", f"{name} has trimmed {trims:,} times; trims are not read"))
    samples: dict[str, Number] = {}
    for direction in DIRECTIONS:
        samples |= _direction(mapping(entry.get(direction)), direction)
    samples["in_flight_configured"] = told.in_flight
    samples["cpu_ratio"] = (finite(entry.get("usr_cpu")) or 0) + (finite(entry.get("sys_cpu")) or 0)
    begun = sum(integer(mapping(entry.get(direction)).get("total_ios"), 0) for direction in DIRECTIONS)
    ramp_ms = 1000 * (told.warmup_seconds or 0)
    return JobStatus(
        name=name,
        group=integer(entry.get("groupid"), 0),
        profile=told,
        options=options,
        mixed=mixed,
        runtime_ms=wall_ms,
        ops=begun,
        error=integer(entry.get("error"), 0),
        samples=samples,
        # No latency is counted during the ramp. It ends up to a status interval late; disable_lat counts none at all.
        ramping=bool(ramp_ms and begun and wall_ms < ramp_ms + 1500 and not _counted(entry)),
        started_us=_time(entry.get("job_start"), 1_000),
        bins={direction: bins for direction in DIRECTIONS if (bins := _bins(mapping(entry.get(direction))))},
        remarks=remarks,
    )


def _options(raw: Any) -> dict[str, str]:
    return {str(k): str(v) for k, v in raw.items()} if isinstance(raw, dict) else {}


def _more_than(processes: int, wall_ms: int, summed_ms: int) -> bool:
    """Whether there are more processes than that: the run time of a group's entry is the sum of theirs."""
    return wall_ms >= _SETTLED_MS and summed_ms > wall_ms * (processes + 0.5)


def _counted(entry: Mapping[str, Any]) -> bool:
    told = [_latency(mapping(entry.get(direction)))[0] for direction in DIRECTIONS]
    return any(integer(latency["N"], 0) if "N" in latency else finite(latency.get("mean")) for latency in told)


def _latency(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], int]:
    """Total latency, and how many nanoseconds its unit has: fio < 3.0 wrote "lat" in microseconds."""
    return (mapping(body["lat_ns"]), 1) if "lat_ns" in body else (mapping(body.get("lat")), 1000)


def _bins(body: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(_latency(body)[0].get("bins")) or mapping(mapping(body.get("clat_ns")).get("bins"))


def _direction(body: Mapping[str, Any], direction: Direction) -> dict[str, Number]:
    latency, scale = _latency(body)
    completion = mapping(body.get("clat_ns") or body.get("clat"))
    percentiles = mapping(latency.get("percentile") or completion.get("percentile"))
    moved = integer(body.get("io_bytes"), 0)
    begun = integer(body.get("total_ios"), 0)
    count = integer(latency.get("N"), begun)
    waited = integer((finite(latency.get("mean")) or 0.0) * count * scale, 0)
    return {
        # total_ios counts at submission and is not brought up to date in the last document (fio 3.33, measured); the
        # latencies count completions, as io_bytes does. There are none during the ramp, or with disable_lat.
        f"ops_{direction}_total": count or (begun if moved else 0),
        f"bytes_{direction}_total": moved,
        f"latency_seconds_{direction}_total": waited if count or not moved else None,
        f"latency_seconds_max_{direction}": _scaled(latency.get("max"), scale, count),
        f"latency_seconds_p50_{direction}": _scaled(percentiles.get("50.000000"), scale, count),
        f"latency_seconds_p95_{direction}": _scaled(percentiles.get("95.000000"), scale, count),
        f"latency_seconds_p99_{direction}": _scaled(percentiles.get("99.000000"), scale, count),
    }


def disk_samples(body: Mapping[str, Any]) -> dict[str, Number]:
    """An entry of `disk_util` as values of tables.LUN."""
    return {
        "ops_read_total": integer(body.get("read_ios"), 0),
        "ops_write_total": integer(body.get("write_ios"), 0),
        "latency_seconds_read_total": integer(body.get("read_ticks"), 0),
        "latency_seconds_write_total": integer(body.get("write_ticks"), 0),
        "in_flight_seconds_total": integer(body.get("in_queue"), 0),
    }


def _scaled(value: Any, scale: int, count: int) -> Number:
    number = finite(value)
    return number * scale if count and number is not None and number >= 0 else None


def _time(value: Any, microseconds: int) -> int | None:
    """A time that fits a recording's 64-bit clock."""
    fits = isinstance(value, int) and 0 < value < 2**62 // microseconds
    return value * microseconds if fits else None
