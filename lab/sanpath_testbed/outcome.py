"""Compares the diagnosis of a case with its truth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sanpath.diagnosis.model import Diagnosis, Suspect, Verdict
from sanpath_lab.scenario import Truth

NO_ELEMENT_KINDS = ("concurrency_limited", "demand_limited", "healthy")
"""Kinds of verdict by which only the load itself limits the test."""
_NOTHING_WRONG = "healthy"
PROBES = "probes"
"""Used instead of a relation: the heaviest step was run alone and, if its verdict is "cannot tell", probed."""
KNEES = "knees"
"""Used instead of a relation: the knee was searched, and measured by a sweep."""
_ENDS = ("switch_port", "hba", "array_port")
_OF_ARRAYS = ("volume", "controller")
ELEMENT_KINDS = ("bottleneck", "configured_cap")
"""Kinds of verdict by which an element limits the test."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The judged diagnosis of one case.

    `family`, `seed`, `defect`, `relation`: the case, as in `corpus.Job`. `fault`: the fault of a draw; None: the case
    is of a family. `applies`: false if the relation does not apply to the case. `diagnosable`: whether the sources
    that are read can show the truth.

    The verdict: `kind`, `grade` and `headline`. `kind_is_right`: whether its kind is the true one.
    `named`: the elements that the diagnosis names, in order; `accused`: the first element and what coincides with it.
    `rank`: position of the first right element among them, from 1; None: none is right.
    `probability`: probability of the verdict; None: it has none. `lead_is_right`: whether the explanation that has
    this probability is the truth.
    `suspects`: the first suspects, one line each. `suspect_rank`: position of the first right suspect, from 1.

    The truth: `wants_element`: an element limits the test. `generator`: the load generator limits the test.
    `nothing_limits`: no element limits it, so a verdict that names one is a false alarm. So is one that names an
    element that the label clears (`accuses_cleared`).
    `expected`, `forbidden`: rules that should hit, and rules that should not be called a cause.
    `hits`: rules that hit. `causes`: those that the diagnosis calls a cause, or whose remedy relieves the limit.

    What-if, in operations a second; None: not predicted, or not relieved. `predicted`: lowest and highest throughput
    after relief. `likely`: the likely one. `reached`: throughput of the relieved simulation.

    `experiments`: actions performed before this verdict, in order, of a case with one step; None: not such a case.
    `kind_at_first`, `right_at_first`: the verdict before them, and whether it was right.

    Of a probe: `right_after`: whether the verdict was right after each step. `by_hand`: where it ends without
    a verdict, the first reading that it proposes and that the SAN has; None: none. `right_by_hand`: whether the
    verdict was right after that reading and the same probe again.

    `knee`: I/Os in flight at the knee by a probe and by a sweep, and the steps of the probe; None: not searched.
    """

    family: str
    seed: int
    defect: str | None
    kind: str
    grade: str
    kind_is_right: bool
    rank: int | None
    named: tuple[str, ...]
    hits: tuple[str, ...]
    causes: tuple[str, ...]
    headline: str
    wants_element: bool
    nothing_limits: bool
    expected: tuple[str, ...]
    forbidden: tuple[str, ...]
    accuses_cleared: bool = False
    predicted: tuple[float, float] | None = None
    likely: float | None = None
    reached: float | None = None
    relation: str | None = None
    fault: str | None = None
    diagnosable: bool = True
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
    right_after: tuple[bool, ...] = ()
    by_hand: str | None = None
    right_by_hand: bool = False
    knee: tuple[float, float, int] | None = None

    @property
    def is_right(self) -> bool:
        """Whether the kind is right, and also the first element if an element limits the test."""
        return self.kind_is_right and (self.rank == 1 or not self.wants_element)

    @property
    def in_top_three(self) -> bool:
        """Whether the verdict is right, or the truth is among the first three suspects."""
        return self.is_right or (self.suspect_rank is not None and self.suspect_rank <= 3)

    @property
    def acquitted(self) -> bool:
        """Whether the verdict says that nothing limits, although something does."""
        return self.kind in NO_ELEMENT_KINDS and not self.kind_is_right and self.something_limits

    @property
    def something_limits(self) -> bool:
        """Whether an element or the load generator limits the test."""
        return self.wants_element or self.generator

    @property
    def convicted(self) -> bool:
        """Whether the verdict accuses an element or the load generator that is not at fault."""
        if self.kind == "generator_limited":
            return not self.kind_is_right
        return self.kind in ELEMENT_KINDS and self.rank != 1

    @property
    def undecided(self) -> bool:
        """Whether the verdict is "cannot tell" although the data show the truth."""
        return self.kind == "cannot_tell" and self.diagnosable

    @property
    def brier(self) -> float | None:
        """Brier score: squared error of the verdict's probability. None: it has no probability."""
        return None if self.probability is None else (self.probability - self.lead_is_right) ** 2

    @property
    def false_alarm(self) -> bool:
        """Whether an element is accused although nothing limits the test, or although the label clears it."""
        return self.accuses_cleared or (self.nothing_limits and self.kind in ELEMENT_KINDS)

    def agrees_with(self, before: Outcome) -> bool:
        """Return whether kind and element are those of another outcome.

        Two right verdicts agree even if they name different elements, because several may be at fault together.
        """
        if self.is_right and before.is_right:
            return True
        kind, previous_kind = (
            _NOTHING_WRONG if k in ("demand_limited", "healthy") else k for k in (self.kind, before.kind)
        )
        return kind == previous_kind and (
            set(self.accused) == set(before.accused) or bool({*self.accused} & {*before.accused})
        )


