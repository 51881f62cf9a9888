"""Runs the tests that rules carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sanpath.facts.table import FactTable
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
    failures = []
    for rule in rules:
        for test in rule.tests:
            got = _run(rule, test)
            if got.outcome != test.expect:
                name = " ".join(test.name.split())
                failures.append(Failure(rule.id, name, test.expect, got.outcome, got.missing))
    return failures


def _run(rule: Rule, test: RuleTest) -> Judgement:
    row = {"entity": f"{rule.each}:test", "step": "test", "direction": "read", **test.facts}
    table = FactTable(rule.each, (row,))
    (got,) = judge([rule], {rule.each: table}, {rule.id: test.limits}, statuses=STATUSES)
    return got
