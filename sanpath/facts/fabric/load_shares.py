"""Determines which links carry the test, and the share of its bytes on each: measured, or not known.

On the host's side, the host's own ports carry the test. On the array's side, the array's counts per initiator and
target show it, or else the ports that the host can reach. If ports carry clearly more bytes than the test moved,
other hosts use them too. Then the host's count of each of its paths shows the test's part, if it has one; else only
those bytes of the test count that the other ports cannot have carried. A link
whose path cannot be followed to its end carries the test if it is the only busy link of its switch, or the only one
with as many bytes as the test brings to that switch.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isclose

import networkx as nx

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.topology.paths import Cable, IoPath, initiators_of, switch_of
from sanpath.topology.topology import Topology

OVERHEAD_TOLERANCE = 1.02
"""Allowance for retransmissions, command and status frames: only bytes beyond it count as foreign."""
_FOREIGN_TOLERANCE = 1.05
"""Ports that together carry more than this multiple of the test's bytes carry foreign bytes as well."""
LOADED = 0.01
"""Smallest share of the test's bytes that makes a link part of the loaded path. A port or connection that moves less
is for management, or leads elsewhere."""
IN_USE = 0.2
"""From this share of the test's bytes on, a link is in use and not just probed."""
_SAME_FLOW = 0.01
"""Counters of two ports of one switch, read in one poll, differ by less where they count the same frames."""
_MAX_COMBINED = 4
"""Most links whose combinations are compared with the test: of 15 combinations of four, each within 5 % of anything,
hardly two fit. sanpath's own choice."""
_EQUAL_RATIO = 1.1
"""Ratio of bytes from which parallel links do not spread all exchanges evenly: sanpath's own choice."""

_MISSING_RATIO = 0.8
"""Share of the bytes that passed them, below which ports miscount. An agent's cache hides less: its bytes are counted
a few seconds later."""
_SAME_BYTES = 0.1
"""Relative difference up to which another count agrees with the load's bytes."""

Shares = dict[str, float | None]
"""Cable → share of the test's bytes. None: others use the ports too, and the share cannot be determined."""


def cables_of_test(
    topology: Topology, loads: Sequence[LoadFacts], paths: Sequence[IoPath], all_cables: Sequence[Cable]
) -> dict[str, set[str]]:
    """Return group of links → the links of the group that the test's I/O can cross; empty: not known.

    Where no target port is known, the I/O still leaves by the initiators of the host."""
    test_cables: dict[str, set[str]] = {"host": set(), "array": set()}
    for cable in (cable for path in paths for cable in path.cables):
        test_cables.setdefault(cable.group, set()).add(cable.id)
    initiators = {hba for load in {root for f in loads for root in f.roots} for hba in initiators_of(topology, load)}
    test_cables["host"] = test_cables["host"] or {
        cable.id for cable in all_cables if not initiators.isdisjoint(cable.devices)
    }
    return test_cables


def with_open_host_links(
    test_cables: Mapping[str, set[str]],
    own_cables: Sequence[Cable],
    paths: Sequence[IoPath],
    byte_rates: Mapping[Cable, float],
    test_byte_rate: float,
) -> Mapping[str, set[str]]:
    """Return the test's links, with more links added if those with a known path carry fewer bytes than the test
    moved.

    The added links belong to the test's initiators, and their path ends at an unread switch: the missing bytes must
    have left the host over them. `own_cables`: of the test's initiators. `paths`: all that are cabled. `byte_rates`,
    `test_byte_rate`: as in shares_of_test.
    """
    carried = sum(byte_rate for cable, byte_rate in byte_rates.items() if cable.id in test_cables["host"])
    followed = {path.hba for path in paths}
    unfollowed = {cable.id for cable in own_cables if followed.isdisjoint(cable.devices)}
    if not unfollowed or carried * _FOREIGN_TOLERANCE >= test_byte_rate:
        return test_cables
    return {**test_cables, "host": test_cables["host"] | unfollowed}


