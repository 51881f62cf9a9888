"""The loads of an Iometer file as entities. Each is yielded once, and again after every change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sanpath.model import Scalar
from sanpath.plugin import LoadProfile, SourceEntity, SourceLink, complete_sum
from sanpath_collectors.iometer.specification import SECTOR_BYTES, Specification

ENGINE = "iometer"


def local_id(load: str, *path: str) -> str:
    """Local id of the load of a manager, worker or target. Commas are replaced, because they separate loads of a
    step."""
    return "/".join((load, *path)).replace(",", " ")


def total_area_bytes(sectors: Iterable[int | None]) -> int | None:
    """Size of the tested areas of all targets in bytes; None: unknown.

    `sectors`: sectors of each target. 0 (the whole disk) and None (missing) make the sum unknown.
    """
    total = complete_sum(count or None for count in sectors)
    return None if total is None else total * SECTOR_BYTES


def load_attributes(
    specification: Specification | None,
    *,
    version: str | None,
    in_flight: float | None,
    threads: int | None,
    files: int | None,
    working_set_bytes: int | None = None,
) -> dict[str, Scalar]:
    """Attributes of a load. None: unknown."""
    spec = specification or Specification("")
    return {
        **LoadProfile(
            engine=ENGINE,
            engine_version=version,
            in_flight=in_flight,
            block_bytes=spec.block_bytes,
            read_ratio=spec.read_ratio,
            random_ratio=spec.random_ratio,
            threads=threads,
            files=files,
            working_set_bytes=working_set_bytes,
            rate_limited=spec.is_limited,
        ).attributes,
        **spec.attributes,
    }


class Inventory:
    """The loads yielded so far. A load of several tests has only the attributes that are equal in all of them."""

    def __init__(self, load: str) -> None:
        self._load = load
        self._attributes: dict[str, Mapping[str, Scalar]] = {}

    def update(self, load: str, attributes: Mapping[str, Scalar]) -> Iterator[SourceEntity | SourceLink]:
        """Yield the load if its attributes have changed.

        Before the first target it also yields the load that contains all targets.
        """
        if not self._attributes and load != self._load:
            yield _load_entity(self._load, {})
        previous = self._attributes.get(load)
        current = attributes if previous is None else {k: v for k, v in previous.items() if attributes.get(k) == v}
        if current == previous:
            return
        self._attributes[load] = current
        yield _load_entity(load, current)
        if previous is None and load != self._load:
            yield SourceLink("member_of", ("load", load), ("load", self._load), "Iometer target")


def _load_entity(load: str, attributes: Mapping[str, Scalar]) -> SourceEntity:
    return SourceEntity("load", load, load, {"name": (load,)}, attributes)
