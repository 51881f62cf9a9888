"""The array as the logs of its nbdkits show it: real service times, in the form of the FlashArray server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal

from real_lab.cases import Case
from real_lab.nbd_target import log_file, port_name
from real_lab.nbdkit_log import Exchange, NbdkitLog
from real_lab.network import VETH_BITS_PER_SECOND, array_address, host_address
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

SETTLE_SECONDS = 0.25
"""A second is reported this long after its end, because a busy machine may write log lines late."""

KEEP_SECONDS = 900
BALANCE_SECONDS = 10


@dataclass(slots=True)
class Totals:
    """I/Os served within one second."""

    operations: int = 0
    payload_bytes: int = 0
    service_microseconds: int = 0

    def add(self, exchange: Exchange) -> None:
        """Count one exchange."""
        self.operations += 1
        self.payload_bytes += exchange.payload_bytes
        self.service_microseconds += exchange.service_microseconds


class TargetLog:
    """The log of one target port and volume, read as it grows, with totals of each second."""

    def __init__(self, file: Path) -> None:
        self._log, self._file, self._offset = NbdkitLog(), file, 0
        self._seconds: dict[tuple[int, str], Totals] = {}

    def read_on(self) -> None:
        """Read what was added since the last call."""
        with self._file.open("rb") as log:
            log.seek(self._offset)
            added = log.read()
        self._offset += len(added)
        for exchange in self._log.feed(added):
            key = exchange.served // 1_000_000, exchange.direction
            self._seconds.setdefault(key, Totals()).add(exchange)

    def forget_before(self, second: int) -> None:
        """Delete totals of seconds before `second`, in seconds since the epoch."""
        self._seconds = {key: totals for key, totals in self._seconds.items() if key[0] >= second}

    def served(self, second: int, direction: Literal["read", "write"]) -> Totals:
        """Return the totals of a second, in seconds since the epoch."""
        return self._seconds.get((second, direction), Totals())


class MeasuredArray:
    """A FlashArray of one host, with a target port a fabric. Implements `ArrayState`.

    Service time is the time in nbdkit; there is no queue and no QoS limit before it. Transfer time (`san_usec`)
    is null: nbdkit's log ends where the transfer begins. Bytes of a port are payload.
    """

    def __init__(self, case: Case, folder: Path, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._read_at = now()
        self._first_second = int(self._read_at)
        fabrics = range(len(case.fabrics))
        volumes = range(case.array.volumes)
        self._logs = {
            (port_name(number), f"vol{volume + 1}"): TargetLog(log_file(folder, number, volume))
            for number, volume in product(fabrics, volumes)
        }
        self.identity = ArrayIdentity(name="fa1", id="5a1f4c0e-0000-4000-8000-000000000001")
        self.ports: Sequence[ArrayPort] = [
            ArrayPort(
                name=port_name(number),
                interface_type="eth",
                speed_bits_per_second=int(VETH_BITS_PER_SECOND),
                address=array_address(number),
                services=("nvme-tcp",),
            )
            for number in fabrics
        ]
        self.hosts: Sequence[ArrayHost] = [
            ArrayHost(name="host1", addresses=tuple(host_address(number) for number in fabrics))
        ]
        self.volumes: Sequence[ArrayVolume] = [
            ArrayVolume(
                name=f"vol{volume + 1}",
                id=f"5a1f4c0e-0000-4000-8000-{volume + 2:012x}",
                serial=f"5A1F4C0E{volume + 1:016X}",
                provisioned_bytes=case.array.size_bytes,
            )
            for volume in volumes
        ]
        self.connections: Sequence[ArrayConnection] = [
            ArrayConnection(host="host1", volume=volume.name, lun=lun) for lun, volume in enumerate(self.volumes, 1)
        ]
        self.controllers: Sequence[ArrayController] = [ArrayController(name="CT0", mode="primary")]

    def read_on(self) -> None:
        """Read what was added to the logs."""
        self._read_at = self._now()
        for log in self._logs.values():
            log.read_on()
            log.forget_before(int(self._read_at) - KEEP_SECONDS)

    def array_samples(self, since_ms: int | None, until_ms: int | None) -> list[Sample]:
        """Return one-second samples; see `ArrayState`."""
        newest = self._newest_second()
        if since_ms is None and until_ms is None:
            return [self._sample(newest, self._logs.values())]
        oldest = max(self._first_second, newest - KEEP_SECONDS + 1)
        ends = ((second, (second + 1) * 1000) for second in range(oldest, newest + 1))
        return [
            self._sample(second, self._logs.values())
            for second, end_ms in ends
            if (since_ms is None or end_ms >= since_ms) and (until_ms is None or end_ms <= until_ms)
        ]

    def volume_sample(self, name: str) -> Sample:
        """Return the newest second of a volume. Raises KeyError: no such volume."""
        return self._newest_sample_of(
            name, {volume.name: self._matching_logs(volume=volume.name) for volume in self.volumes}
        )

    def host_sample(self, name: str) -> Sample:
        """Return the newest second of the only host. Raises KeyError: no such host."""
        return self._newest_sample_of(name, {host.name: self._matching_logs() for host in self.hosts})

    def port_sample(self, name: str) -> PortSample:
        """Return the newest second of a target port."""
        sample = self._sample(self._newest_second(), self._matching_logs(port=name))
        return PortSample(
            time_ms=sample.time_ms,
            received_bytes_per_second=sample.write.bytes_per_second,
            transmitted_bytes_per_second=sample.read.bytes_per_second,
        )

    def balance(self) -> list[BalanceRow]:
        """Return the operations of the last seconds. The log does not name the client, but each fabric has one."""
        newest = self._newest_second()
        window = range(newest - BALANCE_SECONDS + 1, newest + 1)
        counts = {
            port.name: sum(
                log.served(second, direction).operations
                for log in self._matching_logs(port=port.name)
                for second in window
                for direction in _DIRECTIONS
            )
            for port in self.ports
        }
        end_ms, [host] = (newest + 1) * 1000, self.hosts
        if not any(counts.values()):
            return [BalanceRow(end_ms, host.name, None, None, None)]
        return [
            BalanceRow(end_ms, host.name, initiator, port, count)
            for initiator, (port, count) in zip(host.addresses, counts.items(), strict=True)
        ]

    def _newest_second(self) -> int:
        return int(self._read_at - SETTLE_SECONDS) - 1

    def _matching_logs(self, port: str | None = None, volume: str | None = None) -> list[TargetLog]:
        """Return the logs of a port and volume; None: of all."""
        return [
            log
            for (log_port, log_volume), log in self._logs.items()
            if port in (None, log_port) and volume in (None, log_volume)
        ]

    def _newest_sample_of(self, name: str, logs_by_name: Mapping[str, Sequence[TargetLog]]) -> Sample:
        return self._sample(self._newest_second(), logs_by_name[name])

    def _sample(self, second: int, logs: Iterable[TargetLog]) -> Sample:
        read, write = (_direction(log.served(second, direction) for log in logs) for direction in _DIRECTIONS)
        return Sample(time_ms=(second + 1) * 1000, read=read, write=write)


_DIRECTIONS: tuple[Literal["read"], Literal["write"]] = ("read", "write")


def _direction(totals_of_logs: Iterable[Totals]) -> DirectionSample:
    operations = payload_bytes = service_microseconds = 0
    for totals in totals_of_logs:
        operations += totals.operations
        payload_bytes += totals.payload_bytes
        service_microseconds += totals.service_microseconds
    return DirectionSample(
        ops_per_second=operations,
        bytes_per_second=payload_bytes,
        service_usec=service_microseconds / operations if operations else 0.0,
        san_usec=None,
    )
