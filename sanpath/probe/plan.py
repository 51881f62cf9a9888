"""The plan of a probe: the load that a person specifies, the experiments that may be made, and their budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field

from sanpath.diagnosis.experiment import LoadChange
from sanpath.errors import UsageError
from sanpath.probe.job_options import SYNCHRONOUS
from sanpath.sweep.matrix import SweepStep, steps
from sanpath.sweep.plan import (
    LOCAL,
    PLANNED_FIO_OPTIONS,
    Bytes,
    Count,
    Engine,
    Hosts,
    Matrix,
    Problem,
    Ratio,
    Section,
    Target,
    Text,
    as_list,
    read_plan,
)
from sanpath.sweep.plan import Plan as SweepPlan

RUNNABLE: tuple[LoadChange, ...] = get_args(LoadChange)
"""The experiments that a probe may run."""
_RATES = frozenset(("rate", "rate_iops", "rate_min", "io_size", "readonly", "allow_file_create"))
"""Options of fio that the budget determines."""


class Load(Section):
    """The load that the probe starts from. `working_set_bytes` None: the whole target.

    `job_file`: the fio job with the load, from the folder of the plan; other keys override those of the job.
    """

    job_file: Text | None = None
    block_bytes: Bytes = 64 << 10
    read_ratio: Ratio = 1.0
    access: Literal["random", "sequential"] = "random"
    working_set_bytes: Bytes | None = None
    threads: Count = 1
    in_flight: Count


class Budget(Section):
    """What a probe may cost. None: no limit.

    `seconds`: from its beginning to its end. `bytes`, `bytes_per_second`: read and written. `in_flight`: the most
    outstanding I/Os. `steps`: the most steps, including the first.
    """

    seconds: float = Field(default=600.0, gt=0)
    bytes: Bytes | None = None
    bytes_per_second: Bytes | None = None
    in_flight: Count = 256
    steps: Count = 8


class Guard(Section):
    """When a probe stops to protect others: the latency of a volume that the test does not use has grown.

    `growth_ratio`: growth relative to the latency before the probe. `least_seconds`: a smaller growth is ignored.
    `baseline_seconds`: idle time before the first step in which that latency is measured.
    """

    growth_ratio: float = Field(default=0.5, gt=0)
    least_seconds: float = Field(default=0.0005, ge=0)
    baseline_seconds: float = Field(default=5.0, ge=0)


SECTIONS: Mapping[str, type[Section]] = {"target": Target, "load": Load, "budget": Budget, "guard": Guard}
"""The mappings of a plan by key."""


class ProbePlan(Section):
    """A probe.

    `hosts`: the first runs the load; the others are only used by the experiment `other_host`. Each step is measured
    for `seconds` after `warmup_seconds`. `hot_range_bytes`: the range of the experiment `cached_range`. `paths`:
    devices of the paths to the only target, of which the experiment `one_path` uses the first. `command`: the load
    generator with a prefix if needed; None: its name. `experiments`: those that may be made. `fio`: extra options.
    """

    engine: Engine = "fio"
    command: Text | None = None
    target: Target
    paths: Annotated[tuple[Text, ...], BeforeValidator(as_list)] = ()
    hosts: Hosts = (LOCAL,)
    load: Load
    seconds: float = Field(default=20.0, ge=1)
    warmup_seconds: float = Field(default=3.0, ge=0)
    pause_seconds: float = Field(default=3.0, ge=0)
    hot_range_bytes: Bytes = 64 << 20
    experiments: Annotated[tuple[LoadChange, ...], BeforeValidator(as_list)] = RUNNABLE
    budget: Budget = Budget()
    guard: Guard = Guard()
    fio: dict[Text, str | int | float | bool] = Field(default={})

    def sweep_plan(self, allow_writes: bool = False) -> SweepPlan:
        """The plan of a sweep with one step: the specified load. Unless writes are allowed, fio refuses them."""
        refuses_writes = self.engine == "fio" and not allow_writes
        return SweepPlan(
            engine=self.engine,
            command=f"{self.command or 'fio'} --readonly" if refuses_writes else self.command,
            target=self.target,
            allow_writes=allow_writes,
            hosts=self.hosts,
            seconds=self.seconds,
            warmup_seconds=self.warmup_seconds,
            pause_seconds=self.pause_seconds,
            matrix=Matrix.model_validate(self.load.model_dump(exclude={"job_file"})),
            fio=self.fio,
        )

    @property
    def is_synchronous(self) -> bool:
        """Whether each thread has one I/O outstanding, so that more of them need more threads."""
        has_synchronous_engine = self.engine == "fio" and self.fio.get("ioengine") in SYNCHRONOUS
        return has_synchronous_engine and self.load.threads == self.load.in_flight

    @property
    def start(self) -> SweepStep:
        """The load that a person specified."""
        return steps(self.sweep_plan())[0]

    @property
    def load_seconds(self) -> float:
        """How long the load of a step runs."""
        return self.warmup_seconds + self.seconds

    @property
    def share(self) -> int:
        """The number of threads and exports that share outstanding I/Os equally: a step needs a multiple of it."""
        if self.is_synchronous:
            return 1
        if self.engine == "vdbench":  # vdbench's threads are per target.
            return self.target.number
        return self.load.threads * (self.target.number if self.target.uri else 1)


def load_probe_plan(
    path: Path, allow_writes: bool = False, job_keys: Callable[[Path], Mapping[str, Any]] | None = None
) -> ProbePlan:
    """Read and check a plan. `allow_writes`: as given on the command line. `job_keys`: reads the keys of a job file.

    Raises ConfigError for the first mistake, UsageError if the file cannot be read or writes are not allowed.
    """

    def completed(raw: dict[str, Any]) -> dict[str, Any]:
        load = raw.get("load")
        if job_keys is None or not isinstance(load, dict) or not isinstance(load.get("job_file"), str):
            return raw
        return merge_keys(job_keys(path.parent / load["job_file"]), raw)

    plan = read_plan(path, ProbePlan, SECTIONS, lambda plan: list(contradictions(plan)), completed)
    return allowed(plan, str(path), allow_writes)


def merge_keys(keys: Mapping[str, Any], first: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of a plan, overridden by `first`. The keys of a target exclude each other, so only one is used."""
    merged = {**keys, **first}
    for name in ("load", "fio"):
        below, above = keys.get(name), first.get(name)
        if isinstance(below, Mapping) and isinstance(above, Mapping):
            merged[name] = {**below, **above}
    return merged


