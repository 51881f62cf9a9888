"""The ports of a simulated switch for its SNMP agent: logins, and peers at the far end of links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sanpath_lab.physics.fabric import Cable
from sanpath_lab.routing import switch_of
from sanpath_lab.scenario import Array, FcPort, Scenario, Switch
from sanpath_lab.simulation import Simulation

BOOTED_SECONDS_BEFORE = 86_400 * 17
"""Uptime of a switch when the lab starts."""

SYMBOLIC_NAMES = {
    "initiator": "QLE2692 FW:v8.08.05 DVR:v10.02.09.400-k HN:{owner}",
    "target": "PURE    FlashArray      8888",
}
"""Role → symbolic name that its driver registers with the name server."""

Role = Literal["initiator", "target"]


@dataclass(frozen=True, slots=True)
class Login:
    """A device that has logged in at a port. `fc_id`: its three-octet address."""

    wwpn: bytes
    node_wwn: bytes
    fc_id: bytes
    role: Role
    symbolic_name: str


@dataclass(frozen=True, slots=True)
class Peer:
    """The port at the other end of an inter-switch link."""

    switch_wwn: bytes
    domain_id: int
    port_number: int
    port_wwn: bytes


@dataclass(frozen=True, slots=True)
class SwitchPort:
    """A port. `number` is counted from 1. `cable`: None: no cable; then it has neither logins nor a peer.

    At the uplink of an N_Port virtualizer all devices behind it have logged in.
    """

    number: int
    name: str
    wwn: bytes
    alias: str
    gigabit: int
    cable: Cable | None
    logins: tuple[Login, ...]
    peer: Peer | None

    @property
    def login(self) -> Login | None:
        """The first login. None: no device has logged in."""
        return self.logins[0] if self.logins else None

    @property
    def octets(self) -> tuple[int, int]:
        """Received and sent."""
        return (self.cable.towards_switch.octets, self.cable.from_switch.octets) if self.cable else (0, 0)

    @property
    def frames(self) -> tuple[int, int]:
        """Received and sent."""
        return (self.cable.towards_switch.frames, self.cable.from_switch.frames) if self.cable else (0, 0)

    @property
    def damaged_frames(self) -> int:
        """Received with a wrong checksum."""
        return self.cable.towards_switch.damaged_frames if self.cable else 0

    @property
    def stall_ticks(self) -> int:
        """Time with frames to send and no credit."""
        return self.cable.from_switch.stall_ticks if self.cable else 0

    @property
    def stalls(self) -> tuple[int, int]:
        """How often the port at the far end ran out of credits, and how often this port did."""
        return (self.cable.towards_switch.stalls, self.cable.from_switch.stalls) if self.cable else (0, 0)


def wwn(text: str) -> bytes:
    """Return the eight octets of a WWN with colons."""
    return bytes.fromhex(text.replace(":", ""))


def hundredths(simulation: Simulation) -> int:
    """Return the uptime in hundredths of a second."""
    return int((simulation.now + BOOTED_SECONDS_BEFORE) * 100)


def port_wwn(switch: Switch, number: int) -> bytes:
    """Format 2 of a WWN: the port, as the vendor counts it, and the switch."""
    counted = number - 1 if switch.agent == "fabric_os" else number
    return bytes((0x20, counted)) + wwn(switch.wwn)[2:]


def switch_ports(simulation: Simulation, switch: Switch) -> list[SwitchPort]:
    """Return the ports of a switch in order."""
    scenario, cables = simulation.scenario, simulation.fabric.cables
    devices = {device.switch_port: device for device in scenario.devices}
    links = dict(ends for link in scenario.inter_switch_links for ends in (link.ends, link.ends[::-1]))
    ports = []
    for name, number in switch.ports.items():
        device, far_port, cable = devices.get(name), links.get(name), cables.get(name)
        devices_behind = [device] if device else _behind(scenario, far_port)
        alias = (
            f"{_owner(scenario, device)} {device.name} {device.wwpn}"
            if device
            else f"to {far_port}"
            if far_port
            else ""
        )
        ports.append(
            SwitchPort(
                number,
                name.partition("/")[2],
                port_wwn(switch, number),
                alias,
                cable.gigabit if cable else switch.gigabit,
                cable,
                tuple(_login(scenario, switch, number, place, login) for place, login in enumerate(devices_behind)),
                _peer(scenario, far_port) if far_port and not devices_behind else None,
            )
        )
    return ports


def _array(scenario: Scenario, device: FcPort) -> Array:
    return next(array for array in scenario.arrays if device in array.ports)


def _owner(scenario: Scenario, device: FcPort) -> str:
    return scenario.initiators.get(device.wwpn) or _array(scenario, device).name


def _behind(scenario: Scenario, far_port: str | None) -> list[FcPort]:
    """Return the devices that logged in through the switch at the far end, if it is an N_Port virtualizer."""
    edge = next((switch for switch in scenario.switches if far_port and switch.name == switch_of(far_port)), None)
    if edge is None or not edge.virtualizes_ports:
        return []
    return [device for device in scenario.devices if switch_of(device.switch_port) == edge.name]


def _login(scenario: Scenario, switch: Switch, number: int, place: int, device: FcPort) -> Login:
    role: Role = "initiator" if device.wwpn in scenario.initiators else "target"
    node = "20" + device.wwpn[2:] if role == "initiator" else _array(scenario, device).ports[0].wwpn
    name = SYMBOLIC_NAMES[role].format(owner=_owner(scenario, device))
    return Login(wwn(device.wwpn), wwn(node), bytes((switch.domain_id, number, place)), role, name)


def _peer(scenario: Scenario, far_port: str) -> Peer:
    switch = next(switch for switch in scenario.switches if switch.name == switch_of(far_port))
    number = switch.ports[far_port]
    return Peer(wwn(switch.wwn), switch.domain_id, number, port_wwn(switch, number))
