"""The wheel: what a plain install gets."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_its_top_level_names_are_ours(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    info = {top for top in tops if top.endswith(".dist-info")}
    assert tops - info == {"sanpath", "sanpath_collectors", "sanpath_rules", "sanpath_lab", "sanpath_testbed"}


def test_it_holds_the_data_files(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert "sanpath/py.typed" in names
    assert "sanpath/catalogue/metrics.yaml" in names
    assert "sanpath/views/html/report.html.jinja" in names
    assert "sanpath/views/html/vendor/uPlot.LICENSE" in names
    assert "sanpath_rules/fabric/link-full.yaml" in names
    assert "sanpath_lab/scenarios/four-gigabit-switch.yaml" in names
    assert "sanpath_collectors/flasharray/README.md" in names
    assert not any(name.startswith("tests/") for name in names)
