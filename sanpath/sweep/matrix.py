"""The steps of a plan: every combination of its matrix, each with a readable name and a key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from sanpath.sweep.plan import Plan

_UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


@dataclass(frozen=True, slots=True)
class SweepStep:
    """One load step. `key` is unique in the plan and changes only with the plan.

    `in_flight`: I/Os that a host keeps outstanding, over all `threads` and `targets`. `working_set_bytes` None: the
    whole target.
    """

    key: str
    name: str
    block_bytes: int
    read_ratio: float
    random: bool
    working_set_bytes: int | None
    targets: int
    files: int
    threads: int
    in_flight: int

    @property
    def in_flight_per_thread(self) -> int:
        """Outstanding I/Os of one thread, over all targets."""
        return self.in_flight // self.threads


def steps(plan: Plan) -> tuple[SweepStep, ...]:
    """Return the steps in the order of the run."""
    varied = plan.matrix.model_dump()
    sweep_steps = []
    for number, values in enumerate(product(*varied.values()), start=1):
        chosen = dict(zip(varied, values, strict=True))
        chosen |= {"random": chosen.pop("access") == "random", "targets": chosen["targets"] or plan.target.number}
        sweep_steps.append(_with_name(plan, SweepStep(f"step-{number:02d}", "", **chosen)))
    return tuple(_repetition(step, number) for number in range(1, plan.repeats + 1) for step in sweep_steps)


def _repetition(step: SweepStep, number: int) -> SweepStep:
    """Return the step with the number of its run through the matrix; a comparison recognises repetitions by name."""
    return step if number == 1 else replace(step, key=f"{step.key}-{number}", name=f"{step.name} ({number})")


def _with_name(plan: Plan, step: SweepStep) -> SweepStep:
    """Return the step named after its I/O pattern, outstanding I/Os and whatever else varies in this plan."""
    matrix = plan.matrix
    words = [io_name(step), f"{step.in_flight} outstanding" + (" a host" if len(plan.hosts) > 1 else "")]
    if matrix.threads != (1,):
        words.append(_count(step.threads, "thread"))
    if len(matrix.targets) > 1:
        words.append(_count(step.targets, "target"))
    if len(matrix.files) > 1:
        words.append(_count(step.files, "file"))
    if len(matrix.working_set_bytes) > 1:
        size = step.working_set_bytes
        words.append("all of it" if size is None else f"working set {binary_size(size)}")
    return replace(step, name=", ".join(words))


def io_name(step: SweepStep) -> str:
    """The I/O pattern of a step in words: 64 KiB random read."""
    access = f"{binary_size(step.block_bytes)} {'random' if step.random else 'sequential'}"
    if step.read_ratio in (0, 1):
        return f"{access} {'read' if step.read_ratio else 'write'}"
    return f"{access}, {100 * step.read_ratio:g} % read"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def binary_size(size: int) -> str:
    """65536 → 64 KiB."""
    for unit, name in _UNITS:
        if size >= unit and size % (unit // 8) == 0:
            return f"{size / unit:g} {name}"
    return f"{size} B"
