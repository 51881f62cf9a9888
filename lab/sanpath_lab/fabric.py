"""The switched fabric: data cross two cables, cut-through, first come first served per direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sanpath_lab.events import EventQueue
from sanpath_lab.exchange import Exchange
from sanpath_lab.fibre_channel import Cable, LinkDirection, Sequence
from sanpath_lab.scenario import Scenario

Arrived = Callable[[Exchange], None]


@dataclass(frozen=True, slots=True)
class Route:
    """The cables between an initiator port and a target port, by the names of the ports."""

    initiator: str
    target: str
    initiator_cable: Cable
    target_cable: Cable


class Fabric:
    """One switch. `cables` are by switch port; a cable runs as fast as the slower of its two ends."""

    def __init__(self, scenario: Scenario, events: EventQueue) -> None:
        self._events = events
        self.forwarding_seconds = scenario.switch.forwarding_seconds
        ends = (*scenario.host.hbas, *scenario.array.ports)
        self.cables = {
            end.switch_port: Cable.of_speed(min(end.capable_gigabit, scenario.switch.gigabit)) for end in ends
        }
        port_of = {end.name: end.switch_port for end in ends}
        self.routes = [
            Route(path.hba, path.target, self.cables[port_of[path.hba]], self.cables[port_of[path.target]])
            for path in scenario.paths
        ]

    def send_small(self, sequence: Sequence, first: LinkDirection, second: LinkDirection) -> float:
        """Send a command, a transfer-ready or a response, one small frame; returns when it arrives."""
        now = self._events.now
        first.interleave(sequence, now)
        second.interleave(sequence, now)
        return now + self.forwarding_seconds + sequence.wire_bytes / second.bytes_per_second

    def send_data(
        self,
        exchange: Exchange,
        sequence: Sequence,
        first: LinkDirection,
        second: LinkDirection,
        arrived: Arrived,
    ) -> None:
        """Send the data of an exchange; `arrived` is called when the last byte is through."""
        events = self._events
        start, finish = first.reserve(sequence, events.now)
        events.at(
            start + first.first_frame_seconds + self.forwarding_seconds,
            self._head_at_switch,
            exchange,
            sequence,
            first,
            second,
            finish,
            arrived,
        )

    def _head_at_switch(
        self,
        exchange: Exchange,
        sequence: Sequence,
        first: LinkDirection,
        second: LinkDirection,
        first_finish: float,
        arrived: Arrived,
    ) -> None:
        first.count(sequence)
        _, second_finish = second.reserve(sequence, self._events.now)
        last_frame_forwarded = first_finish + self.forwarding_seconds + second.first_frame_seconds
        self._events.at(
            max(second_finish, last_frame_forwarded), self._delivered, exchange, sequence, second, arrived
        )

    def _delivered(self, exchange: Exchange, sequence: Sequence, second: LinkDirection, arrived: Arrived) -> None:
        second.count(sequence)
        arrived(exchange)
