"""Runs the tests that rules carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sanpath.facts.table import FactRow, FactTable
from sanpath.rulebook.judge import judge
from sanpath.rulebook.model import STATUSES, Judgement, Outcome, Rule, RuleTest


@dataclass(frozen=True, slots=True)
class Failure:
    """A test that did not come out as it expects. As text it is one line."""

    rule: str
    test: str
    expected: Outcome
    got: Outcome
    missing: tuple[str, ...]

    def __str__(self) -> str:
        because = f" (not known: {', '.join(self.missing)})" if self.missing else ""
        return f"{self.rule}: {self.test}: expected {self.expected}, got {self.got}{because}"


def check(rules: Sequence[Rule]) -> list[Failure]:
    """Run the tests of rules of every status; an empty list when all passed."""
    got = _outcomes(rules)
    return [
        Failure(rule.id, " ".join(test.name.split()), test.expect, found.outcome, found.missing)
        for rule in rules
        for number, test in enumerate(rule.tests)
        if (found := got[rule.id, number]).outcome != test.expect
    ]


def _outcomes(rules: Sequence[Rule]) -> dict[tuple[str, int], Judgement]:
    """(rule, number of its test) → what the rule says. Tests with the rule's own limits are judged a table at once,
    for to open the database takes longer than all of them."""
    found: dict[tuple[str, int], Judgement] = {}
    together: dict[str, list[tuple[Rule, int, RuleTest]]] = {}
    for rule in rules:
        for number, test in enumerate(rule.tests):
            key = f"{rule.id}/{number}" if test.limits else rule.each
            together.setdefault(key, []).append((rule, number, test))
    for tests in together.values():
        table = tests[0][0].each
        rows = tuple(_row(rule, number, test) for rule, number, test in tests)
        limits = {rule.id: test.limits for rule, _, test in tests if test.limits}
        asked = {str(row["entity"]): (rule.id, number) for row, (rule, number, _) in zip(rows, tests, strict=True)}
        judged = list({rule.id: rule for rule, _, _ in tests}.values())
        for judgement in judge(judged, {table: FactTable(table, rows)}, limits, statuses=STATUSES):
            if asked[judgement.entity][0] == judgement.rule:
                found[asked[judgement.entity]] = judgement
    return found


def _row(rule: Rule, number: int, test: RuleTest) -> FactRow:
    return {"step": "test", "direction": "read", **test.facts, "entity": f"{rule.id}/{number}"}
