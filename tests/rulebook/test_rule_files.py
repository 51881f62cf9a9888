"""Rule files: the built-in ones are sound, and a wrong one gets a message with file, line and what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from sanpath.errors import UsageError
from sanpath.rulebook.rule_files import find_rule, load_rule, load_rulebook, read_rules
from sanpath.rulebook.rule_tests import failed_tests

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RULES = ROOT / "rules" / "sanpath_rules"
BROKEN = sorted((HERE / "broken").glob("*.yaml"))


@pytest.mark.parametrize("file", BROKEN, ids=lambda file: file.stem)
def test_broken_file_gets_exactly_this_message(file: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load_rule(file.read_bytes(), file.name)
    assert f"{caught.value}\n" == file.with_suffix(".err").read_text(encoding="utf-8")


def test_every_expected_message_has_its_file() -> None:
    assert {file.stem for file in BROKEN} == {file.stem for file in (HERE / "broken").glob("*.err")}


def test_every_built_in_file_is_loaded_and_passes_its_own_tests() -> None:
    rules = load_rulebook()
    assert {rule.id for rule in rules} == {file.stem for file in RULES.rglob("*.yaml")}
    assert [str(failure) for failure in failed_tests(rules)] == []


def test_rules_are_a_folder_without_init_so_that_the_name_stays_free() -> None:
    assert not (ROOT / "rules" / "__init__.py").exists()


def test_schema_accepts_the_built_in_rules_and_refuses_a_misspelt_key() -> None:
    validator = Draft202012Validator(json.loads((ROOT / "rules/schema.json").read_text(encoding="utf-8")))
    for file in RULES.rglob("*.yaml"):
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
        assert list(validator.iter_errors(document)) == []
        assert not validator.is_valid(document | {"severty": "high"})


def test_every_built_in_file_tells_editors_where_the_schema_is() -> None:
    for file in RULES.rglob("*.yaml"):
        first_line = file.read_text(encoding="utf-8").splitlines()[0]
        where = first_line.removeprefix("# yaml-language-server: $schema=")
        assert (file.parent / where).resolve() == ROOT / "rules/schema.json"


def copy_of_link_full(folder: Path, rule_id: str, **replaced: str) -> Path:
    text = (RULES / "fabric/link-full.yaml").read_text(encoding="utf-8")
    text = text.replace("id: link-full", f"id: {rule_id}")
    for old, new in replaced.items():
        assert old in text
        text = text.replace(old, new)
    file = folder / f"{rule_id}.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_rules_of_a_folder_join_the_built_in_ones(tmp_path: Path) -> None:
    (tmp_path / "fabric").mkdir()
    copy_of_link_full(tmp_path / "fabric", "our-link-full")
    ids = [rule.id for rule in load_rulebook(tmp_path)]
    assert "our-link-full" in ids
    assert "link-full" in ids


def test_a_built_in_rule_cannot_be_replaced_silently(tmp_path: Path) -> None:
    copy_of_link_full(tmp_path, "link-full")
    with pytest.raises(UsageError, match=r"two rules are called 'link-full'.*policy"):
        load_rulebook(tmp_path)


def test_all_broken_files_of_a_folder_are_named_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        read_rules(HERE / "broken")
    for file in BROKEN:
        assert f"{file.name}:" in str(caught.value)


def test_large_file_is_refused(tmp_path: Path) -> None:
    file = copy_of_link_full(tmp_path, "large")
    file.write_text(file.read_text(encoding="utf-8") + "#" * 70_000, encoding="utf-8")
    with pytest.raises(UsageError, match=r"large\.yaml: larger than 64 KiB"):
        read_rules(file)


def test_deeply_nested_file_is_refused() -> None:
    with pytest.raises(UsageError, match="nested too deep"):
        load_rule(b"[" * 20_000, "deep.yaml")


def test_missing_folder_and_folder_without_rules_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file or folder"):
        read_rules(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="no rule files"):
        read_rules(tmp_path)
    (tmp_path / "rule.yml").touch()
    with pytest.raises(UsageError, match=r"rule\.yml: rule files end in \.yaml"):
        read_rules(tmp_path)


def test_failing_test_is_one_line_that_says_why(tmp_path: Path) -> None:
    file = copy_of_link_full(tmp_path, "wrong", utilisation="utilisation_max")
    text = file.read_text(encoding="utf-8").replace(
        "{on_loaded_path: true, utilisation_max: 0.977, ", "{on_loaded_path: true, "
    )
    file.write_text(text, encoding="utf-8")
    (failure,) = failed_tests(read_rules(file))
    assert str(failure) == (
        "wrong: published 4GFC test, 415.2 of 425 MB/s in every window: expected hit, got unknown "
        "(not known: utilisation_max)"
    )


def test_find_rule_names_the_nearest() -> None:
    rules = load_rulebook()
    assert find_rule(rules, "link-full").role == "cause"
    with pytest.raises(UsageError, match=r"no rule is called 'lnk-full'; did you mean 'link-full'"):
        find_rule(rules, "lnk-full")
