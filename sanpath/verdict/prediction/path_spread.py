"""How a multipath policy spreads a LUN's I/Os over links, and what that lets through.

Round Robin whose batch is larger than what is in flight uses one path at a time. Each path then carries its batch at
the rate of its own slowest link, and only the I/Os that are still under way when the path changes overlap with the
next: (1 + in flight / batch) times one path's rate (closed-loop event simulation of two 4GFC paths, 32 of 1,000 in
flight: 1.029; this: 1.032). Equal shares over unequal paths are bound by the slower: k times the slowest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sanpath.facts.compute import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.topology.paths import io_paths
from sanpath.verdict.prediction.change import ADAPTIVE, IN_TURN, ONE_PATH, Change, Policy

_STANDBY = ("standby", "ghost", "passive", "disabled", "dead", "active/non", "active/unopt", "non-opt")
"""How states begin in which a path carries no I/O of a sound LUN."""


@dataclass(frozen=True, slots=True)
class Way:
    """One path of a LUN. `links`: link → share of the path's I/Os that cross it, less than one where routes split."""

    links: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Used:
    """The LUN whose paths carry the load, and how: `policy` with everything known filled in."""

    lun: str
    ways: Sequence[Way]
    policy: Policy

    @property
    def in_turn(self) -> bool:
        """Whether a batch goes down one path, then the next."""
        return self.policy.name in IN_TURN and len(self.ways) > 1

    def shares(self, rates: Mapping[str, float]) -> dict[str, float]:
        """Link → share of the load's I/Os. `rates`: link → I/Os a second it can carry of the test alone."""
        parts = self._parts([self.rate(way, rates) for way in self.ways])
        found: dict[str, float] = {}
        for part, way in zip(parts, self.ways, strict=True):
            for link, share in way.links.items():
                found[link] = found.get(link, 0.0) + part * share
        return found

    def one_after_the_other(self, rates: Mapping[str, float], in_flight: float) -> float | None:
        """I/Os a second when paths are used in turn; None: they are used side by side, or the batch is not known."""
        batch = self.policy.switch_operations
        if not self.in_turn or batch is None or batch <= in_flight:
            return None
        each = [self.rate(way, rates) for way in self.ways]
        if min(each) <= 0:
            return None
        return len(each) / sum(1 / rate for rate in each) * (1 + in_flight / batch)

    def rate(self, way: Way, rates: Mapping[str, float]) -> float:
        """I/Os a second that a path could carry by itself."""
        return min((rates[link] / share for link, share in way.links.items() if link in rates), default=float("inf"))

    def _parts(self, each: Sequence[float]) -> list[float]:
        if self.policy.name in ONE_PATH:
            return [1.0, *[0.0] * (len(each) - 1)]
        if self.policy.name in ADAPTIVE and max(each) < float("inf"):
            return [rate / sum(each) for rate in each]
        return [1 / len(each)] * len(each)


def used_paths(facts: Facts, load: LoadFacts, change: Change) -> Used | None:
    """The paths that carry the load and the policy after a change. None: there is not one LUN with known paths."""
    rows = facts.tables["multipath"].select(step=load.step)
    luns = [row for row in rows if facts.topology.related(str(row["entity"]), "member_of", "path")]
    if len(luns) != 1:
        return None
    row = luns[0]
    lun = str(row["entity"])
    ways = _ways(facts, load, lun)
    if not ways:
        return None
    wanted = change.policies.get(lun, Policy())
    told = row["policy"]
    name = wanted.name or (str(told) if told else None)
    switch = wanted.switch_operations
    if switch is None and row["switch_operations"] is not None:
        switch = number(row, "switch_operations")
    return Used(lun, ways, Policy(name, switch))


def _ways(facts: Facts, load: LoadFacts, lun: str) -> list[Way]:
    """The paths that can carry I/O, the one that carries most first; [] where the ends of one are not known."""
    routes = io_paths(facts.topology, *load.roots)
    busy = {str(row["entity"]): number(row, "bytes_per_second") for row in _links(facts, load)}
    found = []
    for path in facts.topology.related(lun, "member_of", "path"):
        about = facts.topology.entities[path].attributes
        if about.get("usable") is False or str(about.get("state") or "").lower().startswith(_STANDBY):
            continue
        ends = [
            next(iter(facts.topology.related(path, relation, kind)), None)
            for relation, kind in (("attached_to", "hba"), ("targets", "array_port"))
        ]
        mine = [route for route in routes if [route.hba, route.array_port] == ends]
        if not mine:
            return []
        links: dict[str, float] = {}
        for route in mine:
            for cable in route.cables:
                links[cable.id] = links.get(cable.id, 0.0) + 1 / len(mine)
        found.append(Way(links))
    return sorted(found, key=lambda way: -min((busy.get(link, 0.0) for link in way.links), default=0.0))


def _links(facts: Facts, load: LoadFacts) -> list[FactRow]:
    return facts.tables["link"].select(step=load.step, direction=load.direction)
