"""The OSDs, images and health of a cluster, and its entities and links. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sanpath.plugin import SourceEntity, SourceLink

LIMITS: Mapping[str, str] = {"qos_ops_per_second": "rbd_qos_iops_limit", "qos_bytes_per_second": "rbd_qos_bps_limit"}
"""Attribute of a volume → setting of an image, for limits of reads and writes together."""
_STATUS = {"up": "ok", "down": "down"}


@dataclass(frozen=True, slots=True)
class Osd:
    """An OSD that is read. `machine`: index of its host; `threads`: ids of its threads for operations."""

    number: int
    socket: str
    machine: int
    threads: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """Its name in Ceph."""
        return f"osd.{self.number}"


@dataclass(slots=True)
class Cluster:
    """A cluster. `hosts`: name of each machine; `states`: number → (up or down, host), {}: ceph could not be run.

    `images`: pool/image → its limits by the names of their settings, None: not read. `unread`: what could not be
    read, and the consequence.
    """

    name: str
    version: str = ""
    hosts: list[str] = field(default_factory=list)
    osds: list[Osd] = field(default_factory=list)
    states: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    images: dict[str, Mapping[str, float] | None] = field(default_factory=dict)
    health: list[tuple[str, str, str]] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    @property
    def missing(self) -> list[int]:
        """OSDs that are up but not read: without them no sum is known."""
        read = {osd.number for osd in self.osds}
        return sorted(number for number, (state, _) in self.states.items() if state == "up" and number not in read)

    def items(self) -> Iterator[SourceEntity | SourceLink]:
        """Yield the cluster, its OSDs and their hosts, its pools and images."""
        array = ("array", self.name)
        attributes = {"model": "Ceph", "version": self.version or None}
        yield SourceEntity(*array, self.name, {"name": (self.name,)}, attributes)
        yield SourceEntity("cluster_node", self.name, self.name, {"name": (self.name,)})
        numbers = sorted({osd.number for osd in self.osds} | self.states.keys())
        for number in numbers:
            state = self.states.get(number, ("", ""))[0]
            about = {"status": _STATUS.get(state), "model": "OSD"}
            yield SourceEntity("controller", f"osd.{number}", f"osd.{number}", {}, about)
            yield SourceLink("member_of", ("controller", f"osd.{number}"), array, "ceph osd tree")
        for host in dict.fromkeys(self.hosts):
            yield SourceEntity("controller", host, host, {}, {"model": "host"})
            yield SourceLink("member_of", ("controller", host), array, "has OSDs")
        for pool in dict.fromkeys(image.partition("/")[0] for image in self.images):
            yield SourceEntity("media", pool, pool, {}, {"type": "pool"})
            yield SourceLink("member_of", ("media", pool), array, "ceph osd pool ls")
        for image, limits in self.images.items():
            yield self._volume(image, limits or {})
            yield SourceLink("member_of", ("volume", image), array, "rbd ls")
            yield SourceLink("backed_by", ("volume", image), ("media", image.partition("/")[0]), "rbd ls")

    def _volume(self, image: str, limits: Mapping[str, float]) -> SourceEntity:
        qos = {attribute: limits.get(setting) for attribute, setting in LIMITS.items()}
        return SourceEntity("volume", image, image, {"serial": (f"rbd:{image}",)}, qos)
