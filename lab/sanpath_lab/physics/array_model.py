"""The simulated array: QoS limits, command processors, caches, parallel servers and media, counters per nexus."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from heapq import heapreplace
from math import log
from operator import add, sub
from random import Random
from typing import Any, NamedTuple

from sanpath_lab.physics.events import EventQueue
from sanpath_lab.physics.exchange import Exchange
from sanpath_lab.physics.fabric import Fabric
from sanpath_lab.physics.fibre_channel import FCP_RSP_BYTES, FCP_XFER_RDY_BYTES, sequence_of
from sanpath_lab.physics.write_cache import WriteBuffer
from sanpath_lab.scenario import Array, Direction, Scenario, ServiceTime, Volume

RETAINED_SECONDS = 3600
"""How long one-second samples are retained."""

XFER_RDY = sequence_of(FCP_XFER_RDY_BYTES)
RSP = sequence_of(FCP_RSP_BYTES)


@dataclass(slots=True)
class Totals:
    """Monotonic sums over completed operations of one direction. Times in seconds."""

    ops: int = 0
    bytes: int = 0
    service_seconds: float = 0.0
    queue_seconds: float = 0.0
    san_seconds: float = 0.0
    qos_limit_seconds: float = 0.0

    def __add__(self, addend: Totals) -> Totals:
        return self._combined(add, addend)

    def __sub__(self, earlier: Totals) -> Totals:
        return self._combined(sub, earlier)

    def _combined(self, operation: Callable[[float, float], Any], other: Totals) -> Totals:
        return Totals(*(operation(getattr(self, name), getattr(other, name)) for name in Totals.__slots__))


class Nexus(NamedTuple):
    """Key of the array's counters: WWPN of an initiator, name of a target port, direction and volume name."""

    initiator: str
    target: str
    direction: Direction
    volume: str = ""


@dataclass(frozen=True, slots=True)
class PortTotals:
    """Monotonic octets and frames of a front-end port."""

    received_octets: int
    received_frames: int
    transmitted_octets: int
    transmitted_frames: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All counters at a full second of the array's clock, `second` in seconds since the epoch."""

    second: int
    nexuses: dict[Nexus, Totals]
    ports: dict[str, PortTotals]

    def total(
        self, direction: Direction, initiators: Collection[str] | None = None, volume: str | None = None
    ) -> Totals:
        """Return the sum over the nexuses of a direction.

        `initiators`: WWPNs to include; None: all. `volume`: name of the volume to include; None: all.
        """
        wanted = (
            totals
            for nexus, totals in self.nexuses.items()
            if nexus.direction == direction
            and (initiators is None or nexus.initiator in initiators)
            and (volume is None or nexus.volume == volume)
        )
        return sum(wanted, Totals())


class QosLimit:
    """The QoS limits of one volume, without a burst allowance: I/Os that arrive faster than they allow wait."""

    def __init__(self, volume: Volume) -> None:
        self._seconds_per_byte = 1 / volume.bandwidth_limit if volume.bandwidth_limit else 0.0
        self._seconds_per_io = 1 / volume.iops_limit if volume.iops_limit else 0.0
        self._free_at = 0.0

    def admit(self, arrival: float, payload_bytes: int) -> float:
        """Return when an I/O is admitted. Times are in simulated seconds."""
        start = max(arrival, self._free_at)
        self._free_at = start + max(payload_bytes * self._seconds_per_byte, self._seconds_per_io)
        return start


