"""Finds the control groups of a load through its processes, and polls their limits and quotas."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sanpath.plugin import Clock, Item, Machine, SourceEntity, SourceLink, rows_of
from sanpath_collectors.linux_host.cgroups.cpu_quotas import QUOTA, quota_files, quota_groups_of, quota_values
from sanpath_collectors.linux_host.cgroups.files import LIMITS, Group, Values, groups_of
from sanpath_collectors.linux_host.snapshot import Snapshot
from sanpath_collectors.linux_host.tables import CGROUP

_COMM = "/proc/[0-9]*/comm"
_COMM_LETTERS = 15
"""Letters of a process name that the kernel keeps (TASK_COMM_LEN)."""
_MAX_PROCESSES, _MAX_GROUPS = 1000, 100
"""Maximum processes whose group is read, and groups that are polled."""
_SEARCH_SHARE, _FIRST_SEARCH_SHARE = 0.01, 0.05
"""Share of the time for the search for processes, and until one is found: it reads the names of all."""
_PATIENCE_US = 10_000_000
"""Pause after a search that did not end within its poll; it doubles each time."""


@dataclass(slots=True)
class LoadGroups:
    """The control groups of the processes with these names, on one machine.

    A process may start, and move to another group, at any time: the search for processes never ends. A group is
    reported for each block device for which it has a limit or, if the load is in it, that its members used; and for
    the processors, if it has a quota of their time. `found`: ids of the processes found by the last search.
    """

    host: str
    processes: Collection[str]
    _groups: tuple[Group, ...] = ()
    _quota_groups: tuple[Group, ...] = ()
    _search_at_us: int = 0
    _patience_us: int = _PATIENCE_US
    _known: set[str] = field(default_factory=set)
    found: tuple[str, ...] = ()

    def files(self) -> list[str]:
        """The files of a poll for the groups found so far."""
        files = [file for group in self._groups for file in group.files()]
        return files + [file for group in self._quota_groups for file in quota_files(group)]

    def items(
        self, snapshot: Snapshot, devices: Mapping[str, str], seen_us: int, device_time_us: int | None
    ) -> Iterator[Item]:
        """The new entities, their links, and the samples of all. `devices`: device number → block device."""
        rows: dict[str, Mapping[str, int | float | None]] = {}
        for group in self._groups:
            for number, values in group.values(snapshot).items():
                if (device := devices.get(number)) is None:
                    continue
                name = f"{group.path} {device}"
                if self._is_reported(name, group, values):
                    yield from self._new(name, group, f"on {device}", number)
                    if name not in self._known:
                        yield SourceLink("targets", ("cgroup", name), ("lun", device), f"device number {number}")
                    self._known.add(name)
                    # A limit that was removed is unknown from then on.
                    rows[name] = dict.fromkeys(LIMITS) | values
        for group in self._quota_groups:
            name, (quota, used) = _quota_name(group), quota_values(snapshot, group)
            yield from self._new(name, group, "on the processors", None)
            self._known.add(name)
            rows[name] = {QUOTA: quota, **used}
        if rows:
            yield rows_of(CGROUP, rows, seen_us, device_time_us)

    async def search(self, machine: Machine, clock: Clock) -> None:
        """Look for the processes and their groups, if a search is due."""
        started_us = clock.now_us()
        if not self.processes or started_us < self._search_at_us:
            return
        self._search_at_us, self._patience_us = started_us + self._patience_us, 2 * self._patience_us
        await self._find(machine)
        self._patience_us, ended_us = _PATIENCE_US, clock.now_us()
        share = _SEARCH_SHARE if self._groups or self._quota_groups else _FIRST_SEARCH_SHARE
        self._search_at_us = ended_us + round((ended_us - started_us) / share)

    async def _find(self, machine: Machine) -> None:
        names = {name[:_COMM_LETTERS] for name in self.processes}
        comm = Snapshot(await machine.read([_COMM]))
        found = [p for p in comm.children("/proc") if comm.text(f"/proc/{p}/comm") in names][:_MAX_PROCESSES]
        self.found = tuple(found)
        memberships = await machine.read([f"/proc/{process}/cgroup" for process in found]) if found else {}
        contents = dict.fromkeys(content.decode("utf-8", "replace") for content in memberships.values())
        self._groups = _distinct(contents, groups_of)
        self._quota_groups = await self._select_with_quota(machine, _distinct(contents, quota_groups_of))

    async def _select_with_quota(self, machine: Machine, groups: Sequence[Group]) -> tuple[Group, ...]:
        """Return the groups that have or had a quota. The others, which are most, are not polled."""
        files = [file for group in groups for file in quota_files(group, with_counters=False)]
        settings = Snapshot(await machine.read(files)) if files else Snapshot({})
        has_quota = [quota_values(settings, group)[0] is not None for group in groups]
        return tuple(g for g, has in zip(groups, has_quota, strict=True) if has or _quota_name(g) in self._known)

    def _is_reported(self, name: str, group: Group, values: Values) -> bool:
        """Whether a group limits or has limited a device, or contains the load and is not the root."""
        is_own = group.holds_load and group.path != "/"
        return is_own or name in self._known or not LIMITS.keys().isdisjoint(values)

    def _new(
        self, name: str, group: Group, subject: str, device_number: str | None
    ) -> Iterator[SourceEntity | SourceLink]:
        if name in self._known:
            return
        attributes = {
            "path": group.path,
            "unit": group.unit,
            "manager": group.manager,
            "version": group.version,
            "device_number": device_number,
        }
        yield SourceEntity("cgroup", name, f"{self.host}/{group.label} {subject}", {}, attributes)
        yield SourceLink("attached_to", ("cgroup", name), ("host", self.host), "/proc/PID/cgroup")


def _quota_name(group: Group) -> str:
    return f"{group.path} processors"


def _distinct(contents: Iterable[str], groups: Callable[[str], Iterable[Group]]) -> tuple[Group, ...]:
    """Return the groups of all processes, each once. `groups`: gives the groups of a process from its cgroup file."""
    by_place: dict[tuple[int, str], Group] = {}
    for group in (group for content in contents for group in groups(content)):
        place = group.version, group.path
        if place not in by_place or group.holds_load:
            by_place[place] = group
    return tuple(by_place.values())[:_MAX_GROUPS]
