"""A scenario: what the simulated SAN consists of, what load it gets and what a diagnosis should find, as data."""

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
"""A port of a switch by the name its vendor gives it: "sw1/fc1/7" of NX-OS, "sw1/0/7" of Fabric OS."""
PathState = Literal["active", "standby", "dead"]
PathPolicy = Literal["round_robin", "most_recently_used"]
VirtualController = Literal["lsi_logic", "pvscsi"]

DISK_QUEUE_DEPTHS: Mapping[VirtualController, int] = {"lsi_logic": 32, "pvscsi": 64}
"""I/Os that a guest's driver gives one disk of a virtual controller, unless told otherwise (VMware KB 2053145)."""

SCENARIO_FOLDER = Path(__file__).with_name("scenarios")


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Load(_Model):
    """A closed loop: steps one after another, in each of them so many threads, each keeping so many I/Os outstanding.

    `jobs`: how many alike run at the same time in a step, each with that many threads; they take turns over the
    disks of the guest. CPU seconds are what one I/O costs the load generator; `one_core_per_thread`: a thread is
    a process that starts no I/O while its core works on another. `ios_per_second`: all threads together start no
    more, None: as many as they can. `zeros`: what is written are zeros. `direction` mixed: every other
    outstanding I/O is a write, or with a `write_ratio` this share of the I/Os, drawn at random as fio does.
    `working_set_bytes`: what it reads and writes within, at random, None: the whole disk. `direct`: past the file
    cache of the guest.
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
        """Of the outstanding I/Os, one after the other, where they are not drawn."""
        return ("read", "write") if self.direction == "mixed" else (self.direction,)


class GuestMemory(_Model):
    """What the guest's file cache can take; a read that it answers takes `cached_seconds` and goes no further."""

    capacity_bytes: int = Field(gt=0)
    cached_seconds: float = 5.0e-6


class GuestDisk(_Model):
    """The disk as the guest sees it; `queue_depth` is what its adapter admits, by default that of `controller`."""

    name: str
    controller: VirtualController = "lsi_logic"
    queue_depth: int = Field(default_factory=lambda given: DISK_QUEUE_DEPTHS[given["controller"]], gt=0)

    @property
    def has_default_depth(self) -> bool:
        """Whether the type of the controller tells its depth."""
        return self.queue_depth == DISK_QUEUE_DEPTHS[self.controller]


class FcPort(_Model):
    """A port of a host or array, cabled to a port of a switch.

    `credits`: frames it has buffers for; `drain_ratio`: how fast it consumes what arrives, as a share of its link.
    `damaged_frame_ratio`: share of the data frames it sends that its cable damages on the way to the switch.
    """

    name: str
    wwpn: Wwn
    capable_gigabit: FcGigabit
    switch_port: SwitchPort
    credits: int = Field(default=80, gt=0)
    drain_ratio: float = Field(default=1.0, gt=0, le=1)
    damaged_frame_ratio: float = Field(default=0.0, ge=0, lt=1)


class Host(_Model):
    """A server. `lun_queue_depth` is what the driver sends to one LUN at a time.

    `path_policy`: Round Robin takes turns over all active paths, Most Recently Used keeps to the first of them.
    `submit_seconds`: from the driver's decision to send a command to its arrival at the switch. `timeout_seconds`:
    after which a command that has not come back is done again; 30 is that of the SCSI disk driver of Linux.
    """

    name: str
    lun_queue_depth: int = Field(gt=0)
    hbas: tuple[FcPort, ...] = Field(min_length=1)
    path_policy: PathPolicy = "round_robin"
    submit_seconds: float = 1.2e-5
    timeout_seconds: float = Field(default=30.0, gt=0)


class Switch(_Model):
    """A Fibre Channel switch that runs the ports of devices at `gigabit`, whatever the other end could do.

    `credits`: frames that a device's port has buffers for. `agent`: which vendor's tables it answers over SNMP.
    `virtualizes_ports`: it is no switch of the fabric (NPV, Access Gateway): its hosts log in at the other end of its
    one uplink, and nobody reads it.
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
        """Names of its ports and their numbers, counted from 1."""
        first = 0 if self.agent == "fabric_os" else 1
        slot = "0" if self.agent == "fabric_os" else "fc1"
        return {f"{self.name}/{slot}/{number - 1 + first}": number for number in range(1, self.port_count + 1)}


class InterSwitchLink(_Model):
    """A link between two switches; `credits`: frames that the port at each end has buffers for."""

    ends: tuple[SwitchPort, SwitchPort]
    gigabit: FcGigabit
    credits: int = Field(gt=0)


class ServiceTime(_Model):
    """Service time of the array's back end: never below `minimum_seconds`, an exponential tail above it."""

    minimum_seconds: float = Field(gt=0)
    tail_seconds: float = Field(ge=0)


class WriteCache(_Model):
    """What an array acknowledges writes from: they wait for room in it, and it is written to the media at a rate.

    Its wait is queue time to the array: no server takes an I/O that has no room.
    """

    capacity_bytes: int = Field(gt=0)
    destage_bytes_per_second: float = Field(gt=0)


