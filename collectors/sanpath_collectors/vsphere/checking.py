"""What a vCenter or an ESXi host says of itself before a run, and what this account cannot read."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.plugin import Check, CollectorError
from sanpath_collectors.vsphere import details
from sanpath_collectors.vsphere.config import VsphereConfig
from sanpath_collectors.vsphere.counters import Plan
from sanpath_collectors.vsphere.inventory import NO_HOST, Inventory
from sanpath_collectors.vsphere.performance import Performance
from sanpath_collectors.vsphere.session import Session
from sanpath_collectors.vsphere.soap import FaultError
from sanpath_collectors.vsphere.tables import CONSEQUENCES

_PRIVILEGES = {
    "System.View": "counters cannot be read: what hosts, LUNs and paths do is unknown",
    "System.Read": "properties cannot be read: what there is, and how it hangs together, is unknown",
}
"""What the role Read-only has, and what stays unknown without."""

_NAMED = 8
"""How many hosts a message names."""


async def check(
    session: Session, performance: Performance, found: Inventory, plan: Plan, config: VsphereConfig
) -> Check:
    """Product, version and clock, after a look at the inventory. Raises CollectorError."""
    about = session.content.about
    luns = sum(len(host.devices) for host in found.hosts.values())
    ways = sum(len(host.paths) for host in found.hosts.values())
    numbers = {"host": len(found.hosts), "LUN": luns, "path": ways, "running virtual machine": len(found.machines)}
    counts = ", ".join(f"{number} {what}{'s' * (number != 1)}" for what, number in numbers.items())
    unreadable = await _privileges(session)
    unreadable += _hosts(found, config)
    unreadable += plan.unknown()
    unreadable += await _samples(performance, found, plan)
    unreadable += await _second_tier(session, found, config)
    return Check(f"{about.fullName}: {counts}", await session.now_us(), tuple(unreadable))


async def _privileges(session: Session) -> list[str]:
    """The privileges of the role Read-only that the account lacks at the root."""
    own = session.manager("sessionManager")
    said = await session.properties_of(type(own)._wsdlName, [own._moId], ["currentSession"])
    current = said[0].values.get("currentSession") if said else None
    if not isinstance(current, dict):
        return ["currentSession: the account's privileges are unknown"]
    manager, root = session.manager("authorizationManager"), session.content.rootFolder
    try:
        told = await session.call(manager, "HasPrivilegeOnEntities", [root], current.get("key"), list(_PRIVILEGES))
    except FaultError as fault:
        return [f"the account's privileges: {fault}"]
    granted = {one.privId: one.isGranted for entity in told or () for one in entity.privAvailability or ()}
    return [
        f"privilege {name} at the root: {without}" for name, without in _PRIVILEGES.items() if not granted.get(name)
    ]


def _hosts(found: Inventory, config: VsphereConfig) -> Iterator[str]:
    known = {host.name for host in found.hosts.values()}
    if not known:
        yield NO_HOST
    for name in config.hosts or ():
        if name not in known and name.partition(".")[0] not in known:
            yield f"host {name}: there is none of this name, or this account does not see it"
    machines = {machine.name for machine in found.machines.values()}
    for name in config.machines or ():
        if name not in machines:
            yield f"virtual machine {name}: it does not run on these hosts, or this account does not see it"
    away = [f"{host.name} ({host.state})" for host in found.hosts.values() if host.state != "connected"]
    if away:
        yield f"{_some(away)}: what they do, and who works on them, is unknown"
    for host in found.hosts.values():
        for name, why in host.missing.items():
            yield f"{name} of {host.name}: {why}"


async def _samples(performance: Performance, found: Inventory, plan: Plan) -> list[str]:
    """Groups of counters of which a host has no samples, although the server knows them."""
    hosts = [moid for moid in found.connected() if found.hosts[moid].state == "connected"]
    if not hosts:
        return []
    name = found.hosts[hosts[0]].name
    try:
        there = await performance.available("HostSystem", hosts[0])
    except CollectorError as error:
        return [f"samples of {name}: {error}: whether it has any is unknown"]
    asked = {counter for counter, _ in plan.asked.get("HostSystem", ())}
    groups = {plan.groups[counter] for counter in asked} - {plan.groups[counter] for counter in asked & there}
    return [f"samples of {group} on {name}: {CONSEQUENCES[group]}" for group in sorted(groups)]


async def _second_tier(session: Session, found: Inventory, config: VsphereConfig) -> list[str]:
    hosts = found.connected()
    if not config.esxcli or not hosts:
        return []
    told = await details.ask(session, found.hosts[hosts[0]], True, config.budget_seconds / 2)
    return [f"esxcli on {found.hosts[hosts[0]].name}: {told.refused}: {details.CONSEQUENCE}"] if told.refused else []


def _some(names: list[str]) -> str:
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if names[_NAMED:] else "")
