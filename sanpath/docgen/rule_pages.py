"""docs/rules/, a page for each rule and their index, and the JSON schema of rule files, from the rulebook."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sanpath.catalogue import catalogue
from sanpath.docgen.markdown import GENERATED, table
from sanpath.rulebook.judge import rule_condition
from sanpath.rulebook.model import SEVERITIES, Fix, Rule
from sanpath.units import join_names

FOLDER = "docs/rules"
"""Every Markdown file in it is generated."""
SCHEMA = "rules/schema.json"
_ESCAPED = str.maketrans({"*": r"\*", "<": "&lt;"})


def documents(rules: Sequence[Rule]) -> dict[str, str]:
    """Return path below the root of the checkout → content."""
    pages = {f"{FOLDER}/{rule.id}.md": _page(rule) for rule in rules}
    return pages | {f"{FOLDER}/README.md": _index(rules), SCHEMA: _schema()}


def _schema() -> str:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Rule.model_json_schema()}
    return json.dumps(schema, indent=2) + "\n"


def _index(rules: Sequence[Rule]) -> str:
    ordered = sorted(rules, key=lambda rule: (SEVERITIES.index(rule.severity), rule.id))
    rows = [
        (f"[{rule.id}]({rule.id}.md)", _line(rule.title), rule.role, rule.severity, rule.each, rule.status)
        for rule in ordered
    ]
    rows_of_rules = table(("rule", "says", "role", "severity", "judged on each", "status"), rows)
    return f"{GENERATED}\n# Rules\n\n{rows_of_rules}\nHow to write one: [rules/README.md](../../rules/README.md).\n"


def _page(rule: Rule) -> str:
    condition = rule_condition(rule)
    facts = catalogue.facts()[rule.each]
    fact_rows = [(f"`{name}`", facts[name].unit, _line(facts[name].meaning)) for name in condition.facts]
    limit_rows = [(f"`{name}`", limit.values_text, _line(limit.source)) for name, limit in rule.limits.items()]
    explains = f" of {join_names([f'`{kind}`' for kind in rule.cause_of])}" if rule.cause_of else ""
    sections = [
        f"{GENERATED}\n# {rule.id}: {_line(rule.title)}",
        f"{rule.severity} severity, role *{rule.role}*{explains}, judged on each `{rule.each}`, {rule.status}.",
        f"## Condition\n\n```python\n{' '.join(rule.when.split())}\n```",
        table(("fact", "unit", "meaning"), fact_rows),
        table(("limit", "value", "source"), limit_rows) if limit_rows else "It has no limits.",
        f"## Why it matters\n\n{_line(rule.why)}",
        f"## When a hit is normal\n\n{_line(rule.not_if)}",
        "## What to do",
        *(_fix(fix) for fix in rule.fix),
        "## References\n\n" + "\n".join(f"- {_line(reference)}" for reference in rule.references),
        "## Tests",
        table(("facts", "outcome"), [(_line(test.name), test.expect) for test in rule.tests]),
    ]
    return "\n\n".join(section.rstrip("\n") for section in sections) + "\n"


def _fix(fix: Fix) -> str:
    commands = "\n```\n" + "\n".join(fix.commands) + "\n```\n" if fix.commands else ""
    return (
        f"### {_line(fix.platform)}\n{commands}\n{_line(fix.scope)}\n\n"
        f"- Disruption: {fix.disruption}\n- Verify: {_line(fix.verify)}\n- Undo: {_line(fix.undo)}"
    )


def _line(text: str) -> str:
    """Return a text as one line of Markdown: nothing outside of code starts emphasis or a tag."""
    spans = " ".join(text.split()).split("`")
    return "`".join(span if number % 2 else span.translate(_ESCAPED) for number, span in enumerate(spans))
