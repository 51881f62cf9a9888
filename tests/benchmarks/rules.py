"""How long 60 rules take over 100,000 links once their facts exist, and from rows of Python to findings."""

from __future__ import annotations

import random
import time

from sanpath.facts.table import FactRow, FactTable, FactValue
from sanpath.rulebook.fact_kinds import FactKind, fact_kinds
from sanpath.rulebook.judge import evaluate, fact_columns, judge, rule_condition
from sanpath.rulebook.model import Rule
from sanpath.rulebook.rule_files import load_rulebook
from tests.benchmarks.rounds import spread

ENTITIES, RULES, ROUNDS = 100_000, 60, 5


def measure() -> str:
    """One scan of a table of facts, repeated; and everything once. The goal for the scan is 0.2 s."""
    rules, rows = _rules(), _rows()
    conditions = [rule_condition(rule) for rule in rules]
    seconds = []
    columns = fact_columns(conditions, fact_kinds("link"), rows)
    for _ in range(ROUNDS):
        began = time.perf_counter()
        result = [evaluate(condition, columns, ENTITIES) for condition in conditions]
        seconds.append(time.perf_counter() - began)
    began = time.perf_counter()
    judged = judge(rules, {"link": FactTable(rows)}, include_clear=False)
    whole = time.perf_counter() - began
    hits = sum(len(outcomes.hit) for outcomes in result)
    return (
        f"{ENTITIES:,} entities x {RULES} rules: {spread(seconds)} s a scan, {hits:,} hits; from rows of Python "
        f"{whole:.1f} s, {len(judged):,} judgements that are not clear"
    )


def _rules() -> list[Rule]:
    """The rules about links, again and again up to 60."""
    own = [rule for rule in load_rulebook() if rule.each == "link"]
    return [own[n % len(own)].model_copy(update={"id": f"rule-{n}", "status": "stable"}) for n in range(RULES)]


def _rows() -> tuple[FactRow, ...]:
    """Links of a healthy fabric: nearly idle, nothing missing."""
    chance, kinds = random.Random(1), fact_kinds("link")
    return tuple(
        {name: _value(kind, chance) for name, kind in kinds.items()}
        | {"entity": f"link:{n}", "step": "1", "direction": "read"}
        for n in range(ENTITIES)
    )


def _value(kind: FactKind, chance: random.Random) -> FactValue:
    if kind == "number":
        return chance.random() * 0.3
    return chance.random() < 0.01 if kind == "truth" else chance.choice(("host", "array", "switch", "ethernet"))
