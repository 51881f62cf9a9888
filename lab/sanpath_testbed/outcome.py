"""What a diagnosis says of one case, against what is true of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sanpath.verdict.model import Diagnosis, Suspect, Verdict
from sanpath_lab.scenario import Truth

NOTHING = ("concurrency_limited", "demand_limited", "healthy")
"""Kinds that say that nothing but the load itself holds it."""
_QUIET = "healthy"
_ENDS = ("switch_port", "hba", "array_port")
_OF_ARRAYS = ("volume", "controller")
HELD = ("bottleneck", "configured_cap")
"""Kinds of verdict that say that an element holds the test."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One case, judged. `rank`: place of the first right element among those named, from 1; None: none of them is.
    `found`, `called_cause`: rules that hit, and those of them that the diagnosis calls a cause, or of which it says
    that mending them relieves what limits. `held_nothing`: nothing of the storage holds the test, and a verdict that
    names an element is a false alarm, as is one that names what the label clears (`accuses_cleared`). `predicted`:
    operations a second once the limit is relieved, the least and the most, and `likely` what is held against a run
    that follows; `reached`: what the simulation then gives. None: not predicted, not relieved.

    `relation`: what was changed about the case that changes nothing about the truth, None: it is as drawn.
    `experiments`: what was done one after the other before this verdict of a case with one step, None: it is no such
    case; `kind_at_first`: of the verdict before them, `right_at_first`: whether that was right.

    `fault`: of a draw. `tellable`: what is read can show the truth. `probability`: of the verdict, `lead_is_right`:
    whether what it is given to is the truth; `suspect_rank`: place of the first suspect that is, from 1; `suspects`:
    in one word each.
    """

    family: str
    seed: int
    defect: str | None
    kind: str
    grade: str
    kind_is_right: bool
    rank: int | None
    named: tuple[str, ...]
    found: tuple[str, ...]
    called_cause: tuple[str, ...]
    headline: str
    wants_element: bool
    held_nothing: bool
    expected: tuple[str, ...]
    forbidden: tuple[str, ...]
    accuses_cleared: bool = False
    predicted: tuple[float, float] | None = None
    likely: float | None = None
    reached: float | None = None
    relation: str | None = None
    fault: str | None = None
    tellable: bool = True
    probability: float | None = None
    lead_is_right: bool = False
    suspect_rank: int | None = None
    suspects: tuple[str, ...] = ()
    generator: bool = False
    accused: tuple[str, ...] = ()
    applies: bool = True
    experiments: tuple[str, ...] | None = None
    kind_at_first: str | None = None
    right_at_first: bool = False

    @property
    def first(self) -> bool:
        """Whether the verdict is right: its kind, and the element that it names first where there is one to name."""
        return self.kind_is_right and (self.rank == 1 or not self.wants_element)

    @property
    def in_three(self) -> bool:
        """Whether the verdict is right, or the truth among the first three suspects."""
        return self.first or (self.suspect_rank is not None and self.suspect_rank <= 3)

    @property
    def acquitted(self) -> bool:
        """Whether nothing is said to limit although something does."""
        return self.kind in NOTHING and not self.kind_is_right and self.something_limits

    @property
    def something_limits(self) -> bool:
        """Whether an element or the generator holds the test."""
        return self.wants_element or self.generator

    @property
    def convicted(self) -> bool:
        """Whether an element is accused that is not at fault, or the generator."""
        if self.kind == "generator_limited":
            return not self.kind_is_right
        return self.kind in HELD and self.rank != 1

    @property
    def undecided(self) -> bool:
        """Whether it is left open although what is read can tell."""
        return self.kind == "cannot_tell" and self.tellable

    @property
    def brier(self) -> float | None:
        """Of the probability that the verdict is given; None where it has none."""
        return None if self.probability is None else (self.probability - self.lead_is_right) ** 2

    @property
    def false_alarm(self) -> bool:
        """Whether an element is accused of holding a test that nothing holds, or that something else does."""
        return self.accuses_cleared or (self.held_nothing and self.kind in HELD)

    def same_as(self, before: Outcome) -> bool:
        """Whether kind and element are those of another outcome: a verdict that is right stays so with another of the
        elements that are at fault together."""
        if self.first and before.first:
            return True
        kind, was = (_QUIET if k in ("demand_limited", "healthy") else k for k in (self.kind, before.kind))
        return kind == was and (set(self.accused) == set(before.accused) or bool({*self.accused} & {*before.accused}))


def judged(family: str, seed: int, defect: str | None, truth: Truth, diagnosis: Diagnosis) -> Outcome:
    """A diagnosis against the truth."""
    verdict = diagnosis.verdict
    candidates = _candidates(diagnosis)
    suspects = [_suspect_is_right(suspect, truth) for suspect in verdict.suspects]
    hits = [finding for finding in diagnosis.findings if finding.outcome == "hit"]
    causes = {finding.rule for finding in hits if finding.role in ("cause", "culprit") or finding.relieves}
    return Outcome(
        family,
        seed,
        defect,
        verdict.kind,
        verdict.grade,
        verdict.kind in (truth.kind, *truth.also),
        next((place for place, names in enumerate(candidates, 1) if _right(names, truth)), None),
        tuple(name for names in candidates for name in names),
        tuple(sorted({finding.rule for finding in hits})),
        tuple(sorted(causes)),
        verdict.headline,
        bool(truth.bottlenecks),
        truth.kind not in HELD,
        truth.findings,
        truth.forbidden,
        any(_is_one(name, truth.cleared) for names in candidates for name in names),
        generator=truth.kind == "generator_limited",
        accused=tuple(candidates[0]) if verdict.bottlenecks else (),
        probability=verdict.probability,
        lead_is_right=_lead_is_right(verdict, suspects, truth, candidates),
        suspect_rank=suspects.index(True) + 1 if True in suspects else None,
        suspects=tuple(f"{s.kind} {s.entity or ''} {s.probability:.3f}" for s in verdict.suspects[:4]),
    )


def _lead_is_right(
    verdict: Verdict, suspects: Sequence[bool], truth: Truth, candidates: Sequence[Sequence[str]]
) -> bool:
    """Whether what the verdict's probability is given to is the truth: the verdict, or where that is left open the
    first suspect that says what it would be."""
    if verdict.kind == "cannot_tell":
        return next(
            (right for s, right in zip(verdict.suspects, suspects, strict=True) if s.verdict != verdict.kind), False
        )
    right_kind = verdict.kind in (truth.kind, *truth.also)
    return right_kind and (not truth.bottlenecks or (bool(candidates) and _right(candidates[0], truth)))


def absent(family: str, seed: int, defect: str | None, truth: Truth) -> Outcome:
    """In place of an outcome where a relation does not apply."""
    nothing: tuple[str, ...] = ()
    return Outcome(
        family,
        seed,
        defect,
        kind="cannot_tell",
        grade="C",
        kind_is_right=False,
        rank=None,
        named=nothing,
        found=nothing,
        called_cause=nothing,
        headline="",
        wants_element=bool(truth.bottlenecks),
        held_nothing=truth.kind not in HELD,
        expected=nothing,
        forbidden=nothing,
        applies=False,
    )


def _suspect_is_right(suspect: Suspect, truth: Truth) -> bool:
    """Whether one of the ranked explanations is the truth: kind of verdict, and element where there is one."""
    if suspect.verdict not in (truth.kind, *truth.also):
        return False
    names = [name for name in (suspect.entity, *suspect.coincident) if name]
    return not truth.bottlenecks or _right(names, truth)


def _candidates(diagnosis: Diagnosis) -> list[tuple[str, ...]]:
    """Elements in the order in which they are named: a bottleneck with what is coincident, then causes among the
    findings."""
    found = [(b.entity, *b.coincident, *([b.culprit] if b.culprit else [])) for b in diagnosis.verdict.bottlenecks]
    named = {name for names in found for name in names}
    for finding in diagnosis.findings:
        if finding.outcome == "hit" and finding.role in ("cause", "culprit") and finding.entity not in named:
            named.add(finding.entity)
            found.append((finding.entity,))
    return found


def _right(names: Sequence[str], truth: Truth) -> bool:
    """Whether one of these names is an element at fault."""
    at_fault = (*truth.bottlenecks, *([truth.culprit] if truth.culprit else []))
    return any(_is_one(name, at_fault) for name in names)


def _is_one(name: str, elements: Sequence[str]) -> bool:
    """Whether a name is that of one of these elements; a link is named by the ports at its ends, an array also by its
    volumes and controllers."""
    for element in elements:
        kind, _, own = element.partition(":")
        if name == element or (kind in _ENDS and own in name.partition(":")[2].split("--")):
            return True
        if kind == "array" and name.partition(":")[0] in _OF_ARRAYS and name.partition(":")[2].startswith(f"{own}/"):
            return True
    return False
