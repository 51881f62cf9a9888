"""The load of a probe from a fio job file that a person names.

No line of the file becomes part of a command line unchecked. Options of a fixed list are read as numbers, words of
fixed lists, or names of targets. Other options that a step keeps may contain only harmless characters. The rest is
left out with a remark, or refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sanpath.errors import ConfigError, UsageError
from sanpath.probe.job_options import (
    ALIASES,
    ENGINES,
    LEFT_OUT,
    LOAD,
    REFUSED,
    SYNCHRONOUS,
    UNCHANGED,
    UNCHANGED_VALUE,
    UNKNOWN,
)
from sanpath.probe.job_text import Option, read_options
from sanpath.probe.plan import ProbePlan
from sanpath.sweep.plan import LOCAL

_BLOCK_BYTES = 4096
"""fio's default block size."""
_SIZE = re.compile(r"([0-9]{1,15})([kmgt]?)b?", re.IGNORECASE)
_SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "m": 60.0, "h": 3600.0, "d": 86400.0}
_TIME = re.compile(rf"([0-9]{{1,9}}(?:\.[0-9]{{1,6}})?)({'|'.join(_SECONDS)})", re.IGNORECASE)
_DIRECTIONS = {"read": 1.0, "write": 0.0, "rw": None, "readwrite": None}
"""fio's word, without a leading `rand` → share of reads; None: see rwmixread."""


@dataclass(frozen=True, slots=True)
class JobLoad:
    """The load of a job file. `keys`: keys of the plan. `remarks`: differences from the job, for people."""

    keys: Mapping[str, Any]
    remarks: tuple[str, ...]


def job_load(path: Path) -> JobLoad:
    """Read the load of a job file. Raises ConfigError for the first option that a probe does not run."""
    options = {ALIASES.get(name, name): option for name, option in read_options(path).items()}
    left_out = []
    for name, option in options.items():
        if name in LOAD or (name in UNCHANGED and UNCHANGED_VALUE.fullmatch(option.value)):
            continue
        if LEFT_OUT.fullmatch(name) is None:
            reasons = (reason for names, reason in REFUSED if names.fullmatch(name))
            raise ConfigError(path, option.line, option.name, next(reasons, UNKNOWN))
        left_out.append(option.name)
    remarks = [f"left out, since a probe sets how long a step runs and what it reports: {', '.join(left_out)}"]
    job = _Job(path, options)
    keys = job.keys()
    return JobLoad(keys, (*(remarks if left_out else ()), *job.remarks(keys)))


def refuse_short_target(plan: ProbePlan, name: str) -> None:
    """Raise UsageError for a file on this machine that fio would have to extend before it reads it.

    That writes, and takes time and bytes that no budget counts.
    """
    if plan.hosts != (LOCAL,):
        return
    for target in map(Path, plan.target.filename):
        size = plan.load.working_set_bytes
        if target.is_file() and size is not None and target.stat().st_size * plan.target.number < size:
            raise UsageError(
                f"{name}: {target} has {target.stat().st_size:,} bytes, less than the job's size: make it first, or "
                "give --set load.working_set_bytes=…"
            )


