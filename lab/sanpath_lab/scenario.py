"""Defines scenarios as data: the simulated SAN, its load and the correct diagnosis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from sanpath_lab.routing import egress_ports

Direction = Literal["read", "write"]
LoadDirection = Literal["read", "write", "mixed"]
FcGigabit = Literal[1, 2, 4, 8, 16, 32]

Wwn = Annotated[str, Field(pattern=r"^([0-9a-f]{2}:){7}[0-9a-f]{2}$")]
Agent = Literal["if_mib", "fabric_os", "nx_os"]
SwitchPort = Annotated[str, Field(pattern=r"^[^/]+/(fc1|0)/\d+$")]
"""Switch and port in the vendor's notation: "sw1/fc1/7" for NX-OS, "sw1/0/7" for Fabric OS."""
PathState = Literal["active", "standby", "dead"]
PathPolicy = Literal["round_robin", "most_recently_used"]
VirtualController = Literal["lsi_logic", "pvscsi"]

DISK_QUEUE_DEPTHS: Mapping[VirtualController, int] = {"lsi_logic": 32, "pvscsi": 64}
"""Virtual controller → default queue depth of a disk in the guest's driver (VMware KB 2053145)."""

SCENARIO_FOLDER = Path(__file__).with_name("scenarios")


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Load(_Model):
    """A load in a closed loop: steps in sequence, each with a number of threads that keep I/Os outstanding.

    `threads`: threads of a job in each step. `jobs`: number of identical jobs in parallel, each with that many
    threads; they are distributed over the disks of the guest in turn.
    `direction`: in a mixed load every second outstanding I/O is a write. With `write_ratio`, that share of the I/Os
    are writes, drawn at random as fio does.
    `user_seconds_per_io`, `system_seconds_per_io`: processor time that one I/O costs the load generator.
    `one_core_per_thread`: each thread is a process that starts no I/O while its core works on another one.
    `ios_per_second`: limit over all threads; None: no limit. `zeros`: writes contain zeros only.
    `working_set_bytes`: size of the range of random I/O; None: the entire disk. `direct`: bypasses the guest's file
    cache.
    """

    virtual_machine: str
    direction: LoadDirection
    block_bytes: int = Field(gt=0, multiple_of=512)
    outstanding_per_thread: int = Field(gt=0)
    threads: tuple[int, ...] = Field(min_length=1)
    jobs: int = Field(default=1, gt=0)
    write_ratio: float | None = Field(default=None, gt=0, lt=1)
    ramp_seconds: float = Field(gt=0)
    measured_seconds: float = Field(gt=0)
    gap_seconds: float = Field(ge=0)
    user_seconds_per_io: float = 1.0e-5
    system_seconds_per_io: float = 2.5e-5
    one_core_per_thread: bool = False
    ios_per_second: float | None = Field(default=None, gt=0)
    zeros: bool = False
    working_set_bytes: int | None = Field(default=None, gt=0)
    direct: bool = True

    @property
    def directions(self) -> tuple[Direction, ...]:
        """Directions of successive outstanding I/Os, if `write_ratio` is None."""
        return ("read", "write") if self.direction == "mixed" else (self.direction,)


class GuestMemory(_Model):
    """The guest's file cache. A read that hits it takes `cached_seconds` and is not sent to the disk."""

    capacity_bytes: int = Field(gt=0)
    cached_seconds: float = 5.0e-6


class GuestDisk(_Model):
    """A disk of the guest. `queue_depth`: by default that of its `controller`."""

    name: str
    controller: VirtualController = "lsi_logic"
    queue_depth: int = Field(default_factory=lambda given: DISK_QUEUE_DEPTHS[given["controller"]], gt=0)

    @property
    def has_default_depth(self) -> bool:
        """Whether the queue depth is the default of the controller."""
        return self.queue_depth == DISK_QUEUE_DEPTHS[self.controller]


class FcPort(_Model):
    """A port of a host or array with a cable to a port of a switch.

    `credits`: number of frames that its buffers hold. `drain_ratio`: rate at which it consumes frames, as a share of
    its line rate. `damaged_frame_ratio`: share of the data frames it sends that the cable damages.
    """

    name: str
    wwpn: Wwn
    capable_gigabit: FcGigabit
    switch_port: SwitchPort
    credits: int = Field(default=80, gt=0)
    drain_ratio: float = Field(default=1.0, gt=0, le=1)
    damaged_frame_ratio: float = Field(default=0.0, ge=0, lt=1)


