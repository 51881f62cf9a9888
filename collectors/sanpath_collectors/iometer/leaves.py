"""The rows of a test that its samples come from: the deepest ones, so that nothing is counted twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sanpath_collectors.iometer.parse import Specifications
from sanpath_collectors.iometer.rows import Row
from sanpath_collectors.iometer.specification import Specification

_DEPTH = {"ALL": 0, "MANAGER": 1, "WORKER": 2, "DISK": 3}
_LONGEST_SECONDS = 366 * 86_400


@dataclass(frozen=True, slots=True)
class Leaf:
    """The deepest row of a branch: a target, or a worker or manager where Iometer was told to leave out targets.

    `path`: names of manager, worker and target. `in_flight`: I/Os it keeps outstanding, None: its targets differ.
    """

    path: tuple[str, ...]
    row: Row
    specification: Specification | None

    @property
    def targets(self) -> int | None:
        """How many it stands for."""
        return 1 if self.row.kind == "DISK" else self.row.disks

    @property
    def in_flight(self) -> int | None:
        """The column Queue Depth is that of one target."""
        depth, targets = self.row.queue_depth, self.targets
        return None if depth is None or targets is None else depth * targets

    @property
    def seconds(self) -> float:
        """How long its I/Os were counted, 0: not told."""
        told = self.row.run_seconds or self.row.seconds or 0.0
        return told if told < _LONGEST_SECONDS else 0.0


def leaves_of(rows: Sequence[Row], specifications: Specifications) -> list[Leaf]:
    """The deepest rows of a test, with the names above them. Names that occur twice are told apart: "name#2"."""
    deepest = max((_DEPTH[row.kind] for row in rows if row.kind in _DEPTH), default=0)
    path: tuple[str, ...] = ()
    named: Counter[tuple[str, ...]] = Counter()
    specification = None
    found = []
    for row in rows:
        depth = _DEPTH.get(row.kind)
        if depth is None:
            continue
        if depth > 0:
            path = (*path[: depth - 1], row.name or row.kind.lower())
            named[path] += 1
            if named[path] > 1:
                path = (*path[:-1], f"{path[-1]}#{named[path]}")
        if row.kind != "DISK":
            specification = specifications.get(row.specification)
        if depth == deepest:
            found.append(Leaf(path, row, specification))
    return found
