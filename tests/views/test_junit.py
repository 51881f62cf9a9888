"""JUnit XML: what a CI server counts, and that no name breaks the document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from xml.etree.ElementTree import Element

import pytest
from defusedxml.ElementTree import fromstring

from sanpath.diagnosis.model import Diagnosis
from sanpath.views import junit
from tests.support.stories import STORIES, diagnosed


def suite_of(diagnosis: Diagnosis) -> Element:
    suite = fromstring(junit.render(diagnosis).encode()).find("testsuite")
    assert suite is not None
    return suite


def case(suite: Element, name: str) -> Element:
    return next(c for c in suite.iter("testcase") if name in (c.get("name"), c.get("classname")))


def outcome(found: Element) -> str:
    return next((child.tag for child in found if child.tag != "system-out"), "passed")


def test_the_bottleneck_and_its_cause_fail() -> None:
    suite = suite_of(diagnosed("published"))
    verdict = case(suite, "verdict").find("failure")
    assert verdict is not None
    assert verdict.get("type") == "bottleneck"
    assert "4GFC link" in (verdict.get("message") or "")
    assert "more load adds only latency" in (verdict.text or "")
    cause = case(suite, "sanpath.rules.link-full").find("failure")
    assert cause is not None
    assert cause.get("type") == "cause critical"
    assert outcome(case(suite, "load command")) == "passed"


def test_what_could_not_be_judged_never_passes() -> None:
    suite = suite_of(diagnosed("published"))
    skipped = case(suite, "sanpath.rules.test-fits-in-cache").find("skipped")
    assert skipped is not None
    assert "working_set_bytes" in (skipped.get("message") or "")
    assert outcome(case(suite_of(diagnosed("switch_not_observed")), "verdict")) == "skipped"


def test_a_rate_that_was_met_passes_and_a_failed_load_is_an_error() -> None:
    calm = diagnosed("rate_limited")
    assert outcome(case(suite_of(calm), "verdict")) == "passed"
    failed = replace(calm, run=replace(calm.run, load_exit_code=3))
    error = case(suite_of(failed), "load command").find("error")
    assert error is not None
    assert error.get("message") == "exit code 3"


def test_information_is_told_and_fails_nothing() -> None:
    found = diagnosed("published")
    info = replace(found, findings=[replace(f, severity="info") for f in found.findings if f.outcome == "hit"])
    suite = suite_of(info)
    assert outcome(case(suite, "sanpath.rules.link-full")) == "passed"
    assert suite.get("failures") == "1", "the verdict alone"


@pytest.mark.parametrize("name", sorted(STORIES))
def test_the_counts_are_those_of_the_cases(name: str) -> None:
    suite = suite_of(diagnosed(name))
    cases = list(suite.iter("testcase"))
    outcomes = [outcome(c) for c in cases]
    assert suite.get("tests") == str(len(cases))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert suite.get(attribute) == str(outcomes.count(tag))


def hostile(diagnosis: Diagnosis) -> Iterator[Diagnosis]:
    for name in ("]]><b>&amp;\"'", "\x1b[2J\x00\x0b", "\u202e\u200b\ufffe\ud800"):
        findings = [replace(f, entity=name, summary=name, title=name, why=name) for f in diagnosis.findings]
        yield replace(diagnosis, findings=findings, verdict=replace(diagnosis.verdict, headline=name))


def test_no_name_breaks_the_document() -> None:
    for diagnosis in hostile(diagnosed("published")):
        suite = suite_of(diagnosis)
        assert len(list(suite.iter("testcase"))) > 3
        assert not list(suite.iter("b"))
        assert "\u202e" not in junit.render(diagnosis)