class Host(_Model):
    """A server. `lun_queue_depth`: most commands that the driver sends to one LUN at a time.

    `path_policy`: Round Robin changes between all active paths, Most Recently Used keeps to the first of them.
    `submit_seconds`: from the driver's decision to send a command to its arrival at the switch.
    `timeout_seconds`: after this time a command without a response is repeated; 30 is the default of the SCSI disk
    driver of Linux.
    """

    name: str
    lun_queue_depth: int = Field(gt=0)
    hbas: tuple[FcPort, ...] = Field(min_length=1)
    path_policy: PathPolicy = "round_robin"
    submit_seconds: float = 1.2e-5
    timeout_seconds: float = Field(default=30.0, gt=0)


class Switch(_Model):
    """A Fibre Channel switch. `gigabit`: highest speed of its device ports.

    `credits`: number of frames that the buffers of a device port hold. `agent`: the MIB tables that it has over SNMP.
    `virtualizes_ports`: it is an N_Port virtualizer (NPV, Access Gateway), not a switch of the fabric. Its hosts log
    in at the far end of its only uplink, and it is not read.
    """

    name: str = Field(pattern=r"^[^/]+$")
    gigabit: FcGigabit
    port_count: int = Field(gt=0)
    description: str
    object_id: str
    agent: Agent = "if_mib"
    wwn: Wwn = "20:00:00:0d:ec:00:00:01"
    domain_id: int = Field(default=1, ge=1, le=239)
    credits: int = Field(default=80, gt=0)
    forwarding_seconds: float = 2.0e-6
    virtualizes_ports: bool = False

    @property
    def ports(self) -> dict[str, int]:
        """Port name → port number, counted from 1."""
        first = 0 if self.agent == "fabric_os" else 1
        slot = "0" if self.agent == "fabric_os" else "fc1"
        return {f"{self.name}/{slot}/{number - 1 + first}": number for number in range(1, self.port_count + 1)}


class InterSwitchLink(_Model):
    """A link between two switches. `credits`: number of frames that the buffers at each end hold."""

    ends: tuple[SwitchPort, SwitchPort]
    gigabit: FcGigabit
    credits: int = Field(gt=0)


class ServiceTime(_Model):
    """Service time of the array's media: `minimum_seconds` plus an exponential tail with mean `tail_seconds`."""

    minimum_seconds: float = Field(gt=0)
    tail_seconds: float = Field(ge=0)


class WriteCache(_Model):
    """The write cache of an array. Writes wait for free space; the cache is destaged to the media at a fixed rate.

    The array counts this wait as queue time, because no server accepts an I/O without space for it.
    """

    capacity_bytes: int = Field(gt=0)
    destage_bytes_per_second: float = Field(gt=0)


class Array(_Model):
    """An array: one command processor per port, in front of parallel servers with a common queue.

    `access`: an active/passive array serves a volume through one controller, and it is not read.
    `command_seconds`: processor time of a command. `parallel_servers`: I/Os that it serves at a time.
    `parallel_media`: I/Os that its media serve at a time; None: as many as there are servers. The array counts the
    wait for a server as queue time, and the wait of a server for the media as service time.
    `entry_seconds`: time that each command takes, one at a time, before the array's own clock starts.
    `cache_bytes`: size of the read cache; None: no cache. Hits take `cached_seconds` and do not use the media.
    """

    name: str
    id: str
    version: str
    model: str
    ports: tuple[FcPort, ...] = Field(min_length=1)
    access: Literal["active/active", "active/passive"] = "active/active"
    command_seconds: float = Field(gt=0)
    entry_seconds: float = Field(default=0.0, ge=0)
    parallel_servers: int = Field(gt=0)
    parallel_media: int | None = Field(default=None, gt=0)
    cache_bytes: int | None = Field(default=None, gt=0)
    cached_seconds: float = 1.0e-4
    write_cache: WriteCache | None = None
    read: ServiceTime
    write: ServiceTime


class Volume(_Model):
    """The volume behind the guest's disk. QoS limits in bytes a second and operations a second; None: no limit."""

    name: str
    id: str
    serial: str = Field(pattern=r"^[0-9A-F]{24}$")
    provisioned_bytes: int = Field(gt=0)
    lun: int
    bandwidth_limit: int | None = Field(default=None, gt=0)
    iops_limit: int | None = Field(default=None, gt=0)

    @property
    def naa(self) -> str:
        """NAA identifier of SCSI INQUIRY: vendor prefix and serial."""
        return f"naa.624a9370{self.serial.lower()}"

    @property
    def limited(self) -> bool:
        """Whether it has a QoS limit."""
        return self.bandwidth_limit is not None or self.iops_limit is not None


