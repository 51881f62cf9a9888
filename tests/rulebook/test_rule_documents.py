"""House rules for the rules that ship: their papers are complete, and what they refer to is there."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from sanpath.rulebook.model import OUTCOMES, ROLES, Rule
from sanpath.rulebook.rule_files import find_rule, load_rulebook, read_rules
from sanpath.rulebook.rule_tests import failed_tests
from sanpath.rulebook.site.options import Choice
from sanpath.rulebook.site.settings import rules_of

ROOT = Path(__file__).parents[2]
RULES = load_rulebook()
STABLE = [rule for rule in RULES if rule.status == "stable"]
UNSURE = re.compile(r"not confirmed|general knowledge", re.IGNORECASE)


def test_there_are_at_least_sixty_rules_and_forty_of_them_stable() -> None:
    assert len(RULES) >= 60
    assert len(STABLE) >= 40


def test_every_role_and_every_layer_has_rules() -> None:
    roles = Counter(rule.role for rule in STABLE)
    assert all(roles[role] >= 2 for role in ROLES), roles
    layers = Counter(path.parent.name for path in (ROOT / "rules/sanpath_rules").glob("*/*.yaml"))
    assert set(layers) == {"array", "cluster", "data", "fabric", "guest", "host", "load", "path"}
    assert min(layers.values()) >= 3, layers


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_papers_of_a_rule_are_complete(rule: Rule) -> None:
    """Why, when a hit is normal, a remedy with scope, check and way back, references, and all three outcomes."""
    for text in (rule.title, rule.summary, rule.why, rule.not_if, *rule.references):
        assert len(text) >= 10, text
    for fix in rule.fix:
        for text in (fix.platform, fix.scope, fix.verify, fix.undo):
            assert len(text) >= 3, (rule.id, fix.platform)
        assert not re.match("The (previous|values?|number)", fix.undo), "say what to do: Restore the previous ..."
    assert {test.expect for test in rule.tests} == set(OUTCOMES)
    assert (ROOT / f"docs/rules/{rule.id}.md").exists()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_threshold_without_a_source_makes_a_sandbox_rule(rule: Rule) -> None:
    unsure = [name for name, limit in rule.limits.items() if UNSURE.search(limit.source)]
    assert not unsure or rule.status == "sandbox", unsure


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_remedy_that_only_shows_something_interrupts_nothing(rule: Rule) -> None:
    for fix in rule.fix:
        if fix.reads_only:
            assert fix.disruption == "none", fix.platform
            assert fix.undo.startswith("Nothing to undo"), fix.platform
            assert not fix.after, fix.platform


def test_what_a_remedy_waits_for_is_there_and_waits_for_nothing_in_turn_for_ever() -> None:
    names = {rule.id for rule in RULES} | {f"{rule.id}/{fix.name}" for rule in RULES for fix in rule.fix if fix.name}
    waits = {f"{rule.id}/{fix.name}": set(fix.after) for rule in RULES for fix in rule.fix if fix.name}
    for rule in RULES:
        waits[rule.id] = {name for fix in rule.fix for name in fix.after if not name.startswith(f"{rule.id}/")}
        assert {name for fix in rule.fix for name in fix.after} <= names, rule.id
    done: set[str] = set()
    while left := [name for name in waits if name not in done]:
        ready = [name for name in left if waits[name] <= done]
        assert ready, f"these wait for each other: {left}"
        done |= set(ready)


def test_the_example_of_the_readme_works_as_it_stands(tmp_path: Path) -> None:
    """Written from the paper alone: the rule file, and the `rules` of a configuration."""
    rule, settings = re.findall(r"```yaml\n(.*?)```", (ROOT / "rules/README.md").read_text("utf-8"), re.DOTALL)
    (tmp_path / "busy-host-link.yaml").write_text(rule, encoding="utf-8")
    (tmp_path / "sanpath.yaml").write_text(settings, encoding="utf-8")
    assert failed_tests(read_rules(tmp_path / "busy-host-link.yaml")) == []
    rules, site = rules_of(Choice(tmp_path / "busy-host-link.yaml", tmp_path / "sanpath.yaml"))
    assert site.refused == ()
    assert find_rule(rules, "busy-host-link").status == "stable"
    assert find_rule(rules, "link-errors").limit_values()["crc"] == 5
    assert [one.rule for one in site.suppressions] == ["optics-margin"]
