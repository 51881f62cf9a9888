"""Labels → the devices and their parts that an exporter tells of. No I/O."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sanpath.plugin import SourceEntity, SourceLink
from sanpath_collectors.linux_host.parse import identifiers
from sanpath_collectors.prometheus.doubts import Doubts
from sanpath_collectors.prometheus.parse import Labels, Series
from sanpath_collectors.prometheus.profile import Part, Profile, Told

Scope = tuple[str, ...]
Attribute = str | int | float | None

_MOST_DIGITS = 20
"""Of a counter of 64 bits; Python refuses to read a number of some thousand digits."""
_ADDRESS = re.compile(r"\[?([^\]]+?)\]?:\d+")
_EVERYBODY = ("localhost", "(none)", "127.0.0.1", "::1")
"""What every machine may be called."""


@dataclass(frozen=True, slots=True)
class Entity:
    """One thing that has samples. `value`: what tells it from the other parts of its device, as its label says it;
    `labels`: those of the series it was found by."""

    kind: str
    local_id: str
    device: str
    scope: Scope
    value: str
    part: Part
    labels: Labels

    @property
    def name(self) -> str:
        """Its own name, without that of its device."""
        return self.local_id.removeprefix(f"{self.device}/")


class Devices:
    """What there is, as far as it was told. `apart`: each device is a source of its own in the recording."""

    def __init__(self, profile: Profile, doubts: Doubts, apart: bool) -> None:
        self._profile, self._doubts, self._apart = profile, doubts, apart
        self._told: dict[tuple[str, Scope], list[Series]] = {}
        self._having: dict[str, set[Scope]] = {}
        self._names: dict[Scope, str] = {}
        self._entities: dict[tuple[str, str], Entity] = {}
        self._new: list[Entity] = []

    def learn(self, told: Iterable[Series], samples: Iterable[Series]) -> None:
        """Take what says what things are, and which series the devices have, in place of what was told before."""
        self._told = defaultdict(list)
        for series in told:
            self._told[series.name, self._scope(series.labels)].append(series)
        self._having = defaultdict(set)
        for series in samples:
            self._having[series.name].add(self._scope(series.labels))
        self._names.clear()

    def find(self, part: Part, labels: Labels) -> Entity | None:
        """What a series tells of; None: something that is left out."""
        if any(pattern.fullmatch(labels.get(label, "")) for label, pattern in part.skip.items()):
            return None
        scope = self._scope(labels)
        if part.unless and scope in self._having.get(part.unless, ()):
            return None
        value = _value(part, labels)
        if value is None or (part.needs and not self._of(part.needs, scope, part, value)):
            return None
        device = self._device(scope, labels)
        local_id = f"{device}/{_written(part, value)}" if part.per else device
        if (known := self._entities.get((part.kind, local_id))) is not None:
            return known
        entity = Entity(part.kind, local_id, device, scope, value, part, labels)
        self._entities[part.kind, local_id] = entity
        self._new.append(entity)
        return entity

    def things(self, only_new: bool = False) -> Iterator[tuple[str, SourceEntity | SourceLink]]:
        """Devices and their parts, each with the name of its device; those found since the last call, or all."""
        found, self._new = self._new if only_new else list(self._entities.values()), []
        for device in dict.fromkeys(entity.device for entity in found):
            yield device, self._thing_of(device, next(e for e in found if e.device == device))
        for entity in found:
            if entity.part.per:
                for item in self._part(entity):
                    yield entity.device, item

    def capable(self, entity: Entity) -> float | None:
        """Bits a second that a port says it is made for; None: it does not say."""
        told = entity.part.attributes.get("capable_bits_per_second")
        value = None if told is None else self._attribute(told, entity)
        return value if isinstance(value, float) else None

    def _thing_of(self, device: str, entity: Entity) -> SourceEntity:
        kind, told = self._profile.device.kind, self._profile.device.attributes
        attributes = {key: self._attribute(one, entity) for key, one in told.items()}
        return SourceEntity(kind, device, device, {"name": (device,)}, attributes)

    def _part(self, entity: Entity) -> Iterator[SourceEntity | SourceLink]:
        part, whole = entity.part, (self._profile.device.kind, entity.device)
        name = next((text for place in part.name if (text := self._text(place, entity))), entity.name)
        named_after_device = part.kind in ("lun", "hba")
        ids: dict[str, tuple[str, ...]] = {"device": (entity.name,)} if part.kind == "lun" else {}
        ids |= {key: (str(known),) for key, told in part.ids.items() if (known := self._attribute(told, entity))}
        for place in part.wwid:
            ids |= identifiers(self._text(place, entity))
        label = f"{entity.device}/{name}" if named_after_device else name
        attributes = {key: self._attribute(told, entity) for key, told in part.attributes.items()}
        yield SourceEntity(part.kind, entity.local_id, label, ids, attributes)
        evidence = f"labels of {self._profile.title}"
        if part.relation is not None:
            yield SourceLink(part.relation, (part.kind, entity.local_id), whole, evidence)
        series, _, label_below = part.below.partition(".")
        for told in self._of(series, entity.scope, part, entity.value) if part.below else ():
            lower = f"{entity.device}/{told.labels.get(label_below, '')}"
            if (part.kind, lower) in self._entities:
                yield SourceLink("member_of", (part.kind, lower), (part.kind, entity.local_id), series)

    def _scope(self, labels: Labels) -> Scope:
        return tuple(labels.get(label, "") for label in self._profile.device.scope)

    def _device(self, scope: Scope, labels: Labels) -> str:
        """What the device is called: by the first place that has a name which is this one's alone."""
        if scope not in self._names:
            names = [
                _host(text) for place in self._profile.device.name if (text := self._name_at(place, scope, labels))
            ]
            own = [name for name in names if name not in _EVERYBODY]
            self._names[scope] = next(iter(own or names), "") or "/".join(filter(None, scope)) or "unnamed"
        return self._names[scope]

    def _name_at(self, place: str, scope: Scope, labels: Labels) -> str:
        series, dot, label = place.partition(".")
        if not dot:
            return labels.get(place, "")
        of = {
            where: {s.labels.get(label, "") for s in all_}
            for (name, where), all_ in self._told.items()
            if name == series
        }
        text = next(iter(of.get(scope, ())), "")
        namesakes = sorted("/".join(where) for where, texts in of.items() if text and text in texts)
        if len(namesakes) > 1:
            self._doubts.say(
                "same-name", f"{', '.join(namesakes)} are all called {text}: called by their address here"
            )
            return ""
        return text

    def _of(self, series: str, scope: Scope, part: Part, value: str) -> list[Series]:
        """What a series says of a device, or of its part."""
        told = self._told.get((series, scope), ())
        return [s for s in told if (its := _value(part, s.labels)) is None or its.casefold() == value.casefold()]

    def _text(self, place: str, entity: Entity) -> str:
        series, dot, label = place.partition(".")
        if not dot:
            return entity.labels.get(place, "")
        told = self._of(series, entity.scope, entity.part, entity.value)
        return next((text for s in told if (text := s.labels.get(label, ""))), "")

    def _attribute(self, told: Told, entity: Entity) -> Attribute:
        if told.value:
            series = self._of(told.value, entity.scope, entity.part, entity.value)
            value = next((s.points[-1][1] for s in series if s.points and s.points[-1][1] == s.points[-1][1]), None)
            if value is None or told.form != "speed":
                return None if value is None else int(value)
            return self._doubts.speed(entity.local_id, value)
        for place in told.at:
            if (text := _read(told, self._text(place, entity))) is not None:
                return text
        return told.always or None


def _value(part: Part, labels: Labels) -> str | None:
    """What tells a part of a device from the others; None: a series that tells of none."""
    if not part.per:
        return ""
    return next((labels[label] for label in part.per if labels.get(label)), None)


def _written(part: Part, value: str) -> str:
    number = str(int(value) + part.add) if part.add and value.isdecimal() and len(value) <= _MOST_DIGITS else value
    return part.before + (number.upper() if part.upper_case else number)


def _read(told: Told, text: str) -> str | None:
    if not text:
        return None
    if told.values:
        return next((meaning for pattern, meaning in told.values.items() if pattern.fullmatch(text)), None)
    if told.form == "wwpn":
        digits = re.sub(r"[:\s]", "", text).lower().removeprefix("0x")
        return digits if re.fullmatch(r"[0-9a-f]{16}", digits) else None
    return told.before + text


def _host(text: str) -> str:
    """The address of a target, without its port where that leaves a name of its own.

    >>> _host("db7:9100"), _host("[2001:db8::7]:9100"), _host("localhost:9100"), _host("db7")
    ('db7', '2001:db8::7', 'localhost:9100', 'db7')
    """
    match = _ADDRESS.fullmatch(text)
    return match[1] if match and match[1] not in _EVERYBODY else text
