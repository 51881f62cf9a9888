"""A scenario: what the simulated SAN consists of, what load it gets and what a diagnosis should find, as data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

Direction = Literal["read", "write"]
FcGigabit = Literal[1, 2, 4, 8, 16, 32]

SCENARIO_FOLDER = Path(__file__).with_name("scenarios")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Load(_Part):
    """A closed loop: so many threads, each keeping so many I/Os outstanding, one job a step, one after another.

    CPU seconds are what one I/O costs the load generator.
    """

    virtual_machine: str
    direction: Direction
    block_bytes: int = Field(gt=0, multiple_of=512)
    outstanding_per_thread: int = Field(gt=0)
    threads: tuple[int, ...] = Field(min_length=1)
    ramp_seconds: float = Field(gt=0)
    measured_seconds: float = Field(gt=0)
    gap_seconds: float = Field(ge=0)
    user_seconds_per_io: float = 1.0e-5
    system_seconds_per_io: float = 2.5e-5


class GuestDisk(_Part):
    """The disk as the guest sees it; `queue_depth` is what its adapter admits."""

    name: str
    queue_depth: int = Field(gt=0)


class FcPort(_Part):
    """A port of a host or array, cabled to a port of the switch."""

    name: str
    wwpn: str
    capable_gigabit: FcGigabit
    switch_port: str


class Host(_Part):
    """A server. `lun_queue_depth` is what the driver sends to one LUN at a time.

    `submit_seconds`: from the driver's decision to send a command to its arrival at the switch.
    """

    name: str
    lun_queue_depth: int = Field(gt=0)
    hbas: tuple[FcPort, ...] = Field(min_length=1)
    submit_seconds: float = 1.2e-5


class Switch(_Part):
    """A Fibre Channel switch that runs every port at `gigabit`, whatever the other end could do."""

    name: str
    gigabit: FcGigabit
    port_count: int = Field(gt=0)
    description: str
    object_id: str
    forwarding_seconds: float = 2.0e-6


class ServiceTime(_Part):
    """Service time of the array's back end: never below `minimum_seconds`, an exponential tail above it."""

    minimum_seconds: float = Field(gt=0)
    tail_seconds: float = Field(ge=0)


class Array(_Part):
    """An array: a command processor a port in front of parallel servers that share one queue."""

    name: str
    id: str
    version: str
    model: str
    ports: tuple[FcPort, ...] = Field(min_length=1)
    command_seconds: float = Field(gt=0)
    parallel_servers: int = Field(gt=0)
    read: ServiceTime
    write: ServiceTime


class Volume(_Part):
    """The volume behind the guest's disk."""

    name: str
    id: str
    serial: str = Field(pattern=r"^[0-9A-F]{24}$")
    provisioned_bytes: int = Field(gt=0)
    lun: int

    @property
    def naa(self) -> str:
        """The identifier SCSI inquiry gives: vendor prefix and serial."""
        return f"naa.624a9370{self.serial.lower()}"


class IoPath(_Part):
    """A way from an initiator port to a target port that carries I/O."""

    hba: str
    target: str


class Truth(_Part):
    """What a correct diagnosis says of the scenario, in the words of the report."""

    kind: str
    layer: str
    direction: Direction
    bottlenecks: tuple[str, ...]
    cleared: tuple[str, ...] = ()


class Scenario(_Part):
    """The whole lab. Loading raises pydantic.ValidationError when the data do not hold together."""

    name: str
    title: str
    seed: int
    load: Load
    guest_disk: GuestDisk
    host: Host
    switch: Switch
    array: Array
    volume: Volume
    paths: tuple[IoPath, ...] = Field(min_length=1)
    ios_per_path: int = Field(default=1, gt=0)
    truth: Truth

    @model_validator(mode="after")
    def _paths_exist(self) -> Scenario:
        hbas = {hba.name for hba in self.host.hbas}
        targets = {port.name for port in self.array.ports}
        for path in self.paths:
            if path.hba not in hbas or path.target not in targets:
                raise ValueError(f"path {path.hba} -> {path.target}: no such port")
        cabled = [port.switch_port for port in (*self.host.hbas, *self.array.ports)]
        if len(set(cabled)) < len(cabled):
            raise ValueError("two cables in one switch port")
        return self


def load_scenario(name_or_file: str) -> Scenario:
    """A built-in scenario by name, or a YAML file by path. Raises FileNotFoundError, ValidationError."""
    builtin = SCENARIO_FOLDER / f"{name_or_file}.yaml"
    file = builtin if builtin.is_file() else Path(name_or_file)
    return Scenario.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


def builtin_scenarios() -> Iterator[Scenario]:
    """Every scenario that comes with the lab, by name."""
    for file in sorted(SCENARIO_FOLDER.glob("*.yaml")):
        yield load_scenario(file.stem)
