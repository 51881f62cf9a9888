"""Text and Markdown: the words a user needs, at every width, whatever devices call themselves."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from sanpath.diagnosis.model import Diagnosis
from sanpath.views import first_screen, json, markdown, progress, terminal_report
from sanpath.views.words import finding_text, group_findings
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, AtArray, Flow, San
from tests.support.stories import COUNTED, NOTHING, STORIES, X, diagnosed, judged

NASTY = " [red]|*_`<b>#\\ \x1b[2J\r\n# forged\u202e {x}"


def joined(report: str) -> str:
    """A report without its line breaks, as a reader takes it in."""
    return re.sub(r"\s+", " ", report)


def with_names(folder: Path, more: str) -> Diagnosis:
    """One test, in which steps, ports and sources have something added to their names."""
    ports = [replace(HOST_PORT, name=f"fc1/7{more}"), replace(ARRAY_PORT, device=f"CT0{more}")]
    san = San(folder, ports=ports)
    counted = {p.name: (COUNTED, NOTHING) for p in ports}
    for n in (16, 128):
        san.step(f"{n}{more}", n, read=Flow(X, n / X), ports=counted, array={"read": AtArray(0.0004)})
    found = judged(san.write())
    return replace(found, sources=[replace(s, last_failure=more, name=s.name + more) for s in found.sources])


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> Diagnosis:
    """Names that try to be something else."""
    return with_names(tmp_path_factory.mktemp("nasty"), NASTY)


@pytest.fixture(scope="module")
def tame(tmp_path_factory: pytest.TempPathFactory) -> Diagnosis:
    """The same with names that try nothing."""
    return with_names(tmp_path_factory.mktemp("tame"), " x")


@pytest.mark.parametrize("width", [80, 100, 160])
@pytest.mark.parametrize("name", sorted(STORIES))
def test_no_line_is_longer_than_the_screen(name: str, width: int) -> None:
    lines = terminal_report.render(diagnosed(name), width).splitlines()
    assert max(cell_len(line) for line in lines) <= width
    assert len(lines) > 15


@pytest.mark.parametrize("width", [80, 100, 160])
def test_the_words_a_user_needs_are_there_at_every_width(width: int) -> None:
    report = joined(terminal_report.render(diagnosed("published"), width))
    for words in (
        *("BOTTLENECK", "Confidence A", "4 Gb/s link esx7 vmhba2–sw1 fc1/7 is saturated (98 % utilised, reads)"),
        "From 16 to 800 outstanding I/Os, throughput stays at 6,250 IOPS of 64 KiB and latency grows from 2.56 ms",
        "The array is not the problem: I/Os spend 0.35 ms of 128 ms in it; highest load tested: 409.6 MB/s.",
        *(
            "[fc1/7 4GFC 98 % utilised (reads) LIMIT]",
            "CT0.FC0 › fa1 › vol01",
            "First action: Let the ports negotiate",
        ),
        *("takes one path down, medium risk", "Expected gain: up to 12,595 IOPS", "Actions", "How sure"),
        *("caused by esx7/vmhba2 - sw1/fc1/7", "Next limit", "Findings", "CAUSE link-full", "Not measured"),
        *(
            "below 16 outstanding I/Os",
            "Not the problem",
            "fa1 up to 409.6 MB/s",
            "credit stall",
            "Evidence",
            "97.7 %",
        ),
        *("would change the verdict", "Steps", "Sources", "snmp_switch", "unexplained"),
    ):
        assert words in report, words


def test_markdown_has_the_same_words() -> None:
    report = joined(markdown.render(diagnosed("published")).replace("\\", ""))
    for words in (
        *("# 4 Gb/s link esx7 vmhba2–sw1 fc1/7 is saturated", "Confidence A"),
        "not the problem: I/Os spend 0.35 ms of 128 ms in it",
        *("**First action: Let the ports", "## Actions", "## How sure", "## Where the 128 ms go (read, step t800)"),
        *("Verify:", "Undo:", "## Findings", "## Not measured", "## Evidence", "## Not the problem"),
        *("## Steps", "## Sources", "in no measured part"),
    ):
        assert words in report, words


def test_each_action_has_its_verification_and_its_undo_on_lines_of_their_own() -> None:
    found = diagnosed("published")
    assert found.plan
    lines = [line.strip() for line in terminal_report.render(found, 400).splitlines()]
    marked = [line.strip() for line in markdown.render(found).replace("\\", "").splitlines()]
    for variant in (variant for step in found.plan for variant in step.on_each_platform):
        for back in (f"Verify: {variant.verify}", f"Undo: {variant.undo}"):
            assert back in lines
            assert f"- {back}" in marked


def test_the_verdict_stands_first() -> None:
    assert terminal_report.render(diagnosed("published"), 100).startswith("BOTTLENECK   Confidence A")
    assert markdown.render(diagnosed("published")).startswith("# 4 Gb/s link")


def test_when_nobody_can_tell_the_report_says_what_would_decide() -> None:
    for report in (
        terminal_report.render(diagnosed("switch_not_observed"), 100),
        markdown.render(diagnosed("switch_not_observed")),
    ):
        assert "The limit is something between sqlvm1 and fa1" in joined(report)
        assert "First action: Repeat the test, and let sanpath read the switch ports" in joined(report)
        assert re.search(r"likelihood \d\d %: something between sqlvm1 and fa1", joined(report))
        assert "healthy" not in report.lower()


def test_a_negative_rest_is_shown() -> None:
    for report in (
        terminal_report.render(diagnosed("array_slower_than_the_load"), 100),
        markdown.render(diagnosed("array_slower_than_the_load")),
    ):
        assert re.search(r"overlap\W+-0\.60 ms", report)
        assert "parts overlap by 0.60 ms" in report
        assert "unexplained" not in report.partition("Not measured")[0]


def test_what_a_step_is_not_good_for_is_said() -> None:
    for report in (terminal_report.render(diagnosed("too_short"), 100), markdown.render(diagnosed("too_short"))):
        assert "too short" in report
        assert "Confidence C" in report


def test_both_directions_of_a_mixed_step_have_a_row_and_a_budget() -> None:
    report = terminal_report.render(diagnosed("mixed"), 120)
    assert re.search(r"^ rw +read ", report, re.MULTILINE)
    assert re.search(r"^ rw +write ", report, re.MULTILINE)
    assert "(read, step rw)" in report
    assert "(write, step rw)" in report


def headings(report: str) -> list[str]:
    """The short lines at the left edge of a text report."""
    return [line for line in report.splitlines() if re.fullmatch(r"[A-Z][a-z ]{2,25}", line)]


@pytest.mark.parametrize("width", [80, 160])
def test_names_cannot_change_the_text_report(nasty: Diagnosis, tame: Diagnosis, width: int) -> None:
    plain = terminal_report.render(nasty, width)
    assert not re.search(r"[^\n\x20-\x7e\u00a0-\uffff]", plain), "a control character"
    assert "\u202e" not in plain
    assert max(cell_len(line) for line in plain.splitlines()) <= width
    assert "[red]" in plain, "markup is shown and not obeyed"
    assert "\n# forged" not in plain
    assert headings(plain) == headings(terminal_report.render(tame, width))
    assert len(headings(plain)) > 6


def test_colour_is_only_where_asked_for(nasty: Diagnosis) -> None:
    assert "\x1b[" not in terminal_report.render(nasty, 100)
    coloured = terminal_report.render(nasty, 100, colour=True)
    assert "\x1b[1;31m" in coloured
    assert "\x1b[2J" not in coloured


def cells(line: str) -> int:
    """Columns of a line of a Markdown table."""
    return len(re.findall(r"(?<!\\)\|", line)) - 1


def test_names_cannot_change_the_markdown_report(nasty: Diagnosis, tame: Diagnosis) -> None:
    report = markdown.render(nasty)
    assert not re.search(r"[^\n\x20-\x7e\u00a0-\uffff]", report)
    lines = report.splitlines()
    assert len(lines) == len(markdown.render(tame).splitlines())
    (title,) = [line for line in lines if line.startswith("# ")]
    assert title == lines[0], "and no heading of theirs"
    assert not re.search(r"(?<!\\)<b>", report), "no HTML of theirs"
    outside = [line for line in lines if "forged" in line and not line.startswith("   ")]
    assert outside
    assert all("\\[red\\]\\|\\*\\_\\`\\<b\\>\\#" in line for line in outside)


@pytest.mark.parametrize("name", [*sorted(STORIES), "nasty"])
def test_markdown_tables_keep_their_columns(name: str, nasty: Diagnosis) -> None:
    lines = markdown.render(nasty if name == "nasty" else diagnosed(name)).splitlines()
    tables = [n for n, line in enumerate(lines) if re.fullmatch(r"\|( --- \|)+", line)]
    assert len(tables) >= 2
    for number in tables:
        width = cells(lines[number])
        rows = [lines[number - 1]]
        for line in lines[number + 1 :]:
            if not line.startswith("|"):
                break
            rows.append(line)
        assert len(rows) > 1
        assert {cells(row) for row in rows} == {width}


def test_json_holds_names_as_they_are_and_stays_one_object(nasty: Diagnosis) -> None:
    printed = json.render(nasty)
    assert "\x1b" not in printed
    assert "\\u001b[2J" in printed
    assert printed.endswith("}\n")


def test_a_run_under_way_is_one_plain_line(nasty: Diagnosis) -> None:
    line = progress.line(nasty)
    assert "\n" not in line
    assert "\x1b" not in line
    assert "so far bottleneck" in line
    assert progress.line(diagnosed("published")) == (
        "sanpath: step t800; read 6,250 IOPS, 409.6 MB/s, 128 ms; so far bottleneck: esx7/vmhba2 - sw1/fc1/7 read"
    )


def test_a_source_that_never_answered_is_named_while_the_test_runs() -> None:
    found = diagnosed("published")
    silent = replace(found.sources[1], failures=3, last_answer=None)
    line = progress.line(replace(found, sources=(silent,)))
    assert f"NO ANSWER from {silent.name}" in line


def test_time_that_waits_for_a_configured_limit_is_called_so_wherever_it_is_enforced() -> None:
    found = diagnosed("quality_of_service")
    for report in (terminal_report.render(found, width=160), markdown.render(found)):
        (row,) = [line for line in report.splitlines() if "waits for the configured limit" in line]
        assert row.strip(" |").startswith("configured limit")


def test_what_is_said_of_a_group_of_findings_holds_for_each_of_its_elements() -> None:
    """Elements of which another conclusion is true are told apart, and each has its own value."""
    limits = replace(diagnosed("published").findings[0], in_this_run="it limits this run")
    first = replace(limits, entity="link:a--b", summary="link:a--b runs at 2 Gb/s, others at 16 Gb/s")
    second = replace(limits, entity="link:c--d", summary="link:c--d runs at 4 Gb/s, others at 16 Gb/s")
    third = replace(limits, entity="link:e--f", summary="link:e--f runs at 2 Gb/s, others at 16 Gb/s")
    free = replace(second, entity="link:g--h", in_this_run="it does not limit this run: x does")
    other_words = replace(second, entity="link:i--j", summary="link:i--j runs at 1 Gb/s, which is its only speed")
    groups = group_findings([first, second, third, free, other_words])
    assert groups == [(first, [second, third]), (free, []), (other_words, [])]
    text_of_group = finding_text(*groups[0])
    assert "a - b runs at 2 Gb/s, others at 16 Gb/s. Also on c - d (4 Gb/s), e - f: 3 links. It" in text_of_group


@pytest.mark.parametrize(
    ("entities", "in_all"),
    [
        (("source:sw1", "source:sw2"), "2 sources"),
        (("switch:sw1", "switch:sw2"), "2 switches"),
        (("load:a > array:x", "load:a > volume:x/y"), "2 in all"),
        (("array:x", "volume:x/y"), "2 in all"),
    ],
)
def test_the_elements_of_a_finding_are_counted_as_what_they_are(entities: tuple[str, str], in_all: str) -> None:
    first, second = (
        replace(diagnosed("published").findings[0], entity=entity, summary=entity) for entity in entities
    )
    assert f": {in_all}." in finding_text(first, [second])


def test_the_second_line_of_what_is_gained_is_indented_like_the_first() -> None:
    lines = terminal_report.render(diagnosed("published"), 80).splitlines()
    (first,) = (number for number, line in enumerate(lines) if "Expected gain" in line)
    assert lines[first].startswith("  Expected")
    assert lines[first + 1].startswith("  ") or not lines[first + 1]
    assert not lines[first + 1].startswith("   ")


def test_a_limit_to_which_no_path_is_known_is_on_no_other_path(tmp_path: Path) -> None:
    """No link and no LUN was read: the drawing ends at the host."""
    san = San(tmp_path / "r.sanpath", ports=(HOST_PORT,), leave_out={"switch", "disk", "lun"})
    for n in (16, 64, 256):
        array = {"read": AtArray(0.0004, queue=n / 20_000 - 0.0006)}
        san.step(f"q{n}", n, block=8 * KIB, read=Flow(20_000, n / 20_000), array=array)
    assert first_screen.off_path_text(judged(san.write())) == "The limit: [fa1 LIMIT]"
