"""Profiles: the series and labels of an exporter, from the YAML files of `profiles/` as typed objects.

A place is `label`, a label of the series itself, or `series.label`, a label of another series of the same device and
entity, such as node_uname_info.nodename. Of several places the first with a value is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sanpath.plugin import Table
from sanpath_collectors.prometheus.tables import table

_OneOrMore = BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)
Places = Annotated[tuple[str, ...], _OneOrMore]
Form = Literal["text", "wwpn", "speed", "number"]
"""The form of a value. `wwpn`: 16 digits. `speed`: the value of a series, in bits per second or a unit mistaken for
them; or a text, the highest number of Gbit in it. `number`: the value of a series."""
Patterns = Mapping[str, re.Pattern[str]]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class AttributeSource(_Section):
    """The source of a join key or attribute: the text at a place, the value of a series, or a constant (`always`).

    `values`: patterns for the full text and their meanings; other texts have no meaning. `prefix`: put before the
    text. `unit`: of the number in a series, in the base unit. `above_zero`: 0 and less mean unknown. `keyed`: {label
    of the series `value`: place}: the series belongs not to the entity itself but to something that the entity names,
    such as its QoS policy.
    """

    places: Places = Field(default=(), alias="at")
    value: str = ""
    always: str = ""
    form: Form = Field(default="text", alias="as")
    values: Mapping[re.Pattern[str], str] = {}
    prefix: str = Field(default="", alias="before")
    unit: float = 1.0
    above_zero: bool = False
    keyed: Mapping[str, str] = {}


class Source(_Section):
    """The series of a metric: the first of these names that the server has.

    `label_patterns`: patterns for the full value of its labels. `unit`: of its numbers, in the base unit. `wraps_at`:
    the value at which a counter wraps, in its own unit. `equals`: the value that means 1, others are 0. `above_zero`:
    0 and less mean unknown. `total`: the metric is the sum of all matching series; `largest`: it is the largest.
    """

    series: Places
    label_patterns: Patterns = Field(default={}, alias="where")
    unit: float = 1.0
    wraps_at: float | None = None
    equals: float | None = None
    above_zero: bool = False
    total: bool = False
    largest: bool = False


class Labelled(_Section):
    """Several metrics in one series, distinguished by a label: `metrics` is {label value: metric}."""

    series: str
    label: str
    unit: float = 1.0
    metrics: Mapping[str, str]

    def sources(self) -> Iterator[tuple[str, Source]]:
        """Yield each metric and its source."""
        for value, metric in self.metrics.items():
            label_patterns = {self.label: re.compile(re.escape(value))}
            yield metric, Source(series=(self.series,), where=label_patterns, unit=self.unit)


class EntityProfile(_Section):
    """An entity kind of an exporter.

    `per`: labels that distinguish the entities of a device, of which the first that a series has is used; empty: the
    device itself. `within`: labels inside which that value is unique, put before it with `separator`. `add`: added to
    the value of that label; `prefix`: put before it. `name`: places of the name.
    `wwid`: places of a disk's identifier, in the notation of udev or device-mapper. `below`: place of the lower
    device. `skip`: labels of entities to leave out. `needs`: a series that the entity must have; `unless`: a series
    that the device must not have. `averaged_seconds`: the duration over which a value is averaged, 0: unknown; None:
    values are instantaneous. `delay_seconds`: the longest time from the end of that duration to the scrape.
    """

    kind: str
    plane: str | None = None
    per: Places = ()
    within: Places = ()
    separator: str = "/"
    add: int = 0
    prefix: str = Field(default="", alias="before")
    upper_case: bool = False
    name: Places = ()
    relation: Literal["attached_to", "member_of"] | None = None
    skip: Patterns = {}
    needs: str = ""
    unless: str = ""
    averaged_seconds: float | None = None
    delay_seconds: float = 0.0
    ids: Mapping[str, AttributeSource] = {}
    wwid: Places = ()
    below: str = ""
    attributes: Mapping[str, AttributeSource] = {}
    metrics: Mapping[str, Source] = {}
    labelled: tuple[Labelled, ...] = ()

    @cached_property
    def sources(self) -> Mapping[str, Source]:
        """The source of each metric."""
        return {**self.metrics, **{metric: source for item in self.labelled for metric, source in item.sources()}}

    @property
    def covered_seconds(self) -> float | None:
        """The seconds before its scrape that a value may cover, 0: unknown. None: values are instantaneous."""
        return None if self.averaged_seconds is None else self.averaged_seconds + self.delay_seconds

    @cached_property
    def table(self) -> Table:
        """The table of its samples."""
        return table(self.kind, self.plane, self.averaged_seconds is not None)


class Device(_Section):
    """The device kind of an exporter. `scope`: labels that distinguish devices; `name`: places of the name."""

    kind: Literal["host", "switch", "array"]
    scope: tuple[str, ...] = ("instance",)
    name: Places
    attributes: Mapping[str, AttributeSource] = {}


class Profile(_Section):
    """One exporter.

    `verified`: the versions with which the profile was tested, "": never with an exporter of a live device. `mocked`:
    the version of the exporter that was tried with a mocked device, "": none. `present`: series of
    which the server has at least one if it has this exporter; empty: any series with samples. `remarks`: remarks that
    always apply to its figures.
    """

    title: str
    verified: str = ""
    mocked: str = ""
    present: tuple[str, ...] = ()
    remarks: tuple[str, ...] = Field(default=(), alias="doubts")
    device: Device
    entities: tuple[EntityProfile, ...] = Field(alias="parts")

    @cached_property
    def series(self) -> tuple[str, ...]:
        """The names of all series with samples."""
        sources = (source for entity in self.entities for source in entity.sources.values())
        return tuple(dict.fromkeys(name for source in sources for name in source.series))

    @cached_property
    def metadata_series(self) -> tuple[str, ...]:
        """The names of all series that describe entities, by their labels or their value."""
        attribute_sources = [*self.device.attributes.values()]
        places = [*self.device.name]
        names = []
        for entity in self.entities:
            attribute_sources += [*entity.ids.values(), *entity.attributes.values()]
            places += [*entity.name, *entity.wwid, entity.below]
            names += [entity.needs]
        places += [place for item in attribute_sources for place in (*item.places, *item.keyed.values())]
        names += [place.partition(".")[0] for place in places if "." in place] + [
            item.value for item in attribute_sources
        ]
        return tuple(dict.fromkeys(name for name in names if name))

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The tables that the exporter may yield."""
        return tuple(dict.fromkeys(entity.table for entity in self.entities))


