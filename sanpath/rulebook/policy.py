"""A policy: limits other than the rules' own, of a policy that ships or of a site, rule by rule."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sanpath.errors import UsageError
from sanpath.rulebook.load import find_rule
from sanpath.rulebook.model import PolicyName, Rule
from sanpath.rulebook.text import did_you_mean

Policy = Mapping[str, Mapping[str, float]]
"""Rule id → limit name → value, in the unit of the rule's own limit."""


def shipped(rules: Sequence[Rule], name: PolicyName) -> Policy:
    """The limits that a policy sets: those whose rule gives a value for it."""
    told = {rule.id: {n: limit.under(name) for n, limit in rule.limits.items()} for rule in rules}
    known = {rule_id: {n: value for n, value in one.items() if value is not None} for rule_id, one in told.items()}
    return {rule_id: one for rule_id, one in known.items() if one}


def apply_policy(rules: Sequence[Rule], policy: Policy, source: str = "policy") -> tuple[Rule, ...]:
    """The rules with the policy's limits; `source` is where they come from.

    Raises UsageError for a rule or limit that does not exist, or no number.
    """
    changed = {rule_id: _with_limits(find_rule(rules, rule_id), values, source) for rule_id, values in policy.items()}
    return tuple(changed.get(rule.id, rule) for rule in rules)


def _with_limits(rule: Rule, values: Mapping[str, float], source: str) -> Rule:
    limits = dict(rule.limits)
    for name, value in values.items():
        if name not in limits:
            raise UsageError(f"rule {rule.id!r} has no limit {name!r}{did_you_mean(name, limits)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise UsageError(f"limit {name!r} of rule {rule.id!r} must be a number, not {value!r}")
        limits[name] = limits[name].model_copy(update={"value": float(value), "source": source})
    return rule.model_copy(update={"limits": limits})
