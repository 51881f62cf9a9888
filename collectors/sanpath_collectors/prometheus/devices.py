"""Conversion of labels to the devices and entities of an exporter. No I/O."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from sanpath.plugin import SourceEntity, SourceLink, wwn
from sanpath_collectors.linux_host.parse import identifiers, speeds
from sanpath_collectors.linux_host.paths import nvme_head
from sanpath_collectors.prometheus.parse import Labels, Series
from sanpath_collectors.prometheus.profile import AttributeSource, EntityProfile, Profile
from sanpath_collectors.prometheus.warnings import Remarks

Scope = tuple[str, ...]
Attribute = str | int | float | None

_MAX_DIGITS = 20
"""Digits of a 64-bit counter; Python refuses to parse a number of some thousand digits."""
_ADDRESS = re.compile(r"\[?([^\]]+?)\]?:\d+")
_GENERIC_NAMES = ("localhost", "(none)", "127.0.0.1", "::1")
"""Names that any machine may have."""


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity with samples. `labels`: those of the series from which it was created."""

    kind: str
    local_id: str
    device: str
    scope: Scope
    profile: EntityProfile
    labels: Labels

    @property
    def name(self) -> str:
        """The name of the entity without that of its device."""
        return self.local_id.removeprefix(f"{self.device}/")


class Devices:
    """The devices and entities of an exporter."""

    def __init__(self, profile: Profile, remarks: Remarks) -> None:
        self._profile, self._remarks = profile, remarks
        self._metadata: dict[tuple[str, Scope], list[Series]] = {}
        self._scopes_by_series: dict[str, set[Scope]] = {}
        self._names: dict[Scope, str] = {}
        self._entities: dict[tuple[str, str], Entity] = {}
        self._new: list[Entity] = []

    def learn(self, source: Iterable[Series], samples: Iterable[Series]) -> None:
        """Replace the series that describe entities, and the record of which devices have which series."""
        self._metadata = defaultdict(list)
        for series in source:
            self._metadata[series.name, self._scope(series.labels)].append(series)
        self._scopes_by_series = defaultdict(set)
        for series in samples:
            self._scopes_by_series[series.name].add(self._scope(series.labels))
        self._names.clear()

    def find(self, profile: EntityProfile, labels: Labels) -> Entity | None:
        """Return the entity of a series; None: the profile excludes it."""
        if any(pattern.fullmatch(labels.get(label, "")) for label, pattern in profile.skip.items()):
            return None
        scope = self._scope(labels)
        if profile.unless and scope in self._scopes_by_series.get(profile.unless, ()):
            return None
        value = _distinguishing_value(profile, labels)
        if value is None or (profile.needs and not self._matching_series(profile.needs, scope, profile, labels)):
            return None
        device = self._device(scope, labels)
        local_id = f"{device}/{_local_name(profile, labels, value)}" if profile.per else device
        if (known_entity := self._entities.get((profile.kind, local_id))) is not None:
            return known_entity
        entity = Entity(profile.kind, local_id, device, scope, profile, labels)
        self._entities[profile.kind, local_id] = entity
        self._new.append(entity)
        return entity

    def inventory(self, only_new: bool = False) -> Iterator[tuple[str, SourceEntity | SourceLink]]:
        """Yield entities and links, each with the name of its device; `only_new`: those since the last call."""
        entities, self._new = self._new if only_new else list(self._entities.values()), []
        if not entities:
            return
        addresses = Counter((e.kind, e.device, address) for e in self._entities.values() for address in self._macs(e))
        shared = {address for address, count in addresses.items() if count > 1}
        for device in dict.fromkeys(entity.device for entity in entities):
            yield device, self._device_entity(device, next(e for e in entities if e.device == device))
        for entity in entities:
            if entity.profile.per:
                for item in self._entity_items(entity, shared):
                    yield entity.device, item

    def capable_bits_per_second(self, entity: Entity) -> float | None:
        """Return the maximum speed of a port in bits per second; None: unknown."""
        source = entity.profile.attributes.get("capable_bits_per_second")
        value = None if source is None else self._attribute(source, entity)
        return value if isinstance(value, float) else None

    def _device_entity(self, device: str, entity: Entity) -> SourceEntity:
        kind, sources = self._profile.device.kind, self._profile.device.attributes
        attributes = {key: self._attribute(source, entity) for key, source in sources.items()}
        return SourceEntity(kind, device, device, {"name": (device,)}, attributes)

    def _macs(self, entity: Entity) -> list[str]:
        source = entity.profile.ids.get("mac")
        value = None if source is None else self._attribute(source, entity)
        return [str(value)] if value else []

    def _entity_items(
        self, entity: Entity, shared: Collection[tuple[str, str, str]]
    ) -> Iterator[SourceEntity | SourceLink]:
        """Yield an entity and its links. `shared`: (kind, device, MAC address) that several entities have."""
        profile, parent = entity.profile, (self._profile.device.kind, entity.device)
        name = next((text for place in profile.name if (text := self._text(place, entity))), entity.name)
        named_after_device = profile.kind in ("lun", "hba")
        ids: dict[str, tuple[str, ...]] = {"device": (entity.name,)} if profile.kind == "lun" else {}
        ids |= {
            key: (str(value),) for key, source in profile.ids.items() if (value := self._attribute(source, entity))
        }
        # A bond, its ports, its VLANs and its bridge share one address, which identifies none of them.
        if any((entity.kind, entity.device, mac) in shared for mac in ids.get("mac", ())):
            del ids["mac"]
        for place in profile.wwid:
            ids |= identifiers(self._text(place, entity))
        label = f"{entity.device}/{name}" if named_after_device else name
        attributes = {key: self._attribute(source, entity) for key, source in profile.attributes.items()}
        yield SourceEntity(profile.kind, entity.local_id, label, ids, attributes)
        evidence = f"labels of {self._profile.title}"
        if profile.relation is not None:
            yield SourceLink(profile.relation, (profile.kind, entity.local_id), parent, evidence)
        head = (profile.kind, f"{entity.device}/{nvme_head(entity.name)}")
        if profile.kind == "lun" and head in self._entities:
            yield SourceLink("member_of", (profile.kind, entity.local_id), head, "Linux' name of an NVMe path")
        series, _, label_below = profile.below.partition(".")
        for metadata in self._matching_series(series, entity.scope, profile, entity.labels) if profile.below else ():
            lower = f"{entity.device}/{metadata.labels.get(label_below, '')}"
            if (profile.kind, lower) in self._entities:
                yield SourceLink("member_of", (profile.kind, lower), (profile.kind, entity.local_id), series)

    def _scope(self, labels: Labels) -> Scope:
        return tuple(labels.get(label, "") for label in self._profile.device.scope)

    def _device(self, scope: Scope, labels: Labels) -> str:
        """Return the name of a device, from the first place with a name that no other device has."""
        if scope not in self._names:
            names = [
                _host(text) for place in self._profile.device.name if (text := self._name_at(place, scope, labels))
            ]
            unique_names = [name for name in names if name not in _GENERIC_NAMES]
            self._names[scope] = next(iter(unique_names or names), "") or "/".join(filter(None, scope)) or "unnamed"
        return self._names[scope]

    def _name_at(self, place: str, scope: Scope, labels: Labels) -> str:
        series, dot, label = place.partition(".")
        if not dot:
            return labels.get(place, "")
        names_by_scope = {
            series_scope: {s.labels.get(label, "") for s in all_series}
            for (name, series_scope), all_series in self._metadata.items()
            if name == series
        }
        text = next(iter(names_by_scope.get(scope, ())), "")
        namesakes = sorted(
            "/".join(series_scope) for series_scope, texts in names_by_scope.items() if text and text in texts
        )
        if len(namesakes) > 1:
            self._remarks.add(
                "same-name", f"{', '.join(namesakes)} are all called {text}: called by their address here"
            )
            return ""
        return text

    def _matching_series(self, series: str, scope: Scope, profile: EntityProfile, labels: Labels) -> list[Series]:
        """Return the series of this name that describe a device, or its entity with these labels."""
        candidates = self._metadata.get((series, scope), ())
        value = (_distinguishing_value(profile, labels) or "").casefold()
        within = [label for label in profile.within if labels.get(label)]
        return [
            s
            for s in candidates
            if ((text := _distinguishing_value(profile, s.labels)) is None or text.casefold() == value)
            and all(s.labels.get(label, labels[label]) == labels[label] for label in within)
        ]

    def _keyed_series(self, source: AttributeSource, entity: Entity) -> list[Series]:
        """Return the series of something that an entity names, such as its QoS policy."""
        keys = {label: self._text(place, entity) for label, place in source.keyed.items()}
        if not all(keys.values()):
            return []
        candidates = self._metadata.get((source.value, entity.scope), ())
        return [s for s in candidates if all(s.labels.get(label) == key for label, key in keys.items())]

    def _text(self, place: str, entity: Entity) -> str:
        series, dot, label = place.partition(".")
        if not dot:
            return entity.labels.get(place, "")
        metadata = self._matching_series(series, entity.scope, entity.profile, entity.labels)
        return next((text for s in metadata if (text := s.labels.get(label, ""))), "")

    def _attribute(self, source: AttributeSource, entity: Entity) -> Attribute:
        if source.value:
            series = (
                self._keyed_series(source, entity)
                if source.keyed
                else self._matching_series(source.value, entity.scope, entity.profile, entity.labels)
            )
            values = [s.points[-1][1] * source.unit for s in series if s.points]
            value = next((v for v in values if not math.isnan(v) and not (source.above_zero and v <= 0)), None)
            if value is None or source.form != "speed":
                return None if value is None else int(value)
            return self._remarks.speed(entity.local_id, value)
        for place in source.places:
            if (text := _attribute_text(source, self._text(place, entity))) is not None:
                return text
        return source.always or None


