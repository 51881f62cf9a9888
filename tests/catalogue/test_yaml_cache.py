"""What YAML files of a package hold is parsed once, and again when a file has changed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from sanpath.rulebook.rule_files import load_rulebook, read_rules
from sanpath.yaml_cache import cached

RULES = Path(__file__).parents[2] / "rules/sanpath_rules"
Read = Callable[[], Any]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with one YAML file; Python may write bytecode."""
    folder = tmp_path / f"words_{tmp_path.name.replace('-', '_')}"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "words.yaml").write_text("a: [1, 2.5, null, text]")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    return folder


def reading(folder: Path) -> tuple[Read, list[int]]:
    """A function that reads the file, and a list that grows with each call of it."""
    calls: list[int] = []

    def read() -> Any:
        calls.append(1)
        return yaml.safe_load((folder / "words.yaml").read_text())

    return read, calls


def test_a_file_is_read_once_and_again_when_it_has_changed(package: Path) -> None:
    read, calls = reading(package)
    first, second = (cached(package.name, "words", read) for _ in range(2))
    assert first == second == {"a": [1, 2.5, None, "text"]}
    assert len(calls) == 1
    (package / "words.yaml").write_text("b: now longer than before")
    assert cached(package.name, "words", read) == {"b": "now longer than before"}


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"files": []}', "\x00", "[" * 100_000])
def test_a_damaged_cache_is_made_anew(package: Path, damage: str) -> None:
    read, _ = reading(package)
    cached(package.name, "words", read)
    (cache,) = package.glob("__pycache__/words*.json")
    cache.write_text(damage)
    assert cached(package.name, "words", read) == {"a": [1, 2.5, None, "text"]}
    assert len(cache.read_text()) > 20


@pytest.mark.parametrize("text", ["1: a key that JSON makes text", "a: 2026-11-25", "a: .nan"])
def test_what_json_does_not_return_as_it_was_is_not_kept(package: Path, text: str) -> None:
    (package / "words.yaml").write_text(text)
    read, calls = reading(package)
    for _ in range(2):
        assert str(cached(package.name, "words", read)) == str(yaml.safe_load(text))
    assert len(calls) == 2


def test_nothing_is_written_where_python_writes_no_bytecode(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    cached(package.name, "words", reading(package)[0])
    assert not list(package.glob("**/*.json"))


def test_the_built_in_rules_are_those_of_their_files() -> None:
    assert load_rulebook() == read_rules(RULES)