def miscounted(
    paths: Sequence[IoPath],
    byte_rates: Mapping[Cable, float],
    test_byte_rate: float,
    counted_elsewhere: Sequence[float],
) -> set[Cable]:
    """Return the links whose counters cannot be right, because bytes that passed them are missing there.

    All links at one end of the paths together carry at least the test's bytes. If they count clearly fewer, but those
    at the other end, or others (`counted_elsewhere`, bytes a second), count the test's bytes, then a counter stands
    still or counts in another unit. That counter is in a fabric whose other end counts clearly more, or whose ends
    both count nothing. If both ends of every fabric agree, the missing bytes took an unknown path. `byte_rates`,
    `test_byte_rate`: as in shares_of_test.
    """
    pairs = [(path.cables[0], path.cables[-1]) for path in paths if path.cables]
    pairs = [(near, far) for near, far in pairs if (near.side, far.side) == ("host", "array")]
    if not pairs or not all(cable in byte_rates for pair in pairs for cable in pair):
        return set()
    fabrics = [set(fabric) for fabric in nx.connected_components(nx.Graph(pairs))]
    result: set[Cable] = set()
    ends = [set(end) for end in zip(*pairs, strict=True)]
    for own, others in (ends, reversed(ends)):
        counted, counted_by_others = (sum(byte_rates[cable] for cable in end) for end in (own, others))
        witnesses = (counted_by_others, *counted_elsewhere)
        if counted >= _MISSING_RATIO * test_byte_rate or not any(
            isclose(each, test_byte_rate, rel_tol=_SAME_BYTES) for each in witnesses
        ):
            continue
        for fabric in fabrics:
            at_own, at_others = (sum(byte_rates[cable] for cable in fabric & end) for end in (own, others))
            if at_own < _MISSING_RATIO * max(at_others, LOADED * test_byte_rate):
                result |= fabric & own
    return result


@dataclass(frozen=True, slots=True)
class Crossing:
    """The host's links whose paths `always` (all of them) or `sometimes` (some of them) cross a group of links
    between switches."""

    always: frozenset[str]
    sometimes: frozenset[str]


def crossings(paths: Sequence[IoPath]) -> dict[str, Crossing]:
    """Return group of links between switches → the host's links whose paths cross it."""
    by_link: defaultdict[str, list[set[str]]] = defaultdict(list)
    for path in paths:
        if path.cables:
            by_link[path.cables[0].id].append({cable.group for cable in path.cables if cable.side == "switch"})
    groups = {
        group for crossed_groups in by_link.values() for paths_of_link in crossed_groups for group in paths_of_link
    }
    return {
        group: Crossing(
            frozenset(
                link
                for link, paths_of_link in by_link.items()
                if all(group in path_groups for path_groups in paths_of_link)
            ),
            frozenset(
                link
                for link, paths_of_link in by_link.items()
                if 0 < sum(group in path_groups for path_groups in paths_of_link) < len(paths_of_link)
            ),
        )
        for group in groups
    }