class OtherDisk(_Model):
    """An additional disk of the guest that the load uses, with a separate volume on the array under test."""

    disk: GuestDisk
    volume: Volume


class OtherArray(Array):
    """An additional array in the same fabrics. `volume`: its idle volume of the host under test."""

    volume: Volume


class IoPath(_Model):
    """A path from an initiator port to a target port.

    `state`: a standby path leads to a controller that does not serve the volume. A dead path is lost although all of
    its links are up.
    """

    hba: str
    target: str
    state: PathState = "active"


class Vcenter(_Model):
    """The vCenter that manages the host under test. `datastore`: name of the file system on the volume."""

    name: str = "vc1"
    datastore: str = "DS1"


class Neighbour(_Model):
    """Another host with I/O in a closed loop that runs all the time. No load generator reports it.

    `target`: port of `array`; None: of the array under test. `think_seconds`: from the end of an I/O to the start of
    the next. `decoy`: it does not hold the test up.
    """

    name: str
    hba: FcPort
    array: str | None = None
    target: str
    volume: Volume
    direction: Direction
    block_bytes: int = Field(gt=0, multiple_of=512)
    outstanding: int = Field(gt=0)
    submit_seconds: float = 1.2e-5
    think_seconds: float = Field(default=0.0, ge=0)
    decoy: bool = False


