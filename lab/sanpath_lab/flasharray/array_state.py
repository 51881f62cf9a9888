"""The interface between the FlashArray server and an array, which any lab can implement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class ArrayIdentity:
    """Identity of the array. `version` is the Purity release, which decides what `usec_per_*_op` includes."""

    name: str
    id: str
    version: str = "6.6.3"
    model: str = "FA-X20R4"
    capacity_bytes: int = 10_000_000_000_000


@dataclass(frozen=True, slots=True)
class ArrayPort:
    """A front-end port. `wwn` ("52:4A:...") is for Fibre Channel, `address` and `iqn` for Ethernet; else None."""

    name: str
    interface_type: Literal["fc", "eth"]
    speed_bits_per_second: int
    wwn: str | None = None
    address: str | None = None
    iqn: str | None = None
    services: tuple[str, ...] = ("scsi-fc",)
    mac_address: str | None = None
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class ArrayHost:
    """A host object on the array. `wwns` are upper-case hex without colons, as a host record shows them.

    `addresses` are the IP addresses its initiators come from. `connectivity` is (status, details).
    """

    name: str
    wwns: tuple[str, ...] = ()
    iqns: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    personality: str | None = None
    connectivity: tuple[str, str] = ("healthy", "Redundant")


@dataclass(frozen=True, slots=True)
class ArrayVolume:
    """A volume. `serial` is 24 upper-case hex digits; its naa is "naa.624a9370" + the serial in lower case.

    Limits in bytes/s and operations/s; None: no QoS limit.
    """

    name: str
    id: str
    serial: str
    provisioned_bytes: int
    bandwidth_limit: int | None = None
    iops_limit: int | None = None


@dataclass(frozen=True, slots=True)
class ArrayConnection:
    """A volume presented to a host under a LUN."""

    host: str
    volume: str
    lun: int


@dataclass(frozen=True, slots=True)
class ArrayController:
    """A controller. `mode_since_ms`: milliseconds since the epoch."""

    name: str
    mode: Literal["primary", "secondary"]
    status: str = "ready"
    mode_since_ms: int = 0


@dataclass(frozen=True, slots=True)
class DirectionSample:
    """The I/O of one direction, averaged over a sample. Microseconds are means per operation.

    None: the array does not measure this time (null in responses). `service_usec` excludes queue, SAN and QoS time.
    """

    ops_per_second: float = 0.0
    bytes_per_second: float = 0.0
    service_usec: float | None = 0.0
    queue_usec: float | None = 0.0
    san_usec: float | None = 0.0
    qos_rate_limit_usec: float | None = 0.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One performance sample. `time_ms`: its end on the array's own clock, milliseconds since the epoch."""

    time_ms: int
    read: DirectionSample = field(default_factory=DirectionSample)
    write: DirectionSample = field(default_factory=DirectionSample)


@dataclass(frozen=True, slots=True)
class PortSample:
    """Traffic and errors of a front-end port as the array counts them. Frames are packets on Ethernet."""

    time_ms: int
    received_bytes_per_second: float = 0.0
    transmitted_bytes_per_second: float = 0.0
    received_frames_per_second: float = 0.0
    transmitted_frames_per_second: float = 0.0
    errors_per_second: float = 0.0


@dataclass(frozen=True, slots=True)
class BalanceRow:
    """Operations of one host from one initiator to one target port during the balance window.

    `initiator` is a WWN with colons, an IQN or an IP address; `target` is the name of an ArrayPort.
    `op_count` None: the host had no I/O.
    """

    time_ms: int
    host: str
    initiator: str | None
    target: str | None
    op_count: int | None


class ArrayState(Protocol):
    """An array's configuration and present performance. Methods are called from the server's event loop."""

    @property
    def identity(self) -> ArrayIdentity:
        """Name, release and model."""
        ...

    @property
    def ports(self) -> Sequence[ArrayPort]:
        """Front-end ports."""
        ...

    @property
    def hosts(self) -> Sequence[ArrayHost]:
        """Host objects."""
        ...

    @property
    def volumes(self) -> Sequence[ArrayVolume]:
        """Volumes."""
        ...

    @property
    def connections(self) -> Sequence[ArrayConnection]:
        """Which volume is presented to which host."""
        ...

    @property
    def controllers(self) -> Sequence[ArrayController]:
        """Controllers, the primary first."""
        ...

    def array_samples(self, since_ms: int | None, until_ms: int | None) -> list[Sample]:
        """One-second samples, since_ms <= time_ms <= until_ms, oldest first; both None: the newest alone."""
        ...

    def volume_sample(self, name: str) -> Sample:
        """The live sample of a volume. KeyError: no such volume."""
        ...

    def host_sample(self, name: str) -> Sample:
        """The live sample of a host. KeyError: no such host."""
        ...

    def port_sample(self, name: str) -> PortSample:
        """The live sample of a port. KeyError: no such port."""
        ...

    def balance(self) -> list[BalanceRow]:
        """Operations per initiator and target port; one row of None for a host without I/O."""
        ...
