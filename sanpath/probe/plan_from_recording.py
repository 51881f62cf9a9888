"""The plan of a probe that starts from a recording or a job file instead of a plan.

A recording is not trusted. Only numbers within limits, yes or no, and words of a fixed list come from it: no name,
path or option of it reaches a command line. The target is always named by a person.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from pydantic import ValidationError

from sanpath.errors import UsageError
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts, job_attributes
from sanpath.model import Scalar, Step
from sanpath.probe.plan import SECTIONS, ProbePlan, allowed, contradictions
from sanpath.sweep.plan import ENGINES, mistake
from sanpath.verdict.model import Judgement
from sanpath.yaml_document import read_yaml

_SECTOR_BYTES = 512
"""A sector, the smallest I/O of a block device."""
_MAX_BLOCK_BYTES = 64 << 20
"""Larger values in a recording are not sizes of an I/O: sanpath's own choice, 64 MiB."""
_MAX_IN_FLIGHT = 65_536
"""Larger values in a recording are not numbers of I/Os: the largest queue depth of NVMe is 65,536."""
_MAX_BYTES = 1 << 60
"""Larger values in a recording are not sizes of a file: sanpath's own choice, an exbibyte."""
_PURE_TOLERANCE = 0.01
"""A share of reads within this distance of 0 or 1 counts as 0 or 1."""


@dataclass(frozen=True, slots=True)
class RecordedLoad:
    """The load of a recording, as far as described. `keys`: keys of the plan. `refused`: key → why it is unknown."""

    keys: Mapping[str, Any]
    refused: Mapping[str, str]


_Part = tuple[dict[str, Any], dict[str, str]]
"""Keys of the plan's load from the recording, and key → why it is unknown."""


@dataclass(frozen=True, slots=True)
class _Decisive:
    """The step that decides the verdict. `loads`: its loads, one for each direction. `job`: the generator's
    description of its job. `step` None: it has no marks."""

    load: LoadFacts
    loads: Sequence[LoadFacts]
    step: Step | None
    job: Mapping[str, Scalar]


def recorded_load(facts: Facts, judgement: Judgement) -> RecordedLoad:
    """The load of the step that decides the verdict of a recording."""
    load = judgement.load
    decisive = _Decisive(
        load,
        [other for other in facts.loads if other.step == load.step],
        next((step for step in facts.steps if step.name == load.step), None),
        job_attributes(facts.topology, load),
    )
    keys: dict[str, Any] = {"threads": 1}
    refused: dict[str, str] = {}
    engine = str(decisive.job.get("engine", "")).lower()
    if engine not in ENGINES:
        refused["engine"] = f"its load generator is none of {', '.join(ENGINES)}"
    for part in (_block_size, _mix, _access, _in_flight, _working_set):
        found, missing = part(decisive)
        keys |= found
        refused |= missing
    plan = {"load": keys} | ({"engine": engine} if engine in ENGINES else {})
    # A load through the file cache does not test the device: repeating it has to use the file cache, too.
    return RecordedLoad(plan | ({"fio": {"direct": 0}} if decisive.job.get("direct") is False else {}), refused)


def _block_size(decisive: _Decisive) -> _Part:
    step = decisive.step
    reported = (decisive.job.get("block_bytes"), step and step.block_bytes, decisive.load.operation_bytes)
    sizes = [size for each in reported if (size := _number(each, _MAX_BLOCK_BYTES)) and size >= _SECTOR_BYTES]
    if not sizes:
        return {}, {"load.block_bytes": "it does not say the size of an I/O"}
    return {"block_bytes": round(sizes[0] / _SECTOR_BYTES) * _SECTOR_BYTES}, {}


def _mix(decisive: _Decisive) -> _Part:
    total = sum(load.ops_per_second for load in decisive.loads)
    reads = sum(load.ops_per_second for load in decisive.loads if load.direction == "read") / total
    requested = _number(decisive.job.get("read_ratio"), 1)
    reads = requested if requested is not None and (0 < requested < 1) == (0 < reads < 1) else round(reads, 2)
    return {"read_ratio": 0.0 if reads < _PURE_TOLERANCE else 1.0 if reads > 1 - _PURE_TOLERANCE else reads}, {}


