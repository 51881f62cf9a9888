"""The diagnosis: the contract of docs/output-contract.md as typed objects, field by field.

Everything that a view shows or a program reads is here; views compute nothing. Values are in seconds, bytes and
ratios; an interval is (low, high); None means unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sanpath.diagnosis.experiment import Experiment, VerdictKind
from sanpath.diagnosis.remediation_plan import PlanStep
from sanpath.diagnosis.sources import Mark, RecorderAccount, SourceAccount
from sanpath.diagnosis.summary import Summary
from sanpath.facts.figures.model import FigureComparison
from sanpath.facts.load.loads import FLAT
from sanpath.facts.samples.slow_windows import Stalls
from sanpath.rulebook.model import ChangedLimit, Finding
from sanpath.rulebook.site.accepted import Accepted
from sanpath.rulebook.site.options import PolicyName

SCHEMA = "sanpath.diagnosis/1"

Grade = Literal["A", "B", "C"]
Shape = Literal["rising", "plateau", "retrograde", "one_step", "unknown"]
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Run:
    """The recording and what judged it. `complete`: every writer ended normally. `load_ended`: how the load ended, if
    it ended early; None: it did not, or sanpath ended it."""

    id: str
    tool_version: str
    rulebook_version: str
    start: str
    end: str
    complete: bool
    load_command: str
    load_exit_code: int | None
    load_ended: str | None = None


@dataclass(frozen=True, slots=True)
class Latency:
    """Latency in seconds.

    `histogram`: (upper bound, None: no bound; share of the I/Os) pairs, None when the load reports none. `interval`:
    bounds of the mean where the load reports it in whole units, None: the mean is exact.
    """

    mean: float
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None
    histogram: Sequence[tuple[float | None, float]] | None = None
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class DirectionResult:
    """What the load did in one direction of a step.

    `throughput_spread`: relative standard error of the throughput, from the windows of the step; None with fewer than
    two. `stalls`: the cost of periods in which outstanding I/Os stand still; None: there are none, or too few
    windows.
    """

    ops_per_second: float
    bytes_per_second: float
    latency_seconds: Latency
    throughput_spread: float | None = None
    stalls: Stalls | None = None


@dataclass(frozen=True, slots=True)
class PlaneInFlight:
    """I/Os in flight below one plane: throughput x latency there.

    `admitted`: how many I/Os it lets through, reads and writes together; None where no source reports it. `others`:
    mean number of I/Os of other loads below it.
    """

    plane: str
    entity: str
    direction: str
    measured: Interval
    admitted: float | None = None
    others: float = 0.0


@dataclass(frozen=True, slots=True)
class InFlight:
    """I/Os in flight: those configured, and throughput x latency of all directions.

    `law`: R = N / X with its numbers, of the busier direction. `planes`: the I/Os at every observed plane, from the
    load down. `flushes`: flushes (fsync) that the load waits for on average, which `measured` does not count.
    """

    configured: float | None
    measured: float | None
    law: str | None = None
    planes: Sequence[PlaneInFlight] = ()
    flushes: float = 0.0


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """An element that limits the test.

    `coincident`: elements that limit together with it; for lost I/Os, and for links that no source counts, those that
    are equally probable places.
    `wait_at`: the entity in which the delayed I/Os wait. `culprit` and `victims`: on lossless fabrics the cause may
    lie off the loaded path. `explains`: share of the latency that would go with it. `overturn_if`: observations that
    would refute it. `time_ratio`: share of the time of the step in which it limits; None: all of it. `by_exclusion`:
    no reading shows that it is full, but nothing else that was read accounts for the wait.
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
    time_ratio: float | None = None
    by_exclusion: bool = False

    @property
    def elements(self) -> tuple[str, ...]:
        """The element, and those that limit together with it."""
        return self.entity, *self.coincident

    @property
    def is_one_of_several(self) -> bool:
        """Whether only one of its elements limits, and no source shows which one."""
        return bool(self.coincident) and (self.kind == "retries" or (self.kind == "link" and self.by_exclusion))

    def slows_below(self, ops_per_second: float) -> bool:
        """Return whether it holds the test below this mean throughput after a while."""
        return 0 < (self.ceiling_ops_per_second or 0.0) < (1 - FLAT) * ops_per_second


