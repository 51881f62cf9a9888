"""Judges fact tables with rules: one scan a table, all its rules as columns of one query."""

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
from sanpath.rulebook.kinds import Kind, fact_kinds, is_kind, known, units
from sanpath.rulebook.model import RUN_BY_DEFAULT, Judgement, Outcome, Rule, Status
from sanpath.rulebook.policy import Policy, apply_policy
from sanpath.rulebook.summary import fill

_SQL_TYPES: Mapping[Kind, str] = {"number": "DOUBLE", "truth": "BOOLEAN", "name": "VARCHAR"}


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Numbers of the rows that a condition hits, and of those of which it is not known."""

    hit: NDArray[np.int64]
    unknown: NDArray[np.int64]


def judge(
    rules: Sequence[Rule],
    tables: Mapping[str, FactTable],
    policy: Policy | None = None,
    statuses: Collection[Status] = RUN_BY_DEFAULT,
    clear: bool = True,
) -> list[Judgement]:
    """One judgement a rule and row of the rule's fact table, in the order of the rules, then of the rows.

    Rules of other statuses are left out. A rule whose table is absent or empty gives nothing: see `not_judged`.
    `clear` False leaves out what is clear, nearly all of a large fabric. Raises UsageError for a policy that does not
    fit the rules, TypeError for a fact that is not of its kind.
    """
    chosen = [rule for rule in apply_policy(rules, policy or {}) if rule.status in statuses]
    found: dict[str, list[Judgement]] = {rule.id: [] for rule in chosen}
    with closing(separate()) as connection:
        for kind in dict.fromkeys(rule.each for rule in chosen):
            table = tables.get(kind)
            if table is None or not table.rows:
                continue
            together = [rule for rule in chosen if rule.each == kind]
            conditions = [rule_condition(rule) for rule in together]
            load_facts(connection, conditions, fact_kinds(kind), table.rows)
            for rule, condition, told in zip(together, conditions, scan(connection, conditions), strict=True):
                found[rule.id] = list(_judgements(rule, condition, table.rows, told, clear))
    return [judgement for judgements in found.values() for judgement in judgements]


def not_judged(rules: Sequence[Rule], tables: Mapping[str, FactTable]) -> list[Rule]:
    """Rules run by default that had no row to judge. A report names them: missing facts are not health."""
    judged = {kind for kind, table in tables.items() if table.rows}
    return [rule for rule in rules if rule.status in RUN_BY_DEFAULT and rule.each not in judged]


def rule_condition(rule: Rule) -> Condition:
    """The compiled condition of a rule. Raises ConditionError."""
    return compile_condition(rule.when, fact_kinds(rule.each), rule.limit_values())


def load_facts(
    connection: duckdb.DuckDBPyConnection,
    conditions: Sequence[Condition],
    kinds: Mapping[str, Kind],
    rows: Sequence[FactRow],
) -> None:
    """Put the facts that conditions read into the connection's table `facts`, in place of what was there."""
    names = dict.fromkeys(name for condition in conditions for name in condition.facts)
    columns = [[_fact(row, name, kinds[name]) for row in rows] for name in names]
    unnested = [f'unnest(?::{_SQL_TYPES[kinds[name]]}[]) AS "{name}"' for name in names]
    # Names are quoted by the condition language; values go in as parameters.
    query = f"CREATE OR REPLACE TEMP TABLE facts AS SELECT unnest(?::BIGINT[]) AS n, {', '.join(unnested)}"
    connection.execute(query, [[*range(len(rows))], *columns])


def scan(connection: duckdb.DuckDBPyConnection, conditions: Sequence[Condition]) -> list[Outcomes]:
    """What each condition says of each row of the table `facts`, in one scan."""
    # Literals are rendered by the condition language, so that no text of a rule file reaches the database.
    outcomes = ", ".join(f"{condition.sql} AS c{number}" for number, condition in enumerate(conditions))
    told = connection.execute(f"SELECT n, {outcomes} FROM facts").fetchnumpy()  # noqa: S608
    numbers = np.asarray(told["n"])
    columns = (np.ma.asarray(told[f"c{number}"]) for number in range(len(conditions)))
    return [Outcomes(numbers[c.filled(False)], numbers[np.ma.getmaskarray(c)]) for c in columns]


def _judgements(
    rule: Rule, condition: Condition, rows: Sequence[FactRow], told: Outcomes, clear: bool
) -> Iterator[Judgement]:
    outcomes: dict[int, Outcome] = dict.fromkeys(told.hit.tolist(), "hit")
    outcomes |= dict.fromkeys(told.unknown.tolist(), "unknown")
    for n in range(len(rows)) if clear else sorted(outcomes):
        yield _judgement(rule, condition, rows[n], outcomes.get(n, "clear"))


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
        known_units = units(rule.each)
        of_limits = {limit: known_units[fact] for limit, fact in condition.limit_of.items()}
        text = fill(rule.summary, {**row, **limits}, known_units | of_limits)
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
