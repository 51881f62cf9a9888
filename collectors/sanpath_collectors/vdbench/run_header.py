"""The header line of a run in a report, and the settings of the run that it contains.

<a name="_28274380"></a><i><b>13:49:00.010 Starting RD=rd1; I/O rate: 50; elapsed=60; For loops: threads=2</b></i>
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sanpath.model import Scalar
from sanpath.plugin import LoadProfile, without_none
from sanpath_collectors.vdbench.parse import parse_number, parse_size_bytes, parse_time_of_day, to_ratio

ENGINE: Mapping[str, Scalar] = {"engine": "vdbench"}
"""The attributes of the load of a report, whose runs are separate loads."""
TOLERANCE_RATIO = 0.1
"""Ratio by which an interval may deviate from Little's law, because I/Os cross its edges (vdbench 5.04, measured)."""
_MAX_DISTANCE_RATIO = 0.25
"""Largest distance between the measured I/Os in flight and a multiple of the threads of an SD, as a ratio of these
threads. Beyond half, another multiple would be closer."""
_MIN_REACHED_RATIO = 0.5
"""Share of the requested rate from which a run counts as limited by it. With a few I/Os per second at random times,
an interval may have only this share."""

_HEADER = re.compile(r"(\d\d:\d\d:\d\d[.,]\d{3}) Starting RD=([^;<]+)([^<]*)", re.ASCII)
_PARAMETER = re.compile(r"\b(threads|xfersize|rdpct|seekpct|elapsed|warmup|fwdrate)=([\w.]+)", re.ASCII)
_RATE = re.compile(r"I/O rate: ([^;]+);")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """The settings of a run as far as a report contains them; None: not contained.

    `threads`: I/Os in flight on each storage definition (SD). `storage_definitions`: their number. `files`: the run
    works on files (FSD, FWD), and opens, creates and closes them between reads and writes. `has_rate_limit`: a rate
    was requested, `requested_ops_per_second`; None: not known. `seconds`: without the warm-up.
    """

    threads: float | None = None
    storage_definitions: int | None = None
    files: bool = False
    block_bytes: float | None = None
    read_ratio: float | None = None
    random_ratio: float | None = None
    working_set_bytes: float | None = None
    direct: bool | None = None
    has_rate_limit: bool | None = False
    requested_ops_per_second: float | None = None
    seconds: float | None = None
    warmup_seconds: float | None = None

    def in_flight(self, measured: float | None) -> float | None:
        """Return the I/Os in flight on all SDs together. None: not known.

        A run may use only some of the SDs: with several of them, `measured` has to agree with the settings.
        """
        if self.threads is None or self.storage_definitions is None or self.files:
            return None
        configured = self.threads * self.storage_definitions
        agrees = measured is not None and abs(measured - configured) <= TOLERANCE_RATIO * configured
        return configured if self.storage_definitions == 1 or agrees else None

    def in_flight_by_parameters(self, described: Mapping[str, Scalar]) -> float | None:
        """Return the I/Os in flight on all SDs of the run, from the file of parameters.

        `described`: attributes of the run's load in that file. None: not described, or the file is of another run.
        """
        threads, count = described.get("threads_per_storage_definition"), described.get("storage_definitions")
        if self.files or (self.threads is not None and threads not in (None, self.threads)):
            return None
        in_flight = described.get("in_flight_configured")
        if in_flight is None and self.threads is not None and isinstance(count, int):
            in_flight = self.threads * count  # The run is repeated with several numbers of threads.
        return float(in_flight) if isinstance(in_flight, int | float) else None

    def estimate_in_flight(self, measured: float | None) -> float | None:
        """Return the I/Os in flight on an unknown number of SDs: the multiple of the threads that matches the
        measured number. None: not known, or no multiple matches."""
        if measured is None or self.files or not self.threads:
            return None
        configured = self.threads * round(measured / self.threads)
        error = min(TOLERANCE_RATIO * configured, _MAX_DISTANCE_RATIO * self.threads)
        return configured if configured and abs(measured - configured) <= error else None

    def is_rate_limited(self, ops: float) -> bool:
        """Whether the requested rate limits a run with this measured rate, `ops` per second.

        A run that remains far below its requested rate behaves as a closed loop.
        """
        return bool(self.has_rate_limit) and (
            self.requested_ops_per_second is None or ops >= _MIN_REACHED_RATIO * self.requested_ops_per_second
        )

    def attributes(self, in_flight: float | None) -> Mapping[str, Scalar]:
        """Return the attributes of the run's load, with `in_flight` as known so far."""
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
            rate_limited=self.has_rate_limit,
        )
        vdbench_attributes = {
            f"threads_per_{'workload' if self.files else 'storage'}_definition": self.threads,
            "storage_definitions": self.storage_definitions,
            "requested_ops_per_second": self.requested_ops_per_second,
        }
        return {**profile.attributes, **without_none(vdbench_attributes)}


@dataclass(frozen=True, slots=True)
class RunHeader:
    """The header line of a run. `time_of_day`: microseconds since midnight."""

    time_of_day: int
    run: str
    settings: RunSettings


def parse_run_header(line: str, storage_definitions: int | None = None) -> RunHeader | None:
    """Parse the header line of a run. None: another line. `storage_definitions`: how many SDs the report has."""
    match = _HEADER.search(line)
    time_us = parse_time_of_day(match[1]) if match else None
    if match is None or time_us is None:
        return None
    parameters = dict(_PARAMETER.findall(match[3]))
    rate = _RATE.search(match[3])
    # It may also be "Uncontrolled MAX", "Controlled MAX (curve)" or "max".
    requested_ops_per_second = parse_number(rate[1].replace(",", "") if rate else parameters.get("fwdrate", ""))
    settings = RunSettings(
        threads=parse_number(parameters.get("threads", "")),
        storage_definitions=storage_definitions,
        files="fwdrate" in parameters,
        block_bytes=parse_size_bytes(parameters.get("xfersize", "")),
        read_ratio=to_ratio(parse_number(parameters.get("rdpct", ""))),
        random_ratio=to_ratio(parse_number(parameters.get("seekpct", ""))),
        has_rate_limit=requested_ops_per_second is not None,
        requested_ops_per_second=requested_ops_per_second,
        seconds=parse_number(parameters.get("elapsed", "")),
        warmup_seconds=parse_number(parameters.get("warmup", "")),
    )
    return RunHeader(time_us, match[2].strip(), settings)


def local_id(load: str, run: str, number: int) -> str:
    """Return the id of a run's load: `oltp/rd1`, or `oltp/rd1#2` when the run is repeated.

    Commas are replaced, because they separate the loads of a step.
    """
    name = run.replace(",", ";")
    return f"{load}/{name}" if number == 1 else f"{load}/{name}#{number}"


def is_preparation(run: str) -> bool:
    """Whether vdbench itself added this run, to fill devices or files before the test."""
    return run == "SD_format" or run.startswith("format_for_")
