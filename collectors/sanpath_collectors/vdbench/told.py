"""What a run was told to do, and the line of a report that says so.

<a name="_28274380"></a><i><b>13:49:00.010 Starting RD=rd1; I/O rate: 50; elapsed=60; For loops: threads=2</b></i>
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sanpath.model import Scalar
from sanpath.plugin import LoadProfile
from sanpath_collectors.vdbench.parse import number, ratio, size_bytes, time_of_day

ENGINE: Mapping[str, Scalar] = {"engine": "vdbench"}
"""All that is known of a load whose runs are loads of their own."""
CLOSE = 0.1
"""Little's law holds to this share for one interval: I/Os cross its edges (vdbench 5.04, measured)."""
_NEAR = 0.5
"""Of a few I/Os a second, that come at random, one interval may have this share."""

_START = re.compile(r"(\d\d:\d\d:\d\d[.,]\d{3}) Starting RD=([^;<]+)([^<]*)", re.ASCII)
_WORD = re.compile(r"\b(threads|xfersize|rdpct|seekpct|elapsed|warmup|fwdrate)=([\w.]+)", re.ASCII)
_RATE = re.compile(r"I/O rate: ([^;]+);")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a run was told to do, as far as a report says; None: it does not.

    `threads`: I/Os it keeps in flight on each storage definition (SD); `storages`: the number of those. `files`: it
    works on files (FSD, FWD), and opens, creates and closes them between reads and writes. `limited`: to a rate;
    `requested`: that rate, operations a second. `seconds`: without the warm-up.
    """

    threads: float | None = None
    storages: int | None = None
    files: bool = False
    block_bytes: float | None = None
    read_ratio: float | None = None
    random_ratio: float | None = None
    working_set_bytes: float | None = None
    direct: bool | None = None
    limited: bool = False
    requested: float | None = None
    seconds: float | None = None
    warmup_seconds: float | None = None

    def in_flight(self, measured: float | None) -> float | None:
        """I/Os in flight on all SDs together. None: not known.

        A run may leave SDs out: with several of them, what was measured has to agree.
        """
        if self.threads is None or self.storages is None or self.files:
            return None
        kept = self.threads * self.storages
        agrees = measured is not None and abs(measured - kept) <= CLOSE * kept
        return kept if self.storages == 1 or agrees else None

    def held_back(self, ops: float) -> bool:
        """Whether the rate that was asked for holds the run back, as it does so many operations a second. One that
        does not come near it is a closed loop, whatever it was asked for."""
        return self.limited and (self.requested is None or ops >= _NEAR * self.requested)

    def attributes(self, in_flight: float | None) -> Mapping[str, Scalar]:
        """Of its load. `in_flight`: as it is known by now."""
        profile = LoadProfile(
            engine="vdbench",
            in_flight=in_flight,
            block_bytes=self.block_bytes,
            read_ratio=self.read_ratio,
            random_ratio=self.random_ratio,
            threads=None if in_flight is None else round(in_flight),
            working_set_bytes=self.working_set_bytes,
            direct=self.direct,
            seconds=self.seconds,
            warmup_seconds=self.warmup_seconds,
            rate_limited=self.limited,
        )
        beside = {
            f"threads_per_{'workload' if self.files else 'storage'}_definition": self.threads,
            "storage_definitions": self.storages,
            "requested_ops_per_second": self.requested,
        }
        return {**profile.attributes, **{name: value for name, value in beside.items() if value is not None}}


@dataclass(frozen=True, slots=True)
class Start:
    """The line that a run begins with. `time_of_day`: microseconds since midnight."""

    time_of_day: int
    run: str
    told: Told


def start(line: str, storages: int | None = None) -> Start | None:
    """The beginning of a run. None: another line. `storages`: how many SDs the report has."""
    match = _START.search(line)
    begun = time_of_day(match[1]) if match else None
    if match is None or begun is None:
        return None
    words = dict(_WORD.findall(match[3]))
    rate = _RATE.search(match[3])
    # "Uncontrolled MAX", "Controlled MAX (curve)" and "max" are no numbers.
    requested = number(rate[1].replace(",", "") if rate else words.get("fwdrate", ""))
    told = Told(
        threads=number(words.get("threads", "")),
        storages=storages,
        files="fwdrate" in words,
        block_bytes=size_bytes(words.get("xfersize", "")),
        read_ratio=ratio(number(words.get("rdpct", ""))),
        random_ratio=ratio(number(words.get("seekpct", ""))),
        limited=requested is not None,
        requested=requested,
        seconds=number(words.get("elapsed", "")),
        warmup_seconds=number(words.get("warmup", "")),
    )
    return Start(begun, match[2].strip(), told)


def local_id(load: str, run: str, number: int) -> str:
    """What the load of a run is called: `oltp/rd1`, and where it is repeated `oltp/rd1#2`. A comma would part it from
    the next load of its step."""
    name = run.replace(",", ";")
    return f"{load}/{name}" if number == 1 else f"{load}/{name}#{number}"


def is_preparation(run: str) -> bool:
    """Whether vdbench itself added this run, to write devices or files full before the test."""
    return run == "SD_format" or run.startswith("format_for_")
