"""The HTML report as a reader has it: written by the command, opened in a real browser that may not use a network."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sanpath.cli.sessions.child_process import environment
from tests.support.san import San
from tests.support.stories import published

pytestmark = pytest.mark.slow

LOOK = Path(__file__).parents[1] / "support" / "look_at.mjs"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    published(San(folder / "run.sanpath")).write()
    command = [sys.executable, "-m", "sanpath", "report", "run.sanpath", "--format", "html", "-o", "run.html"]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "report: run.html\n"
    return folder / "run.html"


@pytest.fixture(scope="module")
def browser() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no chromium here (Debian: apt-get install chromium)")
    return found


@pytest.fixture(scope="module")
def seen(report: Path, browser: str) -> dict[str, Any]:
    modules = os.environ.get("SANPATH_NODE_MODULES", "")
    if shutil.which("node") is None or not (Path(modules) / "puppeteer-core").is_dir():
        pytest.skip("SANPATH_NODE_MODULES names no folder with puppeteer-core and axe-core (npm install, node 20)")
    command = ["node", str(LOOK), browser, modules, report.as_uri(), str(report.parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_browser_without_a_network_draws_the_charts(report: Path, browser: str, tmp_path: Path) -> None:
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=2000"]
    flags += [f"--user-data-dir={tmp_path}", "--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom"]
    done = subprocess.run([browser, *flags, report.as_uri()], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("<canvas") == 4
    assert "CONSOLE" not in done.stderr, "nothing to complain of, and nothing refused by the security policy"


def test_nothing_is_complained_of_and_no_request_leaves_the_file(seen: dict[str, Any], report: Path) -> None:
    assert seen["console"] == []
    leaving = {request for request in seen["requests"] if not request.startswith("blob:")}  # a blob is in the page
    assert leaving == {report.as_uri()}


def test_no_width_makes_the_page_scroll_sideways(seen: dict[str, Any]) -> None:
    for name, width in seen["widths"].items():
        assert width <= int(name.partition("-")[0]), name


def test_charts_have_ink_in_several_colours(seen: dict[str, Any]) -> None:
    assert set(seen["charts"]) == {"375-light", "1280-light", "375-dark", "1280-dark"}
    for colours in seen["charts"].values():
        assert len(colours) == 4
        assert min(colours) > 5


def test_axe_finds_nothing_with_everything_unfolded(seen: dict[str, Any]) -> None:
    assert [v for found in seen["violations"].values() for v in found] == []


def test_every_chart_is_saved_as_csv_and_as_png(seen: dict[str, Any], report: Path) -> None:
    saved = sorted((report.parent / "saved").iterdir())
    assert len(saved) == seen["buttons"]
    numbers = {file.stem for file in saved if file.suffix == ".csv"}
    assert {"throughput", "latency", "links", "hops", "curve-throughput", "curve-latency", "finding-0"} <= numbers
    assert {file.stem for file in saved if file.suffix == ".png"} == numbers | {"topology"}
    for file in saved:
        if file.suffix == ".png":
            assert file.read_bytes().startswith(b"\x89PNG")
    header, *rows = csv.reader((report.parent / "saved" / "hops.csv").read_text(encoding="utf-8").splitlines())
    place = header.index("LIMIT: link esx7/vmhba2 - sw1/fc1/7, read (ratio)")
    assert max(float(row[place]) for row in rows if row[place]) == pytest.approx(0.977, abs=0.01)


def test_the_keyboard_alone_is_enough(seen: dict[str, Any]) -> None:
    assert seen["firstStop"] == "To the verdict"
    assert seen["opened"] is True
    assert seen["zoomed"] is True
    assert seen["light"] != seen["dark"]


def test_paper_shows_the_drawings_and_everything_that_was_folded(seen: dict[str, Any]) -> None:
    assert seen["printed"] == {"canvases": 0, "drawings": 4, "closed": 0, "paper": "rgb(255, 255, 255)"}