def _distinguishing_value(profile: EntityProfile, labels: Labels) -> str | None:
    """Return the label value that distinguishes an entity on its device; None: the series has no such label."""
    if not profile.per:
        return ""
    return next((labels[label] for label in profile.per if labels.get(label)), None)


def _local_name(profile: EntityProfile, labels: Labels, value: str) -> str:
    number = (
        str(int(value) + profile.add) if profile.add and value.isdecimal() and len(value) <= _MAX_DIGITS else value
    )
    name = profile.prefix + (number.upper() if profile.upper_case else number)
    return profile.separator.join([*(labels[label] for label in profile.within if labels.get(label)), name])


def _attribute_text(source: AttributeSource, text: str) -> str | int | None:
    if not text:
        return None
    if source.form == "speed":
        # sysfs of Linux: "16 Gbit", or all supported speeds of a port, "8 Gbit, 16 Gbit".
        return max(speeds(text), default=None)
    if source.values:
        return next((meaning for pattern, meaning in source.values.items() if pattern.fullmatch(text)), None)
    if source.form == "wwpn":
        return wwn(text)
    return source.prefix + text


def _host(text: str) -> str:
    """Return the address of a target, without its port unless the rest is a generic name.

    >>> _host("db7:9100"), _host("[2001:db8::7]:9100"), _host("localhost:9100"), _host("db7")
    ('db7', '2001:db8::7', 'localhost:9100', 'db7')
    """
    match = _ADDRESS.fullmatch(text)
    return match[1] if match and match[1] not in _GENERIC_NAMES else text
