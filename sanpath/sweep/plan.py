"""The plan of a sweep: what is varied, on which target and for how long. Mistakes have file, line and key."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from sanpath.errors import UsageError
from sanpath.yaml_document import read_document, unknown_key

Engine = Literal["fio", "diskspd", "vdbench"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
"""The load generators that can be run."""
LOCAL = "local"
"""The name in `hosts` of the host that sanpath runs on."""

PLANNED_FIO_OPTIONS = frozenset(
    (
        *("name", "filename", "uri", "directory", "nrfiles", "filename_format", "rw", "readwrite", "rwmixread"),
        *("bs", "blocksize", "iodepth", "numjobs", "size", "filesize", "offset_increment", "runtime", "time_based"),
        *("ramp_time", "loops", "group_reporting", "output", "output-format", "status-interval", "client", "server"),
    )
)
"""Options of fio that the plan determines: an extra option of the same name would contradict it."""


def _bytes(value: object) -> object:
    """Convert a size such as 64k to 65536 bytes. Suffixes are powers of 1024, as in every load generator."""
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"([0-9]{1,15})\s*([kmgt]?)(?:i?b)?", value.strip(), re.IGNORECASE)
    if match is None:
        raise ValueError(f"{value!r} is not a size: write bytes, or a number with k, m, g or t such as 64k")
    return int(match[1]) * 1024 ** (" kmgt".index(match[2].lower() or " "))


def as_list(value: object) -> object:
    """Return a list unchanged, and a single value as a list of one."""
    return value if isinstance(value, list | tuple) else [value]


Bytes = Annotated[int, BeforeValidator(_bytes), Field(gt=0)]
Count = Annotated[int, Field(ge=1, strict=True)]
Ratio = Annotated[float, Field(ge=0, le=1)]
Text = Annotated[str, Field(min_length=1)]
Hosts = Annotated[tuple[Text, ...], BeforeValidator(as_list), Field(min_length=1)]


class Section(BaseModel):
    """A mapping of a plan; an unknown key is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Target(Section):
    """What is tested: existing block devices or files, NBD exports, or a folder for new files."""

    filename: Annotated[tuple[Text, ...], BeforeValidator(as_list)] = ()
    uri: Annotated[tuple[Text, ...], BeforeValidator(as_list)] = ()
    directory: Text | None = None

    @model_validator(mode="after")
    def _exactly_one_kind(self) -> Self:
        if sum(map(bool, (self.filename, self.uri, self.directory))) != 1:
            raise ValueError("give one of filename, uri and directory")
        return self

    @property
    def number(self) -> int:
        """Number of listed LUNs, files or exports."""
        return len(self.filename or self.uri) or 1


class Matrix(Section):
    """What is varied. Every combination is a step; `in_flight` changes fastest, values are in the written order.

    `in_flight`: outstanding I/Os of a host, over all its threads and targets. `targets`: number of listed targets
    that are used; None: all. `files`: number of files in the target's folder. `working_set_bytes` None: the whole
    target.
    """

    block_bytes: Annotated[tuple[Bytes, ...], BeforeValidator(as_list)] = (64 << 10,)
    read_ratio: Annotated[tuple[Ratio, ...], BeforeValidator(as_list)] = (1.0,)
    access: Annotated[tuple[Literal["random", "sequential"], ...], BeforeValidator(as_list)] = ("random",)
    working_set_bytes: Annotated[tuple[Bytes | None, ...], BeforeValidator(as_list)] = (None,)
    targets: Annotated[tuple[Count | None, ...], BeforeValidator(as_list)] = (None,)
    files: Annotated[tuple[Count, ...], BeforeValidator(as_list)] = (1,)
    threads: Annotated[tuple[Count, ...], BeforeValidator(as_list)] = (1,)
    in_flight: Annotated[tuple[Count, ...], BeforeValidator(as_list)]

    @field_validator("*")
    @classmethod
    def _each_once(cls, values: tuple[object, ...]) -> tuple[object, ...]:
        if not values:
            raise ValueError("give at least one value")
        if len(set(values)) < len(values):
            raise ValueError("a value is given twice")
        return values


class Steady(Section):
    """When a step is steady: the throughputs of the last `windows` seconds lie within `spread` of each other.

    `spread` is relative to their mean. A step lasts until it is steady, at most `at_most_seconds`.
    """

    windows: int = Field(default=5, ge=2)
    spread: float = Field(default=0.05, gt=0, lt=1)
    at_most_seconds: float = Field(default=120.0, gt=0)


class Plan(Section):
    """A sweep.

    `command`: the load generator with a prefix if needed, such as `ip netns exec NAME fio`, by shell rules. Each step
    is measured for `seconds` after `warmup_seconds`. `pause_seconds`: idle time between steps, so that every source
    shows an edge. `repeats`: how often the whole matrix is run, to measure the difference between runs of one step.
    `fio`: extra options.
    """

    engine: Engine = "fio"
    command: Text | None = None
    target: Target
    allow_writes: bool = False
    hosts: Hosts = (LOCAL,)
    seconds: float = Field(default=20.0, ge=1)
    warmup_seconds: float = Field(default=5.0, ge=0)
    pause_seconds: float = Field(default=1.0, ge=0)
    steady: Steady | None = None
    matrix: Matrix
    order: Literal["as written"] = "as written"
    repeats: Count = 1
    fio: dict[Text, str | int | float | bool] = {}

    def with_devices(self, devices: tuple[str, ...]) -> Plan:
        """The plan with other devices; (): the plan itself."""
        return self.model_copy(update={"target": Target(filename=devices)}) if devices else self

    @property
    def digest(self) -> str:
        """Digest of the plan's values: plans that differ only in their notation have the same digest."""
        # Older plans have no such key: their recordings can still be resumed.
        values = self.model_dump_json(exclude={"repeats"} if self.repeats == 1 else None)
        return hashlib.sha256(values.encode()).hexdigest()[:16]


