"""Groups judgements into the findings of a report: one for each rule, entity and direction.

If the sentence of a rule names no direction, for example about a setting or a distance, one finding covers both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from sanpath.rulebook.judge import rule_condition
from sanpath.rulebook.model import SEVERITIES, Finding, Outcome, RowOutcome, Rule

_DIRECTION = "{direction}"


def group(rules: Sequence[Rule], judgements: Sequence[RowOutcome], step: str = "") -> list[Finding]:
    """Group the judgements of `judge(rules, ...)`: hits first, then by severity; the worst of each rule first.

    `rules` must include every rule that was judged. A finding shows the figures of `step` if the rule is a hit in it,
    otherwise those of the worst judgement.
    """
    by_id = {rule.id: rule for rule in rules}
    groups: dict[tuple[str, str, str], list[RowOutcome]] = {}
    for judgement in judgements:
        if judgement.outcome != "clear":
            groups.setdefault((judgement.rule, judgement.entity, judgement.direction), []).append(judgement)
    worst = {rule_id: rule_condition(by_id[rule_id]).worst for rule_id in {key[0] for key in groups}}
    findings = [
        _finding(by_id[key[0]], judgements_of_group, worst[key[0]], step)
        for key, judgements_of_group in groups.items()
    ]
    together = _join_directions(by_id, findings, worst)
    return sorted(together, key=lambda finding: _rank(finding, worst[finding.rule]))


def _join_directions(
    rules: Mapping[str, Rule], findings: Sequence[Finding], worst: Mapping[str, tuple[str, int] | None]
) -> Iterator[Finding]:
    """Yield the findings; of two hits whose sentences name no direction, only the worse one."""
    together: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        if finding.outcome == "hit" and _DIRECTION not in rules[finding.rule].summary:
            together.setdefault((finding.rule, finding.entity), []).append(finding)
        else:
            yield finding
    for alike in together.values():
        shown = max(alike, key=lambda finding: _severity(finding, worst[finding.rule]))
        if len(alike) > 1:
            steps = dict.fromkeys(chain.from_iterable(finding.steps for finding in alike))
            unknown = dict.fromkeys(chain.from_iterable(finding.unknown_steps for finding in alike))
            shown = replace(shown, direction="both", steps=tuple(steps), unknown_steps=tuple(unknown))
        yield shown


def _finding(rule: Rule, judgements: Sequence[RowOutcome], worst: tuple[str, int] | None, step: str) -> Finding:
    hits = _filter_outcome("hit", judgements)
    unknown = _filter_outcome("unknown", judgements)
    in_step = [judgement for judgement in hits if judgement.step == step]
    shown = max(in_step or hits or unknown, key=lambda judgement: _severity(judgement, worst))
    return Finding(
        rule=rule.id,
        title=rule.title,
        role=rule.role,
        severity=rule.severity,
        entity=shown.entity,
        direction=shown.direction,
        steps=tuple(judgement.step for judgement in hits or unknown),
        outcome="hit" if hits else "unknown",
        evidence=shown.evidence,
        summary=shown.summary,
        why=rule.why,
        fix=rule.fix,
        unknown_steps=tuple(judgement.step for judgement in unknown),
    )


def _filter_outcome(outcome: Outcome, judgements: Sequence[RowOutcome]) -> list[RowOutcome]:
    return [judgement for judgement in judgements if judgement.outcome == outcome]


def _severity(judgement: RowOutcome | Finding, worst: tuple[str, int] | None) -> float:
    """Return a number that grows with the badness of the first fact that the condition compares by size.

    A fact that is unknown counts as the least bad."""
    if worst is None:
        return 0.0
    name, sign = worst
    value = judgement.evidence[name]
    return sign * value if isinstance(value, int | float) else float("-inf")


def _rank(finding: Finding, worst: tuple[str, int] | None) -> tuple[bool, int, str, float, str, str]:
    """Sort key: the worst of several elements comes first."""
    severity = SEVERITIES.index(finding.severity)
    is_unknown = finding.outcome != "hit"
    fact_severity = 0.0 if is_unknown else _severity(finding, worst)
    return is_unknown, severity, finding.rule, -fact_severity, finding.entity, finding.direction
