"""Judges fact tables by rules: one scan for each table, with all of its rules as columns of one query."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import duckdb
import numpy as np
from numpy.typing import NDArray

from sanpath.facts.table import FactRow, FactTable, FactValue
from sanpath.recording.storage.duck import separate
from sanpath.rulebook.condition import Condition, compile_condition
from sanpath.rulebook.kinds import Kind, fact_kinds, finite_or_none, is_kind, units
from sanpath.rulebook.model import RUN_BY_DEFAULT, Judgement, Outcome, Rule, Status
from sanpath.rulebook.policy import Policy, apply_policy
from sanpath.rulebook.summary import fill

_SQL_TYPES: Mapping[Kind, str] = {"number": "DOUBLE", "truth": "BOOLEAN", "name": "VARCHAR"}


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Numbers of the rows for which a condition is true, and of those for which it is not known."""

    hit: NDArray[np.int64]
    unknown: NDArray[np.int64]


def judge(
    rules: Sequence[Rule],
    tables: Mapping[str, FactTable],
    policy: Policy | None = None,
    statuses: Collection[Status] = RUN_BY_DEFAULT,
    include_clear: bool = True,
) -> list[Judgement]:
    """Return one judgement for each rule and row of its fact table, in the order of the rules, then of the rows.

    Rules of other statuses are left out. A rule whose table is absent or empty has no judgement: see `not_judged`.
    `include_clear` False leaves out clear judgements, nearly all of those of a large fabric. Raises UsageError for a
    policy that does not match the rules, TypeError for a fact of the wrong type.
    """
    selected = [rule for rule in apply_policy(rules, policy or {}) if rule.status in statuses]
    by_rule: dict[str, list[Judgement]] = {rule.id: [] for rule in selected}
    with closing(separate()) as connection:
        for kind in dict.fromkeys(rule.each for rule in selected):
            table = tables.get(kind)
            if table is None or not table.rows:
                continue
            table_rules = [rule for rule in selected if rule.each == kind]
            conditions = [rule_condition(rule) for rule in table_rules]
            load_facts(connection, conditions, fact_kinds(kind), table.rows)
            for rule, condition, outcomes in zip(table_rules, conditions, scan(connection, conditions), strict=True):
                by_rule[rule.id] = list(_judgements(rule, condition, table.rows, outcomes, include_clear))
    return [judgement for judgements in by_rule.values() for judgement in judgements]


def not_judged(rules: Sequence[Rule], tables: Mapping[str, FactTable]) -> list[Rule]:
    """Return the rules run by default that had no row to judge.

    A report lists them: missing facts do not mean health."""
    judged = {kind for kind, table in tables.items() if table.rows}
    return [rule for rule in rules if rule.status in RUN_BY_DEFAULT and rule.each not in judged]


def rule_condition(rule: Rule) -> Condition:
    """Return the compiled condition of a rule. Raises ConditionError."""
    return compile_condition(rule.when, fact_kinds(rule.each), rule.limit_values())


def load_facts(
    connection: duckdb.DuckDBPyConnection,
    conditions: Sequence[Condition],
    kinds: Mapping[str, Kind],
    rows: Sequence[FactRow],
) -> None:
    """Replace the connection's table `facts` by the facts that these conditions read."""
    names = dict.fromkeys(name for condition in conditions for name in condition.facts)
    columns = [[_fact(row, name, kinds[name]) for row in rows] for name in names]
    unnested = [f'unnest(?::{_SQL_TYPES[kinds[name]]}[]) AS "{name}"' for name in names]
    # Names are quoted by the condition language; values are passed as parameters.
    query = f"CREATE OR REPLACE TEMP TABLE facts AS SELECT unnest(?::BIGINT[]) AS n, {', '.join(unnested)}"
    connection.execute(query, [[*range(len(rows))], *columns])


def scan(connection: duckdb.DuckDBPyConnection, conditions: Sequence[Condition]) -> list[Outcomes]:
    """Evaluate every condition for each row of the table `facts`, in one scan."""
    # The condition language renders literals, so that no text of a rule file reaches the database.
    outcomes = ", ".join(f"{condition.sql} AS c{number}" for number, condition in enumerate(conditions))
    columns = connection.execute(f"SELECT n, {outcomes} FROM facts").fetchnumpy()  # noqa: S608
    numbers = np.asarray(columns["n"])
    masks = (np.ma.asarray(columns[f"c{number}"]) for number in range(len(conditions)))
    return [Outcomes(numbers[c.filled(False)], numbers[np.ma.getmaskarray(c)]) for c in masks]


def _judgements(
    rule: Rule, condition: Condition, rows: Sequence[FactRow], rows_by_outcome: Outcomes, include_clear: bool
) -> Iterator[Judgement]:
    outcomes: dict[int, Outcome] = dict.fromkeys(rows_by_outcome.hit.tolist(), "hit")
    outcomes |= dict.fromkeys(rows_by_outcome.unknown.tolist(), "unknown")
    for row_number in range(len(rows)) if include_clear else sorted(outcomes):
        yield _judgement(rule, condition, rows[row_number], outcomes.get(row_number, "clear"))


def _fact(row: FactRow, name: str, kind: Kind) -> FactValue:
    value = row.get(name)
    if not is_kind(value, kind):
        raise TypeError(f"the fact {name!r} of {row['entity']!r} is {value!r}, not a {kind}")
    return finite_or_none(value)


def _judgement(rule: Rule, condition: Condition, row: FactRow, outcome: Outcome) -> Judgement:
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
    return Judgement(
        rule=rule.id,
        role=rule.role,
        severity=rule.severity,
        entity=str(row["entity"]),
        direction=str(row["direction"]),
        step=str(row["step"]),
        outcome=outcome,
        evidence={**facts, **limits},
        missing=missing if outcome == "unknown" else (),
        summary=text,
    )