@dataclass(frozen=True, slots=True)
class _Job:
    path: Path
    options: Mapping[str, Option]

    def keys(self) -> dict[str, Any]:
        """The keys of a plan."""
        word = self._text("rw", "read")
        is_random, direction = word.startswith("rand"), word.removeprefix("rand")
        if direction not in _DIRECTIONS:
            raise self._error("rw", "a probe runs read, write, rw, randread, randwrite and randrw")
        reads = _DIRECTIONS[direction]
        engine, targets = self._word("ioengine", ENGINES, "psync"), self._targets()
        threads, depth = self._number("numjobs", 1), self._number("iodepth", 1)
        sharing = threads * (len(targets["uri"]) if "uri" in targets else 1)
        load: dict[str, Any] = {
            "block_bytes": self._block_bytes(),
            "read_ratio": self._mix() if reads is None else reads,
            "access": "random" if is_random else "sequential",
            "threads": threads,
            "in_flight": threads if engine in SYNCHRONOUS else sharing * depth,
        }
        if "size" in self.options:
            load["working_set_bytes"] = self._bytes("size", self._text("size", ""))
        keys: dict[str, Any] = {"load": load, "fio": {"ioengine": engine}}
        if not self._is_direct() and "uri" not in targets:
            keys["fio"]["direct"] = 0
        keys["fio"] |= {name: option.value or 1 for name, option in self.options.items() if name in UNCHANGED}
        if "ramp_time" in self.options:
            keys["warmup_seconds"] = self._seconds("ramp_time")
        return keys | ({"target": targets} if targets else {})

    def remarks(self, keys: Mapping[str, Any]) -> list[str]:
        """Remarks for people about these keys."""
        load, engine = keys["load"], keys["fio"]["ioengine"]
        remarks = []
        if engine in SYNCHRONOUS and self._number("iodepth", 1) > 1:
            remarks.append(
                f"iodepth={self._number('iodepth', 1)} has no effect: {engine} keeps one I/O outstanding per job, "
                f"{load['in_flight']} in all; ioengine=libaio can keep more"
            )
        if keys["fio"].get("direct") == 0:
            remarks.append("direct=1 is not set: the I/O goes through the host's file cache, as it does in the job")
        if load["threads"] > 1 and load["access"] == "sequential":
            remarks.append(
                f"each of its {load['threads']} threads gets a separate range: otherwise one would fill the cache "
                "for the others"
            )
        return remarks

    def _targets(self) -> dict[str, list[str]]:
        if "uri" in self.options:
            return {"uri": [self._text("uri", "")]}
        folder = self._text("directory", "")
        if "filename" not in self.options:
            if folder:
                raise self._error("directory", "the target is missing: give filename as well, or --target")
            return {}
        names = [name.replace(r"\:", ":") for name in re.split(r"(?<!\\):", self._text("filename", ""))]
        if not all(name and name.isprintable() and name != "-" for name in names):
            raise self._error("filename", "names no file or device")
        return {"filename": [f"{folder}/{name}" if folder else name for name in names]}

    def _block_bytes(self) -> int:
        sizes = {self._bytes("bs", size) for size in self._text("bs", str(_BLOCK_BYTES)).split(",")}
        if len(sizes) > 1:
            raise self._error("bs", "a probe varies one block size: give one for reads and writes")
        return sizes.pop()

    def _mix(self) -> float:
        if "rwmixwrite" in self.options and "rwmixread" not in self.options:
            return 1 - self._number("rwmixwrite", 50) / 100
        return self._number("rwmixread", 50) / 100

    def _is_direct(self) -> bool:
        return self._text("direct", "0") == "1" or self._text("buffered", "1") == "0"

    def _bytes(self, name: str, text: str) -> int:
        if (found := _SIZE.fullmatch(text)) is None:
            raise self._error(name, "write bytes, or a number with k, m, g or t such as 64k")
        return int(found[1]) << 10 * " kmgt".index(found[2].lower() or " ")

    def _seconds(self, name: str) -> float:
        if (found := _TIME.fullmatch(self._text(name, ""))) is None:
            raise self._error(name, "write seconds, or a number with ms, s, m or h")
        return float(found[1]) * _SECONDS[found[2].lower()]

    def _number(self, name: str, default: int) -> int:
        text = self._text(name, str(default))
        if not re.fullmatch("[0-9]{1,6}", text):
            raise self._error(name, "write a number")
        return int(text)

    def _word(self, name: str, known: frozenset[str], default: str) -> str:
        if (text := self._text(name, default)) not in known:
            raise self._error(name, f"a probe runs a job with one of {', '.join(sorted(known))}")
        return text

    def _text(self, name: str, default: str) -> str:
        option = self.options.get(name)
        return default if option is None else option.value

    def _error(self, name: str, problem: str) -> ConfigError:
        option = self.options.get(name)
        return ConfigError(self.path, None if option is None else option.line, name, problem)
