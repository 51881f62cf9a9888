"""The diagnosis as JUnit XML for continuous integration: the load, the verdict, and each finding as a test case."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from sanpath.diagnosis.model import Diagnosis
from sanpath.masking import printable
from sanpath.rulebook.model import Finding
from sanpath.views import words

_PASSES = ("healthy", "demand_limited")
"""Verdicts on a run that reached the requested load."""


def render(diagnosis: Diagnosis) -> str:
    """One test suite. A finding that holds is a failure, unless its severity is "info". Findings that were not judged
    and the verdict "cannot tell" are skipped: they never pass. A load command that failed is an error."""
    suite = Element("testsuite", name="sanpath", timestamp=diagnosis.run.start)
    _load(suite, diagnosis)
    _verdict(suite, diagnosis)
    for findings in (words.hits(diagnosis), words.not_judged(diagnosis)):
        for finding, other_findings in words.group_findings(findings):
            _finding(suite, finding, other_findings)
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(sum(case.find(tag) is not None for case in cases)))
    suites = Element("testsuites")
    suites.append(suite)
    indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suites, encoding="unicode")}\n'


def _case(suite: Element, part: str, name: str) -> Element:
    return SubElement(suite, "testcase", classname=f"sanpath.{part}", name=printable(name))


def _outcome(case: Element, tag: str, message: str, text: str = "", kind: str = "") -> None:
    about = {"message": printable(message)} | ({"type": kind} if kind else {})
    SubElement(case, tag, about).text = "\n".join(printable(line) for line in text.splitlines()) or None


def _load(suite: Element, diagnosis: Diagnosis) -> None:
    case = _case(suite, "run", "load command")
    if diagnosis.run.load_exit_code:
        _outcome(case, "error", f"exit code {diagnosis.run.load_exit_code}", kind="load")


def _verdict(suite: Element, diagnosis: Diagnosis) -> None:
    verdict = diagnosis.verdict
    case = _case(suite, "run", "verdict")
    because = "\n".join(line for b in verdict.bottlenecks for line in b.because)
    if verdict.kind == "cannot_tell":
        _outcome(case, "skipped", f"{verdict.headline} {verdict.decide_with or ''}".strip())
    elif verdict.kind in _PASSES:
        SubElement(case, "system-out").text = printable(verdict.headline)
    else:
        _outcome(case, "failure", f"confidence {verdict.grade}: {verdict.headline}", because, verdict.kind)


def _finding(suite: Element, finding: Finding, other_findings: Sequence[Finding]) -> None:
    element = f"{words.short(finding.entity)}{f', {finding.direction}' if finding.direction else ''}"
    case = _case(suite, f"rules.{finding.rule}", f"{finding.title}: {element}")
    if finding.outcome == "unknown":
        missing = ", ".join(name for name, value in finding.evidence.items() if value is None)
        _outcome(case, "skipped", f"not judged, its inputs were not measured: {missing}" if missing else "not judged")
    elif finding.severity == "info":
        SubElement(case, "system-out").text = printable(words.finding_text(finding, other_findings))
    else:
        kind = f"{finding.role} {finding.severity}"
        _outcome(case, "failure", words.finding_text(finding, other_findings), finding.why, kind)
