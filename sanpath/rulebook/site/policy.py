"""Policies: limits that replace those of the rules, from a built-in policy or from a site."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sanpath.errors import UsageError
from sanpath.rulebook.fact_kinds import did_you_mean
from sanpath.rulebook.model import Rule
from sanpath.rulebook.rule_files import find_rule
from sanpath.rulebook.site.options import PolicyName

Policy = Mapping[str, Mapping[str, float]]
"""Rule id → limit name → value, in the unit of the rule's own limit."""


def built_in_policy(rules: Sequence[Rule], name: PolicyName) -> Policy:
    """Return the limits of a built-in policy: those for which rules define a value."""
    values_by_rule = {
        rule.id: {name_of_limit: limit.under(name) for name_of_limit, limit in rule.limits.items()} for rule in rules
    }
    defined = {
        rule_id: {name_of_limit: value for name_of_limit, value in values.items() if value is not None}
        for rule_id, values in values_by_rule.items()
    }
    return {rule_id: values for rule_id, values in defined.items() if values}


def apply_policy(rules: Sequence[Rule], policy: Policy, source: str = "policy") -> tuple[Rule, ...]:
    """Return the rules with the policy's limits. `source`: where the limits come from.

    Raises UsageError for a rule or limit that does not exist, or a value that is not a number.
    """
    changed = {rule_id: _set_limits(find_rule(rules, rule_id), values, source) for rule_id, values in policy.items()}
    return tuple(changed.get(rule.id, rule) for rule in rules)


def _set_limits(rule: Rule, values: Mapping[str, float], source: str) -> Rule:
    limits = dict(rule.limits)
    for name, value in values.items():
        if name not in limits:
            raise UsageError(f"rule {rule.id!r} has no limit {name!r}{did_you_mean(name, limits)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise UsageError(f"limit {name!r} of rule {rule.id!r} must be a number, not {value!r}")
        limits[name] = limits[name].model_copy(update={"value": float(value), "source": source})
    return rule.model_copy(update={"limits": limits})
