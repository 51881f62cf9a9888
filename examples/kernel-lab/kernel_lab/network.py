"""The fabrics, one bridge each in a namespace of its own, and the management network beside them."""

from __future__ import annotations

import json

from kernel_lab.cases import Case, Fabric
from real_lab.network import TBF_BURST
from real_lab.state import State
from real_lab.system import run, wait_until

FABRICS = "ab"
FAST_MEGABITS = 1000
"""What a port without a limit is said to do; more than two emulated machines can send."""

TBF_LATENCY = "200ms"
"""A queue deep enough that TCP fills the rate on two busy cores."""

MANAGEMENT_PORT = "m"


def namespace(state: State, fabric: str) -> str:
    """Where a fabric's bridge is."""
    return f"{state.lab}-{fabric}"


def fabrics(case: Case) -> dict[str, Fabric]:
    """Letter to fabric."""
    return dict(zip(FABRICS, case.fabrics, strict=False))


def switch_address(state: State, fabric: str) -> str:
    """Where a fabric's agent answers."""
    return state.management_network.replace(".0/24", f".{2 + FABRICS.index(fabric)}")


def guest_address(state: State, side: str) -> str:
    """Where a guest's SSH answers."""
    return state.management_network.replace(".0/24", {"host": ".10", "target": ".20"}[side])


def storage_address(side: str, fabric: str) -> str:
    """A guest's address in a fabric."""
    return f"10.214.{1 + FABRICS.index(fabric)}.{ {'host': 10, 'target': 20}[side] }"


def tap(state: State, side: str, port: str) -> str:
    """A guest's cable as it is called before it is plugged in; `port`: a fabric or the management network."""
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
    """Connect a machine's cables, which it has made when it started. Raises LabError."""
    cables = [tap(state, side, port) for port in (MANAGEMENT_PORT, *fabrics(case))]
    wait_until(lambda: set(cables) <= _interfaces(state), f"the cables of {side}")
    _ip(state, "link", "set", cables[0], "master", _management(state), "up")
    for letter, fabric in fabrics(case).items():
        switch, port = namespace(state, letter), f"p-{side}"
        _ip(state, "link", "set", tap(state, side, letter), "netns", switch, "name", port)
        _ip(state, "-n", switch, "link", "set", port, "mtu", str(case.mtu), "master", "br0", "up")
        rate = fabric.host if side == "host" else fabric.target
        if rate is not None:
            _tc(state, switch, port, "root", "tbf", "rate", f"{rate}mbit", "burst", TBF_BURST, "latency", TBF_LATENCY)


def _management(state: State) -> str:
    return f"{state.lab}-m"


def _interfaces(state: State) -> set[str]:
    return {link["ifname"] for link in json.loads(_ip(state, "-json", "link"))}


def _tc(state: State, switch: str, port: str, *words: str) -> None:
    run("tc", "-n", switch, "qdisc", "add", "dev", port, *words, lab=state.lab)


def _ip(state: State, *arguments: str) -> str:
    return run("ip", *arguments, lab=state.lab)
