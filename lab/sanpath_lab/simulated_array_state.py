"""What the simulated array shows through its management interface."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from sanpath_lab.array_model import SimulatedArray, Totals
from sanpath_lab.array_state import (
    ArrayConnection,
    ArrayController,
    ArrayHost,
    ArrayIdentity,
    ArrayPort,
    ArrayVolume,
    BalanceRow,
    DirectionSample,
    PortSample,
    Sample,
)
from sanpath_lab.scenario import Scenario

BALANCE_SECONDS = 10
"""How far back the path balance looks."""


def _direction_sample(during: Totals) -> DirectionSample:
    """The sample of one second from what was added to the totals in it."""
    if not during.ops:
        return DirectionSample()
    return DirectionSample(
        ops_per_second=during.ops,
        bytes_per_second=during.bytes,
        service_usec=during.service_seconds / during.ops * 1e6,
        queue_usec=during.queue_seconds / during.ops * 1e6,
        san_usec=during.san_seconds / during.ops * 1e6,
    )


class SimulatedArrayState:
    """An ArrayState over a simulated array. `catch_up` lets the simulation advance to the present."""

    def __init__(self, scenario: Scenario, array: SimulatedArray, catch_up: Callable[[], object]) -> None:
        self._array, self._catch_up = array, catch_up
        self._pairs = [(hba, port) for hba in scenario.host.hbas for port in scenario.array.ports]
        made, volume, host = scenario.array, scenario.volume, scenario.host
        self.identity = ArrayIdentity(made.name, made.id, made.version, made.model)
        self.ports = [
            ArrayPort(port.name, "fc", port.capable_gigabit * 10**9, wwn=port.wwpn.upper()) for port in made.ports
        ]
        wwns = tuple(hba.wwpn.replace(":", "").upper() for hba in host.hbas)
        self.hosts = [ArrayHost(host.name, wwns=wwns, personality="esxi")]
        self.volumes = [ArrayVolume(volume.name, volume.id, volume.serial, volume.provisioned_bytes)]
        self.connections = [ArrayConnection(host.name, volume.name, volume.lun)]
        started_ms = array.snapshots[0].second * 1000
        self.controllers = [
            ArrayController("CT0", "primary", mode_since_ms=started_ms),
            ArrayController("CT1", "secondary", mode_since_ms=started_ms),
        ]

    def array_samples(self, since_ms: int | None, until_ms: int | None) -> list[Sample]:
        """See ArrayState. Empty in the first second."""
        self._catch_up()
        snapshots = list(self._array.snapshots)
        if since_ms is None and until_ms is None:
            snapshots = snapshots[-2:]
        return [
            Sample(
                now.second * 1000,
                _direction_sample(now.total("read") - before.total("read")),
                _direction_sample(now.total("write") - before.total("write")),
            )
            for before, now in pairwise(snapshots)
            if (since_ms is None or now.second * 1000 >= since_ms)
            and (until_ms is None or now.second * 1000 <= until_ms)
        ]

    def volume_sample(self, name: str) -> Sample:
        """See ArrayState. The lab has one volume, which gets all the I/O."""
        if name not in {volume.name for volume in self.volumes}:
            raise KeyError(name)
        return self._newest()

    def host_sample(self, name: str) -> Sample:
        """See ArrayState. The lab has one host, which starts all the I/O."""
        if name not in {host.name for host in self.hosts}:
            raise KeyError(name)
        return self._newest()

    def _newest(self) -> Sample:
        samples = self.array_samples(None, None)
        return samples[-1] if samples else Sample(self._array.snapshots[-1].second * 1000)

    def port_sample(self, name: str) -> PortSample:
        """See ArrayState."""
        self._catch_up()
        snapshots = self._array.snapshots
        now, before = snapshots[-1], snapshots[max(-2, -len(snapshots))]
        after, earlier = now.ports[name], before.ports[name]
        return PortSample(
            now.second * 1000,
            received_bytes_per_second=after.received_octets - earlier.received_octets,
            transmitted_bytes_per_second=after.transmitted_octets - earlier.transmitted_octets,
            received_frames_per_second=after.received_frames - earlier.received_frames,
            transmitted_frames_per_second=after.transmitted_frames - earlier.transmitted_frames,
        )

    def balance(self) -> list[BalanceRow]:
        """See ArrayState. Every initiator has logged in to every target port."""
        self._catch_up()
        snapshots = self._array.snapshots
        now, before = snapshots[-1], snapshots[max(-BALANCE_SECONDS - 1, -len(snapshots))]
        during = {nexus: now.nexuses[nexus] - before.nexuses[nexus] for nexus in now.nexuses}
        ops: dict[tuple[str, str], int] = {}
        for nexus, totals in during.items():
            pair = (nexus.initiator, nexus.target)
            ops[pair] = ops.get(pair, 0) + totals.ops
        host, time_ms = self.hosts[0].name, now.second * 1000
        if not any(ops.values()):
            return [BalanceRow(time_ms, host, None, None, None)]
        return [
            BalanceRow(time_ms, host, hba.wwpn.upper(), port.name, ops.get((hba.name, port.name), 0))
            for hba, port in self._pairs
        ]
