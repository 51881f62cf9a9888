"""Judging fact tables, grouping into findings, policies, and names that try to break the output."""

from __future__ import annotations

import itertools
import re

import pytest

from sanpath.errors import UsageError
from sanpath.facts.table import FactTable, FactValue
from sanpath.rulebook.findings import group
from sanpath.rulebook.judge import judge, not_judged
from sanpath.rulebook.model import RUN_BY_DEFAULT, STATUSES, Rule
from sanpath.rulebook.rule_files import find_rule, load_rulebook
from sanpath.rulebook.summary_template import UNKNOWN_TEXT, fill, format_in_unit

RULES = load_rulebook()
LINK_FULL = find_rule(RULES, "link-full")
GAP = find_rule(RULES, "host-array-gap")

FULL = {
    "on_loaded_path": True,
    "utilisation": 0.977,
    "full_ratio": 0.984,
    "full_windows_ratio": 1.0,
    "negotiated_bits_per_second": 4e9,
}
NASTY = "link:[/red]{utilisation}'; DROP TABLE x; --\"\x1b[31m\n%s"


def row(
    entity: str = "link:sw1/fc1/7", step: str = "1", direction: str = "read", **facts: FactValue
) -> dict[str, FactValue]:
    return {"entity": entity, "step": step, "direction": direction, **FULL, **facts}


def links(*rows: dict[str, FactValue]) -> dict[str, FactTable]:
    return {"link": FactTable(rows)}


def test_hit_names_direction_utilisation_and_speed() -> None:
    (judgement,) = judge([LINK_FULL], links(row()))
    assert judgement.outcome == "hit"
    assert judgement.summary == (
        "link:sw1/fc1/7 is saturated in the read direction: 97.7 % of the data rate at 4 Gb/s, "
        "where a saturated link shows 98.4 %"
    )


def test_evidence_is_what_the_condition_used() -> None:
    (judgement,) = judge([LINK_FULL], links(row()))
    assert judgement.evidence == {
        "on_loaded_path": True,
        "utilisation": 0.977,
        "full_ratio": 0.984,
        "full_windows_ratio": 1.0,
        "full_share": 0.95,
        "windows_share": 0.9,
    }


def test_unknown_says_what_is_missing() -> None:
    (judgement,) = judge([LINK_FULL], links(row(utilisation=None)))
    assert (judgement.outcome, judgement.missing) == ("unknown", ("utilisation",))
    assert judgement.summary == "not judged: utilisation not known"
    assert judgement.evidence["utilisation"] is None


def test_fact_that_only_the_summary_uses_may_be_missing() -> None:
    (judgement,) = judge([LINK_FULL], links(row(negotiated_bits_per_second=None)))
    assert judgement.outcome == "hit"
    assert "at not known" in judgement.summary


@pytest.mark.parametrize("rule_id", ["array-port-pauses", "array-service-grows"])
def test_a_sentence_leaves_out_in_brackets_what_is_not_known(rule_id: str) -> None:
    """Of all sets of its optional facts: what is known is told, and nothing else."""
    rule = next(rule for rule in load_rulebook() if rule.id == rule_id)
    clauses = re.findall(r"\[([^\]]*)\]", rule.summary)
    names = [re.findall(r"{(\w+)", clause) for clause in clauses]
    assert clauses
    for known in itertools.product([True, False], repeat=len(clauses)):
        values = {
            name: 7.0 if is_known else None
            for of_clause, is_known in zip(names, known, strict=True)
            for name in of_clause
        }
        always = dict.fromkeys(re.findall(r"{(\w+)", re.sub(r"\[[^\]]*\]", "", rule.summary)), 7.0)
        sentence = fill(rule.summary, values | always, {})
        assert UNKNOWN_TEXT not in sentence
        assert not set("[]{}") & set(sentence)
        words = [re.sub(r"{\w+}", "7", clause) for clause in clauses]
        assert [each in sentence for each in words] == list(known)


def test_each_rule_judges_every_row_of_its_own_table() -> None:
    pair: dict[str, FactValue] = {
        "entity": "path_pair:a",
        "step": "1",
        "direction": "read",
        "load_seconds": 0.126,
        "array_seconds": 0.005,
        "gap_seconds": 0.121,
        "foreign_ratio": 0.0,
    }
    tables = {
        **links(row(), row(direction="write", utilisation=0.01)),
        "path_pair": FactTable((pair,)),
    }
    judgements = judge([GAP, LINK_FULL], tables)
    assert [(j.rule, j.direction, j.outcome) for j in judgements] == [
        ("host-array-gap", "read", "hit"),
        ("link-full", "read", "hit"),
        ("link-full", "write", "clear"),
    ]
    assert judgements[0].summary == (
        "path_pair:a: of 126 ms at the load, 121 ms pass outside the array (read); the array itself takes 5 ms"
    )


