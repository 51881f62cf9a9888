"""Which rows are left out when there is no room, and how names are kept inside their columns."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text

from sanpath.views.live.layout import Section, cut, fit, line, table, wrapped


def rows(*words: str) -> list[Text]:
    return [Text(word) for word in words]


def shown(sections: list[Section], height: int) -> list[str]:
    return [text.plain for text in fit(sections, height)]


VERDICT = Section(1, 1, rows("VERDICT", "why", "more"))
STEPS = Section(3, 2, rows("STEPS", "1", "2", "3"), newest=True)
BUDGET = Section(2, 3, rows("BUDGET", "guest", "array"))


def test_everything_is_shown_in_its_order_where_there_is_room() -> None:
    everything = [text.plain for section in (VERDICT, STEPS, BUDGET) for text in section.lines]
    assert shown([VERDICT, STEPS, BUDGET], 99) == everything


def test_the_verdict_is_the_last_to_go() -> None:
    assert shown([STEPS, BUDGET, VERDICT], 1) == ["VERDICT"]
    assert shown([VERDICT], 0) == []


def test_a_section_that_cannot_say_anything_useful_is_left_out() -> None:
    assert shown([VERDICT, BUDGET], 3) == ["VERDICT", "why", "more"]
    assert shown([VERDICT, BUDGET], 4) == ["VERDICT", "BUDGET", "guest", "array"]


def test_the_newest_steps_stay_and_what_is_cut_elsewhere_is_marked() -> None:
    assert shown([STEPS], 3) == ["STEPS", "2", "3"]
    assert shown([VERDICT], 2) == ["VERDICT", "why …"]


def test_no_height_is_exceeded() -> None:
    for height in range(12):
        assert len(shown([VERDICT, STEPS, BUDGET], height)) <= height


def test_columns_line_up_with_wide_characters() -> None:
    lines = table([["name", "IOPS"], ["名前", "6,250"], ["x", "1"]], right=[1])
    assert {text.cell_len for text in lines} == {4 + 2 + 5 + 2}


def test_cut_counts_columns_and_not_characters() -> None:
    assert cell_len(cut(line("名前名前"), 5).plain) <= 5


def test_a_long_text_hangs_beside_its_label() -> None:
    first, second = wrapped("why", "many words that do not fit", 40, indent=25)[:2]
    assert first.plain.startswith("why ")
    assert second.plain.startswith(" " * 25)
    assert wrapped("why", "", 80) == []
