"""The remediation plan: the actions in order, each once for all its elements, with the findings that it resolves.

The limit comes first, then the validity of the test, then risks. Within these, steps about the first bottleneck come
first, then those about others, then steps without downtime. A step that requires another one (as declared in the
rules' files) comes after it. The same action on several platforms is one step with a variant for each.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from sanpath.diagnosis.model import Verdict
from sanpath.diagnosis.remediation_plan import ANY_PLATFORM, PlanPurpose, PlanStep, PlanVariant, Resolved, Risk
from sanpath.rulebook.model import DISRUPTIONS, SEVERITIES, Disruption, Finding, Fix
from sanpath.rulebook.remedy import PLACEHOLDER, Remedy
from sanpath.units import join_names

_PURPOSE: dict[str, PlanPurpose] = {
    "cause": "limit",
    "culprit": "limit",
    "validity": "test",
    "data-quality": "test",
    "risk": "risk",
}
_RISK: dict[Disruption, Risk] = {
    "none": "low",
    "path": "medium",
    "vm": "medium",
    "host": "high",
    "outage": "high",
    "data": "high",
}
_ORDER: tuple[PlanPurpose, ...] = ("limit", "test", "risk")


_COMMENT = "!"
"""Start of a comment in switch commands."""
_WAIT = "! wait until all LUNs have all their paths again"


@dataclass(slots=True)
class _Draft:
    """A step under construction: `fixes` are the same action on several elements; `names` are the names that other
    fixes may refer to in their key `after`."""

    purpose: PlanPurpose
    fix: Fix
    fixes: list[Fix] = field(default_factory=list)
    resolves: list[Finding] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    after: set[str] = field(default_factory=set)

    def key(self, limiting: Sequence[Collection[str]]) -> tuple[int, int, int, bool, int]:
        """The sort key of the step, before dependencies.

        Steps about the limiting elements come first, in the order of the bottlenecks; among these, steps that move
        I/Os away from them. `limiting`: the elements of each bottleneck.
        """
        severity = min(SEVERITIES.index(finding.severity) for finding in self.resolves)
        about = {entity for finding in self.resolves for entity in (finding.entity, finding.relieves)}
        place = next((i for i, elements in enumerate(limiting) if about & set(elements)), len(limiting))
        disruption = DISRUPTIONS.index(self.fix.disruption)
        return _ORDER.index(self.purpose), place, disruption, self.fix.relieves is None, severity

    def add(self, finding: Finding, fix: Fix) -> None:
        """Add a finding that the step resolves, or another platform for the step."""
        if finding not in self.resolves:
            self.resolves.append(finding)
        if all((fix.platform, fix.commands) != (known_fix.platform, known_fix.commands) for known_fix in self.fixes):
            self.fixes.append(fix)
        self.names |= {finding.rule, f"{finding.rule}/{fix.name}"} if fix.name else {finding.rule}
        self.after |= set(fix.after)


def remediation_plan(
    findings: Sequence[Finding], verdict: Verdict, collectors: Collection[str] = frozenset()
) -> tuple[PlanStep, ...]:
    """The steps in order.

    A symptom disappears with its cause. Informative findings need no step, and neither do contradictory data whose
    only remedy is to look at them. `collectors`: the collectors that made the recording; among load generators, only
    these are advised.
    """
    drafts: list[_Draft] = []
    hits = [(f, _purpose(f)) for f in findings if f.outcome == "hit" and f.role in _PURPOSE and not _is_read_only(f)]
    for finding, purpose in sorted(hits, key=lambda hit: _ORDER.index(hit[1])):
        for fix in _useful_fixes(finding, purpose, collectors):
            draft = next((draft for draft in drafts if _same_action(draft, finding, fix)), None)
            if draft is None:
                drafts.append(draft := _Draft(purpose, fix))
            draft.add(finding, fix)
    steps: list[PlanStep] = []
    numbers: dict[str, list[int]] = {}
    limiting = [{entity for entity in (*b.elements, b.culprit) if entity} for b in verdict.bottlenecks]
    for draft in _in_order(drafts, limiting):
        earlier = sorted({number for name in draft.after for number in numbers.get(name, ())})
        steps.append(_step(len(steps) + 1, draft, earlier, verdict))
        for name in draft.names:
            numbers.setdefault(name, []).append(len(steps))
    return tuple(steps)


def _same_action(draft: _Draft, finding: Finding, fix: Fix) -> bool:
    """Whether a fix is the same action as a draft: it has the same commands, uses the same idle paths, is the same
    action on another platform or element, or is the same rule's remedy for another element."""
    if fix.commands and any(fix.commands == earlier.commands for earlier in draft.fixes):
        return True
    if fix.relieves is not None or draft.fix.relieves is not None:
        return draft.fix.relieves == fix.relieves
    if fix.action is not None:
        return (draft.fix.action, draft.fix.disruption) == (fix.action, fix.disruption)
    if draft.fix.platform != fix.platform or finding in draft.resolves:
        return False
    return draft.fix.scope == fix.scope and any(earlier.rule == finding.rule for earlier in draft.resolves)


