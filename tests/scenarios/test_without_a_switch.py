"""No switch is read: what the host's initiators and the target ports of its LUN can carry still names a full link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.model import Scalar
from sanpath_collectors.linux_host.tables import HBA
from tests.support.recording import Number, RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, AtArray, Flow, Port, San
from tests.support.stories import judged

PAYLOAD = 409.6e6
"""Bytes a second of 64 KiB blocks through 4GFC: 97.7 % of what a full link reads, less headers."""
ETHERNET_OPS = 1e9 / 8 * 0.95 / (64 * KIB)
"""Reads of 64 KiB a second through a full link of 1 Gb/s, whose frames take a twentieth."""
SECOND_TARGET = Port("fc1/2", "CT1.FC0", "524a937000000002", host="")
SECOND = Port("fc1/8", "vmhba3", "21000024ff000002", host="esx7")


def plateau(folder: Path, ports: Sequence[Port], ops: float, lun_paths: Sequence[tuple[str, str]] = ()) -> Diagnosis:
    """Twice the I/Os in flight give twice the latency, and the array answers in 0.3 ms."""
    with_targets = ports if any(not port.host for port in ports) else [*ports, ARRAY_PORT]
    san = San(folder, ports=with_targets, leave_out={"switch"}, lun_paths=lun_paths)
    for in_flight in (64, 128):
        san.step(
            f"q{in_flight}", in_flight, read=Flow(ops, in_flight / ops), array={"read": AtArray(0.0003, san=None)}
        )
    return judged(san.write())


def port(made: Port, speed: float) -> Port:
    return Port(made.name, made.device, made.wwpn, speed, speed, made.host)


@pytest.mark.parametrize(
    ("speeds", "links", "names"),
    [
        ((4,), 1, {"hba:esx7/vmhba2"}),
        ((4, 4), 2, {"hba:esx7/vmhba2", "hba:esx7/vmhba3"}),
        ((16, 4), 2, {"hba:esx7/vmhba3"}),
    ],
    ids=["one", "two", "the slower of two"],
)
def test_what_the_initiators_can_carry_together_is_their_limit(
    tmp_path: Path, speeds: Sequence[float], links: int, names: set[str]
) -> None:
    ports = [port(made, speed) for made, speed in zip((HOST_PORT, SECOND), speeds, strict=False)]
    found = plateau(tmp_path, ports, links * PAYLOAD / (64 * KIB))
    (bottleneck,) = found.verdict.bottlenecks
    assert {bottleneck.entity, *bottleneck.coincident} == names
    assert any("were not measured" in words for words in bottleneck.because)


def test_initiators_that_together_carry_what_one_can_may_be_used_in_turn(tmp_path: Path) -> None:
    found = plateau(tmp_path, [port(HOST_PORT, 4), port(SECOND, 4)], PAYLOAD / (64 * KIB))
    assert "path_policy" in {suspect.kind for suspect in found.verdict.suspects}


@pytest.mark.parametrize("share", [0.3, 0.6, 0.85])
def test_initiators_that_can_carry_more_are_not_accused(tmp_path: Path, share: float) -> None:
    found = plateau(tmp_path, [port(HOST_PORT, 4)], share * PAYLOAD / (64 * KIB))
    assert not any(bottleneck.entity.startswith("hba:") for bottleneck in found.verdict.bottlenecks)


@pytest.mark.parametrize(
    ("speeds", "links", "names"),
    [
        ((4,), 1, {"array_port:fa1/CT0.FC0"}),
        ((4, 4), 2, {"array_port:fa1/CT0.FC0", "array_port:fa1/CT1.FC0"}),
        ((16, 4), 2, {"array_port:fa1/CT1.FC0"}),
    ],
    ids=["one", "two", "the slower of two"],
)
def test_what_the_target_ports_of_the_lun_can_carry_together_is_its_limit(
    tmp_path: Path, speeds: Sequence[float], links: int, names: set[str]
) -> None:
    targets = [port(made, speed) for made, speed in zip((ARRAY_PORT, SECOND_TARGET), speeds, strict=False)]
    lun_paths = [(HOST_PORT.device, target.device) for target in targets]
    found = plateau(tmp_path, [port(HOST_PORT, 32), *targets], links * PAYLOAD / (64 * KIB), lun_paths)
    (bottleneck,) = found.verdict.bottlenecks
    assert {bottleneck.entity, *bottleneck.coincident} == names
    assert any("were not measured" in words for words in bottleneck.because)


@pytest.mark.parametrize(("share", "targets_with_path"), [(0.6, 1), (0.85, 1), (1.0, 2), (1.0, 0)], ids=str)
def test_target_ports_that_can_carry_more_or_that_no_path_leads_to_are_not_accused(
    tmp_path: Path, share: float, targets_with_path: int
) -> None:
    targets = [port(made, 4) for made in (ARRAY_PORT, SECOND_TARGET)]
    lun_paths = [(HOST_PORT.device, target.device) for target in targets[:targets_with_path]]
    found = plateau(tmp_path, [port(HOST_PORT, 32), *targets], share * PAYLOAD / (64 * KIB), lun_paths)
    assert not any(bottleneck.entity.startswith("array_port:") for bottleneck in found.verdict.bottlenecks)


@dataclass(slots=True)
class Counting(San):
    """The hypervisor's host counts the bytes of its adapters. `moved`: adapter → bytes a second that it reads."""

    moved: Mapping[str, float] = field(default_factory=dict)
    cabled: Sequence[tuple[Port, int]] = ()
    """Ports of which the configuration names the switch port, by its number."""

    def _configuration(self, out: RecordingBuilder) -> None:
        San._configuration(self, out)
        if self.cabled:
            out.entity("config", "switch", "sw1")
        for made, number in self.cabled:
            out.entity("config", "switch_port", f"sw1/fc1/{number}", attributes={"speed_bits_per_second": 4e9})
            out.configure_link(f"switch_port:sw1/fc1/{number} member_of switch:sw1")
            kind, device = ("array_port", "fa1") if number == 1 else ("hba", "esx7")
            out.configure_link(f"switch_port:sw1/fc1/{number} cabled_to {kind}:{device}/{made.device}")
        out.source("os", "linux_host", HBA)
        for made in (HOST_PORT, SECOND):
            ids = {"wwpn": (made.wwpn,)}
            out.entity("os", "hba", made.device, f"esx7/{made.device}", ids, {"technology": "fibre_channel"})
        for at in range(int(self.steps[-1].end) + 2):
            out.poll("os", at)
            counted: dict[str, dict[str, Number]] = {
                hba: {"bytes_rx_total": round(rate * at), "bytes_tx_total": 0, "link_speed_bits_per_second": 32e9}
                for hba, rate in self.moved.items()
            }
            out.samples("os", HBA, at, counted)