@dataclass(frozen=True, slots=True)
class StepVerdict:
    """What limited one step. `part`: the hosts or jobs whose I/Os it was judged by, in words, "": all."""

    kind: VerdictKind
    grade: Grade
    bottlenecks: Sequence[Bottleneck]
    because: Sequence[str] = ()
    part: str = ""


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step. `windows_used`: whole windows of the slowest source that its verdict rests on. `valid`: what the step
    is not valid for. `seen_at_array`: only an array counted its I/Os, from their arrival on. `differs`: what
    distinguishes it from steps with the same name and another number, "": nothing, or the name itself.
    """

    name: str
    start: str
    end: str
    origin: str
    directions: Mapping[str, DirectionResult]
    in_flight: InFlight
    windows_used: int
    valid: Sequence[str]
    verdict: StepVerdict
    seen_at_array: bool = False
    differs: str = ""

    @property
    def full_name(self) -> str:
        """Its name, and what distinguishes it from steps of the same name."""
        return f"{self.name}, {self.differs}" if self.differs else self.name

    @property
    def ops_per_second(self) -> float:
        """Throughput of both directions together."""
        return sum(direction.ops_per_second for direction in self.directions.values())


@dataclass(frozen=True, slots=True)
class R0:
    """Latency without a queue, and the step that showed it. Both None: every step had a queue."""

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
    throughput. `peak_in_flight`: N of that throughput; None: κ may be zero, and then there is none. `misfit`: largest
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
    """The number of I/Os in flight from which more load adds only latency, [low, high].

    None with `below`: it lies below the fewest that were tested. None without it: `said` gives the reason. `law`: the
    fit that it is read from, None: too few steps, or they do not determine it.
    """

    in_flight: Interval | None
    below: float | None
    said: str
    law: Scalability | None


@dataclass(frozen=True, slots=True)
class Curve:
    """Throughput over I/Os in flight of one load, direction and block size (None: the load counts no bytes).

    `shape`: what the steps show; `said`: the same with its numbers. Retrograde: throughput falls while latency grows.
    `flushes`: whether the load waits for flushes (fsync) as well. `pattern`: random or sequential, and the share of
    reads of a mix, in words; "": not known.
    """

    load: str
    direction: str
    operation_bytes: float | None
    points: Sequence[CurvePoint]
    shape: Shape
    said: str
    knee: Knee
    flushes: bool = False
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class Suspect:
    """One explanation of what limits the test, ranked by its probability; those of a verdict sum to at most 1.

    `verdict`: the kind of verdict that it would be. `entity`: the accused element, None: no element. `kind`: as of a
    bottleneck, or the same as `verdict` without an accused element. `because`: evidence for it; `against`: evidence
    against it. `coincident`: elements with the same ceiling, which cannot be separated from it. `place`: where it is,
    in words, if no source reads that part of the path, "": not known. `machine`: the host or virtual machine whose
    processors limit all together, None: another suspect, or the machine is not known.
    """

    verdict: VerdictKind
    kind: str
    entity: str | None
    direction: str
    probability: float
    because: Sequence[str] = ()
    against: Sequence[str] = ()
    coincident: Sequence[str] = ()
    place: str = ""
    machine: str | None = None


@dataclass(frozen=True, slots=True)
class Likelihood:
    """A suspect by its name for people, and its probability. `entity`: as of the suspect."""

    name: str
    entity: str | None
    probability: float


@dataclass(frozen=True, slots=True)
class Trial:
    """A step of a probe.

    `experiment`: the action that it tried; "start" is the load as a person named it. `what`: the same in words.
    `why`: the suspect that its outcome would support, "" at the start. `outcome`: what was measured. `is_seen`:
    whether it showed what it watched for, None: it watched for nothing. `ruled_out`: suspects that are no longer
    likely. `suspects`: the likely suspects after it. `verdict`, `grade` and `probability`: the verdict after it.
    """

    step: str
    experiment: str
    what: str
    why: str
    outcome: str
    is_seen: bool | None
    ruled_out: Sequence[str]
    suspects: Sequence[Likelihood]
    verdict: VerdictKind
    grade: Grade
    probability: float


@dataclass(frozen=True, slots=True)
class Probe:
    """What was tried. `ended`: why the probe ended; `next_step`: what only a person can do next; "": not known."""

    steps: Sequence[Trial]
    ended: str = ""
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of the run, which is that of the step with the highest throughput, or, if that step shows no limit,
    of another step with as many outstanding I/Os.

    `probability`: how often a verdict with such evidence is right. `suspects`: all remaining explanations, the most
    probable first, also where the verdict is `cannot_tell`. `decide_with`: `experiment` as a sentence, or what a
    judgement lacks; None: no experiment separates the suspects. `experiments`: all that would, `experiment` first.

    `knee_in_flight`: the I/Os in flight from which more load adds only latency. None with `knee_below`: it lies below
    the fewest that were tested.
    """

    kind: VerdictKind
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
    experiments: Sequence[Experiment] = ()


