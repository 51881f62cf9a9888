"""Limits that a rule and the engine share: the verdict and the findings of one report judge by the same numbers."""

from __future__ import annotations

from pkgutil import resolve_name

import pytest

from sanpath.rulebook.rule_files import load_rulebook

RULES = {rule.id: rule for rule in load_rulebook()}
SHARED = [
    ("test-not-steady", "drift", "sanpath.verdict.evidence.step:DRIFT"),
    ("test-not-steady", "kept", "sanpath.verdict.evidence.step:RETAINED"),
    ("test-answered-by-cache", "most", "sanpath.verdict.evidence.step:_MEMORY_REACHED_RATIO"),
    ("test-on-no-device", "few", "sanpath.verdict.evidence.step:_CARRIED_BY_NONE_RATIO"),
    ("test-answered-by-cache", "fastest", "sanpath.verdict.evidence.step:_MEMORY_SECONDS"),
    ("device-shared", "most", "sanpath.verdict.hypotheses.load:_SHARED_DEVICE_RATIO"),
    ("link-full", "full_share", "sanpath.facts.fabric.link_measures:FULL_RATIO"),
    ("link-full", "windows_share", "sanpath.facts.fabric.link_measures:_MIN_FULL_WINDOWS"),
    ("slow-drain-device", "full_share", "sanpath.facts.fabric.link_measures:FULL_RATIO"),
    ("slow-drain-device", "stalled", "sanpath.facts.fabric.neighbours:_STALLED_RATIO"),
    ("slow-drain-device", "stalled_idle", "sanpath.facts.fabric.neighbours:_STALLED_IDLE_RATIO"),
    ("slow-drain-device", "idle", "sanpath.facts.fabric.neighbours:_IDLE_UTILISATION"),
]


@pytest.mark.parametrize(("rule", "limit", "constant"), SHARED)
def test_rule_and_engine_share_a_limit(rule: str, limit: str, constant: str) -> None:
    assert RULES[rule].limit_values()[limit] == resolve_name(constant)
