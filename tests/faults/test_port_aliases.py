"""Names that a switch gives its ports, as octets on the wire, in every form of every view."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import networkx as nx
import pytest
import yaml

from tests.recorder.processes import sanpath
from tests.transport.ber import COUNTER64, GAUGE32, TIME_TICKS
from tests.transport.recorded_agent import Objects, integer, serving, text

NASTY = b"\xff\xfe[red]caf\xe9|*_`<b>&\"'\\\x1b[2J\x9b31m\x00\x07\r\n# forged\xe2\x80\xae{x}]]>"
WWPN = b" 21:00:00:24:ff:00:00:01"
SYSTEM, IF_ENTRY, IF_X_ENTRY = "1.3.6.1.2.1.1", "1.3.6.1.2.1.2.2.1", "1.3.6.1.2.1.31.1.1.1"
FIBRE_CHANNEL, UP = 56, 1
CONTROL = re.compile(r"[^\n\x20-\x7e\u00a0-\u2027\u2030-\uffff]|[\u202a-\u202e]")
SWITCH: Objects = [
    (f"{SYSTEM}.1.0", text(NASTY)),
    (f"{SYSTEM}.3.0", integer(4242, TIME_TICKS)),
    (f"{SYSTEM}.5.0", text(b"sw1" + NASTY)),
    (f"{IF_ENTRY}.2.1", text(NASTY)),
    (f"{IF_ENTRY}.3.1", integer(FIBRE_CHANNEL)),
    (f"{IF_ENTRY}.8.1", integer(UP)),
    (f"{IF_X_ENTRY}.1.1", text(b"fc1/1" + NASTY)),
    (f"{IF_X_ENTRY}.6.1", integer(10**12, COUNTER64)),
    (f"{IF_X_ENTRY}.10.1", integer(10**12, COUNTER64)),
    (f"{IF_X_ENTRY}.15.1", integer(8_000, GAUGE32)),
    (f"{IF_X_ENTRY}.18.1", text(b"esx7" + NASTY + WWPN)),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("aliases")
    (folder / "community").write_text("public")
    with serving(SWITCH) as agent:
        source = {"name": "sw1", "collector": "snmp_switch", "host": "127.0.0.1", "port": agent.port}
        source |= {"community": "file:community", "every_seconds": 0.5}
        (folder / "sanpath.yaml").write_text(yaml.safe_dump({"sources": [source]}))
        done = sanpath("run", "--for", "3", "--into", "r.sanpath", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert not CONTROL.search(done.stdout + done.stderr)
    return folder


def shown(folder: Path, *command: str) -> str:
    done = sanpath(command[0], "r.sanpath", *command[1:], cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_a_report_is_plain(folder: Path, form: str) -> None:
    report = shown(folder, "diagnose", "--format", form)
    assert not CONTROL.search(report)
    assert "\n# forged" not in report


def test_the_tree_is_plain_and_shows_markup_as_it_is(folder: Path) -> None:
    tree = shown(folder, "topology", "--format", "tree")
    assert not CONTROL.search(tree)
    assert "\n# forged" not in tree
    assert "[red]caf" in tree
    assert "21000024ff000001" in tree, "the login that the alias tells of"


@pytest.mark.parametrize("command", ["diagnose", "topology"])
def test_json_is_one_object_without_control_characters(folder: Path, command: str) -> None:
    printed = shown(folder, command, "--format", "json")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", printed)
    assert json.loads(printed)


def test_graphml_is_well_formed_and_keeps_the_name(folder: Path) -> None:
    graph = nx.read_graphml(io.BytesIO(shown(folder, "topology", "--format", "graphml").encode()))
    ports = [about["label"] for _, about in graph.nodes(data=True) if about["kind"] == "switch_port"]
    assert len(ports) == 1
    assert "[red]caf" in ports[0]
    assert "]]>" in ports[0]
    assert not CONTROL.search(ports[0])
