"""The remediation plan: what to do in which order, each action once for all its elements, and what it resolves.

What limits comes first, then what makes the test worth believing, then risks. Within these, what is about the element
that limits comes before the rest, what interrupts nothing before what does, and a step that needs another one, as the
rules' files say, after it. The same action on several platforms is one step with a variant for each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from sanpath.rulebook.model import DISRUPTIONS, SEVERITIES, Disruption, Finding, Fix
from sanpath.rulebook.remedy import Remedy
from sanpath.verdict.model import PlanPurpose, PlanStep, PlanVariant, Resolved, Risk, Verdict

_PURPOSE: dict[str, PlanPurpose] = {
    "cause": "limit",
    "culprit": "limit",
    "validity": "test",
    "data-quality": "test",
    "risk": "risk",
}
_RISK: dict[Disruption, Risk] = {"none": "low", "path": "medium", "vm": "medium", "host": "high", "outage": "high"}
_ORDER: tuple[PlanPurpose, ...] = ("limit", "test", "risk")


@dataclass(slots=True)
class _Draft:
    """A step on its way: `fixes` are one action on several elements, `names` what `after` of others may call it."""

    purpose: PlanPurpose
    fix: Fix
    fixes: list[Fix] = field(default_factory=list)
    resolves: list[Finding] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    after: set[str] = field(default_factory=set)

    def key(self, limiting: Collection[str]) -> tuple[int, bool, int, int]:
        """Its place, as far as it depends on no other step: what is about the limiting elements comes first."""
        severity = min(SEVERITIES.index(finding.severity) for finding in self.resolves)
        elsewhere = not any({finding.entity, finding.relieves} & set(limiting) for finding in self.resolves)
        return _ORDER.index(self.purpose), elsewhere, DISRUPTIONS.index(self.fix.disruption), severity

    def add(self, finding: Finding, fix: Fix) -> None:
        """One more finding that it resolves, or one more platform to do it on."""
        if finding not in self.resolves:
            self.resolves.append(finding)
        if all((fix.platform, fix.commands) != (known.platform, known.commands) for known in self.fixes):
            self.fixes.append(fix)
        self.names |= {finding.rule, f"{finding.rule}/{fix.name}"} if fix.name else {finding.rule}
        self.after |= set(fix.after)


def plan(
    findings: Sequence[Finding], verdict: Verdict, collectors: Collection[str] = frozenset()
) -> tuple[PlanStep, ...]:
    """The steps in order. A symptom is mended with its cause, and what is only worth knowing calls for nothing.

    `collectors`: what the recording was made with; of several load generators only those of them are advised.
    """
    drafts: list[_Draft] = []
    asked = [(f, _purpose(f)) for f in findings if f.outcome == "hit" and f.role in _PURPOSE]
    for finding, purpose in sorted(asked, key=lambda one: _ORDER.index(one[1])):
        for fix in _worth_a_step(finding, purpose, collectors):
            same = next((draft for draft in drafts if _same_action(draft, finding, fix)), None)
            if same is None:
                drafts.append(same := _Draft(purpose, fix))
            same.add(finding, fix)
    done: list[PlanStep] = []
    numbers: dict[str, list[int]] = {}
    limiting = {e for b in verdict.bottlenecks for e in (b.entity, b.culprit, *b.coincident) if e}
    for draft in _in_order(drafts, limiting):
        before = sorted({number for name in draft.after for number in numbers.get(name, ())})
        done.append(_step(len(done) + 1, draft, before, verdict))
        for name in draft.names:
            numbers.setdefault(name, []).append(len(done))
    return tuple(done)


def _same_action(draft: _Draft, finding: Finding, fix: Fix) -> bool:
    """The same commands, the same idle paths brought into use, the same action on another platform or element, or one
    rule's remedy on another element."""
    if fix.commands and any(fix.commands == known.commands for known in draft.fixes):
        return True
    if fix.relieves is not None or draft.fix.relieves is not None:
        return draft.fix.relieves == fix.relieves
    if fix.action is not None:
        return (draft.fix.action, draft.fix.disruption) == (fix.action, fix.disruption)
    if draft.fix.platform != fix.platform or finding in draft.resolves:
        return False
    return draft.fix.scope == fix.scope and any(known.rule == finding.rule for known in draft.resolves)


