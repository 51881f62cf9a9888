"""The loads of an Iometer file as things, each told once and again when it has changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sanpath.model import Scalar
from sanpath.plugin import LoadProfile, SourceEntity, SourceLink
from sanpath_collectors.iometer.specification import Specification

ENGINE = "iometer"
SECTOR_BYTES = 512
"""Iometer counts the area in sectors of the disk; those of a file, and of nearly all disks, have this size."""


def local_id(load: str, *path: str) -> str:
    """Id of the load of a manager, a worker or a target. Ids are listed with commas, which a name may hold."""
    return "/".join((load, *path)).replace(",", " ")


def area_bytes(sectors: Iterable[int | None]) -> int | None:
    """Size of all targets. `sectors`: of each, 0: all of the disk, None: not told; either makes the sum unknown."""
    told = list(sectors)
    known = [count for count in told if count]
    return sum(known) * SECTOR_BYTES if known and len(known) == len(told) else None


def profile(
    specification: Specification | None,
    *,
    version: str | None,
    in_flight: float | None,
    threads: int | None,
    files: int | None,
    working_set_bytes: int | None = None,
) -> dict[str, Scalar]:
    """Attributes of a load."""
    told = specification or Specification("")
    return {
        **LoadProfile(
            engine=ENGINE,
            engine_version=version,
            in_flight=in_flight,
            block_bytes=told.block_bytes,
            read_ratio=told.read_ratio,
            random_ratio=told.random_ratio,
            threads=threads,
            files=files,
            working_set_bytes=working_set_bytes,
            rate_limited=told.is_limited,
        ).attributes,
        **told.extras,
    }


class Inventory:
    """What has been told of the loads. A load that ran in several tests has the attributes they had in common."""

    def __init__(self, load: str) -> None:
        self._load = load
        self._known: dict[str, Mapping[str, Scalar]] = {}

    def tell(self, load: str, attributes: Mapping[str, Scalar]) -> Iterator[SourceEntity | SourceLink]:
        """The load, unless what is known of it stays the same; before its first target the whole it is a part of."""
        if not self._known and load != self._load:
            yield _thing(self._load, {})
        before = self._known.get(load)
        now = attributes if before is None else {k: v for k, v in before.items() if attributes.get(k) == v}
        if now == before:
            return
        self._known[load] = now
        yield _thing(load, now)
        if before is None and load != self._load:
            yield SourceLink("member_of", ("load", load), ("load", self._load), "Iometer target")


def _thing(load: str, attributes: Mapping[str, Scalar]) -> SourceEntity:
    return SourceEntity("load", load, load, {"name": (load,)}, attributes)