Method = Literal["measured", "difference", "estimate"]


LIMIT_WAIT = "waits for the configured limit"


@dataclass(frozen=True, slots=True)
class BudgetPart:
    """A part of the latency. `how`: measured by a clock of its own, the difference between two clocks, or estimated
    by the verdict where no clock separates it."""

    plane: str
    layer: str
    entity: str
    seconds: Interval
    limited_by: str | None
    what: str
    how: Method

    @property
    def is_limit_wait(self) -> bool:
        """Whether I/Os wait for a limit that somebody has set, wherever it is enforced."""
        return self.what.startswith(LIMIT_WAIT)


@dataclass(frozen=True, slots=True)
class LatencyBudget:
    """Where the latency of one step, direction and LUN was spent.

    The mid-points of the parts and of the unexplained remainder sum to the total.
    """

    step: str
    direction: str
    lun: str
    total_seconds: float
    parts: Sequence[BudgetPart]
    unexplained_seconds: Interval


@dataclass(frozen=True, slots=True)
class ElementUse:
    """How busy an element was in one step and direction.

    `share`: the share of the test's bytes that cross it. None: unknown.
    """

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
    """How an entity that the test runs over was set up, in the step of the verdict."""

    entity: str
    setting: str
    value: str | int | float | bool


@dataclass(frozen=True, slots=True)
class Cleared:
    """An element that did not limit, and the load up to which that was shown."""

    entity: str
    up_to: Mapping[str, float]
    because: str


@dataclass(frozen=True, slots=True)
class Unobserved:
    """Something that could not be observed, with the reason and the consequence; "": the reason says it.

    `rules`: those that could not be judged, or not for every entity, because a part of the setup was not read, or its
    sources do not report what they need.
    """

    what: str
    why: str
    consequence: str
    rules: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Judging:
    """How the rules judged.

    `policy`: the policy that was chosen, None: the rules' own limits. `limits`: limits that were changed.
    `suppressed`: findings that a site has accepted. `refused`: mistakes in rule files that were not used.
    """

    policy: PolicyName | None = None
    limits: Sequence[ChangedLimit] = ()
    suppressed: Sequence[Accepted] = ()
    refused: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything that sanpath reports about a recording. `probe`: None: the recording is not of a probe."""

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
    figures: Sequence[FigureComparison] = ()
    summary: Summary = field(default_factory=lambda: Summary(""))
    probe: Probe | None = None
    schema: str = field(default=SCHEMA)
