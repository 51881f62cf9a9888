"""An Ethernet SAN whose switches report no neighbours: the cables of the guide, named by hand, make the path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from sanpath.diagnose import diagnose
from sanpath.diagnosis.model import Diagnosis
from sanpath.recording.reading.recording import Recording
from sanpath.topology.resolve import resolve
from sanpath.views.terminal_report import render
from sanpath.views.topology import as_tree
from tests.support.recording import RecordingBuilder
from tests.support.san import KIB, PORTS, AtArray, Flow, Port, San

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "ethernet-without-lldp.md"
HOST = Port("Ethernet1/1", "ens1f0", "", 10, None, on="leaf1")
ARRAY = Port("Ethernet1/9", "ct0.eth4", "", 10, None, host="", on="leaf2")
UPLINK = Port("Ethernet1/49", "", "", 40, host="", on="leaf1")
DOWNLINK = replace(UPLINK, host="leaf1", on="leaf2")


@dataclass(slots=True)
class WithoutNeighbours(San):
    """Two switches that count bytes, and know nothing of what is at their ports. `sentences`: the configuration."""

    sentences: Sequence[str] = ()

    def _configuration(self, out: RecordingBuilder) -> None:
        for sentence in self.sentences:
            out.configure_link(sentence)
        out.source("db1", "linux_host")
        out.entity("db1", "host", "db1", ids={"name": ("db1",)})
        out.entity("db1", "hba", "db1/ens1f0", ids={"mac": ("aabbcc000001",)}, attributes={"technology": "ethernet"})
        out.link("db1", "attached_to", (("hba", "db1/ens1f0"), ("host", "db1")), "sysfs")

    def _switch(self, out: RecordingBuilder, name: str, last: float) -> None:
        ports = [port for port in (HOST, ARRAY, UPLINK, DOWNLINK) if port.on == name]
        out.source(name, "snmp_switch", PORTS, every=1.0)
        out.entity(name, "switch", name, ids={"name": (name,)})
        for port in ports:
            about = {"technology": "ethernet"}
            out.entity(name, "switch_port", port.name, port.name, {"name": (port.name,)}, about)
            out.link(name, "member_of", (("switch_port", port.name), ("switch", name)), "ifTable")
        for second in range(int(last)):
            out.poll(name, second + 0.5)
            out.samples(name, PORTS, second + 0.5, {port.name: self._port(port, second + 0.5) for port in ports})


def links_of_the_guide() -> list[str]:
    block = GUIDE.read_text(encoding="utf-8").partition("```yaml\n")[2].partition("```")[0]
    links: list[str] = yaml.safe_load(block)["topology"]["links"]
    return links


def result(folder: Path, sentences: Sequence[str]) -> Diagnosis:
    """1.14 GB/s of payload, and 4 % for frames: the links of 10 Gb/s are full, that between the switches is not."""
    san = WithoutNeighbours(folder, ports=[HOST, ARRAY], technology="ethernet", sentences=sentences)
    ops = 1.14e9 / (64 * KIB)
    carried = (1.04 * 1.14e9, 1e6)
    for in_flight in (16, 128):
        counted = {f"{port.on}/{port.name}": carried for port in (HOST, ARRAY, UPLINK, DOWNLINK)}
        at_array = {"read": AtArray(0.0004)}
        san.step(f"t{in_flight}", in_flight, read=Flow(ops, in_flight / ops), ports=counted, array=at_array)
    return diagnose(san.write())


def test_the_cables_of_the_guide_make_the_path(tmp_path: Path) -> None:
    (bottleneck,) = result(tmp_path / "r.sanpath", links_of_the_guide()).verdict.bottlenecks
    named = {bottleneck.entity, *bottleneck.coincident}
    assert named == {"link:db1/ens1f0--leaf1/Ethernet1/1", "link:leaf2/Ethernet1/9--fa1/ct0.eth4"}


def test_without_them_the_ports_that_move_what_the_test_does_are_judged(tmp_path: Path) -> None:
    """Another host may move as many bytes: the verdict is not as sure as one with known devices."""
    diagnosis = result(tmp_path / "r.sanpath", ["load:fio runs_on host:db1"])
    (bottleneck,) = diagnosis.verdict.bottlenecks
    named = {bottleneck.entity, *bottleneck.coincident}
    assert named == {"switch_port:leaf1/Ethernet1/1", "switch_port:leaf2/Ethernet1/9"}
    assert diagnosis.verdict.grade == "B"
    assert "no source names the device there" in " ".join(render(diagnosis, 100, colour=False).split())


def test_with_a_misspelt_port_the_path_still_ends_at_the_host(tmp_path: Path) -> None:
    links = [link.replace("leaf2/Ethernet1/9 ", "leaf2/Ethernet1/99 ") for link in links_of_the_guide()]
    result(tmp_path / "r.sanpath", links)
    drawing = as_tree(resolve(Recording(tmp_path / "r.sanpath").inventory())).partition("\n\n")[0]
    assert drawing == "load:fio on host:db1"
