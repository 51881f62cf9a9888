"""Which links carry the test, and what share of its bytes each does: measured, or not known.

On the host's side the host's own ports carry it, on the array's side what the array counts of each initiator and
target tells, else the ports that the host can reach. Where ports carry clearly more than the test has moved, others
use them too; then only what the rest cannot have carried is certainly the test's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.topology.identity import Topology
from sanpath.topology.paths import Cable, IoPath, initiators_of

OVERHEAD_TOLERANCE = 1.02
"""Retransmissions, command and status frames: bytes of others are told only beyond this."""
_OTHERS = 1.05
"""Ports that together carry more than this of the test's bytes carry somebody else's as well."""
LOADED = 0.01
"""Smallest share of the test's bytes that makes a link part of the loaded path."""

Shares = dict[str, float | None]
"""Cable → share of the test's bytes. None: others use the ports too, and the share cannot be told."""


def cables_of_test(
    topology: Topology, loads: Sequence[LoadFacts], paths: Sequence[IoPath], known: Sequence[Cable]
) -> dict[str, set[str]]:
    """Group of links → those of it that the test's I/O can cross; empty: not known.

    Where no target port is known, the initiators of the host are still those that its I/O leaves by."""
    mine: dict[str, set[str]] = {"host": set(), "array": set()}
    for cable in (cable for path in paths for cable in path.cables):
        mine.setdefault(cable.group, set()).add(cable.id)
    own = {hba for load in {root for f in loads for root in f.roots} for hba in initiators_of(topology, load)}
    mine["host"] = mine["host"] or {cable.id for cable in known if not own.isdisjoint(cable.devices)}
    return mine


@dataclass(frozen=True, slots=True)
class Crossing:
    """The host's links whose every path crosses a group of links between switches, and those of which some do."""

    always: frozenset[str]
    sometimes: frozenset[str]


def crossings(paths: Sequence[IoPath]) -> dict[str, Crossing]:
    """Group of links between switches → which of the host's links lead over it."""
    by_link: defaultdict[str, list[set[str]]] = defaultdict(list)
    for path in paths:
        if path.cables:
            by_link[path.cables[0].id].append({cable.group for cable in path.cables if cable.side == "switch"})
    groups = {group for crossed in by_link.values() for ways in crossed for group in ways}
    return {
        group: Crossing(
            frozenset(link for link, ways in by_link.items() if all(group in way for way in ways)),
            frozenset(link for link, ways in by_link.items() if 0 < sum(group in way for way in ways) < len(ways)),
        )
        for group in groups
    }


def shares_of_test(
    sizes: Mapping[Cable, float],
    test: float,
    mine: Mapping[str, set[str]],
    told: Mapping[str, float],
    crossed: Mapping[str, Crossing] | None = None,
) -> Shares:
    """Share of each cable. `sizes`: bytes a second counted on each; `test`: those of the test as a port would count
    them; `told`: target port → operations of the test's initiators, {} when the array does not count them; `crossed`:
    of each group of links between switches."""
    limit = test * _OTHERS * OVERHEAD_TOLERANCE
    # The array counts initiators: where others use them as well, its count is not the test's alone.
    alone = not test or sum(size for cable, size in sizes.items() if cable.id in mine.get("host", ())) <= limit
    shares: Shares = {}
    for side, possible in mine.items():
        here = {cable: size for cable, size in sizes.items() if cable.id in possible}
        if side not in ("host", "array"):
            through = _through((crossed or {}).get(side), shares, mine.get("host", ()))
            shares |= _between_switches(here, test, limit, through)
            continue
        if side == "array" and told:
            counts = {cable: told.get(cable.device, 0.0) for cable in here}
            if total := sum(counts.values()):
                shares |= {cable.id: count / total for cable, count in counts.items() if alone or not count}
            here = {cable: size for cable, size in here.items() if counts[cable] and not alone}
        total = sum(here.values())
        if total > limit and sum(size > 0 for size in here.values()) > 1:
            shares |= {cable.id: _certain(size, total, test) for cable, size in here.items()}
        elif total:
            shares |= {cable.id: size / total for cable, size in here.items()}
    return shares


def _through(crossed: Crossing | None, shares: Shares, own: Collection[str]) -> float | None:
    """Share of the test that crosses a group of links between switches: that of the host's links which lead over it,
    all of it where every one does. None: not known, or some of a link's paths lead another way."""
    if crossed is None:
        return None
    if crossed.always and crossed.always >= set(own):
        return 1.0
    used = [shares.get(link) for link in crossed.always]
    elsewhere = [shares.get(link) for link in crossed.sometimes]
    if any(share is None for share in used) or any(share is None or share >= LOADED for share in elsewhere):
        return None
    return sum(share for share in used if share is not None)


def _between_switches(sizes: Mapping[Cable, float], test: float, limit: float, through: float | None) -> Shares:
    """Shares of parallel links between two switches. They spread exchanges by source, destination and exchange
    (FC-SW), so that each carries the same part of the test as of everything. `through`: share of the test that
    crosses them together; where that is not known, theirs is while nobody else's bytes are on them."""
    total = sum(sizes.values())
    if not total:
        return {}
    if through is not None:
        return {cable.id: through * size / total for cable, size in sizes.items()}
    return {cable.id: size / test if test and total <= limit else None for cable, size in sizes.items()}


def _certain(size: float, total: float, test: float) -> float | None:
    """The share of the test that the other ports cannot have carried; None when they could have carried it all."""
    least = (test - (total - size)) / test if test else 0.0
    if size < LOADED * test:
        return size / test if test else None
    return min(1.0, least) if least >= LOADED else None


def operations_by_target(
    topology: Topology, paths: Sequence[IoPath], samples: Mapping[str, Sequence[StepSamples]], step: str
) -> dict[str, float]:
    """Target port → I/Os of this test's initiators in the step, by the array's own count; {} when it keeps none.

    A source names such a pair "INITIATOR WWPN>TARGET PORT".
    """
    initiators = {
        w for path in paths for key in ("wwpn", "iqn", "nqn") for w in topology.entities[path.hba].ids.get(key, ())
    }
    counts: dict[str, float] = {}
    for sample in samples.get("path", ()):
        initiator, _, target = sample.entity.partition(">")
        count = sample.means.get("ops_count")
        port = topology.known_as.get((sample.source, "array_port", target))
        if sample.step == step and count and port and initiator in initiators:
            counts[port] = counts.get(port, 0.0) + count
    return counts


def on_loaded_path(
    cable: Cable, counted: bool, loaded: bool, shares: Shares, mine: Mapping[str, set[str]]
) -> bool | None:
    """Whether the test crosses a cable. `counted`: its bytes are known; `loaded`: the test has I/O in this direction.
    None: not known."""
    if not loaded:
        return False
    if cable.id in shares:
        share = shares[cable.id]
        return None if share is None else share >= LOADED
    possible = mine.get(cable.group, set())
    if possible and cable.id not in possible:
        return False
    return False if possible and counted else None


def other_path_idle(
    cable: Cable, sizes: Mapping[Cable, float], shares: Shares, mine: Mapping[str, set[str]]
) -> bool | None:
    """Whether a link beside this one, which the test could use, carries nothing: neither of the test nor of others.
    None: not known."""
    counted = {other.id: size for other, size in sizes.items()}
    others, own = mine.get(cable.group, set()) - {cable.id}, counted.get(cable.id, 0.0)
    if any(counted.get(other, own) < LOADED * own for other in others):
        return True
    return None if any(shares.get(other) is None for other in others) else False
