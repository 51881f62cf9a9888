"""What an exporter calls what: the YAML files of `profiles/`, as typed objects.

A place is `label`, a label of the series itself, or `series.label`, that of another series of the same device (and
part), such as node_uname_info.nodename. Of several the first that has something is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from importlib.resources import files
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sanpath.plugin import Table
from sanpath_collectors.prometheus.tables import table

_OneOrMore = BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)
Places = Annotated[tuple[str, ...], _OneOrMore]
Form = Literal["text", "wwpn", "speed", "number"]
"""How something is written: `wwpn`: 16 digits; `speed`: the value of a series, bits a second or what is meant for
them; `number`: the value of a series."""
Patterns = Mapping[str, re.Pattern[str]]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Told(_Part):
    """A join key or an attribute: the text at a place, the value of a series, or always the same (`always`).

    `values`: what texts mean, as patterns that have to match in whole; others mean nothing. `before`: put before it.
    """

    at: Places = ()
    value: str = ""
    always: str = ""
    form: Form = Field(default="text", alias="as")
    values: Mapping[re.Pattern[str], str] = {}
    before: str = ""


class Source(_Part):
    """Which series tells a metric: the first of the names that the server has.

    `where`: what its labels have to match in whole. `unit`: of its numbers, in the base unit. `wraps_at`: where a
    counter begins anew, in its own unit. `equals`: the value that means 1, others are 0. `above_zero`: 0 and less
    stand for not known. `total`: the sum of all such series is meant.
    """

    series: Places
    where: Patterns = {}
    unit: float = 1.0
    wraps_at: float | None = None
    equals: float | None = None
    above_zero: bool = False
    total: bool = False


class Labelled(_Part):
    """Several metrics that one series tells, apart by a label: `metrics` is its value → the metric."""

    series: str
    label: str
    unit: float = 1.0
    metrics: Mapping[str, str]

    def sources(self) -> Iterator[tuple[str, Source]]:
        """Each metric and what tells it."""
        for value, metric in self.metrics.items():
            where = {self.label: re.compile(re.escape(value))}
            yield metric, Source(series=(self.series,), where=where, unit=self.unit)


class Part(_Part):
    """A kind of thing that an exporter tells of.

    `per`: the labels that tell the parts of a device apart, the first that a series has; none: the device itself.
    `add`: to be added to such a number; `before`: put before such a text. `name`: what it is called; `wwid`: places
    of a disk's identifier, in whatever way udev and device-mapper write it; `below`: what it lies on. `skip`: which
    are left out. `needs`: a series that such a part has to have; `unless`: not where the device has this series.
    `averaged_seconds`: a value is the mean of so long, 0: of a time that is not told; None: it is of one moment.
    """

    kind: str
    plane: str | None = None
    per: Places = ()
    add: int = 0
    before: str = ""
    upper_case: bool = False
    name: Places = ()
    relation: Literal["attached_to", "member_of"] | None = None
    skip: Patterns = {}
    needs: str = ""
    unless: str = ""
    averaged_seconds: float | None = None
    ids: Mapping[str, Told] = {}
    wwid: Places = ()
    below: str = ""
    attributes: Mapping[str, Told] = {}
    metrics: Mapping[str, Source] = {}
    labelled: tuple[Labelled, ...] = ()

    @cached_property
    def sources(self) -> Mapping[str, Source]:
        """Metric → what tells it."""
        return {**self.metrics, **{metric: source for one in self.labelled for metric, source in one.sources()}}

    @cached_property
    def table(self) -> Table:
        """What its samples are."""
        return table(self.kind, self.plane, self.averaged_seconds is not None)


class Device(_Part):
    """What an exporter tells of: a host, a switch or an array. `scope`: the labels that tell one from another;
    `name`: what it is called."""

    kind: Literal["host", "switch", "array"]
    scope: tuple[str, ...] = ("instance",)
    name: Places
    attributes: Mapping[str, Told] = {}


class Profile(_Part):
    """One exporter.

    `verified`: on what the profile was tried, "": never on a live one. `present`: the server has one of these series
    when it has this exporter; none: any series with samples. `doubts`: what is always to be known of its figures.
    """

    title: str
    verified: str = ""
    present: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    device: Device
    parts: tuple[Part, ...]

    @cached_property
    def series(self) -> tuple[str, ...]:
        """Names of all series with samples."""
        sources = (source for part in self.parts for source in part.sources.values())
        return tuple(dict.fromkeys(name for source in sources for name in source.series))

    @cached_property
    def told_by(self) -> tuple[str, ...]:
        """Names of the series that say what things are, by their labels or their value."""
        told = [*self.device.attributes.values()]
        places = [*self.device.name]
        names = []
        for part in self.parts:
            told += [*part.ids.values(), *part.attributes.values()]
            places += [*part.name, *part.wwid, part.below]
            names += [part.needs]
        places += [place for one in told for place in one.at]
        names += [place.partition(".")[0] for place in places if "." in place] + [one.value for one in told]
        return tuple(dict.fromkeys(name for name in names if name))

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """What it may yield."""
        return tuple(dict.fromkeys(part.table for part in self.parts))


@cache
def profiles() -> Mapping[str, Profile]:
    """All of them, by the names of their files."""
    folder = files(__package__).joinpath("profiles")
    found = sorted((file.name, file) for file in folder.iterdir() if file.name.endswith(".yaml"))
    return {
        name.removesuffix(".yaml"): Profile.model_validate(yaml.safe_load(file.read_text("utf-8")))
        for name, file in found
    }


def selector(names: Iterable[str], match: str | None) -> str:
    """A PromQL selector of series by their names and what the user has narrowed it down to.

    >>> selector(["up", "down"], 'job="node"')
    '{__name__=~"up|down",job="node"}'
    """
    narrowed = f",{match.strip().removeprefix('{').removesuffix('}')}" if match else ""
    return f'{{__name__=~"{"|".join(names)}"{narrowed}}}'
