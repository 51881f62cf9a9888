"""Which entities a verdict names: an element by all the names that sources have for it and its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sanpath.diagnosis.model import Bottleneck, Verdict
from sanpath.rulebook.model import Finding
from sanpath.topology.identity import Topology

_ENDS = ("switch_port", "hba", "array_port")
"""Kinds of the ends of a link."""
_ARRAY_PARTS = ("volume", "controller", "media")
"""Kinds of the parts of an array; ports are elements of their own."""
_BOTH_DIRECTIONS = ("both", "")
"""Directions of rows that are about both directions."""


class NamedEntities:
    """The entities that a verdict names."""

    def __init__(self, topology: Topology, verdict: Verdict) -> None:
        self._kind, self._topology, self._known = verdict.kind, topology, topology.entities.keys()
        self._policy = any(b.kind == "path_policy" for b in verdict.bottlenecks)
        self._elements = {
            (name, bottleneck.direction)
            for bottleneck in verdict.bottlenecks
            for name in (*_names(topology, bottleneck), *_volumes_at_cap(topology, verdict, bottleneck))
        }

    def has(self, finding: Finding, each: str, cause_of: Sequence[str]) -> bool:
        """Whether a finding is about what the verdict names.

        `each`: the fact table of its rule. `cause_of`: the kinds of verdict that its rule explains; empty: any.
        """
        if cause_of and self._kind not in cause_of:
            return False
        if finding.entity.startswith("load:"):
            # A rule about the load names the kinds of verdict that it explains. Paths in turn concern the load, too.
            return self._kind in cause_of or (self._policy and not cause_of)
        # The path policy of a LUN is not the depth of its queue.
        if self._policy and each != "multipath" and finding.entity.startswith("lun:"):
            return False
        if each == "array_front":
            # Target ports that are all full are the array's front end.
            ports = {name for name, _ in self._elements if name.startswith("array_port:")}
            return any(
                self._topology.related(port, "member_of", "array") == [finding.entity] for port in ports & self._known
            )
        directions = {direction for name, direction in self._elements if name == finding.entity}
        return bool(directions) and (finding.direction in directions or finding.direction in _BOTH_DIRECTIONS)


def _names(topology: Topology, bottleneck: Bottleneck) -> Iterator[str]:
    coincident = () if bottleneck.kind == "path_policy" else bottleneck.coincident
    for entity in (bottleneck.entity, *coincident, *([bottleneck.culprit] if bottleneck.culprit else [])):
        yield entity
        kind, _, name = entity.partition(":")
        if kind == "link":
            yield from (f"{end}:{end_name}" for end in _ENDS for end_name in name.split("--"))
        if kind == "array" and entity in topology.entities:
            yield from (
                entity_part
                for part_kind in _ARRAY_PARTS
                for entity_part in topology.related(entity, "member_of", part_kind)
            )
        if kind == "volume" and entity in topology.entities:
            yield from topology.related(entity, "member_of", "array")
        if bottleneck.kind == "path_policy":
            yield from (lun.id for lun in topology.of_kind("lun"))


def _volumes_at_cap(topology: Topology, verdict: Verdict, bottleneck: Bottleneck) -> Iterator[str]:
    """The volumes that the limit of a host holds back: they are what counts it."""
    if verdict.kind != "configured_cap" or bottleneck.kind != "host":
        return
    for lun in topology.related(bottleneck.entity, "attached_to", "lun"):
        yield from topology.related(lun, "backed_by", "volume")
