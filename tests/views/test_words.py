"""The texts use the words of storage engineers, the same everywhere (tests/support/texts.py lists all texts)."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from sanpath.views.words import FROM_SLOWER_STEP, FROM_STEP, confidence_lines
from tests.scenarios.test_control_groups import OWN, READS, grouped, reads
from tests.support.texts import (
    Text,
    catalogue_texts,
    code_texts,
    first_screen_texts,
    fixed_words,
    help_texts,
    report_texts,
    rule_texts,
)

ELSEWHERE = {
    r"for want of": "not measured",
    r"flips? by": "would change the verdict",
    r"told from": "from step",
    r"held there by": "caused by",
    r"[Mm]end(s|ed|ing)?\b": "fix",
    r"worth believing": "valid",
    r"seen to bear": "has carried",
    r"too little in flight": "too few outstanding I/Os",
    r"nobody reads": "not measured",
    r"(not|was) seen is said": "not measured",
    r"at the end of its core": "saturates a core",
    r"\bin flight\b": "outstanding",
    r"[Nn]obody (counts|counted|tells|knows|read)": "not measured",
    r"(cannot|could not) be (told|seen)": "not known, or not measured",
    r"[Ll]inks? \S* ?(is|are) full": "saturated",
    r"no longer says so": "this finding is gone",
    r"buys? only": "adds only",
    r"for a person\b": "by hand",
    r"taken for not known": "not measured",
    r"\bunseen\b": "not measured, or not shown",
    r"[Aa]cquit": "cleared",
    r"[Dd]eepen": "raise the queue depth",
    r"\bis no (regular|file|number|size|time\b|option|result|list|object)": "is not a",
    r"remembers nothing": "cannot read the past",
    r"vouched": "trusted",
    r"(do|does) besides": "what else it does",
    r"about 0([.]0+)? [mµ]s": "hardly any",
    r"would explain it\b": "that explains the latency",
    r"\ba saturated one\b": "a saturated device or link",
    r"would point to (too few|a load that)": "would show that",
    r"what limits lies": "the place of the limit",
    r"what is below it\b|, or below\b|\d more, or": "anything behind it, other devices",
    r"no outage|outage or purchase": "no downtime, new hardware or downtime",
    r"\bHBA (\S* )?(eth|vmnic)\d": "network port",
    r"\bare of use\b|\bis of use\b": "can be used",
}
"""Phrase that needs a second reading → what stands for it."""


@functools.cache
def everything() -> tuple[Text, ...]:
    return (*fixed_words(), *rule_texts(), *help_texts(), *report_texts(), *catalogue_texts(), *code_texts())


@pytest.mark.parametrize("phrase", sorted(ELSEWHERE))
def test_no_text_needs_a_second_reading(phrase: str) -> None:
    found = [where for where, reported in everything() if re.search(phrase, reported)]
    assert found == [], f"say {ELSEWHERE[phrase]!r}"


def test_first_screens_speak_of_outstanding_ios_and_name_no_entity_by_its_kind() -> None:
    for where, reported in first_screen_texts():
        assert "in flight" not in reported, (where, reported)
        assert not re.search(r"\b(link|lun|hba|array|volume|load|switch_port):", reported), (where, reported)


def test_what_is_to_be_done_fits_in_a_line() -> None:
    actions: list[Text] = [(where, reported) for where, reported in rule_texts() if where.endswith(" action")]
    assert len(actions) > 100
    for where, reported in actions:
        assert len(reported) <= 60, (where, reported)
        assert not reported.endswith("."), (where, reported)


def test_a_verdict_from_a_slower_step_says_so(tmp_path: Path) -> None:
    """A limit of 200 IOPS is set after the first step, which had reached 2,000."""
    san = grouped(tmp_path, {OWN: {READS: 20_000}})
    san.raised = {OWN: {READS: 200}}
    lines = confidence_lines(reads(san, {4: 2000, 16: 200}))
    assert f"judged on step t16: {FROM_SLOWER_STEP}" in lines
    lines = confidence_lines(reads(grouped(tmp_path / "2", {OWN: {READS: 200}}), {4: 200, 16: 200}))
    assert f"judged on step t16: {FROM_STEP}" in lines
