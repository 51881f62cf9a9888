"""The comparison as people and programs get it, and the command that prints it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.comparison.compare import Comparison, compare
from sanpath.diagnosis.model import Diagnosis
from sanpath.errors import UsageError
from sanpath.views import json as json_view
from sanpath.views.compare import as_markdown, as_text
from sanpath.views.html.comparison import render
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, San
from tests.support.stories import COUNTED, NOTHING, X, diagnosed, fast, judged, published, recorded


def faster(folder: Path) -> Path:
    """The published test at 16GFC: 9,375 IOPS, half as many again, 800 / 9,375 = 85.3 ms."""
    san = San(folder, ports=[fast(HOST_PORT), fast(ARRAY_PORT)])
    for n in (16, 128, 512, 800, 1000):
        ports = {port.name: (1.5 * COUNTED, NOTHING) for port in san.ports}
        san.step(f"t{n}", n, read=Flow(1.5 * X, n / X / 1.5), ports=ports, array={"read": AtArray(0.0003)})
    san.write()
    return folder


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return faster(tmp_path_factory.mktemp("after"))


@pytest.fixture(scope="module")
def comparison(after: Path) -> Comparison:
    from sanpath.recording.reading.recording import Recording

    return compare(diagnosed("published"), judged(Recording(after)))


def test_the_text_says_outcome_steps_and_prediction(comparison: Comparison) -> None:
    lines = as_text(comparison, 120).splitlines()
    assert lines[0].startswith("FIXED: +50.0 % throughput and -33.3 % latency at 800 outstanding reads")
    first = next(number for number, line in enumerate(lines) if line.startswith("t800"))
    assert [re.sub(r"\s+", " ", line).strip() for line in lines[first : first + 3]] == [
        "t800 read 800 IOPS 6,250 9,375 +50.0 % ±3.0 %",
        "payload 409.6 MB/s 614.4 MB/s +50.0 % -",
        "mean 128 ms 85.3 ms -33.3 % -",
    ]
    assert "no matching step: t1000 (after)" in lines
    assert "predicted 6,250 IOPS to 12,595 IOPS, reached 9,375 IOPS" in lines


def test_the_markdown_has_the_same_rows_and_no_markup_of_names(comparison: Comparison) -> None:
    pairs = tuple(replace(pair, before_step="a|b <i>", after_step="a|b <i>") for pair in comparison.pairs)
    lines = as_markdown(replace(comparison, pairs=pairs)).splitlines()
    assert lines[0].startswith("# FIXED: +50.0 % throughput")
    assert "| a\\|b \\<i\\> | read | 800 | IOPS | 6,250 | 9,375 | +50.0 % | ±3.0 % |" in lines
    assert "|  |  |  | mean | 128 ms | 85.3 ms | -33.3 % | - |" in lines


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_longer_than_the_screen(comparison: Comparison, width: int) -> None:
    assert max(cell_len(line) for line in as_text(comparison, width).splitlines()) <= width


def test_names_cannot_change_the_text(comparison: Comparison) -> None:
    nasty = " [red]\x1b[2J\n# forged\u202e"
    pairs = tuple(replace(pair, before_step=nasty, after_step=nasty + "2") for pair in comparison.pairs)
    reported = as_text(replace(comparison, pairs=pairs, unmatched=(nasty,)), 160)
    assert "[red]" in reported
    assert not re.search(r"[^\n\x20-\x7e\u00a0-\uffff]|\u202e", reported)
    assert "\n# forged" not in reported


def test_the_json_is_one_object_with_what_the_text_says(comparison: Comparison) -> None:
    found = json.loads(json_view.render(comparison))
    assert {"outcome", "headline", "pairs", "unmatched", "predicted_ops_per_second"} <= set(found)
    assert found["outcome"] == "FIXED"
    pair = max(found["pairs"], key=lambda p: p["in_flight"])
    assert pair["throughput_change"] == pytest.approx(0.5, rel=1e-3)
    assert pair["before"]["latency_seconds"]["mean"] == pytest.approx(0.128, rel=1e-3)
    assert found["predicted_ops_per_second"] == pytest.approx([6250, 12_595], rel=1e-3)
    changes = {change["quantity"]: change for change in pair["changes"]}
    assert changes["latency_mean_seconds"]["change"] == pytest.approx(-1 / 3, rel=1e-3)
    assert set(json_view.schema(Comparison, "comparison")["properties"]) == set(found)


def test_runs_without_a_step_in_common_are_still_valid_json(tmp_path: Path) -> None:
    other = compare(diagnosed("published"), judged(published(San(tmp_path), in_flight=(4,)).write()))
    found = json.loads(json_view.render(other))
    assert (found["outcome"], found["pairs"]) == (None, [])
    assert as_text(other, 80).startswith("No step of one run")
    assert "predicted" not in as_text(other, 80)


@pytest.fixture(scope="module")
def runs(after: Path) -> tuple[Diagnosis, Diagnosis]:
    from sanpath.recording.reading.recording import Recording

    return diagnosed("published"), judged(Recording(after))


def test_the_page_shows_both_runs_in_one_chart_with_the_change(runs: tuple[Diagnosis, Diagnosis]) -> None:
    comparison = compare(*runs)
    page = render(comparison, *runs)
    for words in ("FIXED", "+50.0 % throughput", "t800, read, 800 outstanding", "614.4 MB/s", "No step was repeated"):
        assert words in page
    for chart in ("overlay-throughput", "overlay-latency", "changes"):
        assert f'data-export="{chart}"' in page
    assert page.count('class="line before"') > 2
    changes = re.findall(r'class="middle halo">([^<]*)<', page)
    assert set(changes) == {"+50.0 %", "-33.3 %"}
    data = json.loads(re.findall(r'id="series">(.*?)</script>', page)[0])
    header, *rows = data["tables"]["changes"]
    cells = [dict(zip(header, row, strict=True)) for row in rows]
    last = [c for c in cells if (c["before_step"], c["quantity"]) == ("t800", "latency_mean_seconds")][-1]
    assert (last["before"], last["after"], last["change"]) == pytest.approx((0.128, 0.0853, -1 / 3), rel=1e-3)


def test_names_cannot_become_markup_of_the_page(runs: tuple[Diagnosis, Diagnosis]) -> None:
    nasty = "</script><script>alert(1)</script>\u202e"
    comparison = compare(*runs)
    pairs = tuple(replace(pair, before_step=nasty, after_step=nasty) for pair in comparison.pairs)
    page = render(replace(comparison, pairs=pairs, unmatched=(nasty,)), *runs)
    assert page.count("<script") == 2
    assert "\u202e" not in page


def test_runs_without_a_common_step_are_a_page_too(tmp_path: Path) -> None:
    runs = diagnosed("published"), judged(published(San(tmp_path), in_flight=(4,)).write())
    page = render(compare(*runs), *runs)
    assert "No step of one run matches a step of the other" in page
    assert 'data-export="changes"' not in page


def test_the_page_is_written_where_it_is_wanted(after: Path, tmp_path: Path) -> None:
    before, file = str(recorded("published").folder), tmp_path / "compare.html"
    done = CliRunner().invoke(app, ["compare", before, str(after), "--format", "html", "--into", str(file)])
    assert (done.exit_code, done.stdout) == (0, f"comparison: {file}\n")
    page = file.read_text(encoding="utf-8")
    for chart in ("time-payload-read", "time-load-latency-read"):
        assert f'<title id="chart-{chart}-title">' in page
        assert json.loads(re.findall(r'id="series">(.*?)</script>', page)[0])["tables"][chart]
    refused = CliRunner().invoke(app, ["compare", before, before, before, "--format", "html"])
    assert isinstance(refused.exception, UsageError)


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_command_prints_it_and_ends_well(after: Path, form: str) -> None:
    before = recorded("published").folder
    done = CliRunner().invoke(app, ["compare", str(before), str(after), "--format", form])
    assert (done.exit_code, done.stderr) == (0, "")
    assert "FIXED" in done.stdout
    if form == "json":
        assert json.loads(done.stdout)["outcome"] == "FIXED"


def test_worse_is_no_failure_of_the_command(after: Path) -> None:
    done = CliRunner().invoke(app, ["compare", str(after), str(recorded("published").folder)])
    assert done.exit_code == 0
    assert done.stdout.startswith("WORSE: -33.3 % throughput and +50.0 % latency")