@pytest.mark.parametrize(("second", "names"), [(0.0, {"array_port:fa1/CT0.FC0"}), (0.5, set())], ids=str)
def test_a_target_port_whose_only_initiator_is_idle_carries_nothing(
    tmp_path: Path, second: float, names: set[str]
) -> None:
    """Each initiator has a path to a target port of its own. One carries as much as one of them can."""
    targets = [port(made, 4) for made in (ARRAY_PORT, SECOND_TARGET)]
    ports = [port(HOST_PORT, 32), port(SECOND, 32), *targets]
    lun_paths = [(HOST_PORT.device, ARRAY_PORT.device), (SECOND.device, SECOND_TARGET.device)]
    moved = {HOST_PORT.device: (1 - second) * PAYLOAD, SECOND.device: second * PAYLOAD}
    san = Counting(tmp_path, ports=ports, leave_out={"switch"}, lun_paths=lun_paths, moved=moved)
    ops = PAYLOAD / (64 * KIB)
    for in_flight in (64, 128):
        array = {"read": AtArray(0.0003, san=None)}
        san.step(f"q{in_flight}", in_flight, read=Flow(ops, in_flight / ops), array=array)
    verdict = judged(san.write()).verdict
    assert {name for b in verdict.bottlenecks for name in (b.entity, *b.coincident)} == names


@pytest.mark.parametrize("cabled", [(), ((HOST_PORT, 7), (SECOND, 8), (ARRAY_PORT, 1))], ids=["unknown", "known"])
def test_a_port_whose_switch_is_known_carries_as_much_as_one_whose_switch_is_not(
    tmp_path: Path, cabled: Sequence[tuple[Port, int]]
) -> None:
    """Both initiators have paths to both target ports, which together carry twice as much as the load asks for."""
    targets = [port(made, 4) for made in (ARRAY_PORT, SECOND_TARGET)]
    hbas = [port(HOST_PORT, 32), port(SECOND, 32)]
    lun_paths = [(hba.device, target.device) for hba in hbas for target in targets]
    moved = {hba.device: 0.5 * PAYLOAD for hba in hbas}
    san = Counting(
        tmp_path, ports=[*hbas, *targets], leave_out={"switch"}, lun_paths=lun_paths, moved=moved, cabled=cabled
    )
    ops = PAYLOAD / (64 * KIB)
    for in_flight in (64, 128):
        array = {"read": AtArray(0.0003, san=None)}
        san.step(f"q{in_flight}", in_flight, read=Flow(ops, in_flight / ops), array=array)
    assert judged(san.write()).verdict.grade == "C"


def test_a_port_and_the_cable_in_it_are_one_link(tmp_path: Path) -> None:
    """The agent of the switch, whose port runs at 1 Gb/s, does not answer any more. The host's port can do 100, and
    counts its own bytes. One path is used: there are no paths in turn."""

    class PortCounts(San):
        def _configuration(self, out: RecordingBuilder) -> None:
            San._configuration(self, out)
            out.source("esx7", "linux_host", HBA)
            about: dict[str, Scalar] = {"technology": "ethernet", "speed_bits_per_second": 100e9}
            out.entity("esx7", "hba", "vmhba2", "esx7/vmhba2", {"wwpn": (HOST_PORT.wwpn,)}, about)
            for at in range(int(self.steps[-1].end) + 2):
                out.poll("esx7", at)
                moved = round(1.02 * ETHERNET_OPS * 64 * KIB * at)
                out.samples("esx7", HBA, at, {"vmhba2": {"bytes_rx_total": moved, "bytes_tx_total": at}})

    ports = [replace(HOST_PORT, speed=1, capable=100), replace(ARRAY_PORT, speed=100, capable=100)]
    san = PortCounts(tmp_path / "a", ports=ports, technology="ethernet", unanswered={"sw1": (18.0, inf)})
    for n in (1, 16, 64):
        ops = min(ETHERNET_OPS, n / 1.5e-3)
        flow = {"read": Flow(ops, n / ops)}
        counted = {port.name: (1.05 * ops * 64 * KIB, 1e4) for port in ports}
        array = {"read": AtArray(0.0003, san=None)}
        san.step(f"t{n}", n, read=flow["read"], disk=flow, array=array, ports=counted)
    suspects = judged(san.write()).verdict.suspects
    assert suspects[0].kind == "link"
    assert "path_policy" not in {suspect.kind for suspect in suspects}
