"""What was not measured: the part of the setup whose source is missing, and what it would have told."""

from __future__ import annotations

from pathlib import Path

from sanpath.catalogue.catalogue import facts, kinds, parts
from sanpath.diagnose import diagnose
from sanpath.diagnosis.model import Diagnosis, Unobserved
from sanpath.rulebook.fact_kinds import LAYERS
from sanpath.rulebook.rule_files import load_rulebook
from sanpath.views import terminal_report
from tests.support.san import AtArray, Flow, San


def test_one_line_says_which_source_is_missing_and_no_list_of_rules(tmp_path: Path) -> None:
    found = _diagnosis(tmp_path)
    host = _of(found, "the host")
    assert host.why == "no source of this recording reads it"
    assert "paths and path policies" in host.consequence
    assert "single-path" in host.rules
    report = terminal_report.render(found, width=1000)
    unmeasured = report.partition("\nNot measured\n")[2].partition("\n\n")[0]
    assert f"the host: {host.why}; {host.consequence} ({len(host.rules)} rules not judged)" in unmeasured
    assert not [rule.id for rule in load_rulebook() if "-" in rule.id and rule.id in unmeasured]


def test_a_source_that_is_read_is_named_with_what_it_does_not_report(tmp_path: Path) -> None:
    found = _diagnosis(tmp_path)
    fabric = _of(found, "parts of the fabric")
    assert fabric.why == "sw1 did not report all of it"
    assert "link-errors" in fabric.rules


def test_what_this_setup_does_not_have_is_no_gap(tmp_path: Path) -> None:
    rules = {rule for gap in _diagnosis(tmp_path).unobserved for rule in gap.rules}
    assert rules.isdisjoint({"cloud-volume-limit", "cloud-instance-limit-used", "cluster-resync", "io-thread-busy"})


def test_a_direction_without_ios_is_no_gap(tmp_path: Path) -> None:
    """The test writes nothing, another host does: what is unknown of its writes would tell nothing of the test."""
    found = _diagnosis(tmp_path, write=AtArray(0.01, ops=100, size=100 * 65536))
    rules = {rule for gap in found.unobserved for rule in gap.rules}
    unknown = [finding for finding in found.findings if finding.outcome == "unknown"]
    of_writes = {f.rule for f in unknown if f.direction == "write"} - {
        f.rule for f in unknown if f.direction != "write"
    }
    assert of_writes
    assert rules.isdisjoint(of_writes)


def test_every_part_names_what_exists() -> None:
    declared = parts()
    known_facts = {fact for table in facts().values() for fact in table}
    used = [*declared.facts_of, *declared.names, *(fact for each in declared.only_where for fact in each.facts)]
    assert [fact for fact in used if fact not in known_facts] == []
    assert {table for part in declared.parts.values() for table in part.tables} <= set(LAYERS)
    named = [kind for part in declared.parts.values() for kind in (*part.read_by, *part.exists)]
    assert {*named, *(each.kind for each in declared.only_where)} <= set(kinds())


def _diagnosis(tmp_path: Path, **array: AtArray) -> Diagnosis:
    san = San(tmp_path / "r.sanpath")
    for step, in_flight in (("t1", 16), ("t2", 32)):
        flow = Flow(500, in_flight / 500)
        san.step(step, in_flight, read=flow, array={"read": AtArray(0.01), **array})
    return diagnose(san.write())


def _of(found: Diagnosis, what: str) -> Unobserved:
    (gap,) = (each for each in found.unobserved if each.what == what)
    return gap