def test_rule_without_a_table_is_reported_as_not_judged() -> None:
    unjudged = not_judged(RULES, links(row()))
    assert GAP in unjudged
    stable = [rule for rule in RULES if rule.status in RUN_BY_DEFAULT]
    assert {rule.id for rule in unjudged} == {rule.id for rule in stable if rule.each != "link"}


def test_a_limit_is_told_in_the_unit_of_the_fact_it_is_compared_with() -> None:
    rule = LINK_FULL.model_copy(update={"when": "utilisation > full_share", "summary": "more than {full_share}"})
    (judgement,) = judge([rule], links(row()))
    assert judgement.summary == "more than 95.0 %"


def test_what_is_clear_can_be_left_out() -> None:
    table = links(row(), row(step="2", utilisation=0.1), row(step="3", utilisation=None))
    result = judge([LINK_FULL], table, include_clear=False)
    assert [(j.step, j.outcome) for j in result] == [("1", "hit"), ("3", "unknown")]


def test_outcomes_stay_with_their_rows_in_large_tables() -> None:
    table = links(*(row(entity=f"link:{n}", utilisation=n / 10_000) for n in range(10_000)))
    hits = {j.entity for j in judge([LINK_FULL], table) if j.outcome == "hit"}
    assert hits == {f"link:{n}" for n in range(10_000) if n / 10_000 >= 0.95 * 0.984}


def test_only_stable_rules_are_judged_unless_asked() -> None:
    sandbox: Rule = LINK_FULL.model_copy(update={"status": "sandbox"})
    assert judge([sandbox], links(row())) == []
    assert len(judge([sandbox], links(row()), statuses=STATUSES)) == 1


def test_fact_of_the_wrong_kind_is_not_taken_for_missing() -> None:
    with pytest.raises(TypeError, match="'utilisation' of 'link:sw1/fc1/7' is '97 %', not a number"):
        judge([LINK_FULL], links(row(utilisation="97 %")))


