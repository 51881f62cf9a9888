"""What `make quick` runs for a change."""

from __future__ import annotations

import pytest

from tests.touched import ALWAYS, touched


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("sanpath/verdict/rank.py", "tests/verdict"),
        ("collectors/sanpath_collectors/fio/parse.py", "tests/collectors/fio"),
        ("rules/sanpath_rules/fabric/link-full.yaml", "tests/rulebook"),
        ("lab/sanpath_lab/physics/link.py", "tests/lab"),
        ("examples/real-lab/real_lab/agent.py", "tests/real_lab"),
        ("tests/facts/test_paths.py", "tests/facts/test_paths.py"),
        ("tests/facts/support.py", "tests/facts"),
        ("tests/facts/test_that_was_deleted.py", "tests/facts"),
    ],
)
def test_a_change_is_tested_by_the_tests_of_its_package(changed: str, tests: str) -> None:
    assert touched([changed]) == sorted([ALWAYS, tests])


@pytest.mark.parametrize("changed", ["README.md", "sanpath/errors.py", "tests/conftest.py", "collectors/README.md"])
def test_what_has_no_tests_of_its_own_leaves_the_house_rules(changed: str) -> None:
    assert touched([changed]) == [ALWAYS]