def shares_of_test(
    byte_rates: Mapping[Cable, float],
    test_byte_rate: float,
    test_cables: Mapping[str, set[str]],
    operations: Mapping[str, float],
    crossed: Mapping[str, Crossing] | None = None,
    wrong: Collection[Cable] = (),
    of_paths: Mapping[str, float] | None = None,
) -> Shares:
    """Return the test's share on each cable.

    `byte_rates`: bytes a second counted on each cable. `test_byte_rate`: those of the test, as a port would count
    them. `operations`: target port → operations of the test's initiators, {} if the array does not count them.
    `crossed`: group of links between switches → its crossing. `wrong`: cables without a byte rate because they
    miscount. `of_paths`: initiator or target port → the test's bytes a second by the host's own paths, empty or None:
    it does not count them."""
    most_own_byte_rate = test_byte_rate * _FOREIGN_TOLERANCE * OVERHEAD_TOLERANCE
    # The array counts per initiator: if others also use the initiators, its count includes theirs.
    exclusive = (
        not test_byte_rate
        or sum(byte_rate for cable, byte_rate in byte_rates.items() if cable.id in test_cables.get("host", ()))
        <= most_own_byte_rate
    )
    shares: Shares = {}
    for side, possible in test_cables.items():
        side_rates = {cable: byte_rate for cable, byte_rate in byte_rates.items() if cable.id in possible}
        if side not in ("host", "array"):
            crossing = (crossed or {}).get(side)
            through = _share_through(crossing, shares, test_cables.get("host", ()))
            always = crossing.always if crossing is not None else ()
            flows = [(rate, shares.get(cable.id) or 0.0) for cable, rate in byte_rates.items() if cable.id in always]
            shares |= _between_switches(side_rates, test_byte_rate, most_own_byte_rate, through, flows)
            continue
        if side == "array" and operations:
            counts = {cable: sum(operations.get(port, 0.0) for port in cable.devices) for cable in side_rates}
            if total := sum(counts.values()):
                shares |= {cable.id: count / total for cable, count in counts.items() if exclusive or not count}
            side_rates = {
                cable: byte_rate for cable, byte_rate in side_rates.items() if counts[cable] and not exclusive
            }
        total = sum(side_rates.values())
        if total and any(cable.id in possible for cable in wrong):
            total = max(total, test_byte_rate)
        if total > most_own_byte_rate and sum(byte_rate > 0 for byte_rate in side_rates.values()) > 1:
            shares |= _shares_by_paths(side_rates, of_paths or {}) or {
                cable.id: _certain_share(byte_rate, total, test_byte_rate) for cable, byte_rate in side_rates.items()
            }
        elif total:
            shares |= {cable.id: byte_rate / total for cable, byte_rate in side_rates.items()}
    return shares


def _shares_by_paths(side_rates: Mapping[Cable, float], of_paths: Mapping[str, float]) -> Shares:
    """Return the shares of the links at one end, by the bytes of the host's own paths; empty: they do not show them,
    as the paths may end at a bond of several ports."""
    kinds = {device.partition(":")[0] for cable in side_rates for device in cable.devices}
    ends = {end: rate for end, rate in of_paths.items() if end.partition(":")[0] in kinds}
    total = sum(ends.values())
    if not total or not ends.keys() <= {device for cable in side_rates for device in cable.devices}:
        return {}
    return {cable.id: sum(ends.get(device, 0.0) for device in cable.devices) / total for cable in side_rates}


def _share_through(crossed: Crossing | None, shares: Shares, host_links: Collection[str]) -> float | None:
    """Return the share of the test that crosses a group of links between switches.

    It is the sum over the host's links whose paths cross the group; 1.0 where all do. None: not known, or only some
    of a link's paths cross it."""
    if crossed is None:
        return None
    if crossed.always and crossed.always >= set(host_links):
        return 1.0
    crossing_shares = [shares.get(link) for link in crossed.always]
    partial_shares = [shares.get(link) for link in crossed.sometimes]
    if any(share is None for share in crossing_shares) or any(
        share is None or share >= LOADED for share in partial_shares
    ):
        return None
    return sum(share for share in crossing_shares if share is not None)


