"""The graph for other tools, the links of the JSON report, and the line of a run under way."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.facts.table import number
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology
from sanpath.views import json as report
from sanpath.views import progress
from sanpath.views.topology import as_graphml, as_json, as_tree
from tests.support.san import ARRAY_PORT, HOST_PORT, San
from tests.support.stories import STORIES, computed, diagnosed, judged, published, recorded

NASTY = ' <node id="x"/> ]]> & \' \x1b[2J\x00\ufffe\n\u202e'


def graph(topology: Topology) -> nx.MultiDiGraph[str]:
    return nx.MultiDiGraph(nx.read_graphml(io.BytesIO(as_graphml(topology).encode()), force_multigraph=True))


def test_the_graph_opens_elsewhere_with_its_kinds_and_evidence() -> None:
    topology = resolve(recorded("published").inventory())
    found = graph(topology)
    assert set(found) == set(topology.entities)
    assert {found.nodes[e]["kind"] for e in found} == {e.kind for e in topology.entities.values()}
    assert found.number_of_edges() == len(topology.links)
    hba = "hba:esx7/vmhba2"
    (login,) = [data for _, _, data in found.out_edges(hba, data=True) if data["relation"] == "logged_in"]
    assert "ifAlias" in login["evidence"]


@pytest.mark.parametrize("more", [NASTY, "\x01", "\ud800"], ids=["markup", "control", "half a character"])
def test_hostile_names_do_not_break_the_graph(more: str) -> None:
    topology = resolve(recorded("published").inventory())
    names = {name: name + more for name in topology.entities}
    topology.entities = {
        names[n]: replace(e, id=names[n], label=e.label + more) for n, e in topology.entities.items()
    }
    topology.links = [
        replace(k, from_entity=names[k.from_entity], to_entity=names[k.to_entity], evidence=(more, *k.evidence))
        for k in topology.links
    ]
    found = graph(topology)
    assert len(found) == len(names)
    assert found.number_of_edges() == len(topology.links)
    assert any(n.startswith("hba:esx7/vmhba2") for n in found)


def test_names_that_differ_only_in_what_cannot_be_written_stay_two_nodes() -> None:
    topology = resolve(recorded("published").inventory())
    one = topology.entities["hba:esx7/vmhba2"]
    for mark in ("\x01", "\x02"):
        topology.entities[one.id + mark] = replace(one, id=one.id + mark, label=one.label + mark)
    assert len(graph(topology)) == len(topology.entities)


def test_hostile_ports_of_a_recording_are_drawn(tmp_path: Path) -> None:
    ports = [replace(HOST_PORT, name='fc1/7"><x>&'), replace(ARRAY_PORT, device="CT0\x1b[2J")]
    san = San(tmp_path, ports=ports)
    san.step("t", 1)
    topology = resolve(san.write().inventory())
    assert 'switch_port:sw1/fc1/7"><x>&' in graph(topology)
    assert "\x1b" not in as_tree(topology)
    assert json.loads(as_json(topology))["io_paths"]


@pytest.mark.parametrize("form", ["tree", "json", "graphml"])
def test_the_command_draws_each_form(form: str) -> None:
    done = CliRunner().invoke(app, ["topology", str(recorded("published").folder), "--format", form])
    assert (done.exit_code, done.stderr) == (0, "")
    assert "fc1/7" in done.stdout


@pytest.mark.parametrize("name", sorted(STORIES))
def test_links_of_the_report_are_those_of_the_facts(name: str) -> None:
    shown = json.loads(report.render(diagnosed(name)))["elements"]
    rows = {(r["entity"], r["step"], r["direction"]): r for r in computed(name).tables["link"]}
    assert len(shown) == len(rows)
    for use in shown:
        row = rows[use["entity"], use["step"], use["direction"]]
        assert use["kind"] == "link"
        for key in ("utilisation", "bytes_per_second", "capacity_bytes_per_second", "share", "full_windows_ratio"):
            assert use[key] == (None if row[key] is None else pytest.approx(number(row, key))), key
        assert use["foreign_bytes_per_second"] == row["foreign_bytes_per_second"]
        assert (use["on_loaded_path"], use["speed"]) == (row["on_loaded_path"], row["speed"])
    ranks = [{True: 0, None: 1, False: 2}[use["on_loaded_path"]] for use in shown]
    assert ranks == sorted(ranks), "the loaded path first"


def test_a_link_of_the_published_test_reads_as_it_was_counted() -> None:
    shown = json.loads(report.render(diagnosed("published")))["elements"]
    (use,) = [u for u in shown if (u["step"], u["direction"]) == ("t800", "read") and "vmhba2" in u["entity"]]
    assert use["bytes_per_second"] == pytest.approx(415.2e6)
    assert (use["speed"], use["share"], use["full_windows_ratio"]) == ("4GFC", 1.0, 1.0)
    assert use["utilisation"] == pytest.approx(0.977, abs=1e-3)


@pytest.mark.parametrize(("seconds", "measuring"), [(4.0, True), (12.0, False)])
def test_before_four_windows_a_run_is_being_measured(tmp_path: Path, seconds: float, measuring: bool) -> None:
    """Of 4 s one is ramp, and two whole windows of the switch are left; of 12 s there are nine."""
    san = published(San(tmp_path, leave_out={"last_end"}), in_flight=(16,))
    san.steps = [replace(step, end=step.begin + seconds) for step in san.steps]
    found = judged(san.write(ended=False))
    assert (found.steps[-1].windows_used < 4) is measuring
    line = progress.line(found)
    assert line.startswith("sanpath: step t16; read 6,250 IOPS")
    assert line.endswith("; measuring") is measuring
    assert ("so far bottleneck" in line) is not measuring
