"""The remediation plan: what limits first, free before reboot, what is needed before what needs it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from itertools import pairwise

import pytest

from sanpath.diagnose import diagnose
from sanpath.diagnosis.experiment import VerdictKind
from sanpath.diagnosis.model import R0, Bottleneck, Next, Verdict
from sanpath.diagnosis.remediation_plan import PlanStep
from sanpath.explanation.remediation_plan import remediation_plan
from sanpath.rulebook.model import DISRUPTIONS, Disruption, Finding, Fix, Role, Severity
from sanpath.rulebook.rule_files import load_rulebook
from sanpath.rulebook.site.settings import Site, Suppression
from sanpath.views import markdown, terminal_report, words
from tests.support.stories import STORIES, diagnosed, recorded

VERDICT = Verdict("bottleneck", "A", "s", "-", (), None, None, R0(None, None), Next("link:b", "", (1e3, 2e3), (1, 2)))


def fix(command: str, disruption: Disruption = "none", **more: object) -> Fix:
    return Fix(
        platform="any", commands=(command,), scope="-", disruption=disruption, verify="-", undo="-"
    ).model_copy(update=more)


def finding(
    rule: str, *fixes: Fix, role: Role = "cause", severity: Severity = "medium", gain: str | None = None
) -> Finding:
    return Finding(rule, rule, role, severity, "lun:a", "read", ("s",), "hit", {}, "-", "-", fixes, gain)


def commands(steps: Sequence[PlanStep]) -> list[str]:
    return [command for step in steps for command in step.commands]


def test_what_limits_comes_first_then_the_test_then_risks() -> None:
    found = [
        finding("c", fix("risk"), role="risk", severity="critical"),
        finding("b", fix("test"), role="validity"),
        finding("a", fix("limit", "outage")),
        finding("d", fix("nothing to do"), role="symptom"),
    ]
    steps = remediation_plan(found, VERDICT)
    assert commands(steps) == ["limit", "test", "risk"]
    assert [step.purpose for step in steps] == ["limit", "test", "risk"]
    assert [step.number for step in steps] == [1, 2, 3]


def test_a_step_of_two_findings_says_once_what_both_say() -> None:
    longer = fix("a", action="Enlarge", verify="It is gone; reads take longer.", undo="The size and the engine.")
    shorter = fix("b", action="Enlarge", verify="It is gone.", undo="The size.")
    (step,) = remediation_plan([finding("a", longer), finding("b", shorter)], VERDICT)
    assert (step.verify, step.undo) == (longer.verify, longer.undo)


def test_a_command_that_one_finding_fills_in_is_not_repeated_with_its_placeholder() -> None:
    """A full link does not know the LUN, and the LUN's own rule does."""
    unfilled, filled = (fix(f"set -d {name}", action="Spread", relieves="idle_path") for name in ("<naa>", "naa.61"))
    (step,) = remediation_plan([finding("a", unfilled), finding("b", filled)], VERDICT)
    assert (step.commands, len(step.resolves)) == (("set -d naa.61",), 2)


def test_a_free_remedy_comes_before_a_restart() -> None:
    steps = remediation_plan([finding("a", fix("reboot", "host"), fix("at once"), fix("buy", "outage"))], VERDICT)
    assert commands(steps) == ["at once", "reboot", "buy"]


def test_a_free_step_waits_for_the_restart_that_it_needs() -> None:
    """The device's queue cannot be deeper than the driver of the adapter lets it be."""
    device = fix("device depth", after=("queue/driver",))
    steps = remediation_plan([finding("queue", device, fix("driver depth", "host", name="driver"))], VERDICT)
    assert commands(steps) == ["driver depth", "device depth"]
    assert [step.after for step in steps] == [(), (1,)]


def test_a_step_waits_for_every_remedy_of_a_rule_that_it_names() -> None:
    policy = finding("policy", fix("round robin", after=("paths-down",)))
    steps = remediation_plan([policy, finding("paths-down", fix("cable", "path"), fix("enable"))], VERDICT)
    assert commands(steps) == ["enable", "cable", "round robin"]
    assert steps[2].after == (1, 2)


def test_what_is_not_in_the_plan_is_waited_for_by_nobody() -> None:
    (step,) = remediation_plan([finding("policy", fix("round robin", after=("paths-down",)))], VERDICT)
    assert step.after == ()


def test_steps_that_need_each_other_are_all_there() -> None:
    both = [finding("a", fix("a", after=("b",))), finding("b", fix("b", after=("a",)))]
    assert sorted(commands(remediation_plan(both, VERDICT))) == ["a", "b"]


