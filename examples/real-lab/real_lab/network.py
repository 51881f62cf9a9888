"""Namespaces, cables, bridges and the rate limit: the lab's hosts, switch and array ports."""

from __future__ import annotations

import fcntl
import ipaddress
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from real_lab.cases import Case, SwitchPort
from real_lab.state import PREFIX, LabError, State
from real_lab.system import run, wait_until

LOCK_FILE = Path("/run/lock/sanpath-real-lab.lock")
MANAGEMENT_NETWORKS = tuple(f"10.213.{third}.0/24" for third in (0, *range(100, 255)))

VETH_BITS_PER_SECOND = 10.0e9
"""What initiator and target ports are capable of: the speed a veth reports (Linux drivers/net/veth.c)."""

TBF_BURST = "64kb"
"""Below the largest packet that the kernel passes on as one: tbf cuts such packets up, so that the port counts the
headers of every frame (measured: 50 MB/s; with 256kb only the payload's 47.8 MB/s, at the same throughput)."""

TBF_LATENCY = "50ms"


@contextmanager
def choosing_a_network() -> Iterator[str]:
    """Yield an unused management network. Other labs wait until the caller has assigned an address of it."""
    with LOCK_FILE.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        in_use = [
            ipaddress.ip_network(f"{address['local']}/{address['prefixlen']}", strict=False)
            for interface in json.loads(run("ip", "-json", "-4", "address"))
            for address in interface.get("addr_info", ())
        ]
        for network in MANAGEMENT_NETWORKS:
            if not any(ipaddress.ip_network(network).overlaps(used_network) for used_network in in_use):
                yield network
                return
        raise LabError("every management network is taken: take old labs down with `down --all`")


def host_address(fabric: int) -> str:
    """Return the address of the initiator port on a fabric, counted from 0."""
    return f"10.213.{fabric + 1}.1"


def array_address(fabric: int) -> str:
    """Return the address of the target port on a fabric, counted from 0."""
    return f"10.213.{fabric + 1}.2"


def build(case: Case, state: State) -> None:
    """Create namespaces, cables, bridges and rate limits of a lab. Raises LabError."""
    for namespace in state.namespaces.values():
        _ip(state, "netns", "add", namespace)
        _ip(state, "-n", namespace, "link", "set", "lo", "up")
    _management_cable(state)
    host, switch, array = (state.namespaces[role] for role in ("host", "switch", "array"))
    for number, fabric in enumerate(case.fabrics):
        bridge, interface = f"br{number}", f"eth{number}"
        _ip(state, "-n", switch, "link", "add", bridge, "type", "bridge")
        for port, owner, address in (
            (fabric.host_port, host, host_address(number)),
            (fabric.array_port, array, array_address(number)),
        ):
            _ip(state, "link", "add", port.name, "netns", switch, "type", "veth",
                "peer", "name", interface, "netns", owner)  # fmt: skip
            _ip(state, "-n", owner, "address", "add", f"{address}/24", "dev", interface)
            _ip(state, "-n", owner, "link", "set", interface, "up")
            _ip(state, "-n", switch, "link", "set", port.name, "master", bridge, "up")
            _limit(state, switch, port)
        _ip(state, "-n", switch, "link", "set", bridge, "up")


def interface_indexes(state: State) -> dict[str, int]:
    """Return name → ifIndex of the switch's interfaces."""
    links = json.loads(_ip(state, "-json", "-n", state.namespaces["switch"], "link"))
    return {link["ifname"]: link["ifindex"] for link in links}


def namespaces() -> set[str]:
    """Return all named network namespaces of this machine."""
    return {entry["name"] for entry in json.loads(run("ip", "-json", "netns", "list") or "[]")}


def interfaces() -> set[str]:
    """Return all interfaces of this namespace."""
    return {link["ifname"] for link in json.loads(run("ip", "-json", "link"))}


def remove(name_prefix: str) -> None:
    """Delete namespaces and interfaces with a prefix, and wait: the kernel deletes a namespace's cables later.

    Raises LabError: the prefix is not of a lab, or an interface remains.
    """
    if not name_prefix.startswith(PREFIX):
        raise LabError(f"{name_prefix!r} is not the name of a lab")
    for interface in _with_prefix(name_prefix, interfaces()):
        with suppress(LabError):  # another `down` may be quicker; whether it is gone is asked below
            run("ip", "link", "delete", interface)
    for namespace in _with_prefix(name_prefix, namespaces()):
        with suppress(LabError):
            run("ip", "netns", "delete", namespace)
    wait_until(
        lambda: not _with_prefix(name_prefix, interfaces() | namespaces()), f"the interfaces of {name_prefix} to go"
    )


def _with_prefix(prefix: str, names: set[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(prefix))


def _management_cable(state: State) -> None:
    switch, ours = state.namespaces["switch"], state.management_interface
    _ip(state, "link", "add", ours, "type", "veth", "peer", "name", "mgmt0", "netns", switch)
    _ip(state, "-n", switch, "address", "add", f"{state.switch_address}/24", "dev", "mgmt0")
    _ip(state, "-n", switch, "link", "set", "mgmt0", "up")
    _ip(state, "address", "add", f"{state.root_address}/24", "dev", ours)
    _ip(state, "link", "set", ours, "up")


def _limit(state: State, switch: str, port: SwitchPort) -> None:
    if port.rate_megabits_per_second is not None:
        rate = f"{port.rate_megabits_per_second}mbit"
        run("tc", "-n", switch, "qdisc", "add", "dev", port.name, "root",
            "tbf", "rate", rate, "burst", TBF_BURST, "latency", TBF_LATENCY, lab=state.lab)  # fmt: skip


def _ip(state: State, *arguments: str) -> str:
    return run("ip", *arguments, lab=state.lab)
