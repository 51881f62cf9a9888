"""What a family of switches shows in which table: the YAML files of `profiles/`, as typed objects."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Oid = Annotated[str, Field(pattern=r"^\d+(\.\d+)+$")]
OneOrMore = Annotated[
    tuple[Oid, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given), Field(min_length=1)
]
Reading = Literal["integer", "text", "octets", "number", "wwn", "gigabit_list"]
"""How a value is written: `octets`: a counter of 4 or 8 octets, the highest bit never part of it, or any octets of an
attribute; `number`: decimal text; `wwn`: 8 octets; `gigabit_list`: text such as "8,16,32_Gbps"."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Detect(_Part):
    """When a profile applies: the sysObjectID lies below one of `object_ids` (none: any), and a column has rows."""

    object_ids: tuple[Oid, ...] = ()
    answers: OneOrMore


class Index(_Part):
    """How the index of a row names a port: by ifIndex, or by a number counted from 1 at a place of the index.

    `if_index_offset`: what to add to such a number for the port's ifIndex.
    """

    form: Literal["if_index", "port_number"]
    at: int = 0
    if_index_offset: int = 0


class Value(_Part):
    """A column, and what its raw value means.

    `values`: names of an enumeration, others are None; `equals`: the value that means true; `factor`: to the unit of
    the attribute or of the table; `above_zero`: 0 stands for none.
    """

    oid: Oid
    reading: Reading = Field(default="integer", alias="as")
    values: dict[int, str] | None = None
    equals: int | None = None
    factor: float = 1.0
    above_zero: bool = False


class Counter(Value):
    """A column that is polled. `bits`: its width, 0: a gauge.

    `while_up`: means nothing while the link is down; `always`: taken without looking whether it answers;
    `technology`: of ports of this technology only.
    """

    metric: str
    bits: Literal[0, 32, 63, 64] = 0
    while_up: bool = False
    always: bool = False
    technology: Literal["fibre_channel", "ethernet"] | None = None


class PortNumber(_Part):
    """Where a row names the port: in its index or in a column; `add` makes it count from 1."""

    sub_identifier: int | None = None
    column: Oid | None = None
    add: int = 0


class FcId(_Part):
    """Where a row has the Fibre Channel address: three sub-identifiers of its index, or the end of a column."""

    sub_identifier: int | None = None
    column: Oid | None = None


class Only(_Part):
    """The rows that count."""

    column: Oid
    equals: int


class LoginTable(_Part):
    """Who has logged in. The port is named by `port`, or by its own WWN in the column `fabric_port`."""

    evidence: str
    wwpn: Oid
    port: PortNumber | None = None
    fabric_port: Oid | None = None
    node_wwn: Oid | None = None
    fc_id: FcId | None = None
    fc4_types: Oid | None = None
    features: Oid | None = None
    symbolic: tuple[Oid, ...] = ()


class NeighbourTable(_Part):
    """Inter-switch links: which port leads to the port with which WWN."""

    evidence: str
    port: PortNumber
    peer: Oid
    only: Only | None = None


class Lldp(_Part):
    """Columns of LLDP-MIB. `number_is_if_index`: sysObjectIDs of agents whose local port number is the ifIndex."""

    number_is_if_index: tuple[Oid, ...] = ()
    chassis_id: Oid
    port_id_subtype: Oid
    port_id: Oid
    port_description: Oid
    remote_chassis_id: Oid
    remote_port_id_subtype: Oid
    remote_port_id: Oid
    remote_name: Oid


class ForwardingTable(_Part):
    """A forwarding database: bridge port and status of each MAC address, the last six of the index."""

    port: Oid
    status: Oid


class Forwarding(_Part):
    """Forwarding databases, the better first, and what makes an ifIndex of a bridge port."""

    bridge_port_if_index: Oid
    most_addresses: int
    tables: tuple[ForwardingTable, ...]


class SwitchFacts(_Part):
    """What the switch says of itself: attribute → scalars, the first that answers; attribute → column, its first row.

    `description`: a pattern whose groups are attributes found in sysDescr.
    """

    scalars: dict[str, tuple[Oid, ...]] = {}
    columns: dict[str, Oid] = {}
    description: str = ""


class Profile(_Part):
    """One MIB as one family of switches fills it. A lower `precedence` is asked before, and believed more.

    `without`: what is not known when the switch is one of these but the tables do not answer. `management`: names of
    interfaces that no storage traffic crosses.
    """

    title: str
    precedence: int
    detect: Detect
    index: Index
    technology: Literal["fibre_channel", "ethernet"] | None = None
    without: str = ""
    management: str = ""
    switch: SwitchFacts = SwitchFacts()
    ports: dict[str, Value] = {}
    counters: tuple[Counter, ...] = ()
    logins: tuple[LoginTable, ...] = ()
    neighbours: tuple[NeighbourTable, ...] = ()
    lldp: Lldp | None = None
    forwarding: Forwarding | None = None


class Features(_Part):
    """FC-4 features: octets whose lower nibble is that of a type, and the bits in it."""

    octets: tuple[int, ...]
    target: int
    initiator: int


class Devices(_Part):
    """How to tell initiators from targets; patterns are searched in symbolic names."""

    features: Features
    initiator: tuple[re.Pattern[str], ...]
    target: tuple[re.Pattern[str], ...]


_T = TypeVar("_T", bound=BaseModel)


def _parsed(model: type[_T], text: str) -> _T:
    return model.model_validate(yaml.safe_load(text))


@cache
def profiles() -> tuple[Profile, ...]:
    """All of them, by precedence."""
    folder = files(__package__).joinpath("profiles")
    found = [_parsed(Profile, file.read_text("utf-8")) for file in folder.iterdir() if file.name.endswith(".yaml")]
    return tuple(sorted(found, key=lambda profile: profile.precedence))


@cache
def devices() -> Devices:
    """How initiators and targets are told apart."""
    return _parsed(Devices, files(__package__).joinpath("devices.yaml").read_text("utf-8"))
