"""The diagnosis: the contract of docs/output-contract.md as typed objects, field by field.

Everything a view shows or a program reads is here; views compute nothing. Seconds, bytes and ratios throughout; an
interval is (low, high); None means not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sanpath.rulebook.accepted import Accepted
from sanpath.rulebook.model import Disruption, Finding, PolicyName
from sanpath.rulebook.site import ChangedLimit
from sanpath.verdict.accounts import Mark, RecorderAccount, SourceAccount
from sanpath.verdict.summary_model import Summary

SCHEMA = "sanpath.diagnosis/1"

Kind = Literal[
    "bottleneck",
    "concurrency_limited",
    "demand_limited",
    "generator_limited",
    "configured_cap",
    "healthy",
    "cannot_tell",
]
Action = Literal[
    "more_in_flight",
    "fewer_in_flight",
    "smaller_blocks",
    "more_jobs",
    "cached_range",
    "read_below",
    "read_switches",
    "read_array",
    "read_host",
    "deeper_queue",
    "quiet_neighbours",
    "lift_limit",
]
"""What an experiment does: another step of the load, a source that was not read, or a setting of somebody else's."""
Grade = Literal["A", "B", "C"]
Shape = Literal["rising", "plateau", "retrograde", "one_step", "unknown"]
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Run:
    """Which recording this is, and what judged it. `complete`: every writer ended as it should."""

    id: str
    tool_version: str
    rulebook_version: str
    start: str
    end: str
    complete: bool
    load_command: str
    load_exit_code: int | None


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds. `histogram`: (upper bound, None: no bound; share of the I/Os) pairs, None when the load gives none.
    `interval`: bounds of the mean where the load tells it cut off to whole units, None: it is exact."""

    mean: float
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None
    histogram: Sequence[tuple[float | None, float]] | None = None
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class DirectionResult:
    """What the load did in one direction of a step. `throughput_spread`: relative standard error of the throughput,
    from the windows of the step; None with fewer than two."""

    ops_per_second: float
    bytes_per_second: float
    latency_seconds: Latency
    throughput_spread: float | None = None


@dataclass(frozen=True, slots=True)
class PlaneInFlight:
    """I/Os that are below one plane: throughput x latency there. `admitted`: how many it lets through, reads and
    writes together, None where nobody tells."""

    plane: str
    entity: str
    direction: str
    measured: Interval
    admitted: float | None = None


@dataclass(frozen=True, slots=True)
class InFlight:
    """I/Os in flight: what the load was told, and throughput x latency of all directions. `law`: R = N / X with its
    numbers, of the busier direction; `planes`: those at every plane that was observed, from the load down."""

    configured: float | None
    measured: float | None
    law: str | None = None
    planes: Sequence[PlaneInFlight] = ()


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """An element that limits the test.

    `wait_at`: where the I/Os that it makes wait are held. `culprit` and `victims`: on lossless fabrics the cause may
    lie off the loaded path. `explains`: share of the latency that would go with it.
    """

    entity: str
    kind: str
    layer: str
    direction: str
    utilisation: float | None = None
    ceiling_bytes_per_second: float | None = None
    ceiling_ops_per_second: float | None = None
    coincident: Sequence[str] = ()
    limited_by: str | None = None
    wait_at: str | None = None
    culprit: str | None = None
    victims: Sequence[str] = ()
    explains: float | None = None
    because: Sequence[str] = ()
    overturn_if: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class StepVerdict:
    """What limited one step."""

    kind: Kind
    grade: Grade
    bottlenecks: Sequence[Bottleneck]
    because: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step. `windows_used`: whole windows of its slowest source. `valid`: what the step is not good for."""

    name: str
    start: str
    end: str
    origin: str
    directions: Mapping[str, DirectionResult]
    in_flight: InFlight
    windows_used: int
    valid: Sequence[str]
    verdict: StepVerdict


@dataclass(frozen=True, slots=True)
class R0:
    """Latency without a queue, and the step that showed it. Both None: no step was free of a queue."""

    seconds: float | None
    from_step: str | None


@dataclass(frozen=True, slots=True)
class Next:
    """What would limit once the bottleneck is relieved, and what the test would reach then."""

    entity: str
    change: str
    predicted_ops_per_second: Interval
    predicted_latency_seconds: Interval


