"""Every rule: what is typed on one platform is offered where it was seen, and in words where none is known."""

from __future__ import annotations

import pytest

from sanpath.catalogue.catalogue import facts
from sanpath.rulebook import remedy
from sanpath.rulebook.model import Fix, Rule
from sanpath.rulebook.rule_files import load_rulebook

FACT_OF = {
    "cisco": "switch_make",
    "brocade": "switch_make",
    "esxi": "platform",
    "linux": "platform",
    "windows": "platform",
}
RULES = [rule for rule in load_rulebook() if rule.fix]


def make(fix: Fix) -> str:
    return fix.platform.replace(",", " ").split()[0].lower()


def typed_on_one_platform(rule: Rule) -> list[Fix]:
    """Guests are left out: the platform of a row is that of the host."""
    known = {*facts()[rule.each], *remedy.SWITCH_MAKE_FACTS}
    return [f for f in rule.fix if f.commands and FACT_OF.get(make(f)) in known and "guest" not in f.platform]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_no_command_of_a_platform_that_was_not_seen(rule: Rule) -> None:
    for fix in typed_on_one_platform(rule):
        fact = FACT_OF[make(fix)]
        assert remedy.applicable_remedies([fix], [], {fact: "another"}) == ()
        assert [one.commands for one in remedy.applicable_remedies([fix], [], {fact: make(fix)})] == [fix.commands]
        assert [one.commands for one in remedy.applicable_remedies([fix], [])] == [()]
