"""What a rule file says, what judging it gives, and what the report shows of that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, StringConstraints

from sanpath.facts.table import FactValue

Status = Literal["sandbox", "stable", "deprecated"]
Severity = Literal["critical", "high", "medium", "low", "info"]
Role = Literal["cause", "culprit", "symptom", "risk", "validity", "data-quality", "information"]
Disruption = Literal["none", "path", "vm", "host", "outage"]
PolicyName = Literal["aggressive", "moderate", "conservative"]
Outcome = Literal["hit", "clear", "unknown"]

STATUSES: tuple[Status, ...] = get_args(Status)
RUN_BY_DEFAULT: tuple[Status, ...] = ("stable",)
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
ROLES: tuple[Role, ...] = get_args(Role)
DISRUPTIONS: tuple[Disruption, ...] = get_args(Disruption)
"""From what interrupts nothing to what interrupts most."""
POLICIES: tuple[PolicyName, ...] = get_args(PolicyName)


def _printable(text: str) -> str:
    """Escape sequences in a rule file would reach the terminal of everybody who reads the report."""
    if not all(c.isprintable() or c == "\n" for c in text):
        raise ValueError("must hold printable characters only")
    return text


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), AfterValidator(_printable)]
Number = Annotated[FiniteFloat, Field(strict=True)]
Name = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_]*$", max_length=60)]
Step = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9-]*$", max_length=60)]
StepName = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9-]*(/[a-z][a-z0-9-]*)?$", max_length=121)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Limit(_Part):
    """A threshold that users may override without touching the rule."""

    value: Number
    source: Text = Field(description="where the value comes from: a standard, a data sheet, a measurement")
    aggressive: Number | None = Field(default=None, description="the value under --policy aggressive")
    moderate: Number | None = Field(default=None, description="the value under --policy moderate")
    conservative: Number | None = Field(default=None, description="the value under --policy conservative")

    def under(self, policy: PolicyName) -> float | None:
        """The value under a policy. None: the policy leaves it as it is."""
        return {"aggressive": self.aggressive, "moderate": self.moderate, "conservative": self.conservative}[policy]


class Fix(_Part):
    """One way to mend it. sanpath prints it and never applies it."""

    platform: Text = Field(description="what it is for, e.g. ESXi, Linux, Cisco MDS; any")
    action: Text | None = Field(
        default=None,
        description="what it does in a few words; remedies with the same action are one step of the plan, each a "
        "variant for its platform",
    )
    commands: tuple[Text, ...] = Field(
        description="what to type, <name> standing for a fact of the entity; empty when there is nothing to type"
    )
    scope: Text = Field(description="what is changed, and for whom")
    disruption: Disruption = Field(
        description="what is interrupted: none, one path, the virtual machine, the host, or it needs an outage"
    )
    verify: Text = Field(description="how to see that it worked")
    undo: Text = Field(description="how to go back")
    only_if: Mapping[Name, FactValue] = Field(
        default={}, description="facts of the entity that this remedy is for, e.g. technology: fibre_channel"
    )
    shell: Literal["posix", "powershell"] | None = Field(
        default=None, description="what the commands are typed into, where names with blanks can be quoted"
    )
    relieves: Literal["idle_path"] | None = Field(
        default=None, description="it brings idle paths into use, which relieves a full link beside them"
    )
    reads_only: bool = Field(default=False, description="it shows something and changes nothing: no step of a plan")
    name: Step | None = Field(default=None, description="what `after` of other remedies calls it")
    after: tuple[StepName, ...] = Field(
        default=(),
        description="what comes before it in the same plan: a rule's id, or rule-id/name of a remedy",
    )


class RuleTest(_Part):
    """One row of facts and what the rule must say about it."""

    name: Text
    facts: Mapping[Name, FactValue] = Field(description="a fact that is left out, or null, is not known")
    limits: Mapping[Name, Number] = Field(default={}, description="limits other than the rule's own")
    expect: Outcome


class Rule(_Part):
    """One rule file.

    Nothing in it is executed: `when` is compiled by the condition language, `summary` is filled in by
    `summary.fill`. A rule from `load` is also known to make sense: its facts exist and its tests are complete.
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
        default=(), description="the kinds of verdict that it can be the cause of; empty: any"
    )
    summary: Text = Field(description="one sentence; {name} is replaced by a fact, a limit or the entity")
    why: Text = Field(description="why it matters")
    not_if: Text = Field(description="when a hit is normal")
    fix: tuple[Fix, ...] = Field(min_length=1)
    references: tuple[Text, ...] = Field(min_length=1)
    tests: tuple[RuleTest, ...] = Field(description="at least one hit, one clear and one unknown")

    def limit_values(self) -> dict[str, float]:
        """Limit name → value."""
        return {name: limit.value for name, limit in self.limits.items()}


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one rule says about one row of its fact table.

    `evidence` holds the facts and limits of the condition, None where not known; `missing` names the facts that
    were not known. `summary` is empty when clear.
    """

    rule: str
    role: Role
    severity: Severity
    entity: str
    direction: str
    step: str
    outcome: Outcome
    evidence: Mapping[str, FactValue]
    missing: tuple[str, ...]
    summary: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What one rule says about one entity and direction, over all steps.

    `outcome` is "hit" when any step hits, else "unknown"; `steps` are those of that outcome and `unknown_steps`
    those that could not be judged. `evidence` and `summary` are of the worst step. `gain`: what mending it would
    give, None until the verdict has worked it out. `in_this_run`: whether a cause or risk limits this run, and what
    else does; None: not asked. `relieves`: another entity that limits, and that mending this relieves.
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