class Array(_Model):
    """An array: a command processor a port in front of parallel servers that share one queue.

    `access`: an active/passive one serves a volume through one controller; it has no interface that anybody reads.
    `parallel_media`: how many I/Os its media serve at a time, None: as many as there are servers. To the array, the
    wait for a server is queue time, and the wait of an I/O that a server has taken for the media is service time.
    `entry_seconds`: what every command takes, one at a time, before the array's own clocks begin.
    `cache_bytes`: its memory for reads; those that hit it take `cached_seconds` and need no medium.
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
    """The volume behind the guest's disk. QoS limits in bytes/s and operations/s, None: there is none."""

    name: str
    id: str
    serial: str = Field(pattern=r"^[0-9A-F]{24}$")
    provisioned_bytes: int = Field(gt=0)
    lun: int
    bandwidth_limit: int | None = Field(default=None, gt=0)
    iops_limit: int | None = Field(default=None, gt=0)

    @property
    def naa(self) -> str:
        """The identifier SCSI inquiry gives: vendor prefix and serial."""
        return f"naa.624a9370{self.serial.lower()}"

    @property
    def limited(self) -> bool:
        """Whether it has a QoS limit."""
        return self.bandwidth_limit is not None or self.iops_limit is not None


class OtherDisk(_Model):
    """Another disk of the guest, with a volume of its own on the array under test, which the load is on as well."""

    disk: GuestDisk
    volume: Volume


class OtherArray(Array):
    """Another array in the same fabrics. `volume`: what it presents to the host under test, which leaves it idle."""

    volume: Volume


class IoPath(_Model):
    """A way from an initiator port to a target port. `state`: on standby it leads to a controller that does not serve
    the volume; a dead one has been lost, though all of its cables are up."""

    hba: str
    target: str
    state: PathState = "active"


class Vcenter(_Model):
    """A vCenter that manages the host under test; `datastore`: what it calls the file system on the volume."""

    name: str = "vc1"
    datastore: str = "DS1"


class Neighbour(_Model):
    """Another host with I/O of its own, a closed loop that never ends and that no load generator reports.

    `array`: whose port `target` is, None: of the array under test. `think_seconds`: from the end of an I/O to the
    start of the next.
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


class Truth(_Model):
    """What a correct diagnosis says of the scenario, in the words of the report.

    `also`: other kinds that are as right. `culprit`: the device that is to blame although its own I/O may be no part
    of the test; None: there is none. `victims`: what suffers from it and is no bottleneck. `findings`: rules that
    hit; `forbidden`: rules that a correct diagnosis does not call a cause.
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
        """In one line.

        >>> str(Truth(kind="bottleneck", layer="fabric", direction="read", bottlenecks=("switch_port:sw1/0/3",)))
        'bottleneck in the fabric, read: switch_port:sw1/0/3'
        """
        blamed = f"; culprit {self.culprit}" if self.culprit else ""
        if not self.bottlenecks:
            return f"{self.kind}, {self.direction}: no bottleneck"
        return f"{self.kind} in the {self.layer}, {self.direction}: {', '.join(self.bottlenecks)}{blamed}"


class Scenario(_Model):
    """The whole lab. Loading raises pydantic.ValidationError when the data do not hold together.

    `burst_frames`: how many frames move together; more are cheaper to simulate. `vcenter` None: no hypervisor
    is read.
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
        """What the load reads and writes within."""
        return self.load.working_set_bytes or self.volume.provisioned_bytes

    @property
    def initiators(self) -> dict[str, str]:
        """WWPN of every initiator port and the name of its host."""
        return {hba.wwpn: self.host.name for hba in self.host.hbas} | {n.hba.wwpn: n.name for n in self.neighbours}

    @property
    def disks(self) -> tuple[tuple[GuestDisk, Volume], ...]:
        """The disks of the guest that the load is on, and their volumes."""
        return ((self.guest_disk, self.volume), *((extra.disk, extra.volume) for extra in self.other_disks))

    @property
    def volumes(self) -> dict[str, Volume]:
        """By name: those of the load and of the neighbours, who may share one of them."""
        neighbour_volumes = {neighbour.volume.name: neighbour.volume for neighbour in self.neighbours}
        return neighbour_volumes | {volume.name: volume for _, volume in self.disks}

    @property
    def fabric_switches(self) -> tuple[Switch, ...]:
        """Those that have an agent: all but N_Port virtualizers."""
        return tuple(switch for switch in self.switches if not switch.virtualizes_ports)

    @property
    def active_paths(self) -> tuple[IoPath, ...]:
        """Those that can carry I/O."""
        return tuple(path for path in self.paths if path.state == "active")

    @property
    def devices(self) -> tuple[FcPort, ...]:
        """Every port of a host or array."""
        targets = (port for array in self.arrays for port in array.ports)
        return (*self.host.hbas, *(neighbour.hba for neighbour in self.neighbours), *targets)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The array under test, and the others."""
        return (self.array, *self.other_arrays)

    def array_of(self, neighbour: Neighbour) -> Array:
        """The array that a neighbour has its volume on. Raises ValueError: there is none of that name."""
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
        # A response goes out with the last burst.
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
    """A built-in scenario by name, or a YAML file by path. Raises FileNotFoundError, ValidationError."""
    builtin = SCENARIO_FOLDER / f"{name_or_file}.yaml"
    file = builtin if builtin.is_file() else Path(name_or_file)
    if file.is_dir() or not file.exists():
        names = ", ".join(sorted(path.stem for path in SCENARIO_FOLDER.glob("*.yaml")))
        raise FileNotFoundError(f"no scenario {name_or_file}, and no file of that name; there are: {names}")
    return Scenario.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


def builtin_scenarios() -> Iterator[Scenario]:
    """Every scenario that comes with the lab, by name."""
    for file in sorted(SCENARIO_FOLDER.glob("*.yaml")):
        yield load_scenario(file.stem)
