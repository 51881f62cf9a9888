"""The typed objects that pass between the parts. Imports the standard library only.

Recorded (what one source said):      Rows, SourceEntity, SourceLink, Event, Poll
Resolved (what sanpath made of it):   Entity, Link, Step
Judged:                               see verdict/model.py (Diagnosis and its parts)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Direction = Literal["read", "write"]
"""`read` is data towards the host, `write` data towards the array, on every element of the path."""

DIRECTIONS: tuple[Direction, Direction] = ("read", "write")

Layer = Literal["load", "guest", "host", "fabric", "array_front", "array_back"]

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Column:
    """A metric of the catalogue as one source delivers it.

    `bits` is the width of a counter (0: a gauge; 32 may wrap once; 63 and 64 never do).
    `scale` turns the recorded number into the metric's base unit, e.g. 1e-6 for microseconds; it is applied
    when samples are read, so that a recording holds what the device said. `resolution`, in the base unit: the true
    value lies in [value, value + resolution), because the source cuts off what is smaller.
    """

    metric: str
    bits: Literal[0, 32, 63, 64] = 0
    scale: float = 1.0
    resolution: float = 0.0


@dataclass(frozen=True, slots=True)
class Table:
    """What one poll yields for one entity kind.

    `plane` names where the latency columns start and stop (catalogue/planes.yaml); None: no latency here.
    `rollup` is "average" when a value covers `covers_seconds` before its time stamp.
    """

    kind: str
    columns: tuple[Column, ...]
    rollup: Literal["instant", "average"] = "instant"
    plane: str | None = None


@dataclass(slots=True)
class Rows:
    """Samples of one table: columns of equal length, one row an entity.

    `entity` is the source's own id; identity is resolved in topology. `seen` is the recorder's clock in
    microseconds when the reply that held the row arrived, `device_time` the device's own clock in microseconds.
    None in a value: asked, not answered. A metric that is not in `values`: never asked.
    """

    table: Table
    entity: list[str]
    seen: list[int]
    values: dict[str, Sequence[int | float | None]]
    device_time: list[int] | None = None
    covers_seconds: list[float] | None = None


@dataclass(frozen=True, slots=True)
class SourceEntity:
    """One thing as one source knows it. `ids` are join keys, e.g. {"wwpn": ("21000024ff000001",)}.

    Key kinds: wwpn, switch_wwn, naa, nqn, iqn, lldp, mac, ip, serial, name (order of trust: topology/keys.py).
    """

    kind: str
    local_id: str
    label: str = ""
    ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    attributes: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceLink:
    """A link as one source sees it.

    Each end is (kind, local id) of this source's own things, or ("wwpn", ...), ("ip", ...) and the like: a join
    key of something that another source knows.
    """

    relation: str
    from_end: tuple[str, str]
    to_end: tuple[str, str]
    evidence: str


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: a load step began, a counter was reset, a device restarted."""

    seen: int
    name: str
    detail: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Poll:
    """One round with one source: what it cost and what came of it. Times in microseconds of the recorder's clock."""

    source: str
    due: int
    started: int
    ended: int
    outcome: Literal["ok", "partial", "failed", "skipped"]
    failure: str = ""
    message: str = ""
    rows: int = 0
    requests: int = 0
    bytes_in: int = 0


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing after the joins: every (source, local id) that is the same thing, under one name.

    `id` is "kind:name". `attributes` of all sources merged, the more trusted source winning.
    """

    id: str
    kind: str
    label: str
    ids: Mapping[str, tuple[str, ...]]
    attributes: Mapping[str, Scalar]
    known_as: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A relation between two entities, with every piece of evidence for it."""

    relation: str
    from_entity: str
    to_entity: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StepLoad:
    """The loads of one source in a step. `entities`: the source's own ids of the loads, empty: all of its loads.

    `summary_limits`: if the source reports a single figure for the step, the begin and end of the time it covers,
    microseconds on the recorder's clock. None: it reports a series.
    """

    source: str
    entities: tuple[str, ...] = ()
    summary_limits: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A part of the run with one offered load. Times in microseconds of the recorder's clock, ramp left out.

    `loads` are the loads active in it, empty: all there are; `offered` the configured number of I/Os in flight (None:
    unknown). `rate_limited`: a load was told to stay below a rate. `origin` says what told the limits: "marks" of the
    loads themselves; without any, "found" in what they did, or the "whole run". `planned_seconds`: how long its load
    was told to take, ramp included; None: not known.
    """

    name: str
    start: int
    end: int
    origin: Literal["marks", "found", "whole run"]
    loads: tuple[StepLoad, ...]
    offered: float | None
    block_bytes: float | None = None
    rate_limited: bool = False
    planned_seconds: float | None = None

    @property
    def seconds(self) -> float:
        """Length of the step."""
        return (self.end - self.start) / 1e6
