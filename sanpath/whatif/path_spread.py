"""The spread of a LUN's I/Os over links by its multipath policy, and the throughput that this spread allows.

Round Robin with a batch larger than the number of I/Os in flight uses one path at a time. Each path carries its batch
at the rate of its own slowest link. Only the I/Os in flight when the path changes overlap with the next batch: (1 +
in flight / batch) times one path's rate (closed-loop event simulation of two 4GFC paths, 32 of 1,000 in flight:
1.029; this formula: 1.032). Equal shares over unequal paths are limited by the slower: k times the slowest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sanpath.catalogue.values import ADAPTIVE_POLICIES, IN_TURN_POLICIES, SINGLE_PATH_POLICIES
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import number
from sanpath.topology.paths import io_paths
from sanpath.whatif.change import Change, Policy

_STANDBY = ("standby", "ghost", "passive", "disabled", "dead", "active/non", "active/unopt", "non-opt")
"""Prefixes of the path states in which a path carries no I/O while the LUN has better paths."""


@dataclass(frozen=True, slots=True)
class PathLinks:
    """One path of a LUN. `links`: link → share of the path's I/Os that cross it, below one if routes split."""

    links: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PathUse:
    """The LUN whose paths carry the load, and its use of them. `policy`: with all known values filled in."""

    lun: str
    paths: Sequence[PathLinks]
    policy: Policy

    @property
    def in_turn(self) -> bool:
        """Whether each batch of I/Os uses a single path, and the next batch the next path."""
        return self.policy.name in IN_TURN_POLICIES and len(self.paths) > 1

    @property
    def adapts(self) -> bool:
        """Whether a path that becomes faster gets a larger share of the I/Os."""
        return self.policy.name in ADAPTIVE_POLICIES and len(self.paths) > 1

    def shares(self, rates: Mapping[str, float]) -> dict[str, float]:
        """Link → share of the load's I/Os. `rates`: link → I/Os a second of the test that it can carry."""
        path_shares = self._path_shares([self.rate(path, rates) for path in self.paths])
        shares: dict[str, float] = {}
        for path_share, path in zip(path_shares, self.paths, strict=True):
            for link, share in path.links.items():
                shares[link] = shares.get(link, 0.0) + path_share * share
        return shares

    def one_after_the_other(self, rates: Mapping[str, float], in_flight: float) -> float | None:
        """I/Os a second over paths used in turn. None: they are used in parallel, or the batch is unknown."""
        batch = self.policy.switch_operations
        if not self.in_turn or batch is None or batch <= in_flight:
            return None
        path_rates = [self.rate(path, rates) for path in self.paths]
        if min(path_rates) <= 0 or min(path_rates) == float("inf"):
            return None  # What the paths can carry is not known.
        return len(path_rates) / sum(1 / rate for rate in path_rates) * (1 + in_flight / batch)

    def rate(self, path: PathLinks, rates: Mapping[str, float]) -> float:
        """I/Os a second that a path could carry by itself."""
        return min((rates[link] / share for link, share in path.links.items() if link in rates), default=float("inf"))

    def _path_shares(self, rates: Sequence[float]) -> list[float]:
        if self.policy.name in SINGLE_PATH_POLICIES:
            return [1.0, *[0.0] * (len(rates) - 1)]
        if self.adapts and 0 < sum(rates) < float("inf"):
            return [rate / sum(rates) for rate in rates]
        return [1 / len(rates)] * len(rates)


def used_paths(facts: Facts, load: LoadFacts, change: Change) -> PathUse | None:
    """The paths that carry the load, and the policy under a change. None: the number of LUNs with known paths is not
    one."""
    rows = facts.tables["multipath"].select(step=load.step)
    luns = [row for row in rows if facts.topology.related(str(row["entity"]), "member_of", "path")]
    if len(luns) != 1:
        return None
    row = luns[0]
    lun = str(row["entity"])
    paths = _usable_paths(facts, load, lun)
    if not paths:
        return None
    new_policy = change.policies.get(lun, Policy())
    recorded = row["policy"]
    name = new_policy.name or (str(recorded) if recorded else None)
    switch = new_policy.switch_operations
    if switch is None and row["switch_operations"] is not None:
        switch = number(row, "switch_operations")
    return PathUse(lun, paths, Policy(name, switch))


def _usable_paths(facts: Facts, load: LoadFacts, lun: str) -> list[PathLinks]:
    """The paths that can carry I/O, the busiest first. Empty: the ends of one of them are unknown."""
    routes = io_paths(facts.topology, *load.roots)
    rows = facts.tables["link"].select(step=load.step, direction=load.direction)
    busy = {str(row["entity"]): number(row, "bytes_per_second") for row in rows}
    paths = []
    for path in facts.topology.related(lun, "member_of", "path"):
        attributes = facts.topology.entities[path].attributes
        if attributes.get("usable") is False or str(attributes.get("state") or "").lower().startswith(_STANDBY):
            continue
        ends = [
            next(iter(facts.topology.related(path, relation, kind)), None)
            for relation, kind in (("attached_to", "hba"), ("targets", "array_port"))
        ]
        matching = [route for route in routes if [route.hba, route.array_port] == ends]
        if not matching:
            return []
        links: dict[str, float] = {}
        for route in matching:
            for cable in route.cables:
                links[cable.id] = links.get(cable.id, 0.0) + 1 / len(matching)
        paths.append(PathLinks(links))
    return sorted(paths, key=lambda path_links: -min((busy.get(link, 0.0) for link in path_links.links), default=0.0))
