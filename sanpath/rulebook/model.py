"""The rule file, its judgements on rows of facts, and the findings that a report shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, StringConstraints

from sanpath.facts.table import FactValue
from sanpath.rulebook.site.options import POLICIES, PolicyName

Status = Literal["sandbox", "stable", "deprecated"]
Severity = Literal["critical", "high", "medium", "low", "info"]
Role = Literal["cause", "culprit", "symptom", "risk", "validity", "data-quality", "information"]
Disruption = Literal["none", "path", "vm", "host", "outage", "data"]
Outcome = Literal["hit", "clear", "unknown"]

STATUSES: tuple[Status, ...] = get_args(Status)
RUN_BY_DEFAULT: tuple[Status, ...] = ("stable",)
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
ROLES: tuple[Role, ...] = get_args(Role)
DISRUPTIONS: tuple[Disruption, ...] = get_args(Disruption)
"""In ascending order of disruption."""


def _printable(text: str) -> str:
    """Refuse control characters: escape sequences of a rule file would reach the terminals of its readers."""
    if not text.replace("\n", "").isprintable():
        raise ValueError("must hold printable characters only")
    return text


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), AfterValidator(_printable)]
Number = Annotated[FiniteFloat, Field(strict=True)]
Name = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_]*$", max_length=60)]
Step = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9-]*$", max_length=60)]
StepName = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9-]*(/[a-z][a-z0-9-]*)?$", max_length=121)]


class _RuleModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Limit(_RuleModel):
    """A threshold that users may override without changing the rule."""

    value: Number
    source: Text = Field(description="where the value comes from: a standard, a data sheet, a measurement")
    aggressive: Number | None = Field(default=None, description="the value under --policy aggressive")
    moderate: Number | None = Field(default=None, description="the value under --policy moderate")
    conservative: Number | None = Field(default=None, description="the value under --policy conservative")

    def under(self, policy: PolicyName) -> float | None:
        """Return the value under a policy. None: the policy does not change it."""
        return {"aggressive": self.aggressive, "moderate": self.moderate, "conservative": self.conservative}[policy]

    @property
    def values_text(self) -> str:
        """The value, and in brackets those of the policies that set one."""
        under = [f"{name} {value:g}" for name in POLICIES if (value := self.under(name)) is not None]
        return f"{self.value:g}" + (f" ({', '.join(under)})" if under else "")


class Fix(_RuleModel):
    """A remedy. sanpath prints it and never applies it."""

    platform: Text = Field(description="the platform that it is for, e.g. ESXi, Linux, Cisco MDS; any")
    action: Text | None = Field(
        default=None,
        description="what it does in a few words; remedies with the same action are one step of the plan, each a "
        "variant for its platform",
    )
    commands: tuple[Text, ...] = Field(
        description="commands to type; <name> stands for a fact of the entity; empty: nothing to type"
    )
    scope: Text = Field(description="what is changed, and for whom")
    disruption: Disruption = Field(
        description="what it interrupts: nothing, one path, the virtual machine, the host, or all I/O (an outage); "
        "data: it erases data"
    )
    verify: Text = Field(description="how to see that it worked")
    undo: Text = Field(description="how to go back")
    only_if: Mapping[Name, FactValue] = Field(
        default={}, description="facts that the entity must have for this remedy, e.g. technology: fibre_channel"
    )
    shell: Literal["posix", "powershell"] | None = Field(
        default=None, description="the shell of the commands; names with blanks can then be quoted"
    )
    relieves: Literal["idle_path", "faster_path", "controllers", "failed_path"] | None = Field(
        default=None,
        description="idle_path: it brings idle paths into use, which relieves a saturated parallel link; "
        "faster_path: it gives a faster path with room more of the I/Os of a saturated parallel link; "
        "controllers: it takes work off the controllers of a saturated array; failed_path: it repairs a failing path",
    )
    adds_one: bool = Field(
        default=False, description="it adds one more like the element, which at most doubles what both carry"
    )
    reads_only: bool = Field(default=False, description="it only shows something, so it is not a step of a plan")
    name: Step | None = Field(default=None, description="the name by which `after` of other remedies refers to it")
    after: tuple[StepName, ...] = Field(
        default=(),
        description="steps that come before it in the same plan: a rule's id, or rule-id/name of a remedy",
    )


class RuleTest(_RuleModel):
    """One row of facts, and the outcome that the rule must have for it."""

    name: Text
    facts: Mapping[Name, FactValue] = Field(description="a fact that is left out, or null, is not known")
    limits: Mapping[Name, Number] = Field(default={}, description="limits other than the rule's own")
    expect: Outcome


class Rule(_RuleModel):
    """One rule file.

    Nothing in it is executed: the condition language compiles `when`, and `summary.fill` fills in `summary`. A rule
    from `load` has also been validated: its facts exist and its tests are complete.
    """

    id: str = Field(
        pattern="^[a-z][a-z0-9]*(-[a-z0-9]+)*$", max_length=60, description="the file's name; never reused"
    )
    title: Text
    status: Status = Field(description="only stable rules are judged by default")
    severity: Severity
    each: Name = Field(description="the fact table whose rows are judged")
    when: Text = Field(description="the condition, over the facts of one row and the limits")
    limits: Mapping[Name, Limit]
    role: Role
    cause_of: tuple[Name, ...] = Field(
        default=(), description="the kinds of verdicts and of bottlenecks that it can explain; empty: any"
    )
    summary: Text = Field(description="one sentence; {name} is replaced by a fact, a limit or the entity")
    why: Text = Field(description="why it matters")
    not_if: Text = Field(description="when a hit is normal")
    fix: tuple[Fix, ...] = Field(min_length=1)
    references: tuple[Text, ...] = Field(min_length=1)
    tests: tuple[RuleTest, ...] = Field(description="at least one hit, one clear and one unknown")

    def limit_values(self) -> dict[str, float]:
        """Return limit name → value."""
        return {name: limit.value for name, limit in self.limits.items()}


@dataclass(frozen=True, slots=True)
class ChangedLimit:
    """A limit that differs from the rule's own. `source`: where it was set."""

    rule: str
    limit: str
    value: float
    instead_of: float
    source: str


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """The outcome of one rule for one row of its fact table.

    `evidence`: the facts and limits of the condition, None if unknown. `missing`: names of the unknown facts.
    `summary` is empty if the outcome is "clear".
    """

    rule: str
    entity: str
    direction: str
    step: str
    outcome: Outcome
    evidence: Mapping[str, FactValue]
    missing: tuple[str, ...]
    summary: str


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one rule for one entity and direction, over all steps.

    `outcome` is "hit" if any step is a hit, else "unknown". `steps`: those with that outcome. `unknown_steps`: those
    that could not be judged. `evidence` and `summary` are those of the worst step. `gain`: the expected effect of the
    remedy, None until the verdict has computed it. `in_this_run`: whether a cause or risk limits this run, and what
    else does; None: not determined. `relieves`: another entity that limits, which this remedy would relieve.
    """

    rule: str
    title: str
    role: Role
    severity: Severity
    entity: str
    direction: str
    steps: tuple[str, ...]
    outcome: Literal["hit", "unknown"]
    evidence: Mapping[str, FactValue]
    summary: str
    why: str
    fix: tuple[Fix, ...]
    gain: str | None = None
    in_this_run: str | None = None
    relieves: str | None = None
    unknown_steps: tuple[str, ...] = ()
