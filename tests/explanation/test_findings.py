"""A finding limits a run only if it is about what the verdict names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sanpath.explanation.findings import NamedEntities, in_this_run
from sanpath.rulebook.model import Finding
from sanpath.rulebook.rule_files import find_rule, load_rulebook
from sanpath.topology.resolve import resolve
from tests.support.stories import diagnosed, recorded

LUN = "lun:esx7/naa.624a93705f1c0b7e6a1d4c5500011001"
CONNECTION = "tcp_connection:192.0.2.5--192.0.2.9:4420"


@pytest.mark.parametrize(
    ("rule", "entity", "bottleneck", "about", "limits"),
    [
        ("lun-queue-limits", LUN, "lun", LUN, True),
        ("unread-queue-limits", LUN, "lun", LUN, True),
        ("scheduler-on-flash", LUN, "lun", LUN, False),
        ("lun-queue-limits", LUN, "path_policy", LUN, False),
        ("policy-uses-one-path", LUN, "path_policy", LUN, True),
        ("policy-uses-one-path", LUN, "lun", LUN, False),
        ("single-path", LUN, "lun", LUN, False),
        ("single-path", LUN, "io_stack", LUN, False),
        ("one-initiator-port", LUN, "path_policy", LUN, False),
        ("tcp-segments-lost", CONNECTION, "retries", "link:esx7/vmhba2--sw1/fc1/7", True),
        ("tcp-segments-lost", CONNECTION, "link", "link:esx7/vmhba2--sw1/fc1/7", False),
        ("tcp-distance", CONNECTION, "retries", "link:esx7/vmhba2--sw1/fc1/7", False),
    ],
)
def test_a_finding_is_about_what_limits_only_if_it_explains_that_kind_of_limit(
    rule: str, entity: str, bottleneck: str, about: str, limits: bool
) -> None:
    """A full queue is not the work of the scheduler of the same device, nor of its only path. Lost segments make no
    link full."""
    found = diagnosed("published")
    (first,) = found.verdict.bottlenecks
    verdict = replace(found.verdict, bottlenecks=(replace(first, kind=bottleneck, entity=about),))
    named = NamedEntities(resolve(recorded("published").inventory()), verdict)
    judged_by = find_rule(load_rulebook(), rule)
    finding = replace(found.findings[0], rule=rule, entity=entity, direction=first.direction)
    assert named.has(finding, judged_by.each, judged_by.cause_of) == limits


@pytest.mark.parametrize("place", ["entity", "coincident"])
def test_no_element_that_limits_together_with_another_is_said_not_to_limit(place: str) -> None:
    """A finding about an earlier step, in which the element was only busy."""
    verdict = diagnosed("published").verdict
    (bottleneck,) = verdict.bottlenecks
    entity = bottleneck.entity if place == "entity" else bottleneck.coincident[0]
    busy = Finding("link-busy", "-", "risk", "medium", entity, "read", ("t8",), "hit", {}, "-", "-", (), None)
    assert in_this_run(busy, False, verdict, None, "") == "this run is limited by its read direction in step t800"