def test_the_same_commands_are_one_step_that_resolves_both_findings() -> None:
    steps = remediation_plan([finding("a", fix("x")), finding("b", fix("x"), role="risk")], VERDICT)
    assert [resolved.rule for resolved in steps[0].resolves] == ["a", "b"]
    assert (len(steps), steps[0].purpose) == (1, "limit")


def test_to_look_at_something_is_no_step_where_there_is_something_to_do() -> None:
    look = fix("show", reads_only=True)
    assert commands(remediation_plan([finding("a", look, fix("do", "path"))], VERDICT)) == ["do"]
    assert commands(remediation_plan([finding("a", look)], VERDICT)) == ["show"]


def test_a_gain_is_that_of_the_what_if_and_not_of_a_path_that_was_idle() -> None:
    found = [finding("a", fix("faster", "path"), fix("spread", relieves="idle_path"), gain="more")]
    steps = remediation_plan(found, VERDICT)
    assert [(step.commands, step.gain_ops_per_second) for step in steps] == [
        (("spread",), None),
        (("faster",), (1e3, 2e3)),
    ]


def test_a_risk_that_would_relieve_what_limits_is_mended_with_it() -> None:
    found = [finding("b", fix("buy", "outage")), replace(finding("a", fix("spread"), role="risk"), relieves="link:a")]
    steps = remediation_plan(found, VERDICT)
    assert [(step.commands, step.purpose) for step in steps] == [(("spread",), "limit"), (("buy",), "limit")]


@pytest.mark.parametrize(
    ("kind", "purpose"),
    [
        ("bottleneck", "Removes a risk; it does not limit this run: a."),
        ("cannot_tell", "Removes a risk; whether it limits this run is not known: a."),
    ],
)
def test_whether_a_risk_limits_is_not_known_where_the_limit_is_not(kind: VerdictKind, purpose: str) -> None:
    verdict = replace(VERDICT, kind=kind)
    (step,) = remediation_plan([finding("a", fix("x"), role="risk")], verdict)
    assert words.plan_text(replace(diagnosed("published"), verdict=verdict), step) == purpose


def test_of_several_load_generators_that_of_the_recording_is_advised() -> None:
    fixes = [fix(name, platform=name) for name in ("fio", "DiskSpd", "SQLIO", "any, the same")]
    found = [finding("a", *fixes, role="validity")]
    assert commands(remediation_plan(found, VERDICT, {"sqlio", "snmp_switch"})) == ["SQLIO", "any, the same"]
    assert len(remediation_plan(found, VERDICT, {"snmp_switch"})) == 4, "nobody knows which"


def test_what_was_not_judged_calls_for_nothing() -> None:
    assert remediation_plan([replace(finding("a", fix("x")), outcome="unknown")], VERDICT) == ()


@pytest.mark.parametrize("name", STORIES)
def test_the_plan_of_a_story_is_in_order_and_in_every_report(name: str) -> None:
    found = diagnosed(name)
    order = ["limit", "test", "risk"]
    limiting = {e for b in found.verdict.bottlenecks for e in (b.entity, b.culprit, *b.coincident)}
    relieving = {f.rule for f in found.findings if f.relieves in limiting}

    def about_the_limit(step: PlanStep) -> bool:
        return any(r.entity in limiting or r.rule in relieving for r in step.resolves)

    for before, after in pairwise(found.plan):
        assert order.index(before.purpose) <= order.index(after.purpose) or after.number in before.after
        if before.purpose == after.purpose and not after.after and not before.after:
            assert about_the_limit(before) >= about_the_limit(after)
            if about_the_limit(before) == about_the_limit(after):
                assert DISRUPTIONS.index(before.disruption) <= DISRUPTIONS.index(after.disruption)
    for report in (terminal_report.render(found, 400), markdown.render(found)):
        assert (re.search(r"^(## )?Actions$", report, re.M) is not None) == bool(found.plan)
        for step in found.plan:
            assert step.action in report.replace("\\", "")
            commands = [*step.commands, *(command for variant in step.variants for command in variant.commands)]
            assert all(command in report for command in commands)


def test_the_published_test_names_the_switch_and_not_the_path_policy_first() -> None:
    first = diagnosed("published").plan[0]
    assert first.purpose == "limit"
    assert {resolved.rule for resolved in first.resolves} <= {"link-full", "speed-held-by-one-end"}