def allowed(plan: ProbePlan, name: str, allow_writes: bool) -> ProbePlan:
    """The plan, if it writes nothing or writes are allowed. `name`: the source of the plan. Raises UsageError."""
    if not allow_writes and plan.load.read_ratio < 1:
        raise UsageError(f"{name}: load.read_ratio: writing destroys what is on the target; allow it: --allow-writes")
    if not allow_writes and plan.target.directory:
        raise UsageError(f"{name}: target.directory: fio writes files there; allow it: --allow-writes")
    return plan


def contradictions(plan: ProbePlan) -> Iterator[Problem]:
    """Yield (key, problem) for values that are valid by themselves but contradict each other."""
    load, budget = plan.load, plan.budget
    if load.in_flight > budget.in_flight:
        yield ("load", "in_flight"), f"is more than budget.in_flight ({budget.in_flight})"
    if load.in_flight % plan.share:
        yield ("load", "in_flight"), f"cannot be shared equally: give a multiple of {plan.share}"
    smallest = load.block_bytes * load.threads * plan.target.number
    if load.working_set_bytes is not None and load.working_set_bytes < smallest:
        yield ("load", "working_set_bytes"), "holds less than one block a thread and target"
    if plan.target.directory and load.working_set_bytes is None:
        yield ("load",), "the files made in a directory need working_set_bytes"
    if plan.load_seconds + plan.guard.baseline_seconds > budget.seconds:
        yield ("budget", "seconds"), "is shorter than one step"
    if plan.paths and len(plan.target.filename) != 1:
        yield ("paths",), "are those of one target: give a single filename"
    if len(set(plan.hosts)) < len(plan.hosts):
        yield ("hosts",), "a host is named twice"
    for name in plan.fio:
        if name.lstrip("-") in PLANNED_FIO_OPTIONS | _RATES:
            yield ("fio", name), "follows from the plan"
    if plan.engine != "fio":
        if load.job_file is not None:
            yield ("load", "job_file"), f"is one of fio, and {plan.engine} runs the load"
        if not plan.target.filename:
            yield ("target",), f"{plan.engine} needs filename"
