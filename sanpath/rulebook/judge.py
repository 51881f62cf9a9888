"""Judges fact tables by rules: each condition is evaluated for all rows of its table at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sanpath.facts.table import FactRow, FactTable
from sanpath.rulebook.condition import Columns, Condition, Values, compile_condition
from sanpath.rulebook.fact_kinds import FactKind, fact_kinds, finite_or_none, is_kind, units
from sanpath.rulebook.model import RUN_BY_DEFAULT, Outcome, RowOutcome, Rule, Status
from sanpath.rulebook.site.policy import Policy, apply_policy
from sanpath.rulebook.summary_template import fill


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Numbers of the rows for which a condition is true, and of those for which it is unknown."""

    hit: NDArray[np.int64]
    unknown: NDArray[np.int64]


def judge(
    rules: Sequence[Rule],
    tables: Mapping[str, FactTable],
    policy: Policy | None = None,
    statuses: Collection[Status] = RUN_BY_DEFAULT,
    include_clear: bool = True,
) -> list[RowOutcome]:
    """Return one judgement for each rule and row of its fact table, in the order of the rules, then of the rows.

    Rules of other statuses are left out. A rule whose table is missing or empty has no judgement: see `not_judged`.
    `include_clear` False leaves out clear judgements, nearly all of those of a large fabric. Raises UsageError for a
    policy that does not match the rules, TypeError for a fact of the wrong type.
    """
    selected = [rule for rule in apply_policy(rules, policy or {}) if rule.status in statuses]
    by_rule: dict[str, list[RowOutcome]] = {rule.id: [] for rule in selected}
    for kind in dict.fromkeys(rule.each for rule in selected):
        table = tables.get(kind)
        if table is None or not table.rows:
            continue
        table_rules = [rule for rule in selected if rule.each == kind]
        conditions = [rule_condition(rule) for rule in table_rules]
        columns = fact_columns(conditions, fact_kinds(kind), table.rows)
        for rule, condition in zip(table_rules, conditions, strict=True):
            outcomes = evaluate(condition, columns, len(table.rows))
            by_rule[rule.id] = list(_judgements(rule, condition, table.rows, outcomes, include_clear))
    return [judgement for judgements in by_rule.values() for judgement in judgements]


def not_judged(rules: Sequence[Rule], tables: Mapping[str, FactTable]) -> list[Rule]:
    """Return the rules run by default that had no row to judge.

    A report lists them: missing facts do not mean health."""
    judged = {kind for kind, table in tables.items() if table.rows}
    return [rule for rule in rules if rule.status in RUN_BY_DEFAULT and rule.each not in judged]


def rule_condition(rule: Rule) -> Condition:
    """Return the compiled condition of a rule. Raises ConditionError."""
    return _compiled(rule.when, rule.each, tuple(rule.limit_values().items()))


@lru_cache(maxsize=4096)
def _compiled(when: str, each: str, limits: tuple[tuple[str, float], ...]) -> Condition:
    return compile_condition(when, fact_kinds(each), dict(limits))


def fact_columns(conditions: Sequence[Condition], kinds: Mapping[str, FactKind], rows: Sequence[FactRow]) -> Columns:
    """Return the facts that these conditions read. Raises TypeError for a fact of the wrong type."""
    names = dict.fromkeys(name for condition in conditions for name in condition.facts)
    return {name: _column(rows, name, kinds[name]) for name in names}


def evaluate(condition: Condition, columns: Columns, row_count: int) -> Outcomes:
    """Evaluate a condition for each row."""
    with np.errstate(all="ignore"):  # An overflow is unknown.
        is_true, known = condition.evaluate(columns)
    is_hit, is_unknown = np.broadcast_to(is_true & known, row_count), np.broadcast_to(~known, row_count)
    return Outcomes(np.flatnonzero(is_hit), np.flatnonzero(is_unknown))


def _judgements(
    rule: Rule, condition: Condition, rows: Sequence[FactRow], rows_by_outcome: Outcomes, include_clear: bool
) -> Iterator[RowOutcome]:
    outcomes: dict[int, Outcome] = dict.fromkeys(rows_by_outcome.hit.tolist(), "hit")
    outcomes |= dict.fromkeys(rows_by_outcome.unknown.tolist(), "unknown")
    for row_number in range(len(rows)) if include_clear else sorted(outcomes):
        yield _judgement(rule, condition, rows[row_number], outcomes.get(row_number, "clear"))


def _column(rows: Sequence[FactRow], name: str, kind: FactKind) -> Values:
    """Return the values of a fact. Infinity and NaN are unknown."""
    facts = [row.get(name) for row in rows]
    types = {type(fact): number for number, fact in enumerate(facts)}
    for number in types.values():
        if not is_kind(facts[number], kind):
            raise TypeError(f"the fact {name!r} of {rows[number]['entity']!r} is {facts[number]!r}, not a {kind}")
    if kind == "number":
        numbers = np.array(facts, dtype=np.float64)  # None becomes NaN.
        return Values(numbers, np.isfinite(numbers))
    known = np.array([fact is not None for fact in facts])
    return Values(np.array(facts, dtype=np.bool_ if kind == "truth" else np.object_), known)


def _judgement(rule: Rule, condition: Condition, row: FactRow, outcome: Outcome) -> RowOutcome:
    facts = {name: finite_or_none(row.get(name)) for name in condition.facts}
    missing = tuple(name for name, value in facts.items() if value is None)
    limits = rule.limit_values()
    text = ""
    if outcome == "hit":
        fact_units = units(rule.each)
        limit_units = {limit: fact_units[fact] for limit, fact in condition.limit_of.items()}
        text = fill(rule.summary, {**row, **limits}, fact_units | limit_units)
    elif outcome == "unknown":
        text = (
            f"not judged: {' and '.join(missing)} not known"
            if missing
            else "not judged: a division by zero or an overflow"
        )
    return RowOutcome(
        rule=rule.id,
        entity=str(row["entity"]),
        direction=str(row["direction"]),
        step=str(row["step"]),
        outcome=outcome,
        evidence={**facts, **limits},
        missing=missing if outcome == "unknown" else (),
        summary=text,
    )