def _between_switches(
    byte_rates: Mapping[Cable, float],
    test_byte_rate: float,
    most_own_byte_rate: float,
    through: float | None,
    flows: Sequence[tuple[float, float]],
) -> Shares:
    """Return the shares of parallel links between two switches.

    Links that spread exchanges by source, destination and exchange (FC-SW) carry equal bytes, and each the same share
    of the test as of all traffic. Unequal links pin flows: a link carries the flow of an initiator if it counts as
    many bytes. `through`: share of the test that crosses all of them. Where that is None, shares are known only while
    the links carry no foreign bytes. `flows`: bytes a second, and share of the test, of each initiator whose paths
    all cross them."""
    total = sum(byte_rates.values())
    if not total:
        return {}
    if through is None:
        is_own = test_byte_rate and total <= most_own_byte_rate
        return {cable.id: byte_rate / test_byte_rate if is_own else None for cable, byte_rate in byte_rates.items()}
    own = through * test_byte_rate
    is_spread = max(byte_rates.values()) <= _EQUAL_RATIO * min(rate for rate in byte_rates.values() if rate)
    if is_spread or not own or total <= through * most_own_byte_rate:
        return {cable.id: through * byte_rate / total for cable, byte_rate in byte_rates.items()}
    flows = [*flows, (sum(rate for rate, _ in flows), through), (own, through)]
    found = {
        cable.id: share
        for cable, byte_rate in byte_rates.items()
        for rate, share in flows
        if share and isclose(byte_rate, rate, rel_tol=_SAME_FLOW)
    }
    if sum(found.values()) > through + LOADED:
        found = {}  # Several links carry the same bytes.
    left = through - sum(found.values())
    rest = {cable.id: byte_rate for cable, byte_rate in byte_rates.items() if cable.id not in found}
    if left < LOADED:
        return {**found, **dict.fromkeys(rest, 0.0)}
    certain = {link: _certain_share(rate, sum(rest.values()), left * test_byte_rate) for link, rate in rest.items()}
    return {**found, **{link: share and left * share for link, share in certain.items()}}


def _certain_share(byte_rate: float, total: float, test_byte_rate: float) -> float | None:
    """Return the share of the test that the other ports cannot have carried. None: they could have carried all of
    it."""
    least = (test_byte_rate - (total - byte_rate)) / test_byte_rate if test_byte_rate else 0.0
    if byte_rate < LOADED * test_byte_rate:
        return byte_rate / test_byte_rate if test_byte_rate else None
    return min(1.0, least) if least >= LOADED else None


def operations_by_target(
    topology: Topology, paths: Sequence[IoPath], samples: Mapping[str, Sequence[StepSamples]], step: str
) -> dict[str, float]:
    """Return target port → I/Os of this test's initiators in the step, as the array counts them; {} if it does not.

    A source names such a pair "INITIATOR WWPN>TARGET PORT".
    """
    initiators = {
        identifier
        for path in paths
        for key in ("wwpn", "iqn", "nqn")
        for identifier in topology.entities[path.hba].ids.get(key, ())
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
    cable: Cable, counted: bool, loaded: bool, shares: Shares, test_cables: Mapping[str, set[str]]
) -> bool | None:
    """Return whether the test crosses a cable. None: not known.

    `counted`: the cable's bytes are known. `loaded`: the test has I/O in this direction."""
    if not loaded:
        return False
    if cable.id in shares:
        share = shares[cable.id]
        return None if share is None else share >= LOADED
    possible = test_cables.get(cable.group, set())
    if possible and cable.id not in possible:
        return False
    return False if possible and counted else None


def other_path_idle(
    cable: Cable, byte_rates: Mapping[Cable, float], shares: Shares, test_cables: Mapping[str, set[str]]
) -> bool | None:
    """Return whether a parallel link, which the test could use as well, carries neither the test nor foreign bytes.

    A host that uses several of its links in turn sends over all of its paths. A target port that stays idle meanwhile
    is on none of these paths, and no path policy can use it. For a port without a known peer, the answer is no: no
    other link is known to lead to the same device. None: not known."""
    if cable.device == cable.switch_port:
        return False
    if (
        cable.group == "array"
        and sum((shares.get(link) or 0.0) >= LOADED for link in test_cables.get("host", ())) > 1
    ):
        return False
    rate_by_id = {link.id: rate for link, rate in byte_rates.items()}
    parallel, byte_rate = test_cables.get(cable.group, set()) - {cable.id}, rate_by_id.get(cable.id, 0.0)
    if any(rate_by_id.get(link, byte_rate) < LOADED * byte_rate for link in parallel):
        return True
    return None if any(shares.get(link) is None for link in parallel) else False