def _access(decisive: _Decisive) -> _Part:
    if (random := decisive.job.get("random_ratio")) in (0, 1):
        return {"access": "random" if random else "sequential"}, {}
    return {}, {"load.access": "it does not say whether the I/O was random or sequential"}


def _in_flight(decisive: _Decisive) -> _Part:
    """The outstanding I/Os, and the threads that share them equally."""
    step, job = decisive.step, decisive.job
    measured = sum(load.in_flight_measured for load in decisive.loads)
    number = _number(decisive.load.in_flight_configured or measured, _MAX_IN_FLIGHT)
    # The rate limit of a probe's own steps comes from its budget and does not throttle the load.
    is_limited = bool(job.get("rate_limited")) or (step is not None and step.rate_limited)
    if is_limited and not (step is not None and step.experiment):
        return {}, {"load.in_flight": "its load was limited to a rate"}
    if number is None or round(number) < 1:
        return {}, {"load.in_flight": "it does not say how many I/Os were outstanding"}
    found = {"in_flight": round(number)}
    threads = _number(job.get("threads"), _MAX_IN_FLIGHT)
    if threads is not None and threads >= 1 and found["in_flight"] % round(threads) == 0:
        found["threads"] = round(threads)
    return found, {}


def _working_set(decisive: _Decisive) -> _Part:
    number = _number(decisive.job.get("working_set_bytes"), _MAX_BYTES)
    return ({"working_set_bytes": round(number)} if number is not None and number >= 1 else {}), {}


def plan_of(
    name: str, recorded: RecordedLoad, targets: Sequence[str], settings: Sequence[str], allow_writes: bool
) -> ProbePlan:
    """Make the plan of a probe that starts from a recording, or from the job file of a load.

    `name`: the recording or job file, for messages. `targets`: named by a person: devices and files, or URIs of NBD
    exports. `settings`: KEY=VALUE of the plan's keys, such as `load.in_flight=16`, which override the recorded load.
    Raises UsageError for the first thing that is missing or wrong.
    """
    keys = {key: dict(value) if isinstance(value, Mapping) else value for key, value in recorded.keys.items()}
    if targets:
        is_export = "://" in targets[0]
        keys["target"] = {"uri" if is_export else "filename": list(targets)}
        if is_export and isinstance(options := keys.get("fio"), dict):
            options.pop("ioengine", None)  # An engine for files or devices cannot reach an export.
    elif "target" not in keys:
        raise UsageError(f"{name}: name the device or file to test with --target")
    named = dict(_settings(settings))
    for key, value in named.items():
        section, _, inner = key.partition(".")
        if not inner:
            keys[section] = value
        elif isinstance(within := keys.setdefault(section, {}), dict):
            within[inner] = value
        else:
            raise UsageError(f"--set {key}: {section} has no keys of its own")
    for key, reason in recorded.refused.items():
        if key not in named and key.partition(".")[0] not in named:
            raise UsageError(f"{name}: {reason}: give --set {key}=…")
    try:
        plan = ProbePlan.model_validate(keys)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise _error(name, first["loc"], mistake(first, ProbePlan, SECTIONS)) from None
    for place, contradiction in contradictions(plan):
        raise _error(name, place, contradiction)
    return allowed(plan, name, allow_writes)


def _settings(settings: Sequence[str]) -> Iterator[tuple[str, Any]]:
    for setting in settings:
        key, separator, text = setting.partition("=")
        if not separator or not key:
            raise UsageError(f"--set {setting}: write KEY=VALUE, such as load.in_flight=16")
        if key.partition(".")[0] == "target":
            raise UsageError(f"--set {key}: name the target with --target")
        if key == "load.job_file":
            raise UsageError(f"--set {key}: name the job file in place of the recording")
        try:
            yield key, read_yaml(text)
        except ValueError as error:
            raise UsageError(f"--set {key}: {error}") from error


def _error(name: str, place: Sequence[str | int], problem: str) -> UsageError:
    key = ".".join(map(str, place))
    return UsageError(f"{name}: {key}: {problem} (change it with --set KEY=VALUE)")


def _number(value: object, limit: float) -> float | None:
    """A number from 0 to `limit`. None: the value is not one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if isfinite(value) and 0 <= value <= limit else None