def judge(family: str, seed: int, defect: str | None, truth: Truth, diagnosis: Diagnosis) -> Outcome:
    """Compare a diagnosis with the truth."""
    verdict = diagnosis.verdict
    candidates = _candidates(diagnosis)
    suspects = [_suspect_is_right(suspect, truth) for suspect in verdict.suspects]
    hits = [finding for finding in diagnosis.findings if finding.outcome == "hit"]
    cause_rules = {finding.rule for finding in hits if finding.role in ("cause", "culprit") or finding.relieves}
    return Outcome(
        family,
        seed,
        defect,
        verdict.kind,
        verdict.grade,
        verdict.kind in (truth.kind, *truth.also),
        next((place for place, names in enumerate(candidates, 1) if _is_at_fault(names, truth)), None),
        tuple(name for names in candidates for name in names),
        tuple(sorted({finding.rule for finding in hits})),
        tuple(sorted(cause_rules)),
        verdict.headline,
        bool(truth.bottlenecks),
        truth.kind not in ELEMENT_KINDS,
        truth.findings,
        truth.forbidden,
        any(_names_element(name, truth.cleared) for names in candidates for name in names),
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
    """Return whether the explanation that has the verdict's probability is the truth.

    It is the verdict, or, if that is "cannot tell", the first suspect with another kind.
    """
    if verdict.kind == "cannot_tell":
        return next(
            (right for s, right in zip(verdict.suspects, suspects, strict=True) if s.verdict != verdict.kind), False
        )
    right_kind = verdict.kind in (truth.kind, *truth.also)
    return right_kind and (not truth.bottlenecks or (bool(candidates) and _is_at_fault(candidates[0], truth)))


def not_applicable(family: str, seed: int, defect: str | None, truth: Truth) -> Outcome:
    """Return the outcome of a case to which the relation does not apply."""
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
        hits=nothing,
        causes=nothing,
        headline="",
        wants_element=bool(truth.bottlenecks),
        nothing_limits=truth.kind not in ELEMENT_KINDS,
        expected=nothing,
        forbidden=nothing,
        applies=False,
    )


def _suspect_is_right(suspect: Suspect, truth: Truth) -> bool:
    """Return whether a suspect has the true kind of verdict, and the true element if one limits the test."""
    if suspect.verdict not in (truth.kind, *truth.also):
        return False
    names = [name for name in (suspect.entity, *suspect.coincident) if name]
    return not truth.bottlenecks or _is_at_fault(names, truth)


def _candidates(diagnosis: Diagnosis) -> list[tuple[str, ...]]:
    """Return the elements in the order in which the diagnosis names them.

    A bottleneck and what coincides with it are one group; causes among the findings follow.
    """
    candidates = [(*b.elements, *([b.culprit] if b.culprit else [])) for b in diagnosis.verdict.bottlenecks]
    named = {name for names in candidates for name in names}
    for finding in diagnosis.findings:
        if finding.outcome == "hit" and finding.role in ("cause", "culprit") and finding.entity not in named:
            named.add(finding.entity)
            candidates.append((finding.entity,))
    return candidates


def _is_at_fault(names: Sequence[str], truth: Truth) -> bool:
    """Return whether one of these names is an element at fault."""
    at_fault = (*truth.bottlenecks, *([truth.culprit] if truth.culprit else []))
    return any(_names_element(name, at_fault) for name in names)


def _names_element(name: str, elements: Sequence[str]) -> bool:
    """Return whether a name stands for one of these elements.

    A link contains the names of the ports at its ends. Volumes and controllers of an array count as the array.
    """
    for element in elements:
        kind, _, local_name = element.partition(":")
        if name == element or (kind in _ENDS and local_name in name.partition(":")[2].split("--")):
            return True
        if (
            kind == "array"
            and name.partition(":")[0] in _OF_ARRAYS
            and name.partition(":")[2].startswith(f"{local_name}/")
        ):
            return True
    return False


def grouped(outcomes: Iterable[Outcome], key: Callable[[Outcome], str]) -> dict[str, list[Outcome]]:
    """Return outcomes by what `key` says of each."""
    groups: defaultdict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[key(outcome)].append(outcome)
    return groups
