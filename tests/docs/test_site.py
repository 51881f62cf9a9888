"""`make site`: every link holds, no page asks another machine for anything, and search works without a server."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOADED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*?(?:src|href)=[\"']?((?:https?:)?//[^\"'\s>]+)")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="mkdocs-material is not installed (the extra site)")
    folder = tmp_path_factory.mktemp("site") / "site"
    command = [sys.executable, str(ROOT / "packaging/site/build.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 100
    assert not [found for page in pages for found in LOADED.findall(page.read_text(encoding="utf-8"))]
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", sheet.read_text(encoding="utf-8")), sheet


def test_blocks_in_lists_stay_in_their_item(site: Path) -> None:
    page = (site / "docs/guides/first-test.html").read_text(encoding="utf-8")
    assert page.count("<ol>") == 1
    steps = page.partition("<ol>")[2].partition("</ol>")[0]
    assert steps.count("<li>") == 6
    assert "sanpath check" in steps


def test_search_works_from_the_file_system(site: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium here (Debian: apt-get install chromium)")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom"]
    done = subprocess.run(
        [*command, f"{(site / 'index.html').as_uri()}?q=stonewall"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "docs/guides/first-test.html?h=stonewall" in done.stdout
