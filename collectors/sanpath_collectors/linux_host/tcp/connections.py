"""Finds and polls the TCP connections of one machine, initiator or target, that carry storage traffic."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sanpath.plugin import Clock, Item, Machine, SourceEntity, SourceLink, Table, rows_of
from sanpath_collectors.linux_host.tcp import ss as tcp
from sanpath_collectors.linux_host.tcp.ss import Connection
from sanpath_collectors.linux_host.tcp.view import TcpView, command, pair_name

_SKIPPED_POLLS = 4
"""Polls in which a machine without storage connections is not asked for them."""
End = tuple[str, str]
"""Kind and local id of an entity at this machine's end."""


@dataclass(frozen=True, slots=True)
class Sought:
    """The connections to look for.

    `protocols`: TCP port of the targets → protocol. `portals`: address and port of known targets; a port that is
    registered for storage needs none. `certain`: ports that only storage uses. `ends`: own address → entities that
    connections with it end at; `always`: those that all end at.
    """

    protocols: Mapping[int, str]
    portals: Collection[tuple[str, int]]
    certain: Collection[int]
    ends: Mapping[str, Sequence[End]]
    always: Sequence[End] = ()


@dataclass(slots=True)
class StorageConnections:
    """The connections of one machine. `table`: table of its samples; `sends`: the direction whose data it sends.
    `unreadable`: the machine has targets, but ss cannot list their connections. A machine that has neither targets
    nor connections is asked at every fifth poll: a load may open its own, such as those of NBD.
    """

    table: Table
    sends: Literal["read", "write"]
    unreadable: bool = False
    _view: TcpView = field(init=False)
    _sought: Sought | None = None
    _known: set[str] = field(default_factory=set)
    _polls_to_skip: int = 0

    def __post_init__(self) -> None:
        self._view = TcpView(self.sends)

    async def find(self, machine: Machine, sought: Sought) -> None:
        """Looks for connections after an inventory. The next poll yields the entities of all of them."""
        self._known = set()
        found = await self._read(machine, sought) if sought.protocols else []
        self.unreadable = found is None and bool(sought.portals)
        self._sought = sought if found is not None and sought.protocols else None
        self._polls_to_skip = 0 if found or sought.portals else _SKIPPED_POLLS

    async def poll(self, machine: Machine, clock: Clock) -> list[Item]:
        """The entities that are new, their links, and the samples of all. Empty: none, or ss cannot tell."""
        if self._polls_to_skip:
            self._polls_to_skip -= 1
            return []
        sought = self._sought
        found = await self._read(machine, sought) if sought is not None else None
        if sought is None or found is None:
            self._sought = None
            return []
        self._polls_to_skip = 0 if found or sought.portals else _SKIPPED_POLLS
        seen_us = clock.now_us()
        values = self._view.rows(found)
        items: list[Item] = list(self._new(found, sought))
        return [*items, rows_of(self.table, values, seen_us, None)] if values else items

    async def _read(self, machine: Machine, sought: Sought) -> list[Connection] | None:
        """The connections with these targets; None: ss cannot tell."""
        reply = await machine.run(command(sought.protocols, "dport" if self.sends == "write" else "sport"))
        if reply.exit_code:
            return None
        return [
            connection
            for connection in tcp.connections(reply.output)
            for _, *target in [self._view.pair_of(connection)]
            if target[1] in sought.certain or tuple(target) in sought.portals
        ]

    def _new(self, connections: Sequence[Connection], sought: Sought) -> Iterator[SourceEntity | SourceLink]:
        for connection in connections:
            pair = self._view.pair_of(connection)
            name = pair_name(pair)
            if name in self._known:
                continue
            self._known.add(name)
            protocol = sought.protocols.get(pair[2], "other")
            attributes = {"initiator_address": pair[0], "portal": name.partition("--")[2], "protocol": protocol}
            yield SourceEntity("tcp_connection", name, name, {"name": (name,)}, attributes)
            for end in (*sought.ends.get(connection.local[0], ()), *sought.always):
                yield SourceLink("ends_at", ("tcp_connection", name), end, f"ss {connection.local[0]}")