class Truth(_Model):
    """The correct diagnosis of the scenario, in the terms of the report.

    `also`: further kinds of verdict that are correct. `culprit`: the device that causes the bottleneck, even if its
    I/O is not part of the test; None: no such device. `victims`: elements that suffer from it without being a
    bottleneck. `cleared`: elements that must not be accused. `findings`: rules that hit. `forbidden`: rules that a
    correct diagnosis does not call a cause.
    """

    kind: str
    layer: str
    direction: Direction
    bottlenecks: tuple[str, ...]
    culprit: str | None = None
    victims: tuple[str, ...] = ()
    cleared: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Describe it in one line.

        >>> str(Truth(kind="bottleneck", layer="fabric", direction="read", bottlenecks=("switch_port:sw1/0/3",)))
        'bottleneck in the fabric, read: switch_port:sw1/0/3'
        """
        blamed = f"; culprit {self.culprit}" if self.culprit else ""
        if not self.bottlenecks:
            return f"{self.kind}, {self.direction}: no bottleneck"
        return f"{self.kind} in the {self.layer}, {self.direction}: {', '.join(self.bottlenecks)}{blamed}"


class Scenario(_Model):
    """A complete scenario. Raises pydantic.ValidationError if the data are not consistent.

    `burst_frames`: number of frames that are simulated as one unit; more are faster to simulate.
    `ios_per_path`: I/Os that Round Robin sends down a path before it changes. `vcenter`: None: no hypervisor is read.
    """

    name: str
    title: str
    seed: int
    load: Load
    guest_disk: GuestDisk
    other_disks: tuple[OtherDisk, ...] = ()
    guest_memory: GuestMemory | None = None
    host: Host
    neighbours: tuple[Neighbour, ...] = ()
    switches: tuple[Switch, ...] = Field(min_length=1)
    inter_switch_links: tuple[InterSwitchLink, ...] = ()
    burst_frames: int = Field(default=32, gt=0)
    array: Array
    other_arrays: tuple[OtherArray, ...] = ()
    volume: Volume
    paths: tuple[IoPath, ...] = Field(min_length=1)
    ios_per_path: int = Field(default=1, gt=0)
    vcenter: Vcenter | None = None
    truth: Truth

    @property
    def working_set_bytes(self) -> int:
        """Size of the range that the load reads and writes."""
        return self.load.working_set_bytes or self.volume.provisioned_bytes

    @property
    def initiators(self) -> dict[str, str]:
        """WWPN of each initiator port → name of its host."""
        return {hba.wwpn: self.host.name for hba in self.host.hbas} | {n.hba.wwpn: n.name for n in self.neighbours}

    @property
    def disks(self) -> tuple[tuple[GuestDisk, Volume], ...]:
        """The disks of the guest that the load uses, and their volumes."""
        return ((self.guest_disk, self.volume), *((extra.disk, extra.volume) for extra in self.other_disks))

    @property
    def volumes(self) -> dict[str, Volume]:
        """Name → volume, of the load and of the neighbours. A neighbour may share a volume of the load."""
        neighbour_volumes = {neighbour.volume.name: neighbour.volume for neighbour in self.neighbours}
        return neighbour_volumes | {volume.name: volume for _, volume in self.disks}

    @property
    def fabric_switches(self) -> tuple[Switch, ...]:
        """The switches with an SNMP agent: all but N_Port virtualizers."""
        return tuple(switch for switch in self.switches if not switch.virtualizes_ports)

    @property
    def active_paths(self) -> tuple[IoPath, ...]:
        """The paths that can carry I/O."""
        return tuple(path for path in self.paths if path.state == "active")

    @property
    def devices(self) -> tuple[FcPort, ...]:
        """All ports of hosts and arrays."""
        targets = (port for array in self.arrays for port in array.ports)
        return (*self.host.hbas, *(neighbour.hba for neighbour in self.neighbours), *targets)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The array under test, then the other arrays."""
        return (self.array, *self.other_arrays)

    def array_of(self, neighbour: Neighbour) -> Array:
        """Return the array of a neighbour's volume. Raises ValueError: no array has that name."""
        name = neighbour.array or self.array.name
        array = next((array for array in self.arrays if array.name == name), None)
        if array is None:
            raise ValueError(f"neighbour {neighbour.name}: no array {name}")
        return array

    @model_validator(mode="after")
    def _paths_exist(self) -> Scenario:
        hbas = {hba.name: hba.switch_port for hba in self.host.hbas}
        targets = {port.name: port.switch_port for port in self.array.ports}
        links = [link.ends for link in self.inter_switch_links]
        for path in self.paths:
            if path.hba not in hbas or path.target not in targets:
                raise ValueError(f"path {path.hba} -> {path.target}: no such port")
            egress_ports(links, hbas[path.hba], targets[path.target], 0)
        if not self.active_paths:
            raise ValueError("no path is active")
        if self.other_disks and self.vcenter is not None:
            raise ValueError("the simulated vCenter knows of one disk of the guest")
        for neighbour in self.neighbours:
            ports = {port.name: port.switch_port for port in self.array_of(neighbour).ports}
            if neighbour.target not in ports:
                raise ValueError(f"neighbour {neighbour.name} -> {neighbour.target}: no such port")
            egress_ports(links, neighbour.hba.switch_port, ports[neighbour.target], 0)
        return self

    @model_validator(mode="after")
    def _cables_fit(self) -> Scenario:
        switch_ports = {port for switch in self.switches for port in switch.ports}
        ends = (end for link in self.inter_switch_links for end in link.ends)
        cables = Counter([*(device.switch_port for device in self.devices), *ends])
        for port, count in cables.items():
            if port not in switch_ports:
                raise ValueError(f"no switch has a port {port}")
            if count > 1:
                raise ValueError(f"two cables in switch port {port}")
        return self

    @model_validator(mode="after")
    def _buffers_hold_two_bursts(self) -> Scenario:
        # The response is sent with the last burst.
        needed = 2 * (self.burst_frames + 1)
        smallest = min(
            *(device.credits for device in self.devices),
            *(switch.credits for switch in self.switches),
            *(link.credits for link in self.inter_switch_links),
        )
        if smallest < needed:
            raise ValueError(f"{smallest} credits: bursts of {self.burst_frames} frames need {needed}")
        return self


def load_scenario(name_or_file: str) -> Scenario:
    """Load a built-in scenario by name, or a YAML file by path. Raises FileNotFoundError, ValidationError."""
    builtin = SCENARIO_FOLDER / f"{name_or_file}.yaml"
    file = builtin if builtin.is_file() else Path(name_or_file)
    if file.is_dir() or not file.exists():
        names = ", ".join(sorted(path.stem for path in SCENARIO_FOLDER.glob("*.yaml")))
        raise FileNotFoundError(f"no scenario {name_or_file}, and no file of that name; there are: {names}")
    return Scenario.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


def builtin_scenarios() -> Iterator[Scenario]:
    """Yield the built-in scenarios, sorted by name."""
    for file in sorted(SCENARIO_FOLDER.glob("*.yaml")):
        yield load_scenario(file.stem)
