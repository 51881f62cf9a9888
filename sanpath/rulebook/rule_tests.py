"""Runs the tests in rule files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sanpath.facts.table import FactRow, FactTable
from sanpath.rulebook.judge import judge
from sanpath.rulebook.model import STATUSES, Outcome, RowOutcome, Rule, RuleTest


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed test of a rule. Its text is one line."""

    rule: str
    test: str
    expected: Outcome
    got: Outcome
    missing: tuple[str, ...]

    def __str__(self) -> str:
        because = f" (not known: {', '.join(self.missing)})" if self.missing else ""
        return f"{self.rule}: {self.test}: expected {self.expected}, got {self.got}{because}"


def failed_tests(rules: Sequence[Rule]) -> list[Failure]:
    """Run the tests of rules of every status and return the failures; [] if all passed."""
    outcomes = _outcomes(rules)
    return [
        Failure(rule.id, " ".join(test.name.split()), test.expect, judgement.outcome, judgement.missing)
        for rule in rules
        for number, test in enumerate(rule.tests)
        if (judgement := outcomes[rule.id, number]).outcome != test.expect
    ]


def _outcomes(rules: Sequence[Rule]) -> dict[tuple[str, int], RowOutcome]:
    """Return (rule, number of its test) → judgement.

    Tests with the rule's own limits are judged together for each table, because a condition is evaluated for all rows
    at once."""
    result: dict[tuple[str, int], RowOutcome] = {}
    groups: dict[str, list[tuple[Rule, int, RuleTest]]] = {}
    for rule in rules:
        for number, test in enumerate(rule.tests):
            key = f"{rule.id}/{number}" if test.limits else rule.each
            groups.setdefault(key, []).append((rule, number, test))
    for tests in groups.values():
        table = tests[0][0].each
        rows = tuple(_row(rule, number, test) for rule, number, test in tests)
        limits = {rule.id: test.limits for rule, _, test in tests if test.limits}
        test_by_entity = {
            str(row["entity"]): (rule.id, number) for row, (rule, number, _) in zip(rows, tests, strict=True)
        }
        rules_of_group = list({rule.id: rule for rule, _, _ in tests}.values())
        for judgement in judge(rules_of_group, {table: FactTable(rows)}, limits, statuses=STATUSES):
            if test_by_entity[judgement.entity][0] == judgement.rule:
                result[test_by_entity[judgement.entity]] = judgement
    return result


def _row(rule: Rule, number: int, test: RuleTest) -> FactRow:
    return {"step": "test", "direction": "read", **test.facts, "entity": f"{rule.id}/{number}"}
