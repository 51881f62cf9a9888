"""Changes during a run: states of paths and hosts, and the hosts of virtual machines. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sanpath.plugin import Event, Rows, SourceEntity, SourceLink
from sanpath_collectors.vsphere.connection.session import ManagedObject
from sanpath_collectors.vsphere.properties import paths
from sanpath_collectors.vsphere.properties.inventory import EsxHost, Inventory, host_state
from sanpath_collectors.vsphere.tables import PATH_STATE

_MULTIPATH = "config.storageDevice.multipathInfo"
HOST_PROPERTIES = ("runtime.connectionState", "runtime.inMaintenanceMode", _MULTIPATH)
MACHINE_PROPERTIES = ("runtime.host", "runtime.powerState")

_GONE = "gone"
_CONSEQUENCES = {
    "connected": "it is read again",
    "maintenance": "its virtual machines are moved away, and its I/O does not belong to the test",
}
_UNREAD = "nothing is known about it from here on"


@dataclass(slots=True)
class States:
    """The last reported states. A path that has disappeared is retained as gone: it carries no I/O."""

    _paths: dict[tuple[str, str], str] = field(default_factory=dict)

    def begin(self, inventory: Inventory) -> None:
        """Store the states of an inventory for paths without a stored state."""
        for host in inventory.hosts.values():
            for path in host.paths:
                self._paths.setdefault((host.name, path.name), path.state)

    def changes(
        self, inventory: Inventory, hosts: Sequence[ManagedObject], seen_us: int, device_time_us: int
    ) -> Iterator[SourceEntity | SourceLink | Event | Rows]:
        """Yield the changes, and the state of every path. Updates `inventory`."""
        entities: list[str] = []
        usable: list[int | None] = []
        for answer in hosts:
            host = inventory.hosts[answer.moid]
            yield from _host_change(host, answer, seen_us)
            multipath = answer.values.get(_MULTIPATH)
            if isinstance(multipath, dict):
                yield from self._path_changes(host, paths.states(multipath), seen_us)
            elif host.state not in ("connected", "maintenance"):
                continue
            for path in host.paths:
                state = self._paths[host.name, path.name]
                entities.append(f"{host.name}/{path.name}")
                is_usable = paths.usable(state)
                usable.append(None if is_usable is None else int(is_usable))
        if entities:
            times = [seen_us] * len(entities), [device_time_us] * len(entities)
            yield Rows(PATH_STATE, entities, times[0], {"path_usable": usable}, times[1])

    def _path_changes(
        self, host: EsxHost, states_now: dict[str, str], seen_us: int
    ) -> Iterator[SourceEntity | Event]:
        for number, path in enumerate(host.paths):
            state = states_now.get(path.name, _GONE)
            previous = self._paths.get((host.name, path.name), path.state)
            self._paths[host.name, path.name] = state
            if state != previous:
                host.paths[number] = replace(path, state=state)
                detail = {"path": f"{host.name}/{path.name}", "from": previous, "to": state}
                yield Event(seen_us, "path-state", detail)
                yield host.paths[number].entity(host.name)


def host_event(seen_us: int, name: str, previous: str | None, state: str) -> Event:
    """Return the event of a host whose state has changed from or to "connected"."""
    consequence = _CONSEQUENCES.get(state, _UNREAD)
    return Event(seen_us, "host-state", {"host": name, "from": previous, "to": state, "consequence": consequence})


def _host_change(host: EsxHost, answer: ManagedObject, seen_us: int) -> Iterator[Event]:
    state = host_state(answer.values)
    if state != host.state:
        yield host_event(seen_us, host.name, host.state, state)
        host.state = state


def machine_changes(
    inventory: Inventory, machines: Sequence[ManagedObject], seen_us: int
) -> Iterator[SourceEntity | SourceLink | Event]:
    """Yield the changes of virtual machines that have moved or stopped. Updates `inventory`."""
    for answer in machines:
        yield from _move(inventory, answer, seen_us)


def _move(inventory: Inventory, answer: ManagedObject, seen_us: int) -> Iterator[SourceEntity | SourceLink | Event]:
    machine = inventory.machines[answer.moid]
    if answer.text("runtime.powerState") not in ("poweredOn", ""):
        yield Event(seen_us, "vm-stopped", {"vm": machine.name, "state": answer.text("runtime.powerState")})
        del inventory.machines[answer.moid]
        return
    target = answer.text("runtime.host")
    if not target or target == machine.host:
        return
    previous, following = inventory.hosts.get(machine.host), inventory.hosts.get(target)
    detail = {
        "vm": machine.name,
        "from": previous.name if previous else machine.host,
        "to": following.name if following else target,
        "consequence": "its I/O takes another host's paths from here on; compare no steps before and after",
    }
    yield Event(seen_us, "vm-moved", detail)
    machine.host = target
    if following is None:
        # The new host is not read, and the I/O of the old host is no longer this machine's.
        yield SourceEntity("host", target, target)
        yield SourceLink("runs_on", ("vm", machine.name), ("host", target), "runtime.host")
    yield from inventory.machine_items(machine)
