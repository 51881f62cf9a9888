"""What changes during a run: states of paths and hosts, and where virtual machines run. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sanpath.plugin import Event, Rows, SourceEntity, SourceLink
from sanpath_collectors.vsphere import paths
from sanpath_collectors.vsphere.inventory import EsxHost, Inventory, host_state
from sanpath_collectors.vsphere.session import Found
from sanpath_collectors.vsphere.tables import PATH_STATE

_MULTIPATH = "config.storageDevice.multipathInfo"
OF_HOSTS = ("runtime.connectionState", "runtime.inMaintenanceMode", _MULTIPATH)
OF_MACHINES = ("runtime.host", "runtime.powerState")

_GONE = "gone"
_CONSEQUENCES = {
    "connected": "it is read again",
    "maintenance": "its virtual machines are moved away; what it does is not the test's",
}
_UNREAD = "nothing of it is known from here on"


@dataclass(slots=True)
class States:
    """The states as they were last told. A path that has gone stays known: it carries nothing."""

    _paths: dict[tuple[str, str], str] = field(default_factory=dict)

    def begin(self, found: Inventory) -> None:
        """Take the states of an inventory for known where nothing is known yet."""
        for host in found.hosts.values():
            for way in host.paths:
                self._paths.setdefault((host.name, way.name), way.state)

    def changes(
        self, found: Inventory, hosts: Sequence[Found], seen: int, device_time: int
    ) -> Iterator[SourceEntity | SourceLink | Event | Rows]:
        """What is different now, and the state of every path. Brings `found` up to date."""
        entities: list[str] = []
        usable: list[int | None] = []
        for said in hosts:
            host = found.hosts[said.moid]
            yield from _host_change(host, said, seen)
            multipath = said.values.get(_MULTIPATH)
            if isinstance(multipath, dict):
                yield from self._path_changes(host, paths.states(multipath), seen)
            elif host.state not in ("connected", "maintenance"):
                continue
            for way in host.paths:
                state = self._paths[host.name, way.name]
                entities.append(f"{host.name}/{way.name}")
                works = paths.usable(state)
                usable.append(None if works is None else int(works))
        if entities:
            times = [seen] * len(entities), [device_time] * len(entities)
            yield Rows(PATH_STATE, entities, times[0], {"path_usable": usable}, times[1])

    def _path_changes(self, host: EsxHost, now: dict[str, str], seen: int) -> Iterator[SourceEntity | Event]:
        for number, way in enumerate(host.paths):
            state = now.get(way.name, _GONE)
            before = self._paths.get((host.name, way.name), way.state)
            self._paths[host.name, way.name] = state
            if state != before:
                host.paths[number] = replace(way, state=state)
                detail = {"path": f"{host.name}/{way.name}", "from": before, "to": state}
                yield Event(seen, "path-state", detail)
                yield host.paths[number].thing(host.name)


def host_event(seen: int, name: str, before: str | None, state: str) -> Event:
    """A host whose state is another one than "connected", or is that again."""
    consequence = _CONSEQUENCES.get(state, _UNREAD)
    return Event(seen, "host-state", {"host": name, "from": before, "to": state, "consequence": consequence})


def _host_change(host: EsxHost, said: Found, seen: int) -> Iterator[Event]:
    state = host_state(said.values)
    if state != host.state:
        yield host_event(seen, host.name, host.state, state)
        host.state = state


def machine_changes(
    found: Inventory, machines: Sequence[Found], seen: int
) -> Iterator[SourceEntity | SourceLink | Event]:
    """Virtual machines that run elsewhere now, or no longer. Brings `found` up to date."""
    for said in machines:
        yield from _move(found, said, seen)


def _move(found: Inventory, said: Found, seen: int) -> Iterator[SourceEntity | SourceLink | Event]:
    machine = found.machines[said.moid]
    if said.text("runtime.powerState") not in ("poweredOn", ""):
        yield Event(seen, "vm-stopped", {"vm": machine.name, "state": said.text("runtime.powerState")})
        del found.machines[said.moid]
        return
    target = said.text("runtime.host")
    if not target or target == machine.host:
        return
    before, after = found.hosts.get(machine.host), found.hosts.get(target)
    detail = {
        "vm": machine.name,
        "from": before.name if before else machine.host,
        "to": after.name if after else target,
        "consequence": "its I/O takes another host's paths from here on; compare no steps before and after",
    }
    yield Event(seen, "vm-moved", detail)
    machine.host = target
    if after is None:
        # Nothing is known of that host; what its old one does is not this machine's any longer.
        yield SourceEntity("host", target, target)
        yield SourceLink("runs_on", ("vm", machine.name), ("host", target), "runtime.host")
    yield from found.of_machine(machine)