def test_policy_changes_a_limit() -> None:
    table = links(row(utilisation=0.85))
    assert [j.outcome for j in judge([LINK_FULL], table)] == ["clear"]
    (judgement,) = judge([LINK_FULL], table, policy={"link-full": {"full_share": 0.8}})
    assert judgement.outcome == "hit"
    assert judgement.evidence["full_share"] == 0.8


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"link-ful": {"full_share": 0.8}}, "no rule is called 'link-ful'; did you mean 'link-full'?"),
        (
            {"link-full": {"full_shar": 0.8}},
            "rule 'link-full' has no limit 'full_shar'; did you mean 'full_share'?",
        ),
        (
            {"link-full": {"full_share": float("nan")}},
            "limit 'full_share' of rule 'link-full' must be a number, not nan",
        ),
        (
            {"link-full": {"full_share": True}},
            "limit 'full_share' of rule 'link-full' must be a number, not True",
        ),
    ],
)
def test_policy_that_does_not_fit_is_refused(policy: dict[str, dict[str, float]], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        judge(RULES, links(row()), policy)
    assert str(caught.value) == message


def test_one_finding_a_rule_entity_and_direction() -> None:
    table = links(
        row(step="t=2", utilisation=0.96),
        row(step="t=16", utilisation=0.977),
        row(step="t=64", utilisation=0.5),
        row(step="t=100", utilisation=None),
        row(step="t=2", direction="write", utilisation=0.01),
        row(entity="link:b", utilisation=None),
    )
    found = group([LINK_FULL], judge([LINK_FULL], table))
    assert [(f.entity, f.outcome, f.steps, f.unknown_steps) for f in found] == [
        ("link:sw1/fc1/7", "hit", ("t=2", "t=16"), ("t=100",)),
        ("link:b", "unknown", ("1",), ("1",)),
    ]
    assert found[0].evidence["utilisation"] == 0.977
    assert "97.7 %" in found[0].summary
    assert found[0].fix == LINK_FULL.fix


def test_of_several_elements_the_worst_comes_first() -> None:
    rows = [row(f"link:{name}", utilisation=used) for name, used in (("a", 0.95), ("b", 0.984), ("c", 0.96))]
    found = group([LINK_FULL], judge([LINK_FULL], links(*rows)))
    assert [finding.entity for finding in found] == ["link:b", "link:c", "link:a"]


@pytest.mark.parametrize(("step", "shown"), [("t=2", 0.96), ("t=16", 0.977), ("t=64", 0.977), ("", 0.977)])
def test_the_step_of_the_verdict_is_shown_where_the_rule_fired_in_it(step: str, shown: float) -> None:
    table = links(
        row(step="t=2", utilisation=0.96), row(step="t=16", utilisation=0.977), row(step="t=64", utilisation=0.5)
    )
    (finding,) = group([LINK_FULL], judge([LINK_FULL], table), step)
    assert finding.evidence["utilisation"] == shown


def test_worst_step_is_the_lowest_where_less_is_worse() -> None:
    rule = find_rule(RULES, "speed-held-by-one-end")
    table = links(
        row(step="1", negotiated_bits_per_second=8e9, capable_high_bits_per_second=16e9),
        row(step="2", negotiated_bits_per_second=4e9, capable_high_bits_per_second=16e9),
    )
    (finding,) = group([rule], judge([rule], table))
    assert finding.evidence["negotiated_bits_per_second"] == 4e9


def test_hits_come_first_then_severity() -> None:
    table = links(
        row(
            entity="link:a",
            utilisation=None,
            capable_high_bits_per_second=8e9,
            path_capable_bits_per_second=8e9,
        )
    )
    two = [find_rule(RULES, name) for name in ("link-full", "speed-held-by-one-end")]
    found = group(two, judge(two, table))
    assert [(f.rule, f.outcome) for f in found] == [
        ("speed-held-by-one-end", "hit"),
        ("link-full", "unknown"),
    ]


def test_entity_names_are_data() -> None:
    (judgement,) = judge([LINK_FULL], links(row(entity=NASTY, step=NASTY)))
    assert judgement.entity == NASTY
    assert judgement.step == NASTY
    assert "[/red]{utilisation}'; DROP TABLE x; --" in judgement.summary
    assert judgement.summary.isprintable()


def test_step_names_with_quotes_can_be_compared() -> None:
    when = 'step == "it\'s" and utilisation > full_share * windows_share'
    rule: Rule = LINK_FULL.model_copy(update={"when": when})
    outcomes = [j.outcome for j in judge([rule], links(row(step="it's"), row(step='it"s'), row(step=NASTY)))]
    assert outcomes == ["hit", "clear", "clear"]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.97694, "ratio", "97.7 %"),
        (0.128, "seconds", "128 ms"),
        (0.9999, "seconds", "1000 ms"),
        (2.5, "seconds", "2.5 s"),
        (0.000079, "seconds", "79 µs"),
        (0.0, "seconds", "0 s"),
        (-0.002, "seconds", "-2 ms"),
        (4e9, "bits per second", "4 Gb/s"),
        (1e8, "bits per second", "100 Mb/s"),
        (415.2e6, "bytes per second", "415.2 MB/s"),
        (1.5e9, "bytes per second", "1.50 GB/s"),
        (0.0005, "ratio", "0.05 %"),
        (6250.0, "operations per second", "6,250 IOPS"),
        (10.0 * 2**30, "bytes", "10 GiB"),
        (1.5 * 2**20, "bytes", "1.5 MiB"),
        (65536.0, "bytes", "64 KiB"),
        (1460.0, "bytes", "1,460 bytes"),
        (4.0, "count", "4"),
        (0.01234, "frames per second", "0.0123 frames per second"),
    ],
)
def test_numbers_are_printed_in_the_unit_people_use(value: float, unit: str, text: str) -> None:
    assert format_in_unit(value, unit) == text


def test_what_names_no_direction_is_told_once_and_what_does_twice() -> None:
    distance = find_rule(RULES, "tcp-distance")
    seconds: dict[str, FactValue] = {"read": 0.005, "write": 0.0051}
    rows = [
        {"entity": "tcp_connection:a--b", "step": step, "direction": direction, "on_loaded_path": True}
        | {"round_trip_seconds_min": seconds[direction]}
        for direction, step in (("read", "1"), ("read", "2"), ("write", "2"), ("write", "3"))
    ]
    (finding,) = group([distance], judge([distance], {"tcp_connection": FactTable(rows)}))
    assert (finding.direction, finding.steps) == ("both", ("1", "2", "3"))
    assert finding.summary == "tcp_connection:a--b: the shortest round trip takes 5.1 ms; no I/O is faster"
    full = group([LINK_FULL], judge([LINK_FULL], links(row(), row(direction="write"))))
    assert {finding.direction for finding in full} == {"read", "write"}