def _purpose(finding: Finding) -> PlanPurpose:
    return "limit" if finding.relieves is not None else _PURPOSE[finding.role]


def _is_read_only(finding: Finding) -> bool:
    return finding.role == "data-quality" and all(fix.reads_only for fix in finding.fix)


def _useful_fixes(finding: Finding, purpose: PlanPurpose, collectors: Collection[str]) -> Sequence[Fix]:
    """The remedies of a finding for the plan: all of them if the finding limits; otherwise those with the least
    disruption, and those that others refer to by name. A remedy that changes nothing is used only if there is no
    other."""
    fixes = [fix for fix in finding.fix if not fix.reads_only] or list(finding.fix)
    if any(_first_word(fix) in collectors for fix in fixes):
        fixes = [fix for fix in fixes if _first_word(fix) in (*collectors, "any", "the")]
    if purpose == "limit" or not fixes:
        return fixes
    least_disruption = min(DISRUPTIONS.index(fix.disruption) for fix in fixes)
    return [fix for fix in fixes if DISRUPTIONS.index(fix.disruption) == least_disruption or fix.name]


def _first_word(fix: Fix) -> str:
    return fix.platform.replace(",", " ").split()[0].lower()


def _in_order(drafts: list[_Draft], limiting: Sequence[Collection[str]]) -> list[_Draft]:
    """The steps by key, but none before the steps that it requires. Among steps that require each other, the first by
    key comes first."""
    remaining, ordered = sorted(drafts, key=lambda draft: draft.key(limiting)), []
    while remaining:
        ready = (
            draft
            for draft in remaining
            if not any(draft.after & later_draft.names for later_draft in remaining if later_draft is not draft)
        )
        ordered.append(next(ready, remaining[0]))
        remaining.remove(ordered[-1])
    return ordered


def _step(number: int, draft: _Draft, after: Sequence[int], verdict: Verdict) -> PlanStep:
    fix = draft.fix
    # The what-if predicts the effect of faster links, not of idle paths brought into use, nor of an additional link.
    is_predicted = fix.relieves is None and not fix.adds_one
    gains = (finding.gain for finding in draft.resolves if finding.gain and is_predicted)
    gain = next(gains, None)
    predicted = verdict.next.predicted_ops_per_second if gain and verdict.next is not None else None
    variants = _variants(draft.fixes)
    summary = variants[0] if len(variants) == 1 else _platform_independent(variants)
    return PlanStep(
        number=number,
        purpose=draft.purpose,
        platform=summary.platform,
        commands=summary.commands,
        scope=summary.scope,
        disruption=fix.disruption,
        verify=summary.verify,
        undo=summary.undo,
        resolves=tuple(dict.fromkeys(Resolved(finding.rule, finding.entity) for finding in draft.resolves)),
        gain=gain,
        gain_ops_per_second=predicted,
        after=tuple(after),
        action=fix.action or _short_action(fix),
        risk=_RISK[fix.disruption],
        relieves_idle_paths=fix.relieves == "idle_path",
        adds_one=fix.adds_one,
        variants=variants if len(variants) > 1 else (),
    )


