"""Judges fact tables with rules: one scan a table, all its rules as columns of one query."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing

import duckdb

from sanpath.facts.table import FactRow, FactTable, FactValue
from sanpath.recording.duck import connect
from sanpath.rulebook.condition import Condition, compile_condition
from sanpath.rulebook.kinds import Kind, fact_kinds, is_kind, known, units
from sanpath.rulebook.model import RUN_BY_DEFAULT, Judgement, Outcome, Rule, Status
from sanpath.rulebook.policy import Policy, apply_policy
from sanpath.rulebook.summary import fill

_SQL_TYPES: Mapping[Kind, str] = {"number": "DOUBLE", "truth": "BOOLEAN", "name": "VARCHAR"}
_OUTCOMES: Mapping[bool | None, Outcome] = {True: "hit", False: "clear", None: "unknown"}


def judge(
    rules: Sequence[Rule],
    tables: Mapping[str, FactTable],
    policy: Policy | None = None,
    statuses: Collection[Status] = RUN_BY_DEFAULT,
) -> list[Judgement]:
    """One judgement a rule and row of the rule's fact table, in the order of the rules, then of the rows.

    Rules of other statuses are left out. A rule whose table is absent or empty gives nothing: see `not_judged`.
    Raises UsageError for a policy that does not fit the rules, TypeError for a fact that is not of its kind.
    """
    chosen = [rule for rule in apply_policy(rules, policy or {}) if rule.status in statuses]
    found: dict[str, list[Judgement]] = {rule.id: [] for rule in chosen}
    with closing(_locked_connection()) as connection:
        for kind in dict.fromkeys(rule.each for rule in chosen):
            together = [rule for rule in chosen if rule.each == kind]
            for judgement in _judge_table(connection, together, tables.get(kind)):
                found[judgement.rule].append(judgement)
    return [judgement for judgements in found.values() for judgement in judgements]


def not_judged(rules: Sequence[Rule], judgements: Sequence[Judgement]) -> list[Rule]:
    """Rules run by default that had no row to judge. A report names them: missing facts are not health."""
    judged = {judgement.rule for judgement in judgements}
    return [rule for rule in rules if rule.status in RUN_BY_DEFAULT and rule.id not in judged]


def rule_condition(rule: Rule) -> Condition:
    """The compiled condition of a rule. Raises ConditionError."""
    return compile_condition(rule.when, fact_kinds(rule.each), rule.limit_values())


def _judge_table(
    connection: duckdb.DuckDBPyConnection, rules: Sequence[Rule], table: FactTable | None
) -> Iterator[Judgement]:
    if table is None or not table.rows:
        return
    conditions = [rule_condition(rule) for rule in rules]
    outcomes = _scan(connection, conditions, fact_kinds(rules[0].each), table.rows)
    for rule, condition, column in zip(rules, conditions, zip(*outcomes, strict=True), strict=True):
        for row, outcome in zip(table.rows, column, strict=True):
            yield _judgement(rule, condition, row, _OUTCOMES[outcome])


def _scan(
    connection: duckdb.DuckDBPyConnection,
    conditions: Sequence[Condition],
    kinds: Mapping[str, Kind],
    rows: Sequence[FactRow],
) -> list[tuple[bool | None, ...]]:
    """For each row the value of each condition."""
    names = dict.fromkeys(name for condition in conditions for name in condition.facts)
    columns = [[_fact(row, name, kinds[name]) for row in rows] for name in names]
    unnested = [f'unnest(?::{_SQL_TYPES[kinds[name]]}[]) AS "{name}"' for name in names]
    outcomes = ", ".join(condition.sql for condition in conditions)
    # Names are quoted and literals rendered by the condition language; values go in as parameters.
    query = f"SELECT {outcomes} FROM (SELECT unnest(?::BIGINT[]) AS n, {', '.join(unnested)}) ORDER BY n"  # noqa: S608
    return connection.execute(query, [[*range(len(rows))], *columns]).fetchall()


def _fact(row: FactRow, name: str, kind: Kind) -> FactValue:
    value = row.get(name)
    if not is_kind(value, kind):
        raise TypeError(f"the fact {name!r} of {row['entity']!r} is {value!r}, not a {kind}")
    return known(value)


def _judgement(rule: Rule, condition: Condition, row: FactRow, outcome: Outcome) -> Judgement:
    facts = {name: known(row.get(name)) for name in condition.facts}
    missing = tuple(name for name, value in facts.items() if value is None)
    limits = rule.limit_values()
    text = ""
    if outcome == "hit":
        text = fill(rule.summary, {**row, **limits}, units(rule.each))
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


def _locked_connection() -> duckdb.DuckDBPyConnection:
    """A connection that reaches no file, no network and no Python variable, whatever a query says."""
    connection = connect()
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection
