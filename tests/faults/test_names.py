"""Devices and loads with names that try to be markup, colour or lines: in the views that no other test shows them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from sanpath.comparison.compare import compare
from sanpath.diagnose import diagnose
from sanpath.diagnosis.model import Diagnosis
from sanpath.recording.reading.recording import Recording
from sanpath.topology.resolve import resolve
from sanpath.views import compare as compared
from sanpath.views import json as json_view
from sanpath.views import topology as drawn
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, San
from tests.support.stories import COUNTED, NOTHING, X

NASTY = " [red]|*_`<b>#\\ \x1b[2J\x9b31m\r\n# forged\u202e\u2028 {x}"
CONTROL = re.compile(r"[^\n\x20-\x7e\u00a0-\u2027\u2030-\uffff]|[\u202a-\u202e]")


def nasty(folder: Path) -> San:
    ports = [replace(HOST_PORT, name=f"fc1/7{NASTY}"), replace(ARRAY_PORT, device=f"CT0{NASTY}")]
    san = San(folder, ports=ports)
    for n in (16, 128):
        counted = {p.name: (COUNTED, NOTHING) for p in ports}
        san.step(f"{n}{NASTY}", n, read=Flow(X, n / X), ports=counted, array={"read": AtArray(0.0004)})
    return san


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("nasty")
    nasty(made).write()
    return made


@pytest.fixture(scope="module")
def found(folder: Path) -> Diagnosis:
    return diagnose(Recording(folder))


@pytest.mark.parametrize("width", [60, 120])
def test_a_comparison_is_plain_and_keeps_to_its_width(found: Diagnosis, width: int) -> None:
    text = compared.as_text(compare(found, found), width)
    assert not CONTROL.search(text)
    assert "\n# forged" not in text
    assert max(cell_len(line) for line in text.splitlines()) <= width
    assert text.count("[red]") >= 2, "markup is shown and not obeyed"


def test_a_comparison_as_json_is_one_object(found: Diagnosis) -> None:
    text = json_view.render(compare(found, found))
    assert "\x1b" not in text
    assert json.loads(text)


def test_the_topology_is_plain_and_one_line_an_element(folder: Path) -> None:
    topology = resolve(Recording(folder).inventory())
    tree = drawn.as_tree(topology)
    assert not CONTROL.search(tree)
    assert "\n# forged" not in tree
    assert "[red]" in tree
    assert "\x1b" not in drawn.as_json(topology)