class SimulatedArray:
    """A simulated array. `definition`: its part of the scenario.

    `snapshots`: one per second, newest last, never empty.
    """

    def __init__(
        self, scenario: Scenario, definition: Array, events: EventQueue, fabric: Fabric, epoch_seconds: float
    ) -> None:
        self.definition = definition
        self._events, self._fabric, self._epoch_seconds = events, fabric, epoch_seconds
        self._random = Random(scenario.seed)  # noqa: S311  service times, not secrets
        self._command_seconds = definition.command_seconds
        self._service: dict[Direction, ServiceTime] = {
            "read": definition.read,
            "write": definition.write,
        }
        self._cables = {port.name: fabric.cables[port.switch_port] for port in definition.ports}
        self._processor_free_at = dict.fromkeys(self._cables, 0.0)
        self._server_free_at = [0.0] * definition.parallel_servers
        self._media_free_at = [0.0] * (definition.parallel_media or definition.parallel_servers)
        self.use_range(scenario.working_set_bytes)
        self._cached_seconds = definition.cached_seconds
        self._buffer = None if definition.write_cache is None else WriteBuffer(definition.write_cache)
        under_test = definition.name == scenario.array.name
        routes = (
            [(route, volume.name) for route in fabric.routes for _, volume in scenario.disks] if under_test else []
        )
        for neighbour, route in zip(scenario.neighbours, fabric.neighbour_routes, strict=True):
            uses_this_array = scenario.array_of(neighbour).name == definition.name
            routes += [(route, neighbour.volume.name)] if uses_this_array else []
        self._limits = {name: QosLimit(volume) for name, volume in scenario.volumes.items() if volume.limited}
        self._entry_seconds, self._entry_free_at = definition.entry_seconds, 0.0
        # Written for each I/O: a plain tuple, which is equal to the nexus, is made five times as fast.
        self.totals: dict[tuple[str, str, Direction, str], Totals] = {
            Nexus(route.initiator, route.target, direction, volume): Totals()
            for route, volume in routes
            for direction in self._service
        }
        self.snapshots: deque[Snapshot] = deque(maxlen=RETAINED_SECONDS)
        self._take_snapshot(int(epoch_seconds))

    def use_range(self, range_bytes: int) -> None:
        """Set the size of the range that the load reads, of which the cache holds a share."""
        cache = self.definition.cache_bytes
        self._hit_ratio = min(1.0, cache / range_bytes) if cache else 0.0

    def command_arrives(self, exchange: Exchange, arrival: float) -> None:
        """Accept a command. `exchange.on_response` is called when its response arrives.

        `arrival`: simulated seconds; may be a little later than now.
        """
        if self._entry_seconds:
            arrival = self._entry_free_at = max(arrival, self._entry_free_at) + self._entry_seconds
        limit = self._limits.get(exchange.volume)
        if limit is None:
            exchange.qos_limit_seconds = 0.0
            self._accept(exchange, arrival)
            return
        admitted = limit.admit(arrival, exchange.payload_bytes)
        exchange.qos_limit_seconds = admitted - arrival
        if admitted > arrival:
            self._events.schedule(admitted, self._accept, exchange, admitted)
        else:
            self._accept(exchange, arrival)

    def _accept(self, exchange: Exchange, arrival: float) -> None:
        port = exchange.route.target
        free_at = self._processor_free_at[port]
        start = arrival if arrival >= free_at else free_at
        accepted = self._processor_free_at[port] = start + self._command_seconds
        exchange.queue_seconds = start - arrival
        exchange.service_seconds = self._command_seconds
        if exchange.direction == "read":
            self._events.schedule(self._serve(exchange, accepted), self._send, exchange)
        else:
            room = accepted if self._buffer is None else self._buffer.admit(accepted, exchange.payload_bytes)
            exchange.queue_seconds += room - accepted
            self._events.schedule(room, self._ask_for_data, exchange)

    def _serve(self, exchange: Exchange, ready: float) -> float:
        """Serve an exchange by the first free server, and on a cache miss by the first free medium.

        `ready` and the returned end are simulated seconds.
        """
        servers, media = self._server_free_at, self._media_free_at
        start = ready if ready >= servers[0] else servers[0]
        if exchange.direction == "read" and self._hit_ratio and self._random.random() < self._hit_ratio:
            finish = start + self._cached_seconds
            heapreplace(servers, finish)
            exchange.queue_seconds += start - ready
            exchange.service_seconds += self._cached_seconds
            return finish
        service_time = self._service[exchange.direction]
        seconds = service_time.minimum_seconds - service_time.tail_seconds * log(1.0 - self._random.random())
        finish = (start if start >= media[0] else media[0]) + seconds
        heapreplace(servers, finish)
        heapreplace(media, finish)
        exchange.queue_seconds += start - ready
        exchange.service_seconds += finish - start
        return finish

    def _send(self, exchange: Exchange) -> None:
        exchange.transfer_ready = self._events.now
        self._fabric.send_data(exchange, exchange.route.to_host, self._sent, RSP)

    def _sent(self, exchange: Exchange) -> None:
        self._book(exchange, self._events.now - exchange.transfer_ready)
        exchange.on_response(exchange)

    def _ask_for_data(self, exchange: Exchange) -> None:
        exchange.transfer_ready = self._events.now
        self._events.schedule(self._fabric.send_small(XFER_RDY, exchange.route.to_host), self._host_sends, exchange)

    def _host_sends(self, exchange: Exchange) -> None:
        self._fabric.send_data(exchange, exchange.route.to_array, self._received)

    def _received(self, exchange: Exchange) -> None:
        now = self._events.now
        self._events.schedule(self._serve(exchange, now), self._respond, exchange, now - exchange.transfer_ready)

    def _respond(self, exchange: Exchange, san_seconds: float) -> None:
        self._book(exchange, san_seconds)
        self._events.schedule(self._fabric.send_small(RSP, exchange.route.to_host), exchange.on_response, exchange)

    def _book(self, exchange: Exchange, san_seconds: float) -> None:
        route = exchange.route
        totals = self.totals[route.initiator, route.target, exchange.direction, exchange.volume]
        totals.ops += 1
        totals.bytes += exchange.payload_bytes
        totals.service_seconds += exchange.service_seconds
        totals.queue_seconds += exchange.queue_seconds
        totals.san_seconds += san_seconds
        totals.qos_limit_seconds += exchange.qos_limit_seconds

    def _take_snapshot(self, second: int) -> None:
        ports = {
            name: PortTotals(
                cable.from_switch.octets,
                cable.from_switch.frames,
                cable.towards_switch.octets,
                cable.towards_switch.frames,
            )
            for name, cable in self._cables.items()
        }
        nexuses = {Nexus(*nexus): replace(totals) for nexus, totals in self.totals.items()}
        self.snapshots.append(Snapshot(second, nexuses, ports))
        self._events.schedule(second + 1 - self._epoch_seconds, self._take_snapshot, second + 1)
