"""The check of a vCenter or an ESXi host before a run, with the facts that this account cannot read."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.plugin import Check, CollectorError, name_list
from sanpath_collectors.vsphere.config import VsphereConfig
from sanpath_collectors.vsphere.connection.performance import Performance
from sanpath_collectors.vsphere.connection.session import Session
from sanpath_collectors.vsphere.connection.soap import FaultError
from sanpath_collectors.vsphere.counters import Plan
from sanpath_collectors.vsphere.properties import details
from sanpath_collectors.vsphere.properties.inventory import NO_HOST, Inventory
from sanpath_collectors.vsphere.tables import CONSEQUENCES

_PRIVILEGES = {
    "System.View": "counters cannot be read: the I/O of hosts, LUNs and paths is unknown",
    "System.Read": "properties cannot be read: the inventory and its links are unknown",
}
"""Privilege of the role Read-only → consequence of its absence."""


async def check(
    session: Session, performance: Performance, inventory: Inventory, plan: Plan, config: VsphereConfig
) -> Check:
    """Return product, version and clock, the size of the inventory, and unreadable facts. Raises CollectorError."""
    about = session.content.about
    luns = sum(len(host.devices) for host in inventory.hosts.values())
    paths = sum(len(host.paths) for host in inventory.hosts.values())
    numbers = {
        "host": len(inventory.hosts),
        "LUN": luns,
        "path": paths,
        "running virtual machine": len(inventory.machines),
    }
    counts = ", ".join(f"{number} {name}{'s' * (number != 1)}" for name, number in numbers.items())
    unreadable = await _privileges(session)
    unreadable += _hosts(inventory, config)
    unreadable += plan.unknown()
    unreadable += await _samples(performance, inventory, plan)
    unreadable += await _esxcli(session, inventory, config)
    return Check(f"{about.fullName}: {counts}", await session.now_us(), tuple(unreadable))


async def _privileges(session: Session) -> list[str]:
    """Return the privileges of the role Read-only that the account lacks at the root."""
    sessions = session.manager("sessionManager")
    objects = await session.properties_of(type(sessions)._wsdlName, [sessions._moId], ["currentSession"])
    current = objects[0].values.get("currentSession") if objects else None
    if not isinstance(current, dict):
        return ["currentSession: the account's privileges are unknown"]
    manager, root = session.manager("authorizationManager"), session.content.rootFolder
    try:
        entities = await session.call(
            manager, "HasPrivilegeOnEntities", [root], current.get("key"), list(_PRIVILEGES)
        )
    except FaultError as fault:
        return [f"the account's privileges: {fault}"]
    granted = {
        privilege.privId: privilege.isGranted
        for entity in entities or ()
        for privilege in entity.privAvailability or ()
    }
    return [
        f"privilege {name} at the root: {consequence}"
        for name, consequence in _PRIVILEGES.items()
        if not granted.get(name)
    ]


def _hosts(inventory: Inventory, config: VsphereConfig) -> Iterator[str]:
    names = {host.name for host in inventory.hosts.values()}
    if not names:
        yield NO_HOST
    for name in config.hosts or ():
        if name not in names and name.partition(".")[0] not in names:
            yield f"host {name}: not found, or this account may not see it"
    machines = {machine.name for machine in inventory.machines.values()}
    for name in config.machines or ():
        if name not in machines:
            yield f"virtual machine {name}: it does not run on these hosts, or this account may not see it"
    unreadable = [f"{host.name} ({host.state})" for host in inventory.hosts.values() if host.state != "connected"]
    if unreadable:
        yield f"{name_list(unreadable)}: their I/O and their virtual machines are unknown"
    for host in inventory.hosts.values():
        for name, reason in host.missing.items():
            yield f"{name} of {host.name}: {reason}"


async def _samples(performance: Performance, inventory: Inventory, plan: Plan) -> list[str]:
    """Return the counter groups without samples on a host, although the server has the counters."""
    hosts = [moid for moid in inventory.connected() if inventory.hosts[moid].state == "connected"]
    if not hosts:
        return []
    name = inventory.hosts[hosts[0]].name
    try:
        available = await performance.available("HostSystem", hosts[0])
    except CollectorError as error:
        return [f"samples of {name}: {error}: whether it has any is unknown"]
    requested = {counter for counter, _ in plan.requested.get("HostSystem", ())}
    groups = {plan.groups[counter] for counter in requested} - {
        plan.groups[counter] for counter in requested & available
    }
    return [f"samples of {group} on {name}: {CONSEQUENCES[group]}" for group in sorted(groups)]


async def _esxcli(session: Session, inventory: Inventory, config: VsphereConfig) -> list[str]:
    hosts = inventory.connected()
    if not config.esxcli or not hosts:
        return []
    host = inventory.hosts[hosts[0]]
    host_details = await details.ask(session, host, True, config.budget_seconds / 2)
    if not host_details.refused:
        return []
    return [f"esxcli on {host.name}: {host_details.refused}: {details.CONSEQUENCE}"]
