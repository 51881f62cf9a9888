"""Profiles: the tables of a family of switches, from the YAML files of `profiles/` as typed objects."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Oid = Annotated[str, Field(pattern=r"^\d+(\.\d+)+$")]
OneOrMore = Annotated[
    tuple[Oid, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value), Field(min_length=1)
]
Reading = Literal["integer", "text", "octets", "number", "wwn", "gigabit_list"]
"""The encoding of a value. `octets`: a counter of 4 or 8 octets, whose highest bit is not part of it, or any octets
of an attribute. `number`: decimal text. `wwn`: 8 octets. `gigabit_list`: text such as "8,16,32_Gbps"."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Detect(_Section):
    """The condition of a profile: sysObjectID is below one of `object_ids` (empty: any), and a column has rows."""

    object_ids: tuple[Oid, ...] = ()
    answers: OneOrMore


class Index(_Section):
    """How the index of a row identifies a port: by ifIndex, or by a port number that counts from 1.

    `sub_identifier`: the position of that number in the index. `if_index_offset`: the difference between ifIndex and
    port number.
    """

    form: Literal["if_index", "port_number"]
    sub_identifier: int = 0
    if_index_offset: int = 0


class Value(_Section):
    """A column and the meaning of its raw value.

    `values`: names of an enumeration, other values become None. `equals`: the value that means true. `factor`:
    converts to the unit of the attribute or table. `above_zero`: 0 means no value. `below`: nor does this or more.
    """

    oid: Oid
    reading: Reading = Field(default="integer", alias="as")
    values: dict[int, str] | None = None
    equals: int | None = None
    factor: float = 1.0
    above_zero: bool = False
    below: int | None = None


ValueSources = Annotated[
    tuple[Value, ...],
    BeforeValidator(lambda value: value if isinstance(value, list) else [value]),
    Field(min_length=1),
]
"""Columns of one attribute; the first with a valid value is used."""


class Counter(Value):
    """A polled column. `bits`: its width, 0: a gauge.

    `while_up`: only valid while the link is up. `always`: chosen without a check that it answers; a gauge only until
    another column does. `technology`: only for ports of this technology.
    """

    metric: str
    bits: Literal[0, 32, 63, 64] = 0
    while_up: bool = False
    always: bool = False
    technology: Literal["fibre_channel", "ethernet"] | None = None


class PortNumber(_Section):
    """The location of the port number in a row: a sub-identifier of its index, or a column.

    `add`: added to the number so that it counts from 1.
    """

    sub_identifier: int | None = None
    column: Oid | None = None
    add: int = 0


class FcId(_Section):
    """The location of an FC address in a row: three sub-identifiers of its index, or the end of a column."""

    sub_identifier: int | None = None
    column: Oid | None = None


class Only(_Section):
    """A condition on rows: only rows with this value in the column are used."""

    column: Oid
    equals: int


class LoginTable(_Section):
    """A table of logins. `port` gives the port's number, or `fabric_port` the column with the port's own WWN."""

    evidence: str
    wwpn: Oid
    port: PortNumber | None = None
    fabric_port: Oid | None = None
    node_wwn: Oid | None = None
    fc_id: FcId | None = None
    fc4_types: Oid | None = None
    features: Oid | None = None
    symbolic: tuple[Oid, ...] = ()


class NeighbourTable(_Section):
    """A table of inter-switch links: the local port, and the WWN of the port at the other end (`peer`)."""

    evidence: str
    port: PortNumber
    peer: Oid
    only: Only | None = None


class Stack(_Section):
    """The column of ifStackTable, whose index is the higher and the lower ifIndex.

    `aggregates`: pattern for the names of aggregates, which some agents give another ifType than 161.
    """

    status: Oid
    aggregates: re.Pattern[str]


class Lldp(_Section):
    """Columns of LLDP-MIB. `number_is_if_index`: sysObjectIDs of agents whose LLDP port number is the ifIndex.

    `bridge_port_if_index`: the column that maps a bridge port to its ifIndex.
    """

    number_is_if_index: tuple[Oid, ...] = ()
    bridge_port_if_index: Oid
    chassis_id: Oid
    port_id_subtype: Oid
    port_id: Oid
    port_description: Oid
    remote_chassis_id: Oid
    remote_port_id_subtype: Oid
    remote_port_id: Oid
    remote_port_description: Oid
    remote_name: Oid


class ForwardingTable(_Section):
    """A forwarding database: bridge port and status of each MAC address, whose octets end the index."""

    port: Oid
    status: Oid


class Forwarding(_Section):
    """Forwarding databases in order of preference, and the column that maps a bridge port to its ifIndex.

    `most_addresses`: a port with more learned addresses is an uplink.
    """

    bridge_port_if_index: Oid
    most_addresses: int
    tables: tuple[ForwardingTable, ...]


class SwitchFacts(_Section):
    """Attributes of the switch itself.

    `scalars`: attribute → OIDs; the first that answers is used. `columns`: attribute → column, whose first row is
    used. `description`: a pattern for sysDescr whose groups are attributes.
    """

    scalars: dict[str, tuple[Oid, ...]] = {}
    columns: dict[str, Oid] = {}
    description: str = ""


class Profile(_Section):
    """One MIB as a family of switches implements it. Values of profiles with lower `precedence` come first.

    `without`: what is unknown if the switch is of this family but the tables do not answer. `management`: patterns
    for names of interfaces without their own storage traffic.
    """

    title: str
    precedence: int
    detect: Detect
    index: Index
    technology: Literal["fibre_channel", "ethernet"] | None = None
    without: str = ""
    management: tuple[re.Pattern[str], ...] = ()
    switch: SwitchFacts = SwitchFacts()
    ports: dict[str, ValueSources] = {}
    counters: tuple[Counter, ...] = ()
    logins: tuple[LoginTable, ...] = ()
    neighbours: tuple[NeighbourTable, ...] = ()
    stack: Stack | None = None
    lldp: Lldp | None = None
    forwarding: Forwarding | None = None


class Features(_Section):
    """FC-4 features: the octets whose lower nibble has the features of a type, and the bits for each role."""

    octets: tuple[int, ...]
    target: int
    initiator: int


class Devices(_Section):
    """Criteria that distinguish initiators from targets; patterns are searched in symbolic names."""

    features: Features
    initiator: tuple[re.Pattern[str], ...]
    target: tuple[re.Pattern[str], ...]


_T = TypeVar("_T", bound=BaseModel)


def _parse(model: type[_T], text: str) -> _T:
    return model.model_validate(yaml.safe_load(text))


@cache
def profiles() -> tuple[Profile, ...]:
    """Load all profiles, by precedence."""
    folder = files(__package__).joinpath("profiles")
    loaded = [_parse(Profile, file.read_text("utf-8")) for file in folder.iterdir() if file.name.endswith(".yaml")]
    return tuple(sorted(loaded, key=lambda profile: profile.precedence))


@cache
def devices() -> Devices:
    """Load the criteria that distinguish initiators from targets."""
    return _parse(Devices, files(__package__).joinpath("devices.yaml").read_text("utf-8"))
