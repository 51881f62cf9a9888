"""Five published load tests: sanpath comes to what is expected, reproduces the figures, and its report is fresh."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import unified_diff
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from examples import stories
from examples.claims import TOLERANCE_RATIO, Results, deviation
from sanpath.rulebook.rule_files import load_rulebook

CASES = [
    (name, recording)
    for name in stories.names()
    for recording in yaml.safe_load((stories.FOLDER / name / "expected.yaml").read_text(encoding="utf-8"))
]

diagnose_story = cache(stories.diagnose_story)


def expected(name: str) -> Any:
    return yaml.safe_load((stories.FOLDER / name / "expected.yaml").read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "recording"), CASES)
def test_the_verdict_is_the_expected_one(name: str, recording: str) -> None:
    wanted, verdict = expected(name)[recording], diagnose_story(name).diagnoses[recording]["verdict"]
    assert (verdict["kind"], verdict["grade"]) == (wanted["kind"], wanted["grade"]), verdict["headline"]
    named = {e: b["direction"] for b in verdict["bottlenecks"] for e in (b["entity"], *b["coincident"])}
    assert sorted(named) == sorted(wanted.get("limits", []))
    for words in wanted.get("headline", []):
        assert words in verdict["headline"]
    for words in wanted.get("decide_with", []):
        assert words in verdict["decide_with"]
    assert wanted.get("consequence") in (None, diagnose_story(name).diagnoses[recording]["summary"]["consequence"])
    if (following := wanted.get("next")) is not None:
        assert verdict["next"]["entity"] == following["entity"]
        assert verdict["next"]["predicted_ops_per_second"] == pytest.approx(following["ops_per_second"], rel=0.01)


@pytest.mark.parametrize(("name", "recording"), CASES)
def test_each_step_is_judged_as_expected(name: str, recording: str) -> None:
    steps = {step["name"]: step for step in diagnose_story(name).diagnoses[recording]["steps"]}
    for step, wanted in expected(name)[recording].get("steps", {}).items():
        verdict = steps[step]["verdict"]
        assert verdict["kind"] == wanted["kind"], (step, verdict["because"])
        assert sorted(b["direction"] for b in verdict["bottlenecks"]) == sorted(wanted.get("directions", []))
        for words in wanted.get("because", []):
            assert any(words in line for line in verdict["because"]), (step, verdict["because"])
        for words in wanted.get("valid", []):
            assert any(words in line for line in steps[step]["valid"]), (step, steps[step]["valid"])


@pytest.mark.parametrize(("name", "recording"), CASES)
def test_findings_and_what_was_not_seen_are_listed(name: str, recording: str) -> None:
    wanted, diagnosis = expected(name)[recording], diagnose_story(name).diagnoses[recording]
    hits = {finding["rule"]: finding for finding in diagnosis["findings"] if finding["outcome"] == "hit"}
    assert not set(wanted.get("findings", {})) - hits.keys()
    for rule, role in wanted.get("findings", {}).items():
        assert hits[rule]["role"] == role
    assert not set(wanted.get("no_findings", [])) & hits.keys()
    judged = {rule.id for rule in load_rulebook()}
    assert set(wanted.get("no_findings", [])) <= judged, "a rule that nothing judges finds nothing"
    for words in wanted["unobserved"]:
        assert any(words in f"{u['what']}: {u['why']}" for u in diagnosis["unobserved"]), words
    for words in wanted.get("observed", []):
        assert not any(words in u["what"] for u in diagnosis["unobserved"]), words


@pytest.mark.parametrize("name", stories.names())
def test_comparisons_say_what_is_expected(name: str) -> None:
    result: Mapping[str, Any] = diagnose_story(name).story
    for wanted, comparison in zip(result.get("compared", []), diagnose_story(name).comparisons, strict=True):
        text = " ".join([comparison["headline"], *comparison["remarks"]])
        for words in wanted:
            assert words in text


@pytest.mark.parametrize("name", stories.names())
def test_every_claim_is_in_the_state_that_its_page_gives(name: str) -> None:
    problems = {(claim.id, claim.claim): claim.problems for claim in diagnose_story(name).claims if claim.problems}
    assert not problems


@pytest.mark.parametrize("name", stories.names())
def test_no_figure_would_match_half_or_twice_what_was_published(name: str) -> None:
    result = diagnose_story(name)
    results = Results(result.diagnoses, result.comparisons)
    figures = [figure for claim in result.story["claims"] for figure in claim.get("figures", ())]
    for figure in figures:
        ends = figure["published"] if isinstance(figure["published"], list) else [figure["published"]]
        for factor in (0.5, 2.0):
            published = [end * factor or 1.0 for end in (ends[0], ends[-1])]
            assert deviation({**figure, "published": published}, results).ratio > TOLERANCE_RATIO, figure


def test_every_claim_of_the_five_tests_has_a_state() -> None:
    numbers = {"pure-fa310-sqlio": 12, "s2d-diskspd": 6, "pliant-iometer": 7, "vsan-jetstress": 6, "ramsan-sqlio": 6}
    for test, (name, count) in enumerate(numbers.items(), start=1):
        ids = {claim["id"] for claim in diagnose_story(name).story["claims"]}
        assert ids == {f"{test}.{number}" for number in range(1, count + 1)}


@pytest.mark.parametrize("name", stories.names())
def test_report_and_page_are_what_sanpath_says_now(name: str) -> None:
    for file, text in diagnose_story(name).documents.items():
        assert not (changed := difference(file, text)), f"{file} is stale: run `make stories`\n{changed}"


@pytest.mark.parametrize("name", stories.names())
def test_a_page_begins_with_the_answer_and_is_as_sure_as_the_verdict(name: str) -> None:
    page = (stories.FOLDER / name / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \*\*(.*?)\*\* \| (.*) \|$", page.partition("\n## ")[0], re.MULTILINE)
    assert [title for title, _ in rows] == ["What was tested", "What limited it", "Why", "How sure"]
    sure, verdicts = rows[-1][1], [d["verdict"] for d in diagnose_story(name).diagnoses.values()]
    graded = {f"onfidence {verdict['grade']}" for verdict in verdicts if verdict["kind"] != "cannot_tell"}
    assert set(re.findall("onfidence [A-C]", sure)) == graded
    assert ("ot proven" in sure) == any(verdict["kind"] == "cannot_tell" for verdict in verdicts)
    probabilities = [verdict["probability"] for verdict in verdicts if verdict["kind"] != "cannot_tell"]
    probabilities += [suspect["probability"] for verdict in verdicts for suspect in verdict["suspects"]]
    likely = {f"{100 * probability:.0f} %" for probability in probabilities}
    assert set(re.findall(r"\d+ %", sure)) <= likely


def test_the_page_of_all_stories_is_fresh() -> None:
    for file, text in stories.overview([diagnose_story(name) for name in stories.names()]).items():
        assert not (changed := difference(file, text)), f"{file} is stale: run `make stories`\n{changed}"


def difference(file: Path, text: str) -> str:
    stored = file.read_text(encoding="utf-8")
    return "\n".join(unified_diff(stored.splitlines(), text.splitlines(), "stored", "now", "", "", 0, ""))


@pytest.mark.parametrize("name", stories.names())
def test_the_line_of_a_story_says_what_is_published_and_what_sanpath_says(name: str) -> None:
    line = diagnose_story(name).line
    assert all(f"\n  {part}: " in line for part in ("published", "sanpath", "differs", "largest deviation"))
