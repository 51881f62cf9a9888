"""The typed objects that packages exchange. Imports the standard library only.

Recorded (as one source reports it):      Rows, SourceEntity, SourceLink, Event, Poll
Resolved (what sanpath derives from it):  Entity, Link, Step
Judged:                                   see diagnosis/model.py (Diagnosis and its fields)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

Direction = Literal["read", "write"]
"""On every element of the path, `read` is data towards the host and `write` is data towards the array."""

DIRECTIONS: tuple[Direction, Direction] = ("read", "write")

Layer = Literal["load", "guest", "host", "fabric", "array_front", "array_back"]

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Column:
    """A metric of the catalogue as one source delivers it.

    `bits` is the width of a counter. 0 means a gauge; a 32-bit counter may wrap once; 63 and 64 bits never wrap.
    `scale` turns the recorded number into the metric's base unit, e.g. 1e-6 for microseconds. It is applied when
    samples are read, so that a recording holds the device's own number. `resolution` is in the base unit: the source
    truncates, so that the true value lies in [value, value + resolution).
    """

    metric: str
    bits: Literal[0, 32, 63, 64] = 0
    scale: float = 1.0
    resolution: float = 0.0


@dataclass(frozen=True, slots=True)
class Table:
    """The columns that one poll yields for one entity kind.

    `plane` names the points between which the latency columns measure (catalogue/planes.yaml); None: the table has
    no latency. `rollup` is "average" when a value covers the `covers_seconds` before its time stamp.
    """

    kind: str
    columns: tuple[Column, ...]
    rollup: Literal["instant", "average"] = "instant"
    plane: str | None = None


def plane_of(tables: Sequence[Table]) -> str | None:
    """Return the plane of the latencies of one entity kind, by the tables that a source declares for it.

    Of several, that of the first one with counters of latency: means on other planes carry theirs in their names.
    """
    timed = [table for table in tables if "latency_seconds_read_total" in {column.metric for column in table.columns}]
    return (timed or tables[-1:])[0].plane


@dataclass(slots=True)
class Rows:
    """Samples of one table: columns of equal length, one row per entity.

    `entity` is the source's own id; topology resolves identity. `seen` is the time at which the reply with the row
    arrived, in microseconds of the recorder's clock. `device_time` is in microseconds of the device's own clock.
    A None among the values was requested but not answered. A metric missing from `values` was never requested.
    Columns of thousands of rows may be an `array.array`, which takes a tenth of a list's time.
    """

    table: Table
    entity: list[str]
    seen: Sequence[int]
    values: dict[str, Sequence[int | float | None]]
    device_time: Sequence[int] | None = None
    covers_seconds: Sequence[float] | None = None


@dataclass(frozen=True, slots=True)
class SourceEntity:
    """An entity as one source reports it. `ids` are join keys, e.g. {"wwpn": ("21000024ff000001",)}.

    Key kinds: wwpn, switch_wwn, naa, nqn, iqn, lldp, mac, ip, serial, name (order of trust: topology/keys.py).
    """

    kind: str
    local_id: str
    label: str = ""
    ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    attributes: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceLink:
    """A link as one source reports it.

    Each end is the (kind, local id) of an entity of this source, or a join key of an entity that another source
    reports: ("wwpn", ...), ("ip", ...) and the like.
    """

    relation: str
    from_end: tuple[str, str]
    to_end: tuple[str, str]
    evidence: str


@dataclass(frozen=True, slots=True)
class Event:
    """An event: a load step began, a counter was reset, a device restarted.

    `seen` is in microseconds of the recorder's clock.
    """

    seen: int
    name: str
    detail: Mapping[str, Scalar] = field(default_factory=dict)


MARK = "mark"
"""The event of a mark that a person sets."""


@dataclass(frozen=True, slots=True)
class Poll:
    """One poll of one source: its cost and its outcome. Times are in microseconds of the recorder's clock."""

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
    """An entity after the joins: every (source, local id) that identifies it, under one name.

    `id` is "kind:name". `known_as` holds the pairs (source, local id). `attributes` are merged from all sources; the
    more trusted source wins.
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
    """The loads that one source runs in a step.

    `entities` are the source's own ids of these loads; empty: all of its loads. `summary_window` is the (start, end)
    of the only figure that the source reports for the step; None: it reports a series. `own_clock`: the source dates
    the edges of the step by the clock of its samples. `offered`, `block_bytes`, `rate_limited`: as of Step, of these
    loads alone. `random_ratio`, `read_ratio`: share of their I/Os; `align_bytes`: what the addresses of these are
    multiples of; None: the source says it of its loads, if at all.
    """

    source: str
    entities: tuple[str, ...] = ()
    summary_window: tuple[int, int] | None = None
    own_clock: bool = False
    offered: float | None = None
    block_bytes: float | None = None
    rate_limited: bool = False
    random_ratio: float | None = None
    read_ratio: float | None = None
    align_bytes: float | None = None


START: Final = "start"
"""The experiment of the step with which a probe begins: the load as a person named it."""
PAUSE: Final = "pause"
"""The experiment without the load: what the sources report then is other hosts' alone."""


@dataclass(frozen=True, slots=True)
class Step:
    """An interval of the run with one offered load. Times are in microseconds of the recorder's clock, without ramp.

    `loads` are the active loads; empty: all loads. `offered` is the configured number of outstanding I/Os; None:
    unknown. `rate_limited`: a load was configured to stay below a rate. `origin` says where the limits come from:
    "marks" of the loads themselves, "found" in what the loads did, or the "whole run". `planned_seconds` is the
    configured duration of its load, ramp included; None: unknown. `experiment`: what a probe tried with it; "": it is
    no step of a probe. `why`: why the probe made it, for people. `began`: when its load began, where the time until
    `start` is left out although nothing marks it as a ramp; None: it is not. `is_open`: whether it may be under way:
    its end is not marked. `left_out`: what it leaves out of its recording, for people; "": nothing to speak of.
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
    experiment: str = ""
    why: str = ""
    began: int | None = None
    is_open: bool = False
    left_out: str = ""

    @property
    def seconds(self) -> float:
        """Return the duration of the step, ramp left out."""
        return (self.end - self.start) / 1e6
