"""The curve of throughput and latency: a row a step, what bound it, and the knee."""

from __future__ import annotations

from sanpath.views import curve
from tests.support.stories import diagnosed


def test_a_row_a_step_with_what_bound_it() -> None:
    found = diagnosed("published")
    rows = curve.rows(found)
    assert [row[2] for row in rows] == ["16", "128", "512", "800"]
    for row, step in zip(rows, found.steps, strict=True):
        [bottleneck] = step.verdict.bottlenecks
        assert row[1] == "read"
        assert row[-1].startswith("bottleneck: ")
        assert bottleneck.entity.partition(":")[2].replace("--", " - ") in row[-1]


def test_the_knee_names_what_is_full() -> None:
    reported = curve.knee(diagnosed("saturated_array"))
    assert reported.startswith("Knee at fa1")
    assert "queueing begins at about 20" in reported
    assert "without a queue, from step" in reported
    assert curve.knee(diagnosed("one_in_flight")) == "Knee: none was found up to 1 outstanding I/O."


def test_text_and_markdown_say_the_same() -> None:
    found = diagnosed("published")
    text, markdown = curve.text(found, 200), curve.markdown(found)
    for row in curve.rows(found):
        assert any(all(cell in line for cell in row) for line in text.splitlines())
    assert markdown.count("\n| 64") + markdown.count("\n| t") == len(found.steps)
    assert curve.TITLE in text
    assert curve.TITLE in markdown