@dataclass(frozen=True, slots=True)
class Scalability:
    """The Universal Scalability Law X = λN / (1 + σ(N - 1) + κN(N - 1)) through the steps, with 95 % intervals.

    `rate_of_one`: λ, operations a second. `contention`: σ; `coherency`: κ. `knee`: N at which λN meets the highest
    throughput; `peak_in_flight`: N of that throughput, None: κ may be zero and there is none. `misfit`: largest
    relative distance of a step from the curve.
    """

    rate_of_one: float
    contention: Interval
    coherency: Interval
    knee: Interval
    peak_in_flight: Interval | None
    misfit: float


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One step of a curve. `throughput_spread`: relative standard error, None with fewer than two windows."""

    step: str
    in_flight: float
    ops_per_second: float
    latency_seconds: float
    throughput_spread: float | None


@dataclass(frozen=True, slots=True)
class Knee:
    """From how many I/Os in flight on more load buys only latency, [low, high]. None with `below`: it lies below the
    fewest that were tested; None without: `said` tells why. `law`: what it is read from, None: too few steps."""

    in_flight: Interval | None
    below: float | None
    said: str
    law: Scalability | None


@dataclass(frozen=True, slots=True)
class Curve:
    """Throughput over I/Os in flight of one load, direction and block size (None: it counts no bytes).

    `shape`: what the steps show; `said`: that with its numbers. Retrograde: throughput falls while latency grows.
    """

    load: str
    direction: str
    operation_bytes: float | None
    points: Sequence[CurvePoint]
    shape: Shape
    said: str
    knee: Knee


@dataclass(frozen=True, slots=True)
class Suspect:
    """One explanation of what holds the test, ranked by its probability; those of a verdict sum to at most 1.

    `verdict`: the kind of verdict it would be. `entity`: what it accuses, None: no element. `kind` as that of a
    bottleneck, or the same as `verdict` where no element is accused. `because`: what speaks for it, `against`: what
    speaks against it. `coincident`: elements that cannot be told from it, since their ceilings are the same.
    """

    verdict: Kind
    kind: str
    entity: str | None
    direction: str
    probability: float
    because: Sequence[str] = ()
    against: Sequence[str] = ()
    coincident: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an experiment would say of one suspect. `entity`: as that of the suspect. `if_seen`, `if_not`: its
    probability once what the experiment watches for has been seen, or has not; those of all meanings sum to one."""

    verdict: Kind
    entity: str | None
    name: str
    probability: float
    if_seen: float
    if_not: float


