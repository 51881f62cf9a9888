"""The remediation plan as data: what to do in which order, and what each step resolves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sanpath.rulebook.model import Disruption

PlanPurpose = Literal["limit", "test", "risk"]
Risk = Literal["low", "medium", "high"]
ANY_PLATFORM = "any"
"""The platform of a remedy that is the same everywhere."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A finding that a step of the plan resolves."""

    rule: str
    entity: str


@dataclass(frozen=True, slots=True)
class PlanVariant:
    """A step of the plan on one platform."""

    platform: str
    commands: Sequence[str]
    scope: str
    verify: str
    undo: str


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step of the remediation plan; sanpath prints it and never runs it.

    `purpose`: it relieves the limit, makes the test valid, or removes a risk that does not limit now. `action`: what
    it is, in a few words; `risk`: how severe an interruption it can cause. `variants`: the same action on several
    platforms, if none or several were seen; its own `commands` are then empty. `relieves_idle_paths`: it brings idle
    paths into use; `adds_one`: it adds one more like each element that limits. `after`: numbers of the steps that
    have to come before it. `gain_ops_per_second`: the what-if's prediction once all limits are relieved together;
    None: not computed.
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
    gain_ops_per_second: tuple[float, float] | None
    after: Sequence[int]
    action: str = ""
    risk: Risk = "low"
    relieves_idle_paths: bool = False
    adds_one: bool = False
    variants: Sequence[PlanVariant] = ()

    @property
    def on_each_platform(self) -> Sequence[PlanVariant]:
        """The variants; of a single platform, the step itself."""
        return self.variants or (PlanVariant(self.platform, self.commands, self.scope, self.verify, self.undo),)
