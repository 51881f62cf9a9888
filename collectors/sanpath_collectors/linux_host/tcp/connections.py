"""Finds and polls the TCP connections of one machine, initiator or target, that carry storage traffic."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sanpath.plugin import Clock, Item, Machine, SourceEntity, SourceLink, Table, rows_of
from sanpath_collectors.linux_host.tcp import ss as tcp
from sanpath_collectors.linux_host.tcp.ss import Connection
from sanpath_collectors.linux_host.tcp.storage_connections import TcpView, command, pair_name

_SKIPPED_POLLS = 4
"""Number of polls that skip the connections of a machine without storage connections."""
End = tuple[str, str]
"""Kind and local id of an entity at this machine's end."""


@dataclass(frozen=True, slots=True)
class ConnectionFilter:
    """The connections to look for.

    `protocols`: TCP port of the targets → protocol. `portals`: address and port of known targets; a port that is
    registered for storage needs none. `certain`: ports that only storage uses. `ends`: own address → entities at this
    end of its connections; `always`: entities at this end of all connections.
    """

    protocols: Mapping[int, str]
    portals: Collection[tuple[str, int]]
    certain: Collection[int]
    ends: Mapping[str, Sequence[End]]
    always: Sequence[End] = ()


@dataclass(slots=True)
class StorageConnections:
    """The connections of one machine. `table`: table of its samples; `sends`: the direction whose data it sends.
    `unreadable`: the machine has targets, but ss cannot list their connections. A machine without targets and
    connections is read at every fifth poll: a load may open its own connections, for example of NBD."""

    table: Table
    sends: Literal["read", "write"]
    unreadable: bool = False
    _view: TcpView = field(init=False)
    _filter: ConnectionFilter | None = None
    _known: set[str] = field(default_factory=set)
    _polls_to_skip: int = 0

    def __post_init__(self) -> None:
        self._view = TcpView(self.sends)

    async def find(self, machine: Machine, wanted: ConnectionFilter) -> None:
        """Look for connections after an inventory. The next poll yields the entities of all of them."""
        self._known = set()
        found = await self._read(machine, wanted) if wanted.protocols else []
        self.unreadable = found is None and bool(wanted.portals)
        self._filter = wanted if found is not None and wanted.protocols else None
        self._polls_to_skip = 0 if found or wanted.portals else _SKIPPED_POLLS

    async def poll(self, machine: Machine, clock: Clock) -> list[Item]:
        """The new entities, their links, and the samples of all. Empty: none, or ss failed."""
        if self._polls_to_skip:
            self._polls_to_skip -= 1
            return []
        wanted = self._filter
        found = await self._read(machine, wanted) if wanted is not None else None
        if wanted is None or found is None:
            self._filter = None
            return []
        self._polls_to_skip = 0 if found or wanted.portals else _SKIPPED_POLLS
        seen_us = clock.now_us()
        values = self._view.rows(found)
        items: list[Item] = list(self._new(found, wanted))
        return [*items, rows_of(self.table, values, seen_us, None)] if values else items

    async def _read(self, machine: Machine, wanted: ConnectionFilter) -> list[Connection] | None:
        """The connections to these targets; None: ss failed."""
        reply = await machine.run(command(wanted.protocols, "dport" if self.sends == "write" else "sport"))
        if reply.exit_code:
            return None
        return [
            connection
            for connection in tcp.connections(reply.output)
            for _, *target in [self._view.pair_of(connection)]
            if target[1] in wanted.certain or tuple(target) in wanted.portals
        ]

    def _new(
        self, connections: Sequence[Connection], wanted: ConnectionFilter
    ) -> Iterator[SourceEntity | SourceLink]:
        for connection in connections:
            pair = self._view.pair_of(connection)
            name = pair_name(pair)
            if name in self._known:
                continue
            self._known.add(name)
            protocol = wanted.protocols.get(pair[2], "other")
            attributes = {"initiator_address": pair[0], "portal": name.partition("--")[2], "protocol": protocol}
            yield SourceEntity("tcp_connection", name, name, {"name": (name,)}, attributes)
            for end in (*wanted.ends.get(connection.local[0], ()), *wanted.always):
                yield SourceLink("ends_at", ("tcp_connection", name), end, f"ss {connection.local[0]}")
