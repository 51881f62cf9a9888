"""The fabrics, each a bridge in a separate namespace, and the management network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from kernel_lab.cases import Case, Fabric
from real_lab.network import TBF_BURST
from real_lab.state import State
from real_lab.system import run, wait_until

FABRICS = "ab"
FAST_MEGABITS = 1000
"""Reported speed of a port without a limit; more than two emulated machines can send."""

TBF_LATENCY = "200ms"
"""A queue deep enough that TCP fills the rate on two busy cores."""

MANAGEMENT_PORT = "m"


@dataclass(frozen=True, slots=True)
class Guest:
    """A machine. `role`: its script in `guest/`. `number`: of its role. `address`: last byte of its addresses."""

    name: str
    role: str
    number: int
    address: int
    memory_mib: int


GUESTS: Mapping[str, Guest] = {
    "target": Guest("array1", "target", 1, 20, 768),
    "host": Guest("host1", "host", 1, 10, 512),
    "neighbour": Guest("host2", "host", 2, 11, 384),
    "vm": Guest("vm1", "vm", 1, 30, 512),
}
"""Side → its machine, in the order in which they start."""


def sides(case: Case) -> tuple[str, ...]:
    """Return the sides that have a machine of their own."""
    if case.disk is not None:
        return ("vm",)
    absent = {"vm", "neighbour" if not case.neighbour else "", "target" if case.one_machine else ""}
    return tuple(side for side in GUESTS if side not in absent)


def namespace(state: State, fabric: str) -> str:
    """Return the namespace of a fabric's bridge."""
    return f"{state.lab}-{fabric}"


def fabrics(case: Case) -> dict[str, Fabric]:
    """Return letter → fabric."""
    return dict(zip(FABRICS, case.fabrics, strict=False))


def switch_address(state: State, fabric: str) -> str:
    """Return the address of a fabric's SNMP agent."""
    return state.management_network.replace(".0/24", f".{2 + FABRICS.index(fabric)}")


def guest_address(state: State, side: str) -> str:
    """Return the address of a guest's SSH server."""
    return state.management_network.replace(".0/24", f".{GUESTS[side].address}")


def storage_address(side: str, fabric: str) -> str:
    """Return a guest's address in a fabric."""
    return f"10.214.{1 + FABRICS.index(fabric)}.{GUESTS[side].address}"


def portals(case: Case) -> list[str]:
    """Return the target's address in each fabric."""
    if case.one_machine:
        return [_fibre_channel_names("target", fabric) for fabric in FABRICS]
    return [storage_address("target", fabric) for fabric in fabrics(case)]


def initiators(case: Case) -> list[str]:
    """Return the names of the host's Fibre Channel port in each fabric."""
    if case.one_machine:
        return [_fibre_channel_names("host", fabric) for fabric in FABRICS]
    return [wwpn("host", fabric) for fabric in fabrics(case)]


def wwpn(side: str, fabric: str) -> str:
    """Return the name that libfcoe gives a machine's port in a fabric."""
    return f"20:00:{mac(side, fabric)}"


def mac(side: str, port: str) -> str:
    """Return the address of a machine's network card. `port`: a fabric or `MANAGEMENT_PORT`."""
    return f"52:54:00:00:{GUESTS[side].address:02x}:{ord(port):02x}"


def tap(state: State, side: str, port: str) -> str:
    """Return the name of a guest's cable before it is connected. `port`: a fabric or `MANAGEMENT_PORT`."""
    return f"{state.lab}-{side[0]}{port}"


def build(case: Case, state: State) -> None:
    """Create bridges and the management network. Raises LabError."""
    bridge = _management(state)
    _ip(state, "link", "add", bridge, "type", "bridge")
    _ip(state, "address", "add", f"{state.root_address}/24", "dev", bridge)
    _ip(state, "link", "set", bridge, "up")
    for fabric in fabrics(case):
        switch, cable = namespace(state, fabric), f"{state.lab}-c{fabric}"
        _ip(state, "netns", "add", switch)
        _ip(state, "-n", switch, "link", "set", "lo", "up")
        _ip(state, "link", "add", cable, "type", "veth", "peer", "name", "mgmt0", "netns", switch)
        _ip(state, "link", "set", cable, "master", bridge, "up")
        _ip(state, "-n", switch, "address", "add", f"{switch_address(state, fabric)}/24", "dev", "mgmt0")
        _ip(state, "-n", switch, "link", "set", "mgmt0", "up")
        _ip(state, "-n", switch, "link", "add", "br0", "type", "bridge")
        _ip(state, "-n", switch, "link", "set", "br0", "up")


def plug_in(case: Case, state: State, side: str) -> None:
    """Connect a machine's cables, which it created when it started. Raises LabError."""
    cables = [tap(state, side, port) for port in (MANAGEMENT_PORT, *fabrics(case))]
    wait_until(lambda: set(cables) <= _interfaces(state), f"the cables of {side}")
    _ip(state, "link", "set", cables[0], "master", _management(state), "up")
    for letter, fabric in fabrics(case).items():
        switch, port = namespace(state, letter), f"p-{side}"
        _ip(state, "link", "set", tap(state, side, letter), "netns", switch, "name", port)
        _ip(state, "-n", switch, "link", "set", port, "mtu", str(case.mtu), "master", "br0", "up")
        rate = {"host": fabric.host, "target": fabric.target}.get(side)
        if rate is not None:
            _tc(state, switch, port, "root", "tbf", "rate", f"{rate}mbit", "burst", TBF_BURST, "latency", TBF_LATENCY)


def _fibre_channel_names(side: str, fabric: str) -> str:
    """WWNN and WWPN of a port of nvme-fcloop, as NVMe writes an address."""
    number = f"{GUESTS[side].address:02x}{ord(fabric):02x}"
    return f"nn-0x100000000000{number}:pn-0x200000000000{number}"


def _management(state: State) -> str:
    return f"{state.lab}-m"


def _interfaces(state: State) -> set[str]:
    return {link["ifname"] for link in json.loads(_ip(state, "-json", "link"))}


def _tc(state: State, switch: str, port: str, *words: str) -> None:
    run("tc", "-n", switch, "qdisc", "add", "dev", port, *words, lab=state.lab)


def _ip(state: State, *arguments: str) -> str:
    return run("ip", *arguments, lab=state.lab)