def _variants(fixes: Sequence[Fix]) -> tuple[PlanVariant, ...]:
    """One variant for each platform, with the commands for all its elements; that for any platform first. If two
    rules word the same action differently, the first wording is used."""
    by_platform: dict[str, list[Fix]] = {}
    for fix in fixes:
        for variant in fix.variants if isinstance(fix, Remedy) else (fix,):
            fixes_of_platform = by_platform.setdefault(variant.platform.partition(",")[0], [])
            other_words = bool(fixes_of_platform) and fixes_of_platform[0].platform != variant.platform
            is_repeated = any(variant.commands == earlier.commands for earlier in fixes_of_platform)
            if not (other_words and (is_repeated or variant.relieves is not None)):
                fixes_of_platform.append(variant)
    variants = (
        PlanVariant(
            platform_fixes[0].platform,
            _merged_commands([fix.commands for fix in platform_fixes], platform_fixes[0].disruption),
            _distinct_texts(fix.scope for fix in platform_fixes),
            _distinct_texts(fix.verify for fix in platform_fixes),
            _distinct_texts(fix.undo for fix in platform_fixes),
        )
        for platform_fixes in map(_filled, by_platform.values())
    )
    return tuple(sorted(variants, key=lambda variant: variant.platform != ANY_PLATFORM))


def _filled(fixes: Sequence[Fix]) -> list[Fix]:
    """The fixes without those whose commands another one has with names in place of the placeholders."""
    return [fix for fix in fixes if not any(_fills(other.commands, fix.commands) for other in fixes)]


def _fills(commands: Sequence[str], template: Sequence[str]) -> bool:
    """Whether commands are those of a template, with names in place of its placeholders.

    >>> _fills(["list -d naa.61"], ["list -d <naa>"]), _fills(["list -d <naa>"], ["list -d <naa>"])
    (True, False)
    """
    patterns = (PLACEHOLDER.sub("[^ <>]+", re.escape(each)) for each in template)
    is_other = len(commands) == len(template) and tuple(commands) != tuple(template)
    return is_other and all(map(re.fullmatch, patterns, commands))


def _platform_independent(variants: Sequence[PlanVariant]) -> PlanVariant:
    """The text of a step for several platforms, without any platform's commands: nobody should type another
    platform's. A variant for any platform tells what to do; it is the first."""
    names = list(dict.fromkeys(variant.platform.partition(",")[0] for variant in variants))
    platforms, first = ", ".join(names), variants[0]
    if first.platform == ANY_PLATFORM:
        scope = f"{first.scope} The commands for {join_names(names[1:])} are under Actions."
        return PlanVariant(platforms, (), scope, first.verify, first.undo)
    return PlanVariant(platforms, (), *("The commands for each platform are under Actions.",) * 3)


def _short_action(fix: Fix) -> str:
    """The first sentence of the fix's scope, after its platform if the fix has commands."""
    first = fix.scope.partition(". ")[0].rstrip(".")
    return first if not fix.commands else f"{fix.platform}: {first[:1].lower()}{first[1:]}"


def _distinct_texts(texts: Iterable[str]) -> str:
    """The sentences of the texts, each once, without those that another sentence contains."""
    sentences = [sentence for text in texts for sentence in re.split(r"(?<=\.) ", text)]
    different = list({sentence.rstrip("."): sentence for sentence in sentences}.values())
    return " ".join(s for s in different if not any(s != other and s.rstrip(".") in other for other in different))


def _merged_commands(commands: Sequence[tuple[str, ...]], disruption: Disruption) -> tuple[str, ...]:
    """All commands; common first lines, such as `configure terminal`, appear once. Between commands that each take
    down a path of its own, a comment says to wait, if the language has comments."""
    columns = zip(*commands, strict=False)
    common = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns)) if len(commands) > 1 else 0
    result = list(commands[0])
    for following in commands[1:]:
        wait = (_WAIT,) if disruption == "path" and following[0].startswith(_COMMENT) else ()
        result += [*wait, *following[common:]]
    return tuple(result)