def _purpose(finding: Finding) -> PlanPurpose:
    return "limit" if finding.relieves is not None else _PURPOSE[finding.role]


def _worth_a_step(finding: Finding, purpose: PlanPurpose, collectors: Collection[str]) -> Sequence[Fix]:
    """Every remedy of what limits; of the rest what interrupts least, and what that needs. To look at something is no
    step, unless there is nothing else to do."""
    fixes = [fix for fix in finding.fix if not fix.reads_only] or list(finding.fix)
    if any(_first_word(fix) in collectors for fix in fixes):
        fixes = [fix for fix in fixes if _first_word(fix) in (*collectors, "any", "the")]
    if purpose == "limit" or not fixes:
        return fixes
    least = min(DISRUPTIONS.index(fix.disruption) for fix in fixes)
    return [fix for fix in fixes if DISRUPTIONS.index(fix.disruption) == least or fix.name]


def _first_word(fix: Fix) -> str:
    return fix.platform.replace(",", " ").split()[0].lower()


def _in_order(drafts: list[_Draft], limiting: Collection[str]) -> list[_Draft]:
    """By key, but none before what it needs; of steps that need each other the first."""
    left, done = sorted(drafts, key=lambda draft: draft.key(limiting)), []
    while left:
        ready = (a for a in left if not any(a.after & b.names for b in left if b is not a))
        done.append(next(ready, left[0]))
        left.remove(done[-1])
    return done


def _step(number: int, draft: _Draft, after: Sequence[int], verdict: Verdict) -> PlanStep:
    fix = draft.fix
    # The what-if is about faster links, not about idle ones that are brought into use.
    gains = (finding.gain for finding in draft.resolves if finding.gain and fix.relieves is None)
    gain = next(gains, None)
    predicted = verdict.next.predicted_ops_per_second if gain and verdict.next is not None else None
    variants = _variants(draft.fixes)
    whole = variants[0] if len(variants) == 1 else _of_all(variants)
    return PlanStep(
        number,
        draft.purpose,
        whole.platform,
        whole.commands,
        whole.scope,
        fix.disruption,
        whole.verify,
        whole.undo,
        tuple(dict.fromkeys(Resolved(finding.rule, finding.entity) for finding in draft.resolves)),
        gain,
        predicted,
        tuple(after),
        fix.action or _in_few_words(fix),
        _RISK[fix.disruption],
        fix.relieves == "idle_path",
        variants if len(variants) > 1 else (),
    )


def _variants(fixes: Sequence[Fix]) -> tuple[PlanVariant, ...]:
    """One for each platform, with the commands for all its elements. What two rules ask for in different words is
    said in those of the first."""
    makes: dict[str, list[Fix]] = {}
    for fix in fixes:
        for each in fix.variants if isinstance(fix, Remedy) else (fix,):
            known = makes.setdefault(each.platform.partition(",")[0], [])
            other_words = bool(known) and known[0].platform != each.platform
            again = any(each.commands == one.commands for one in known)
            if not (other_words and (again or each.relieves is not None)):
                known.append(each)
    return tuple(
        PlanVariant(
            mine[0].platform,
            _together([one.commands for one in mine]),
            _each(one.scope for one in mine),
            _each(one.verify for one in mine),
            _each(one.undo for one in mine),
        )
        for mine in makes.values()
    )


def _of_all(variants: Sequence[PlanVariant]) -> PlanVariant:
    """What a step of several platforms is: nobody is handed a command line of another platform."""
    platforms = ", ".join(dict.fromkeys(variant.platform.partition(",")[0] for variant in variants))
    return PlanVariant(platforms, (), *("As the variant of the platform says.",) * 3)


def _in_few_words(fix: Fix) -> str:
    """The first sentence of what it is about, or what it is for."""
    first = fix.scope.partition(". ")[0].rstrip(".")
    return first if not fix.commands else f"{fix.platform}: {first[:1].lower()}{first[1:]}"


def _each(texts: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(texts))


def _together(commands: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """What all begin with is typed once, as `configure terminal`."""
    columns = zip(*commands, strict=False)
    same = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns)) if len(commands) > 1 else 0
    return (*commands[0][:same], *(command for one in commands for command in one[same:]))
