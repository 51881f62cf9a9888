"""What a site sets for itself: policies, limits, suppressions with an end, and rule files that cannot be used."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from sanpath.errors import ConfigError, UsageError
from sanpath.facts.table import FactTable
from sanpath.rulebook.findings import group
from sanpath.rulebook.judge import judge
from sanpath.rulebook.model import Finding
from sanpath.rulebook.rule_files import find_rule, load_rulebook, usable_rulebook
from sanpath.rulebook.site.accepted import split_accepted
from sanpath.rulebook.site.options import POLICIES, Choice
from sanpath.rulebook.site.settings import Suppression, rules_of

RULES = load_rulebook()
LINK_FULL = Path(__file__).parents[2] / "rules/sanpath_rules/fabric/link-full.yaml"


def config(folder: Path, text: str) -> Path:
    path = folder / "sanpath.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def crc(per_minute: float) -> dict[str, FactTable]:
    row = {
        "entity": "switch_port:sw1/fc1/7",
        "step": "1",
        "direction": "both",
        "technology": "fibre_channel",
        "crc_errors_per_minute": per_minute,
        "invalid_words_per_minute": 0.0,
    }
    return {"switch_port": FactTable((row,))}


@pytest.mark.parametrize(
    ("policy", "outcomes"),
    [
        (None, ["hit", "hit", "hit"]),
        ("aggressive", ["hit", "hit", "hit"]),
        ("moderate", ["clear", "hit", "hit"]),
        ("conservative", ["clear", "clear", "hit"]),
    ],
)
def test_a_policy_decides_how_many_wrong_checksums_a_minute_are_too_many(policy: str, outcomes: list[str]) -> None:
    """The vendor's three policies: more than 0, 10 or 21."""
    rules, site = rules_of(Choice(policy=policy))  # type: ignore[arg-type]
    rule = find_rule(rules, "link-errors")
    assert [judge([rule], crc(n))[0].outcome for n in (5.0, 15.0, 30.0)] == outcomes
    assert site.policy == policy


def test_a_limit_of_the_configuration_beats_the_policy_and_is_told(tmp_path: Path) -> None:
    path = config(tmp_path, "rules:\n  policy: conservative\n  limits:\n    link-errors: {crc: 3}\n")
    rules, site = rules_of(Choice(config=path))
    assert find_rule(rules, "link-errors").limit_values()["crc"] == 3
    result = {(one.rule, one.limit): (one.value, one.instead_of, one.source) for one in site.limits}
    assert result["link-errors", "crc"] == (3.0, 0.0, "sanpath.yaml")
    assert result["link-errors", "words"] == (41.0, 15.0, "policy conservative")


def test_the_command_line_s_policy_beats_the_configuration_s(tmp_path: Path) -> None:
    path = config(tmp_path, "rules: {policy: conservative}\n")
    assert rules_of(Choice(config=path, policy="moderate"))[1].policy == "moderate"