AnyPlan = TypeVar("AnyPlan", bound=Section)
Problem = tuple[tuple[str | int, ...], str]
"""The key of a mistake in a plan, and what is wrong there."""


def load_plan(path: Path) -> Plan:
    """Read and check a plan. Raises ConfigError for the first mistake, UsageError if it cannot be read."""
    return read_plan(path, Plan, {"target": Target, "matrix": Matrix, "steady": Steady}, _contradictions)


def read_plan(
    path: Path,
    model: type[AnyPlan],
    sections: Mapping[str, type[Section]],
    contradictions: Callable[[AnyPlan], Sequence[Problem]],
    completed: Callable[[dict[str, Any]], dict[str, Any]] = dict,
) -> AnyPlan:
    """Read and check a plan of some kind. `sections`: its mappings by key. `contradictions`: mistakes of valid
    values. `completed`: adds keys that the plan leaves to another file.

    Raises ConfigError for the first mistake, UsageError if the file cannot be read.
    """
    document, raw = read_document(path)
    if not isinstance(raw, dict):
        raise document.error((), f"expected a mapping with the keys {', '.join(model.model_fields)}")
    try:
        plan = model.model_validate(completed(raw))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise document.error(first["loc"], mistake(first, model, sections)) from None
    for place, problem in contradictions(plan):
        raise document.error(place, problem)
    return plan


def mistake(error: Any, model: type[Section], sections: Mapping[str, type[Section]]) -> str:
    """A validation error of a plan in words."""
    if error["type"] == "extra_forbidden":
        *above, key = error["loc"]
        return unknown_key(str(key), list((sections[str(above[0])] if above else model).model_fields))
    if error["type"] == "missing":
        return "is required"
    if error["type"] == "model_type":
        section = sections.get(str(error["loc"][-1]), model)
        return f"needs keys of its own below it: {', '.join(section.model_fields)}"
    return str(error["msg"]).removeprefix("Value error, ")


def refuse_missing_target(plan: Plan, name: str) -> None:
    """Raise UsageError for a target on this machine that does not exist: fio and vdbench would make a file of that
    name, as large as the working set, below /dev in memory. Not known on another host, or behind a prefix such as
    `podman exec NAME fio`."""
    if plan.hosts != (LOCAL,) or " " in (plan.command or "") or plan.engine == "diskspd":
        return
    for target in plan.target.filename:
        if not Path(target).exists():
            raise UsageError(f"{name}: {target}: there is no such file or device: make it first, or name another")


def _contradictions(plan: Plan) -> list[Problem]:
    """Return (key, problem) for values that are valid by themselves but contradict each other."""
    problems: list[Problem] = []
    matrix, target = plan.matrix, plan.target
    writes = next((number for number, ratio in enumerate(matrix.read_ratio) if ratio < 1), None)
    if writes is not None and not plan.allow_writes:
        problems.append(
            (
                ("matrix", "read_ratio", writes),
                "writing destroys what is on the target: allow it with allow_writes: true",
            )
        )
    if target.directory and not plan.allow_writes:
        problems.append((("target", "directory"), "fio writes files there: allow it with allow_writes: true"))
    if plan.engine != "fio" and not target.filename:
        problems.append((("target",), f"{plan.engine} needs filename"))
    if plan.engine != "fio" and plan.steady:
        problems.append((("steady",), f"{plan.engine} shows its throughput only at its end: use seconds"))
    if target.directory is None and matrix.files != (1,):
        problems.append(
            (("matrix", "files"), "files are made in a target's directory; list a target's files in filename")
        )
    if target.directory and None in matrix.working_set_bytes:
        problems.append((("matrix",), "the files made in a directory need working_set_bytes"))
    if plan.steady and plan.steady.at_most_seconds < plan.seconds:
        problems.append((("steady", "at_most_seconds"), f"is less than seconds ({plan.seconds:g})"))
    if len(set(plan.hosts)) < len(plan.hosts):
        problems.append((("hosts",), "a host is named twice"))
    problems += [
        (("matrix", "targets", number), f"there are {target.number}")
        for number, used in enumerate(matrix.targets)
        if used is not None and used > target.number
    ]
    problems += _impossible(plan)
    problems += [
        (("fio", name), "follows from the plan") for name in plan.fio if name.lstrip("-") in PLANNED_FIO_OPTIONS
    ]
    return problems


def _impossible(plan: Plan) -> Iterator[Problem]:
    """Yield (key, problem) for impossible combinations of the matrix."""
    matrix = plan.matrix
    for listed, threads in product(matrix.targets, matrix.threads):
        targets = listed or plan.target.number
        # fio spreads a job over its targets, but each NBD export is a separate job; vdbench has threads per target.
        sharing = targets if plan.engine == "vdbench" else threads * (targets if plan.target.uri else 1)
        for number, in_flight in enumerate(matrix.in_flight):
            if in_flight % sharing:
                among = f"{threads} threads on {targets} targets" if sharing != threads else f"{threads} threads"
                yield ("matrix", "in_flight", number), f"{in_flight} cannot be shared equally among {among}"
        for number, size in enumerate(matrix.working_set_bytes):
            if size is not None and size < max(matrix.block_bytes) * threads * targets:
                yield ("matrix", "working_set_bytes", number), "holds less than one block a thread and target"