def shares_of_open_links(
    topology: Topology,
    open_links: Sequence[Cable],
    byte_rates: Mapping[Cable, float],
    test_byte_rate: float,
    test_cables: Mapping[str, Collection[str]],
) -> Shares:
    """Return the share of the test's bytes on each of these links; None: not known.

    The only busy link of a switch carries the test. So does the only link that moves as many bytes as the links of
    the test's initiators or target ports bring to that switch: a switch keeps no bytes. If none of these is known,
    and no other switch has such links, the only combination of links that moves as much as the test carries it. If
    several qualify, it is not known which of them carries the test. `test_byte_rate`: the test's bytes a second;
    `test_cables`: of its initiators and target ports, by side.
    """
    busy: defaultdict[tuple[str | None, str], list[Cable]] = defaultdict(list)
    for cable in open_links:
        if byte_rates.get(cable, 0.0) >= LOADED * test_byte_rate > 0:
            busy[switch_of(topology, cable.switch_port), cable.facing].append(cable)
    # A link between switches carries what leaves at one of them once more.
    ends = {key for key, cables in busy.items() if any(cable.device == cable.switch_port for cable in cables)}
    facing_ends = Counter(facing for _, facing in ends)
    shares: Shares = {}
    for (switch, facing), cables in busy.items():
        is_only_end = (switch, facing) in ends and facing_ends[facing] == 1
        brought = _bytes_into_switch(topology, switch, byte_rates, test_cables)
        same_flow = [cable for cable in cables if isclose(byte_rates[cable], brought, rel_tol=_SAME_FLOW)]
        if len(cables) == 1 and byte_rates[cables[0]] * OVERHEAD_TOLERANCE >= test_byte_rate:
            shares[cables[0].id] = 1.0
        elif len(same_flow) == 1:
            shares |= {
                cable.id: min(1.0, brought / test_byte_rate) if cable in same_flow else 0.0 for cable in cables
            }
        elif not brought and is_only_end and (found := _only_combination(cables, byte_rates, test_byte_rate)):
            carried = sum(byte_rates[cable] for cable in found)
            shares |= {cable.id: byte_rates[cable] / carried if cable in found else 0.0 for cable in cables}
        else:
            shares |= {cable.id: None for cable in cables}
    return shares


def _only_combination(
    cables: Sequence[Cable], byte_rates: Mapping[Cable, float], test_byte_rate: float
) -> Sequence[Cable]:
    """Return the links that together move what the test does. Empty: several combinations of them do, or none does,
    or there are too many links for one to be no coincidence."""
    if len(cables) > _MAX_COMBINED:
        return ()
    found = [
        chosen
        for size in range(1, len(cables) + 1)
        for chosen in combinations([cable for cable in cables if cable.device == cable.switch_port], size)
        if test_byte_rate / _FOREIGN_TOLERANCE
        <= sum(byte_rates[cable] for cable in chosen)
        <= test_byte_rate * _FOREIGN_TOLERANCE
    ]
    return found[0] if len(found) == 1 else ()


def _bytes_into_switch(
    topology: Topology,
    switch: str | None,
    byte_rates: Mapping[Cable, float],
    test_cables: Mapping[str, Collection[str]],
) -> float:
    """Return the bytes a second that the cables of the test's initiators and target ports bring to a switch; at a
    switch without any, those of its links with the switches that have them."""
    own = {*test_cables.get("host", ()), *test_cables.get("array", ())}
    by_switch: defaultdict[str | None, float] = defaultdict(float)
    for cable, rate in byte_rates.items():
        if cable.id in own:
            by_switch[switch_of(topology, cable.switch_port)] += rate
    if switch in by_switch:
        return by_switch[switch]
    from_near: dict[frozenset[str], float] = {}
    for cable, rate in byte_rates.items():
        ends = [switch_of(topology, end) for end in (cable.switch_port, cable.device)]
        if cable.side == "switch" and switch in ends and any(end in by_switch for end in ends):
            from_near[frozenset((cable.switch_port, cable.device))] = rate  # Both of its ports may count it.
    return sum(from_near.values())