def test_the_sources_of_the_configuration_are_not_read_so_that_no_secret_is_asked_for(tmp_path: Path) -> None:
    source = "{name: sw1, collector: snmp_switch, community: env:NOBODY_SETS_THIS}"
    text = f"sources:\n- {source}\nrules: {{policy: moderate}}\n"
    assert rules_of(Choice(config=config(tmp_path, text)))[1].policy == "moderate"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules: [a]", ":1: rules: expected a mapping with the keys policy, limits, suppress"),
        ("rules:\n  polcy: moderate", ":2: rules.polcy: unknown key; did you mean policy?"),
        ("rules:\n  policy: mild", ":2: rules.policy: no policy is called 'mild'; there are aggressive, moderate"),
        ("rules:\n  limits: 3", ":2: rules.limits: expected a mapping of rules to limits"),
        ("rules:\n  limits:\n    link-ful: {crc: 3}", ":3: rules.limits.link-ful: no rule is called 'link-ful'; did"),
        ("rules:\n  limits:\n    link-errors: {crcs: 3}", "has no limit 'crcs'; did you mean 'crc'?"),
        ("rules:\n  limits:\n    link-errors: {crc: many}", "must be a number, not 'many'"),
        ("rules:\n  suppress: link-full", ":2: rules.suppress: expected a list of suppressions"),
        ("rules:\n  suppress:\n  - {rule: link-full, until: 2027-01-01}", ":3: rules.suppress.0.reason: is required"),
        ("rules:\n  suppress:\n  - {rule: link-full, reason: known}", "rules.suppress.0.until: is required"),
        ("rules:\n  suppress:\n  - {rule: x, reason: y, until: 2027-01-01}", "no rule is called 'x'"),
        ("rules:\n  suppress:\n  - {rule: link-full, reason: y, until: soon}", "expected a day, such as 2027-03-31"),
        (
            "rules:\n  suppress:\n  - {rule: link-full, reason: y, untill: 1}",
            "untill: unknown key; did you mean until?",
        ),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = config(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        rules_of(Choice(config=path))
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def findings(per_minute: float = 30.0) -> list[Finding]:
    rule = find_rule(RULES, "link-errors")
    return group([rule], judge([rule], crc(per_minute)))


@pytest.mark.parametrize(
    ("entity", "day", "kept", "expired"),
    [
        ("*", date(2027, 3, 31), 0, False),
        ("switch_port:sw1/*", date(2027, 3, 31), 0, False),
        ("switch_port:sw2/*", date(2027, 3, 31), 1, False),
        ("*", date(2027, 4, 1), 1, True),
    ],
)
def test_what_was_accepted_is_taken_out_to_the_end_of_its_day(
    entity: str, day: date, kept: int, expired: bool
) -> None:
    accepted = Suppression("link-errors", entity, "a cable is on order", date(2027, 3, 31))
    left, (result,) = split_accepted(findings(), [accepted], day)
    assert (len(left), len(result.findings), result.expired) == (kept, 1 - kept, expired)
    assert (result.reason, result.until) == ("a cable is on order", "2027-03-31")


def test_what_could_not_be_judged_was_accepted_by_nobody() -> None:
    unknown = findings(float("nan"))
    assert [finding.outcome for finding in unknown] == ["unknown"]
    assert split_accepted(unknown, [Suppression("link-errors", "*", "-", date.max)], date.min)[0] == unknown


def test_one_wrong_file_takes_no_other_rule_away(tmp_path: Path) -> None:
    good = LINK_FULL.read_text(encoding="utf-8").replace("id: link-full", "id: ours")
    (tmp_path / "ours.yaml").write_text(good, encoding="utf-8")
    (tmp_path / "theirs.yaml").write_text(
        good.replace("id: ours", "id: theirs").replace("when: ", "when: open(1) or ")
    )
    (tmp_path / "link-full.yaml").write_text(LINK_FULL.read_text(encoding="utf-8"), encoding="utf-8")
    rules, refused = usable_rulebook(tmp_path)
    assert {rule.id for rule in rules} == {rule.id for rule in RULES} | {"ours"}
    assert len(refused) == 2
    assert refused[0].startswith("two rules are called 'link-full'")
    assert refused[1].startswith(f"{tmp_path / 'theirs.yaml'}:7: a call is not part of the language")


def test_a_folder_that_is_not_there_is_a_mistake_of_the_command_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file or folder"):
        usable_rulebook(tmp_path / "nowhere")


def test_every_policy_that_ships_goes_from_strict_to_lenient() -> None:
    """A limit that a policy changes stands in order, and not still."""
    shipped = [limit for rule in RULES for limit in rule.limits.values() if limit.aggressive is not None]
    assert len(shipped) >= 8
    for limit in shipped:
        values = [value for name in POLICIES if (value := limit.under(name)) is not None]
        assert values == sorted(values)
        assert values[0] < values[-1]
