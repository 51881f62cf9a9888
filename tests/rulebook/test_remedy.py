"""Remedies: filled with the names of the entity at hand, never with what a shell could obey."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.errors import UsageError
from sanpath.facts.table import FactValue
from sanpath.rulebook import remedy
from sanpath.rulebook.model import Fix
from sanpath.rulebook.rule_files import find_rule, load_rule, load_rulebook

LINK_FULL = Path(__file__).parents[2] / "rules/sanpath_rules/fabric/link-full.yaml"
SPEED = Fix(
    platform="a switch",
    commands=("interface <switch_port>", "switchport speed auto"),
    scope="One port, <switch_port>.",
    disruption="path",
    verify="show interface <switch_port>",
    undo="Set the speed of <switch_port> back, on LUN <naa>.",
    only_if={"technology": "fibre_channel"},
)


def filled(**facts: str | float | bool | None) -> Fix:
    (fix,) = remedy.applicable_remedies([SPEED], [facts])
    return fix


def test_commands_check_and_way_back_name_the_port() -> None:
    fix = filled(switch_port="fc1/7", naa="naa.6001")
    assert fix.commands == ("interface fc1/7", "switchport speed auto")
    assert fix.verify == "show interface fc1/7"
    assert fix.undo == "Set the speed of fc1/7 back, on LUN naa.6001."


def test_what_is_not_known_stays_for_a_person_to_fill_in() -> None:
    fix = filled(switch_port=None)
    assert fix.commands[0] == "interface <switch_port>"
    assert "<naa>" in fix.undo


def test_what_is_said_of_a_command_holds_numbers_in_their_units_and_those_of_the_last_row() -> None:
    """Commands hold none: in which unit they take a number is their own affair."""
    fix = SPEED.model_copy(update={"commands": ("limit <rate>",), "scope": "Below <rate>, port <rate_limited>."})
    rows: list[dict[str, FactValue]] = [{"rate": 5e6, "rate_limited": True}, {"rate": 83.7e6}]
    (got,) = remedy.applicable_remedies([fix], rows, units={"rate": "bytes per second"})
    assert (got.scope, got.commands) == ("Below 83.7 MB/s, port <rate_limited>.", ("limit <rate>",))


@pytest.mark.parametrize(
    ("used", "commands"), [("bytes", ["bw_qos"]), ("ops", ["iops_qos"]), (None, ["bw_qos", "iops_qos"])]
)
def test_only_the_limit_that_is_reached_is_cleared(used: str | None, commands: list[str]) -> None:
    rule = find_rule(load_rulebook(), "configured-cap")
    fact = None if used is None else f"qos_{used}_per_second"
    row: dict[str, FactValue] = {"volume_name": "vg1/vol1", "limit_used_most": fact}
    got = [command for fix in remedy.applicable_remedies(rule.fix, [row]) for command in fix.commands]
    assert [command.rpartition(" ")[2] for command in got] == [f"{name}=0'" for name in commands]
    assert all("name=vg1/vol1 " in command for command in got)


def test_a_fact_of_any_step_fills_it() -> None:
    (fix,) = remedy.applicable_remedies([SPEED], [{"switch_port": "fc1/7"}, {"switch_port": None}])
    assert fix.commands[0] == "interface fc1/7"


@pytest.mark.parametrize("name", ["fc1/7", "Ethernet1/1", "eth0.100", "10", "port-channel12", "naa.624a:1_b"])
def test_names_of_ports_are_filled_in(name: str) -> None:
    assert filled(switch_port=name).commands[0] == f"interface {name}"


@pytest.mark.parametrize(
    "name",
    [
        *(
            "fc1/7; reboot",
            "fc1/7\nreboot",
            "$(reboot)",
            "`reboot`",
            "fc1/7 && reboot",
            "a|b",
            "a>b",
            "-rf",
            "--help",
        ),
        *("", " ", "~root", "*", "'", '"', "a\\b", "fc1/7 ", "\x1b[2J", "port\u00e9", "fc1/7\u202e", "<naa>"),
    ],
)
def test_what_a_shell_could_obey_is_left_out(name: str) -> None:
    assert filled(switch_port=name) == SPEED


@pytest.mark.parametrize("shell", ["posix", "powershell"])
def test_a_name_with_blanks_is_quoted_where_the_shell_is_known(shell: str) -> None:
    fix = SPEED.model_copy(update={"commands": ("Get-VM <naa>",), "shell": shell})
    (got,) = remedy.applicable_remedies([fix], [{"naa": "SQL VM 01 (test)"}])
    assert got.commands == ("Get-VM 'SQL VM 01 (test)'",)


@pytest.mark.parametrize(
    "name", ["a'; reboot; '", "a\u2019; reboot", "a`b c", "a$b c", "a\nb c", "*", "vm[1] a", "-x y", " a"]
)
@pytest.mark.parametrize("shell", ["posix", "powershell"])
def test_what_could_end_the_quotes_is_left_out(name: str, shell: str) -> None:
    fix = SPEED.model_copy(update={"commands": ("Get-VM <naa>",), "shell": shell})
    (got,) = remedy.applicable_remedies([fix], [{"naa": name}])
    assert got.commands == ("Get-VM <naa>",)


def test_a_number_is_no_name() -> None:
    assert filled(switch_port=7.0).commands[0] == "interface <switch_port>"


def test_a_remedy_for_another_technology_is_left_out() -> None:
    assert remedy.applicable_remedies([SPEED], [{"technology": "ethernet"}]) == ()
    assert len(remedy.applicable_remedies([SPEED], [{"technology": "fibre_channel"}])) == 1
    assert len(remedy.applicable_remedies([SPEED], [{"technology": None}])) == 1, "what is not known fits"
    assert len(remedy.applicable_remedies([SPEED], [])) == 1


def test_a_placeholder_that_no_fact_fills_is_refused() -> None:
    remedy.check(["interface <switch_port>", "fio --iodepth=MORE 2<&1"], ["switch_port"])
    with pytest.raises(ValueError, match="no fact is called 'swich_port'; did you mean 'switch_port'"):
        remedy.check(["interface <swich_port>"], ["switch_port", "naa"])


@pytest.mark.parametrize("old", ["- interface <switch_port>", "--iops=1 --device <naa>", "nmp device set -d <naa>"])
def test_a_rule_file_with_an_unknown_placeholder_is_refused_with_its_line(old: str) -> None:
    text = LINK_FULL.read_text(encoding="utf-8")
    assert old in text
    wrong = text.replace(old, old.replace("<switch_port>", "<swich_port>").replace("<naa>", "<na>"))
    with pytest.raises(UsageError, match=r"link-full\.yaml:\d+: no fact is called 'swich_port|'na'"):
        load_rule(wrong.encode(), "link-full.yaml")


def test_every_built_in_remedy_can_be_filled() -> None:
    """Round Robin needs the LUN, a change of speed the port of the switch."""
    rule = find_rule(load_rulebook(), "link-full")
    facts: dict[str, FactValue] = {
        "switch_port": "fc1/7",
        "naa": "naa.6001",
        "technology": "fibre_channel",
        "other_path_idle": True,
        "platform": "esxi",
    }
    seen = {"switch_make": "cisco"}
    found = [command for fix in remedy.applicable_remedies(rule.fix, [facts], seen) for command in fix.commands]
    assert "interface fc1/7" in found
    assert "esxcli storage nmp device set -d naa.6001 --psp VMW_PSP_RR" in found
    assert not any("<" in command for command in found)
    without = remedy.applicable_remedies(rule.fix, [facts | {"other_path_idle": False}])
    assert not any("VMW_PSP_RR" in command for fix in without for command in fix.commands)


@pytest.mark.parametrize(("faster", "offered"), [(True, True), (None, True), (False, False)])
def test_a_faster_speed_is_not_asked_of_a_port_that_is_at_its_highest(faster: bool | None, offered: bool) -> None:
    rule = find_rule(load_rulebook(), "link-full")
    facts: dict[str, FactValue] = {"technology": "fibre_channel", "both_ends_can_go_faster": faster}
    actions = [fix.action for fix in remedy.applicable_remedies(rule.fix, [facts], {"switch_make": "cisco"})]
    assert ("Let the ports negotiate their full speed" in actions) == offered
    assert "Replace the end of the link that cannot go faster" in actions


def made_for(make: str | None) -> tuple[Fix, ...]:
    rule = find_rule(load_rulebook(), "link-full")
    return remedy.applicable_remedies(
        rule.fix,
        [{"switch_port": "fc1/7", "technology": "fibre_channel"}],
        {} if make is None else {"switch_make": make},
    )


@pytest.mark.parametrize(("make", "typed"), [("cisco", "switchport speed auto"), ("brocade", "portcfgspeed PORT 0")])
def test_a_switch_gets_the_commands_of_its_make(make: str, typed: str) -> None:
    commands = [command for fix in made_for(make) for command in fix.commands]
    assert typed in commands
    assert len({"switchport speed auto", "portcfgspeed PORT 0"} & set(commands)) == 1


def test_of_an_unknown_make_it_is_one_remedy_in_words_for_all_of_them() -> None:
    fixes = made_for(None)
    (speed,) = [fix for fix in fixes if "any switch" in fix.platform]
    assert "switchport speed auto" in speed.scope
    assert "portcfgspeed PORT 0" in speed.scope
    assert not [command for fix in fixes for command in fix.commands if command.startswith(("switchport", "portcfg"))]


def test_a_host_whose_system_is_not_known_gets_one_remedy_for_all_of_them() -> None:
    rule = find_rule(load_rulebook(), "link-full")
    fixes = remedy.applicable_remedies(rule.fix, [{"other_path_idle": True}], {"switch_make": "cisco"})
    (paths,) = [fix for fix in fixes if fix.relieves == "idle_path"]
    assert paths.commands == ()
    assert paths.platform == "any host, over the other paths of the host"
    assert all(typed in paths.scope for typed in ("On ESXi:", "On Linux:", "On Windows:", "multipath -ll"))


def test_the_make_changes_nothing_but_how_it_is_done() -> None:
    others = [
        [fix for fix in made_for(make) if "switch_make" not in fix.only_if] for make in ("cisco", "brocade", None)
    ]
    assert others[0] == others[1] == others[2]


@pytest.mark.parametrize("driver", ["qlnativefc", "lpfc", "nfnic", None])
@pytest.mark.parametrize("platform", ["esxi", "linux", "windows"])
def test_the_queue_of_a_namespace_is_no_scsi_queue(platform: str, driver: str | None) -> None:
    """Parameters of drivers and devices for the depth of a LUN's queue do nothing for NVMe."""
    row: dict[str, FactValue] = {"platform": platform, "driver": driver, "command_window_limits": False}
    row |= {"depth_lowered": False, "deeper_queue_depth": "128"}

    def commands(nvme: bool) -> list[str]:
        fixes = remedy.applicable_remedies(
            find_rule(load_rulebook(), "lun-queue-limits").fix, [{**row, "nvme": nvme}]
        )
        return [command for fix in fixes for command in fix.commands]

    assert commands(nvme=False)
    assert not commands(nvme=True)
