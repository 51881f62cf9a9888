"""What this machine knows about its SAN: multipath devices, neighbours, and named hosts that answer SNMP.

No network is scanned: only hosts that the user or LLDP names get a request.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

from sanpath.errors import CollectorError
from sanpath.plugin import CommandReply, Cost, Machine, SecretStr, SnmpCredentials, json_object, json_objects
from sanpath.recording.writing.clock import RecorderClock

_UUIDS, _NAMES, _ARP = "/sys/block/dm-*/dm/uuid", "/sys/block/dm-*/dm/name", "/proc/net/arp"
_SYSTEM_DESCRIPTION, _SYSTEM_NAME = "1.3.6.1.2.1.1.1.0", "1.3.6.1.2.1.1.5.0"
"""sysDescr and sysName of SNMPv2-MIB (RFC 3418)."""
_TIMEOUT_SECONDS = 2.0
"""How long an agent or lldpd may take to answer; a slower one is left out of the proposal."""
_INCOMPLETE = "0x0"
"""ARP flags of an address that did not answer (linux/if_arp.h)."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A device at the other end of a cable, from LLDP. `address`: IPv4 of its management; "": none announced."""

    interface: str
    name: str
    address: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What this machine knows about its surroundings. `multipath`: names of multipath devices. `arp`: addresses that
    it has communicated with."""

    multipath: tuple[str, ...] = ()
    neighbours: tuple[Neighbour, ...] = ()
    arp: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Agent:
    """An SNMP agent that answered. `name`: its sysName; `description`: the first line of its sysDescr."""

    host: str
    port: int
    name: str
    description: str


async def read_local_surroundings() -> Surroundings:
    """Read what this machine knows about its surroundings. Missing or unreadable parts are empty."""
    from sanpath.transport.live_context import LiveContext

    return await read_surroundings(LiveContext(RecorderClock(), Cost()).machine())


async def read_surroundings(machine: Machine) -> Surroundings:
    """Read what a machine knows about its surroundings. `lldpctl` needs root or its group to find neighbours."""
    files = await machine.read([_UUIDS, _NAMES, _ARP])
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            lldp = await machine.run(["lldpctl", "-f", "json"])
    except TimeoutError:
        lldp = CommandReply(1, b"", b"")
    return Surroundings(
        tuple(multipath_devices(files)),
        tuple(parse_lldp(lldp.output.decode(errors="replace"))) if lldp.exit_code == 0 else (),
        tuple(parse_arp(files.get(_ARP, b"").decode(errors="replace"))),
    )


def multipath_devices(files: Mapping[str, bytes]) -> list[str]:
    """Return the names of device-mapper devices that multipath made; their UUID begins with mpath-."""
    maps = [path for path, content in files.items() if path.endswith("/uuid") and content.startswith(b"mpath-")]
    names = (files.get(path.removesuffix("uuid") + "name", b"").decode(errors="replace").strip() for path in maps)
    return sorted(name for name in names if name)


def parse_arp(text: str) -> Iterator[str]:
    """Yield the addresses of /proc/net/arp that have answered (columns: address, type, flags, …)."""
    for line in text.splitlines()[1:]:
        columns = line.split()
        if len(columns) > 2 and columns[2] != _INCOMPLETE and _is_ipv4(columns[0]):
            yield columns[0]


def parse_lldp(text: str) -> Iterator[Neighbour]:
    """Yield the neighbours in the output of `lldpctl -f json`, which writes a list with one item as that item.
    Invalid output yields none."""
    try:
        document = json.loads(text)
    except ValueError:
        return
    for interfaces in json_objects(json_object(json_object(document).get("lldp")).get("interface"), or_one=True):
        for interface, neighbour in interfaces.items():
            for name, chassis in _parse_chassis(json_object(neighbour).get("chassis")):
                addresses = json_object(chassis).get("mgmt-ip")
                listed = addresses if isinstance(addresses, list) else [addresses]
                ipv4 = next((text for text in map(str, listed) if _is_ipv4(text)), "")
                yield Neighbour(str(interface), name, ipv4)


def _parse_chassis(chassis: object) -> Iterator[tuple[str, object]]:
    """Yield (name, chassis). The chassis is below its name, or has no name."""
    if isinstance(chassis, dict):
        if "id" in chassis:
            yield "", chassis
        else:
            yield from ((str(name), value) for name, value in chassis.items())


def _is_ipv4(text: str) -> bool:
    try:
        IPv4Address(text)
    except ValueError:
        return False
    return True


async def find_agents(hosts: Sequence[tuple[str, int]], community: SecretStr) -> list[Agent | None]:
    """Send one GET to each (host, UDP port); None: it does not answer, or not to this community."""
    return list(await asyncio.gather(*(_get_agent(host, port, community) for host, port in hosts)))


async def _get_agent(host: str, port: int, community: SecretStr) -> Agent | None:
    from sanpath.transport.live_context import LiveContext

    credentials = SnmpCredentials(host, port, community, _TIMEOUT_SECONDS, retries=0)
    session = LiveContext(RecorderClock(), Cost()).snmp(credentials)
    try:
        values = await session.get([_SYSTEM_NAME, _SYSTEM_DESCRIPTION])
    except CollectorError:
        return None
    finally:
        await session.close()
    name, description = (_text(values.get(oid)) for oid in (_SYSTEM_NAME, _SYSTEM_DESCRIPTION))
    return Agent(host, port, name, description)


def _text(value: object) -> str:
    """Return the first line of a DisplayString; "" if it is empty."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value or "")
    return next(iter(text.splitlines()), "").strip()