@pytest.mark.parametrize("name", ["published", "too_short"])
def test_to_suppress_findings_never_worsens_a_grade(name: str) -> None:
    """Everything that hits is suppressed: verdict and grades stay, what steps are not good for only becomes less."""
    whole = diagnosed(name)
    hit = sorted({f.rule for f in whole.findings if f.outcome == "hit"})
    site = Site(suppressions=tuple(Suppression(rule, "*", "accepted", date.max) for rule in hit))
    found = diagnose(recorded(name), load_rulebook(), site)
    assert found.verdict == whole.verdict
    assert [step.verdict for step in found.steps] == [step.verdict for step in whole.steps]
    assert all(set(a.valid) <= set(b.valid) for a, b in zip(found.steps, whole.steps, strict=True))
    assert not [f for f in found.findings if f.outcome == "hit"]
    assert [one.rule for one in found.judging.suppressed] == hit
    assert all(one.findings for one in found.judging.suppressed)
    for report in (terminal_report.render(found, 400), markdown.render(found)):
        assert report.count("suppressed until 9999-12-31") == len(hit)


def test_an_expired_suppression_counts_again_and_says_so() -> None:
    site = Site(suppressions=(Suppression("link-full", "*", "new switch on order", date(2000, 1, 1)),))
    found = diagnose(recorded("published"), load_rulebook(), site)
    assert "link-full" in {f.rule for f in found.findings if f.outcome == "hit"}
    reported = "the suppression of link-full ended on 2000-01-01, so its findings count again; its reason was: new"
    assert reported in terminal_report.render(found, 400)
    assert reported in markdown.render(found).replace("\\", "")


def test_one_remedy_on_several_ports_is_one_step() -> None:
    """What all begin with is typed once."""

    def port(name: str) -> Finding:
        typed = ("configure terminal", f"interface {name}", "switchport speed auto")
        mend = Fix(platform="any", commands=typed, scope="One port.", disruption="path", verify="-", undo=f"{name}.")
        return replace(finding("full", mend), entity=f"link:{name}")

    (step,) = remediation_plan([port("fc1/1"), port("fc1/7")], VERDICT)
    assert step.commands == (
        "configure terminal",
        "interface fc1/1", "switchport speed auto",
        "interface fc1/7", "switchport speed auto",
    )  # fmt: skip
    assert step.undo == "fc1/1. fc1/7."
    assert [resolved.entity for resolved in step.resolves] == ["link:fc1/1", "link:fc1/7"]


def test_what_two_rules_say_of_the_same_action_is_not_said_twice() -> None:
    """The second rule's first sentence is the begin of the first rule's: neither it nor what follows comes again."""
    down = "The port goes down. Change one fabric at a time."
    long, short = f"Note the speed, and check the optics. {down}", f"Note the speed. {down}"
    fixes = [fix(name, action="Speed", scope=scope) for name, scope in (("a", long), ("b", short))]
    (step,) = remediation_plan([finding("full", fixes[0]), finding("slow", fixes[1])], VERDICT)
    assert step.scope == long


def test_one_action_on_several_platforms_is_one_step_with_a_variant_each() -> None:
    """Nobody is handed a command line of another platform: each has its name, and the step none of its own."""
    fixes = [fix(name, platform=name, action="Spread") for name in ("ESXi", "Linux", "Windows")]
    (step,) = remediation_plan(
        [finding("a", *fixes), finding("b", fix("again", platform="Linux", action="Spread"))], VERDICT
    )
    assert (step.action, step.platform, step.commands) == ("Spread", "ESXi, Linux, Windows", ())
    assert [(v.platform, v.commands) for v in step.variants] == [
        ("ESXi", ("ESXi",)),
        ("Linux", ("Linux", "again")),
        ("Windows", ("Windows",)),
    ]
    assert [resolved.rule for resolved in step.resolves] == ["a", "b"]


def test_what_is_about_the_limit_comes_before_what_is_not() -> None:
    queue = Bottleneck("lun:a", "lun", "host", "read")
    elsewhere = replace(finding("b", fix("free")), entity="vdisk:b")
    steps = remediation_plan(
        [elsewhere, finding("a", fix("restart", "host"))], replace(VERDICT, bottlenecks=(queue,))
    )
    assert commands(steps) == ["restart", "free"]


def test_idle_paths_are_brought_into_use_once_whichever_rules_ask_for_it() -> None:
    one, other = fix("spread", relieves="idle_path"), fix("spread too", relieves="idle_path")
    assert len(remediation_plan([finding("a", one), finding("b", other, role="risk")], VERDICT)) == 1


def test_a_variant_for_any_platform_tells_what_to_do_before_the_commands_of_others() -> None:
    array = fix("ansible x", platform="FlashArray, with Ansible", action="Raise the limit", scope="The volume.")
    anywhere = fix("-", commands=(), action="Raise the limit", scope="Where the array has room.", verify="It rises.")
    (step,) = remediation_plan([finding("a", array, anywhere)], VERDICT)
    assert step.scope == "Where the array has room. The commands for FlashArray are under Actions."
    assert (step.commands, step.verify) == ((), "It rises.")
    assert [variant.platform for variant in step.variants] == ["any", "FlashArray, with Ansible"]