@cache
def profiles() -> Mapping[str, Profile]:
    """Load all profiles, by the names of their files."""
    folder = files(__package__).joinpath("profiles")
    yaml_files = sorted((file.name, file) for file in folder.iterdir() if file.name.endswith(".yaml"))
    return {
        name.removesuffix(".yaml"): Profile.model_validate(yaml.safe_load(file.read_text("utf-8")))
        for name, file in yaml_files
    }


def selector(names: Iterable[str], match: str | None) -> str:
    """Return a PromQL selector for series by name and by the label matchers of the user.

    >>> selector(["up", "node_load1", "node_load5"], 'job="node"')
    '{__name__=~"up|node_(load1|load5)",job="node"}'
    """
    matchers = f",{match.strip().removeprefix('{').removesuffix('}')}" if match else ""
    return f'{{__name__=~"{_names(tuple(dict.fromkeys(names)))}"{matchers}}}'


@lru_cache(maxsize=64)
def _names(names: tuple[str, ...]) -> str:
    """Return the pattern of names, which are the same at each poll."""
    return _pattern(names)


def _pattern(names: Sequence[str]) -> str:
    """Return a short regular expression for names: proxies refuse addresses of more than 8 kB (nginx by default)."""
    by_word: dict[str, list[str]] = {}
    for name in names:
        word, underscore, remainder = name.partition("_")
        by_word.setdefault(word + underscore, []).append(remainder)
    return "|".join(
        f"{word}({_pattern(remainders)})" if len(remainders) > 1 else word + remainders[0]
        for word, remainders in by_word.items()
    )
