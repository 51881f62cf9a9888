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
    known = {*facts()[rule.each], *remedy.CONTEXT_FACTS}
    return [f for f in rule.fix if f.commands and FACT_OF.get(make(f)) in known and "guest" not in f.platform]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_no_command_of_a_platform_that_was_not_seen(rule: Rule) -> None:
    for fix in typed_on_one_platform(rule):
        fact = FACT_OF[make(fix)]
        assert remedy.applicable_remedies([fix], [], {fact: "another"}) == ()
        assert [one.commands for one in remedy.applicable_remedies([fix], [], {fact: make(fix)})] == [fix.commands]
        assert [one.commands for one in remedy.applicable_remedies([fix], [])] == [()]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_no_command_of_dm_multipath_for_nvme(rule: Rule) -> None:
    """The NVMe driver has its own multipathing, which dm-multipath's tools and settings do not reach."""
    fixes = remedy.applicable_remedies(rule.fix, [], {"platform": "linux", "nvme": True})
    assert not [command for fix in fixes for command in fix.commands if command.startswith("multipath")]
    fixes = remedy.applicable_remedies(rule.fix, [], {"platform": "linux", "nvme": False})
    assert not [command for fix in fixes for command in fix.commands if "/nvme" in command or command[:5] == "nvme "]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_esxi_s_commands_are_those_of_the_plug_in_that_owns_the_device(rule: Rule) -> None:
    """NMP owns LUNs of SCSI, HPP namespaces of NVMe over Fabrics: esxcli refuses a device of the other one. What is
    done by NMP's commands is done by HPP's as well, except where only SCSI is meant."""
    actions = {}
    for plug_in, nvme in (("nmp", False), ("hpp", True)):
        fixes = remedy.applicable_remedies(rule.fix, [], {"platform": "esxi", "nvme": nvme})
        plug_ins = {fix.action: {line.split()[2] for line in fix.commands if " storage " in line} for fix in fixes}
        actions[plug_in] = {action for action, used in plug_ins.items() if plug_in in used}
        assert set().union(*plug_ins.values()).isdisjoint({"nmp", "hpp"} - {plug_in})
    of_scsi = {"Make round robin the default for new LUNs", "Send I/O over the optimised paths only"}
    assert actions["nmp"] - of_scsi == actions["hpp"]
