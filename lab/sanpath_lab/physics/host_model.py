"""The simulated hosts: the host under test with guest queue, LUN queue and HBAs, and its simpler neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from sanpath_lab.physics.array_model import SimulatedArray
from sanpath_lab.physics.events import EventQueue
from sanpath_lab.physics.exchange import Exchange
from sanpath_lab.physics.fabric import Fabric, Route
from sanpath_lab.physics.fibre_channel import FCP_CMND_BYTES, sequence_of
from sanpath_lab.physics.hypervisor_counters import HypervisorCounters
from sanpath_lab.physics.queues import DepthQueue
from sanpath_lab.scenario import Direction, GuestDisk, Neighbour, Scenario, Volume

NEVER = -1.0
"""Stands in `admitted` of an I/O that hit the file cache of the guest."""
CMND = sequence_of(FCP_CMND_BYTES)


@dataclass(slots=True)
class DiskTotals:
    """Counters of the guest's kernel in one direction. `ticks_seconds`: sum of admission-to-completion times."""

    ios: int = 0
    ticks_seconds: float = 0.0


class Disk:
    """A disk of the guest: the queue of its adapter, the LUN queue of the host's driver, and its counters.

    `volume`: name of the volume behind it.
    """

    def __init__(self, disk: GuestDisk, volume: Volume, lun_queue_depth: int) -> None:
        self.name, self.volume = disk.name, volume.name
        self.guest_queue = DepthQueue(disk.queue_depth)
        self.lun_queue = DepthQueue(lun_queue_depth)
        self.totals: dict[Direction, DiskTotals] = {"read": DiskTotals(), "write": DiskTotals()}


class SimulatedHost:
    """Sends I/Os to the array and calls their `on_complete` when they have completed.

    `hypervisor`: counters for the vCenter; None: the scenario has no vCenter.
    """

    def __init__(
        self,
        scenario: Scenario,
        events: EventQueue,
        fabric: Fabric,
        array: SimulatedArray,
        hypervisor: HypervisorCounters | None = None,
    ) -> None:
        self._events, self._fabric, self._array = events, fabric, array
        self.disks = [Disk(disk, volume, scenario.host.lun_queue_depth) for disk, volume in scenario.disks]
        self._disk_of = {disk.volume: disk for disk in self.disks}
        self._submit_seconds = scenario.host.submit_seconds
        self.hypervisor = hypervisor
        single_path = scenario.host.path_policy == "most_recently_used"
        paths = zip(scenario.paths, fabric.routes, strict=True)
        usable = [route for path, route in paths if path.state == "active"]
        self._routes = usable[:1] if single_path else usable
        self._ios_per_path = scenario.ios_per_path
        self._sent = 0
        self._random = Random(scenario.seed)  # noqa: S311  what a cache holds, not secrets
        memory = scenario.guest_memory
        self._buffered_bytes = memory.capacity_bytes if memory is not None and not scenario.load.direct else 0
        self.use_range(scenario.working_set_bytes)
        self._cached_seconds = memory.cached_seconds if memory else 0.0

    def use_range(self, range_bytes: int) -> None:
        """Set the size of the range that the load reads, of which the guest's file cache holds a share."""
        self._hit_ratio = min(1.0, self._buffered_bytes / range_bytes)

    def new_exchange(
        self, direction: Direction, payload_bytes: int, on_complete: Callable[[Exchange], None], volume: str
    ) -> Exchange:
        """Return an exchange with a volume, not yet submitted."""

        def response_arrives(exchange: Exchange) -> None:
            if exchange.admitted >= exchange.issued:
                self._release(exchange)
            on_complete(exchange)

        return Exchange(direction, payload_bytes, self._fabric.routes[0], response_arrives, volume)

    def submit(self, exchange: Exchange) -> None:
        """Issue an I/O of the guest's application."""
        exchange.issued = self._events.now
        if exchange.direction == "read" and self._hit_ratio and self._random.random() < self._hit_ratio:
            exchange.admitted = NEVER
            self._events.schedule(self._events.now + self._cached_seconds, exchange.on_response, exchange)
        elif self._disk_of[exchange.volume].guest_queue.enter(exchange, self._events.now):
            self._admit(exchange)

    def _admit(self, exchange: Exchange) -> None:
        exchange.admitted = self._events.now
        if self._disk_of[exchange.volume].lun_queue.enter(exchange, self._events.now):
            self._send(exchange)

    def _send(self, exchange: Exchange) -> None:
        """Send a command. Round Robin changes the path after `ios_per_path` commands."""
        routes = self._routes
        route = exchange.route = routes[self._sent // self._ios_per_path % len(routes)]
        self._sent += 1
        exchange.sent = self._events.now
        arrives = self._fabric.send_small(CMND, route.to_array)
        self._array.command_arrives(exchange, self._submit_seconds + arrives)

    def _release(self, exchange: Exchange) -> None:
        now = self._events.now
        disk = self._disk_of[exchange.volume]
        totals = disk.totals[exchange.direction]
        totals.ios += 1
        totals.ticks_seconds += now - exchange.admitted
        if self.hypervisor is not None:
            self.hypervisor.completed(exchange, now)
        if (next_exchange := disk.lun_queue.leave(now)) is not None:
            self._send(next_exchange)
        if (next_exchange := disk.guest_queue.leave(now)) is not None:
            self._admit(next_exchange)


class SimulatedNeighbour:
    """A neighbour host that keeps its I/Os outstanding from the start of the simulation."""

    def __init__(
        self, neighbour: Neighbour, route: Route, events: EventQueue, fabric: Fabric, array: SimulatedArray
    ) -> None:
        self._route, self._events, self._fabric, self._array = route, events, fabric, array
        self._submit_seconds, self._think_seconds = neighbour.submit_seconds, neighbour.think_seconds
        for _ in range(neighbour.outstanding):
            volume = neighbour.volume.name
            self._send(Exchange(neighbour.direction, neighbour.block_bytes, route, self._think, volume))

    def _think(self, exchange: Exchange) -> None:
        if self._think_seconds:
            self._events.schedule(self._events.now + self._think_seconds, self._send, exchange)
        else:
            self._send(exchange)

    def _send(self, exchange: Exchange) -> None:
        arrives = self._fabric.send_small(CMND, self._route.to_array)
        self._array.command_arrives(exchange, self._submit_seconds + arrives)
