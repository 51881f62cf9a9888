"""Selects the rows of a test for its samples: only those of the lowest level, so that nothing is counted twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sanpath_collectors.iometer.parse import Specifications
from sanpath_collectors.iometer.rows import Row
from sanpath_collectors.iometer.specification import Specification

_DEPTH = {"ALL": 0, "MANAGER": 1, "WORKER": 2, "DISK": 3}
_MAX_SECONDS = 366 * 86_400
"""A year. Longer durations mean that the file is damaged."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A row of the lowest level: a target, or a worker or manager if Iometer was configured to leave out targets.

    `path`: names of manager, worker and target, as far as it has them.
    """

    path: tuple[str, ...]
    row: Row
    specification: Specification | None

    @property
    def targets(self) -> int | None:
        """Number of targets; None: unknown."""
        return 1 if self.row.kind == "DISK" else self.row.disks

    @property
    def in_flight(self) -> int | None:
        """I/Os that all its targets together keep outstanding; None: the targets differ.

        The column Queue Depth applies to each target.
        """
        depth, targets = self.row.queue_depth, self.targets
        return None if depth is None or targets is None else depth * targets

    @property
    def seconds(self) -> float:
        """Duration in which its I/Os were counted; 0: unknown."""
        seconds = self.row.run_seconds or self.row.seconds or 0.0
        return seconds if seconds < _MAX_SECONDS else 0.0


def find_leaves(rows: Sequence[Row], specifications: Specifications) -> list[Leaf]:
    """The rows of the lowest level of a test, with the names above them. Repeated names are numbered: "name#2"."""
    deepest = max((_DEPTH[row.kind] for row in rows if row.kind in _DEPTH), default=0)
    path: tuple[str, ...] = ()
    name_counts: Counter[tuple[str, ...]] = Counter()
    specification = None
    leaves = []
    for row in rows:
        depth = _DEPTH.get(row.kind)
        if depth is None:
            continue
        if depth > 0:
            path = (*path[: depth - 1], row.name or row.kind.lower())
            name_counts[path] += 1
            if name_counts[path] > 1:
                path = (*path[:-1], f"{path[-1]}#{name_counts[path]}")
        if row.kind != "DISK":
            specification = specifications.get(row.specification)
        if depth == deepest:
            leaves.append(Leaf(path, row, specification))
    return leaves
