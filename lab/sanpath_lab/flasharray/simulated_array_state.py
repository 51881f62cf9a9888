"""The configuration and performance that a simulated array shows through its management interface."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise

from sanpath_lab.flasharray.array_state import (
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
from sanpath_lab.physics.array_model import Nexus, SimulatedArray, Snapshot, Totals
from sanpath_lab.scenario import Direction, OtherArray, Scenario

DIRECTIONS: tuple[Direction, Direction] = ("read", "write")
BALANCE_SECONDS = 10
"""Length of the window of the path balance."""


def _direction_sample(during: Totals) -> DirectionSample:
    """Return the sample of one second from the increase of the totals."""
    if not during.ops:
        return DirectionSample()
    return DirectionSample(
        ops_per_second=during.ops,
        bytes_per_second=during.bytes,
        service_usec=during.service_seconds / during.ops * 1e6,
        queue_usec=during.queue_seconds / during.ops * 1e6,
        san_usec=during.san_seconds / during.ops * 1e6,
        qos_rate_limit_usec=during.qos_limit_seconds / during.ops * 1e6,
    )


def _sample(
    before: Snapshot, now: Snapshot, initiators: Collection[str] | None = None, volume: str | None = None
) -> Sample:
    """Return the sample between two snapshots. `initiators`, `volume`: as in `Snapshot.total`."""
    read, write = (now.total(d, initiators, volume) - before.total(d, initiators, volume) for d in DIRECTIONS)
    return Sample(now.second * 1000, _direction_sample(read), _direction_sample(write))


def _balance(
    time_ms: int, host: str, initiators: Iterable[str], ports: Sequence[str], during: Mapping[Nexus, Totals]
) -> list[BalanceRow]:
    ops = Counter[tuple[str, str]]()
    for nexus, totals in during.items():
        ops[nexus.initiator, nexus.target] += totals.ops
    pairs = [(initiator, port) for initiator in initiators for port in ports]
    if not any(ops[pair] for pair in pairs):
        return [BalanceRow(time_ms, host, None, None, None)]
    return [BalanceRow(time_ms, host, pair[0].upper(), pair[1], ops[pair]) for pair in pairs]


class SimulatedArrayState:
    """The ArrayState of a simulated array. `catch_up` advances the simulation to the present."""

    def __init__(self, scenario: Scenario, array: SimulatedArray, catch_up: Callable[[], object]) -> None:
        self._array, self._catch_up = array, catch_up
        definition, host = array.definition, scenario.host
        self.identity = ArrayIdentity(definition.name, definition.id, definition.version, definition.model)
        self.ports = [
            ArrayPort(port.name, "fc", port.capable_gigabit * 10**9, wwn=port.wwpn.upper())
            for port in definition.ports
        ]
        volumes = (
            [definition.volume] if isinstance(definition, OtherArray) else [volume for _, volume in scenario.disks]
        )
        neighbours = [
            neighbour for neighbour in scenario.neighbours if scenario.array_of(neighbour).name == definition.name
        ]
        owned = [(host.name, host.hbas, volume) for volume in volumes]
        owned += [(neighbour.name, (neighbour.hba,), neighbour.volume) for neighbour in neighbours]
        hosts = {name: hbas for name, hbas, _ in owned}
        self._initiators = {name: tuple(hba.wwpn for hba in hbas) for name, hbas in hosts.items()}
        self.hosts = [
            ArrayHost(name, wwns=tuple(hba.wwpn.replace(":", "").upper() for hba in hbas), personality="esxi")
            for name, hbas in hosts.items()
        ]
        self.volumes = [
            ArrayVolume(v.name, v.id, v.serial, v.provisioned_bytes, v.bandwidth_limit, v.iops_limit)
            for v in {volume.name: volume for _, _, volume in owned}.values()
        ]
        self.connections = [ArrayConnection(name, volume.name, volume.lun) for name, _, volume in owned]
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
            _sample(before, now)
            for before, now in pairwise(snapshots)
            if (since_ms is None or now.second * 1000 >= since_ms)
            and (until_ms is None or now.second * 1000 <= until_ms)
        ]

    def volume_sample(self, name: str) -> Sample:
        """See ArrayState."""
        return self._newest(volume=name)

    def host_sample(self, name: str) -> Sample:
        """See ArrayState."""
        return self._newest(self._initiators[name])

    def _newest(self, initiators: Collection[str] | None = None, volume: str | None = None) -> Sample:
        self._catch_up()
        snapshots = self._array.snapshots
        if len(snapshots) < 2:
            return Sample(snapshots[-1].second * 1000)
        return _sample(snapshots[-2], snapshots[-1], initiators, volume)

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
        rows: list[BalanceRow] = []
        for host, initiators in self._initiators.items():
            rows += _balance(now.second * 1000, host, initiators, [port.name for port in self.ports], during)
        return rows
