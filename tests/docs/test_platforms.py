"""docs/platforms.md names every labelled case of each platform."""

from __future__ import annotations

import pytest

from tests.support.platforms import PAGE, SECTIONS, Section, page


def test_the_page_is_what_the_cases_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make platforms"


@pytest.mark.parametrize("section", SECTIONS, ids=[section.title for section in SECTIONS])
def test_each_platform_has_ten_cases_whose_test_exists(section: Section) -> None:
    assert len(section.rows) >= 10
    assert (PAGE.parents[1] / "tests" / section.file).is_file()