@dataclass(frozen=True, slots=True)
class Experiment:
    """The measurement that separates the leading suspects best.

    `text`: what to do, `watch`: what to look for. `in_flight`: I/Os in flight of the step to run; `entity`: what is
    to be read or changed; `command`: the load's command line. None: it is another action, or nobody can say.
    """

    action: Action
    text: str
    watch: str
    meanings: Sequence[Meaning]
    in_flight: int | None = None
    entity: str | None = None
    command: str | None = None

    @property
    def in_words(self) -> str:
        """As a sentence: what to do, and what speaks for the suspect that it would raise most."""
        command = f" ({self.command})" if self.command is not None else ""
        raised = max(self.meanings, key=lambda meaning: meaning.if_seen - meaning.if_not)
        if raised.verdict == "cannot_tell":
            return f"{self.text}{command}; {self.watch} would explain it"
        return f"{self.text}{command}; {self.watch} would point to {raised.name}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of the run: that of the step with the highest throughput.

    `probability`: how often a verdict with evidence like this is right; `suspects`: all explanations that are left,
    the most probable first, also where the verdict is `cannot_tell`. `decide_with`: `experiment` as a sentence, or
    what a judgement lacks; None: nothing would tell the suspects apart.

    `knee_in_flight`: the I/Os in flight from which on more load buys only latency; None with `knee_below`: it lies
    below the fewest that were tested.
    """

    kind: Kind
    grade: Grade
    from_step: str
    headline: str
    bottlenecks: Sequence[Bottleneck]
    knee_in_flight: float | None
    knee_below: float | None
    r0: R0
    next: Next | None
    decide_with: str | None = None
    curves: Sequence[Curve] = ()
    probability: float | None = None
    suspects: Sequence[Suspect] = ()
    experiment: Experiment | None = None


@dataclass(frozen=True, slots=True)
class BudgetPart:
    """A part of the latency. `how`: measured by a clock of its own, or the difference between two."""

    plane: str
    layer: str
    entity: str
    seconds: Interval
    limited_by: str | None
    what: str
    how: Literal["measured", "difference"]


@dataclass(frozen=True, slots=True)
class LatencyBudget:
    """Where the latency of one step, direction and LUN was spent; mid-points of parts and rest sum to the total."""

    step: str
    direction: str
    lun: str
    total_seconds: float
    parts: Sequence[BudgetPart]
    unexplained_seconds: Interval


@dataclass(frozen=True, slots=True)
class ElementUse:
    """How busy an element was in one step and direction. `share`: of the test's bytes that cross it; None for what is
    not known."""

    entity: str
    kind: str
    step: str
    direction: str
    on_loaded_path: bool | None
    speed: str | None
    utilisation: float | None
    bytes_per_second: float | None
    capacity_bytes_per_second: float | None
    full_windows_ratio: float | None
    share: float | None
    foreign_bytes_per_second: float | None


@dataclass(frozen=True, slots=True)
class Setting:
    """How something that the test runs over was set up, as it was in the step of the verdict."""

    entity: str
    setting: str
    value: str | int | float | bool


@dataclass(frozen=True, slots=True)
class Cleared:
    """What did not limit, as far as it was tried."""

    entity: str
    up_to: Mapping[str, float]
    because: str


@dataclass(frozen=True, slots=True)
class Unobserved:
    """What could not be seen, and what follows from that."""

    what: str
    why: str
    consequence: str


PlanPurpose = Literal["limit", "test", "risk"]


@dataclass(frozen=True, slots=True)
class Resolved:
    """A finding that a step of the plan resolves."""

    rule: str
    entity: str


Risk = Literal["low", "medium", "high"]


@dataclass(frozen=True, slots=True)
class PlanVariant:
    """How a step of the plan is done on one platform."""

    platform: str
    commands: Sequence[str]
    scope: str
    verify: str
    undo: str


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step of the remediation plan; sanpath prints it and never runs it.

    `purpose`: it relieves what limits, makes the test worth believing, or removes a risk that does not limit now.
    `action`: what it is in a few words; `risk`: what it can interrupt. `variants`: the same action on platforms of
    which none, or several, were seen; its own `commands` are then empty. `relieves_idle_paths`: it brings idle paths
    into use. `after`: numbers of the steps that have to come before it. `gain_ops_per_second`: what the what-if
    predicts once all that limits is relieved together; None: not worked out.
    """

    number: int
    purpose: PlanPurpose
    platform: str
    commands: Sequence[str]
    scope: str
    disruption: Disruption
    verify: str
    undo: str
    resolves: Sequence[Resolved]
    gain: str | None
    gain_ops_per_second: Interval | None
    after: Sequence[int]
    action: str = ""
    risk: Risk = "low"
    relieves_idle_paths: bool = False
    variants: Sequence[PlanVariant] = ()


@dataclass(frozen=True, slots=True)
class Judging:
    """How the rules judged: the policy (None: the rules' own limits), limits that were changed, what a site has
    accepted, and mistakes of rule files that were not used."""

    policy: PolicyName | None = None
    limits: Sequence[ChangedLimit] = ()
    suppressed: Sequence[Accepted] = ()
    refused: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything sanpath has to say about a recording."""

    run: Run
    steps: Sequence[StepResult]
    verdict: Verdict
    latency_budget: Sequence[LatencyBudget]
    findings: Sequence[Finding]
    cleared: Sequence[Cleared]
    unobserved: Sequence[Unobserved]
    elements: Sequence[ElementUse]
    sources: Sequence[SourceAccount]
    marks: Sequence[Mark] = ()
    configuration: Sequence[Setting] = ()
    plan: Sequence[PlanStep] = ()
    judging: Judging = field(default_factory=Judging)
    recorders: Sequence[RecorderAccount] = ()
    summary: Summary = field(default_factory=lambda: Summary(""))
    schema: str = field(default=SCHEMA)
