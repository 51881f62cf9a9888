"""The simulated fabric: switches, cables, and the route between each initiator and its target."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from random import Random

from sanpath_lab.physics.events import EventQueue
from sanpath_lab.physics.exchange import Exchange
from sanpath_lab.physics.fibre_channel import FRAME_PAYLOAD_BYTES, Sequence, bursts_of
from sanpath_lab.physics.link import Arrived, Burst, LinkDirection
from sanpath_lab.routing import egress_ports, switch_of
from sanpath_lab.scenario import FcPort, Scenario

FramePath = tuple[LinkDirection, ...]


@dataclass(frozen=True, slots=True)
class Cable:
    """A cable, described from the switch port at one end. `gigabit`: negotiated speed."""

    gigabit: int
    towards_switch: LinkDirection
    from_switch: LinkDirection


@dataclass(frozen=True, slots=True)
class Route:
    """The links between an initiator and a target port. `initiator` is a WWPN, `target` a port name."""

    initiator: str
    target: str
    to_array: FramePath
    to_host: FramePath


class Fabric:
    """`cables`: switch port ("sw1/fc1/7") → cable. A link between switches has an entry for each end."""

    def __init__(self, scenario: Scenario, events: EventQueue) -> None:
        self._events = events
        self._burst_frames = scenario.burst_frames
        self._timeout_seconds = scenario.host.timeout_seconds
        self._random = Random(scenario.seed)  # noqa: S311  damaged frames, not secrets
        self._damage: dict[LinkDirection, float] = {}
        self._links = [link.ends for link in scenario.inter_switch_links]
        switches = {switch.name: switch for switch in scenario.switches}
        self.cables: dict[str, Cable] = {}
        for end in scenario.devices:
            switch = switches[switch_of(end.switch_port)]
            speed = min(end.capable_gigabit, switch.gigabit)
            self.cables[end.switch_port] = Cable(
                speed,
                LinkDirection(events, speed, switch.credits, switch.forwarding_seconds),
                LinkDirection(events, speed, end.credits, drain_ratio=end.drain_ratio),
            )
            if end.damaged_frame_ratio:
                self._damage[self.cables[end.switch_port].towards_switch] = end.damaged_frame_ratio
        for link in scenario.inter_switch_links:
            forward, backward = (
                LinkDirection(events, link.gigabit, link.credits, switches[switch_of(end)].forwarding_seconds)
                for end in reversed(link.ends)
            )
            self.cables[link.ends[0]] = Cable(link.gigabit, backward, forward)
            self.cables[link.ends[1]] = Cable(link.gigabit, forward, backward)
        targets = {port.name: port for port in scenario.array.ports}
        hbas = {hba.name: hba for hba in scenario.host.hbas}
        self.routes = [
            self._route(number, hbas[path.hba], targets[path.target]) for number, path in enumerate(scenario.paths)
        ]
        self.neighbour_routes = []
        for number, neighbour in enumerate(scenario.neighbours):
            target = next(port for port in scenario.array_of(neighbour).ports if port.name == neighbour.target)
            self.neighbour_routes.append(self._route(number, neighbour.hba, target))

    def _route(self, number: int, hba: FcPort, target: FcPort) -> Route:
        """Return a route. `number` distributes pairs of ports over parallel links, as switches do."""
        ports = [hba.switch_port, *egress_ports(self._links, hba.switch_port, target.switch_port, number)]
        cables = [self.cables[port] for port in ports]
        last = self.cables[target.switch_port]
        to_array = (cables[0].towards_switch, *(cable.from_switch for cable in cables[1:]), last.from_switch)
        to_host = (
            last.towards_switch,
            *(cable.towards_switch for cable in reversed(cables[1:])),
            cables[0].from_switch,
        )
        return Route(hba.wwpn, target.name, to_array, to_host)

    def send_small(self, sequence: Sequence, frame_path: FramePath) -> float:
        """Send one small frame: command, transfer-ready or response. Returns its arrival in simulated seconds."""
        forwarding = 0.0
        for link in frame_path:
            link.interleave(sequence)
            forwarding += link.forwarding_seconds
        return self._events.now + forwarding + sequence.wire_bytes / link.bytes_per_second

    def send_data(
        self, exchange: Exchange, frame_path: FramePath, arrived: Arrived, trailer: Sequence | None = None
    ) -> None:
        """Send the data of an exchange; `arrived` is called when the last byte has been consumed.

        If a cable damages a frame, the exchange is repeated after the initiator's time-out, so it completes that much
        later.
        """
        if self._damage and self._damages(exchange, frame_path[0]):
            arrived = partial(self._after_timeout, arrived)
        *bursts, last = bursts_of(exchange.payload_bytes, self._burst_frames, trailer)
        send = frame_path[0].send
        for burst in bursts:
            send(Burst(exchange, burst, frame_path, None))
        send(Burst(exchange, last, frame_path, arrived))

    def _damages(self, exchange: Exchange, cable: LinkDirection) -> bool:
        """Return whether the first cable damages a frame of the exchange. At most one per exchange is damaged."""
        frames = -(-exchange.payload_bytes // FRAME_PAYLOAD_BYTES)
        hit = self._random.random() < frames * self._damage.get(cable, 0.0)
        cable.damaged_frames += hit
        return hit

    def _after_timeout(self, arrived: Arrived, exchange: Exchange) -> None:
        self._events.schedule(self._events.now + self._timeout_seconds, arrived, exchange)
