"""Links whose bytes nobody counts: a plateau at what they can carry together names them all the same.

Two different limits rarely lie within a few percent of each other. Throughput that more load does not move, and that
stands at the payload of one link of the topology, is held by that link; at that of all links side by side, by all
of them; and where there are several and it stands at that of one, they are used one after the other. What was counted
in other steps with the same throughput speaks as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from sanpath.catalogue.capacity import Capacity, Technology, counted_per_payload, full_ratio, link_capacity
from sanpath.facts.compute import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.model import Scalar
from sanpath.topology.paths import Cable, initiators_of
from sanpath.verdict.evidence.step import flat_over_load
from sanpath.verdict.hypotheses.claim import Claim, Conclusion, Evidence, at_limit
from sanpath.verdict.hypotheses.device_ports import uncounted_ports
from sanpath.verdict.model import Bottleneck, Next
from sanpath.verdict.places.host_queues import wait_at
from sanpath.verdict.places.table import PlaceTable
from sanpath.verdict.units import bandwidth, count, iops, percent

_MODEL = 0.015
"""The frame model is good to 1 %, throughput to as much."""
_UNCOUNTED = -1.0
"""Log-odds of standing at a link's payload by chance: a test with no counter could stand anywhere."""
_OTHERS_FILL = {"host": -4.0, "switch": -2.0, "array": -2.0}
"""The same for others who fill what the test leaves: at an array's port more often than at the host's own."""
_IN_TURN = -0.5
_SLOWER = -2.5
"""Log-odds that a port of which only its capability is known runs slower than it can, and is full."""
_UNREAD = -0.5
"""Log-odds of links of which not even the speed is known."""


@dataclass(frozen=True, slots=True)
class _Side:
    """Links that nobody counted and that share bytes of the test. `moved`: bytes a second of the test that cross
    them; `payload`: of one full link; `beside`: faster links that carry as much as each of them."""

    links: Sequence[Cable]
    speed: Capacity
    payload: float
    moved: float
    beside: int = 0

    @property
    def together(self) -> float:
        return self.payload * (len(self.links) + self.beside)

    def __str__(self) -> str:
        links = (
            f"one {self.speed.name} link" if len(self.links) == 1 else f"{len(self.links)} {self.speed.name} links"
        )
        return f"{links} with as much on each of {self.beside} faster" if self.beside else links


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One for the links of each side together, and one for those of a side used one after the other."""
    facts, load = table.facts, table.load
    explains, may_explain = table.transfer, table.before_transfer
    sides = _sides(table)
    known = {cable.id for side in sides for cable in side.links}
    unread = [link for link in table.uncounted if link not in known]
    if unread:
        words = f"{unread[0]} is on the way, and nobody counted its bytes"
        conclude = partial(_unread, table, unread)
        yield Claim(
            "bottleneck",
            "link",
            unread[0],
            explains,
            (Evidence(words, 0.0),),
            "saturates",
            conclude,
            _UNREAD,
            may_explain=may_explain,
        )
    for side in sides:
        used = side.moved / side.together
        words = f"the test moves {percent(used)} of what {side} can carry"
        lowest = _OTHERS_FILL[side.links[0].side] if _negotiated(table, side.links[0]) else _SLOWER
        weight = max(at_limit(used, _MODEL), lowest)
        evidence = (Evidence(words, weight), Evidence("nobody counted their bytes", _UNCOUNTED))
        same = [other for other in sides if abs(other.moved / other.together - used) <= 2 * _MODEL]
        conclude = partial(_full, table, same)
        yield Claim(
            "bottleneck",
            "link",
            side.links[0].id,
            explains,
            evidence,
            "saturates",
            conclude,
            group="links",
            may_explain=may_explain,
        )
        if len(side.links) > 1:
            used = side.moved / side.payload
            words = f"the test moves {percent(used)} of what one of {side} can carry"
            evidence = (Evidence(words, at_limit(used, _MODEL)), Evidence("nobody counted their bytes", _UNCOUNTED))
            entity = wait_at(facts, load, load.entity)
            in_turn = partial(_one_after_the_other, table, side)
            yield Claim(
                "bottleneck",
                "path_policy",
                entity,
                explains,
                evidence,
                "saturates",
                in_turn,
                _IN_TURN,
                may_explain=may_explain,
            )


def _sides(table: PlaceTable) -> list[_Side]:
    """The uncounted links at the host, between switches and at the array that the test's I/O can cross; of those that
    were counted while the same load was at work the ones that carried it."""
    facts, load = table.facts, table.load
    size = load.operation_bytes
    if size is None:
        return []
    cables = {cable.id: cable for path in table.paths for cable in path.cables}
    if not cables:
        cables = {cable.id: cable for cable in _adapters(table)}
    counted = {str(row["entity"]): row for row in table.links if row["utilisation"] is not None}
    carried = {row["entity"] for row in _in_other_steps(facts, load) if row["on_loaded_path"]}
    found = []
    for where in ("host", "array"):
        here = [cable for cable in cables.values() if cable.side == where]
        possible = [cable for cable in here if cable.id not in counted]
        links = [cable for cable in possible if cable.id in carried] or possible
        speeds = {cable.id: _speed(table, cable) for cable in links}
        known = [speed for speed in speeds.values() if speed is not None]
        if not known or len(known) < len(links):
            continue
        # Multipathing hands every path as much, so that the slowest holds back the others.
        speed = min(known, key=lambda one: one.data_bytes_per_second)
        slowest = [cable for cable in links if speeds[cable.id] == speed]
        moved = load.bytes_per_second - sum(_of_the_test(counted[c.id]) for c in here if c.id in counted)
        overhead = full_ratio(speed.technology, size) / counted_per_payload(speed.technology, size)
        full = speed.data_bytes_per_second * overhead
        found.append(_Side(slowest, speed, full, max(0.0, moved), len(links) - len(slowest)))
    return found


def _adapters(table: PlaceTable) -> Iterator[Cable]:
    """The links of the host's initiators where no switch is read, under the initiators' own names."""
    topology = table.facts.topology
    counting = {str(row["entity"]) for row, _ in uncounted_ports(table)}
    for hba in dict.fromkeys(hba for root in table.load.roots for hba in initiators_of(topology, root)):
        if hba not in counting:
            yield Cable(hba, hba, hba, "host", "host", "host")


def _of_the_test(row: FactRow) -> float:
    return number(row, "bytes_per_second") - number(row, "foreign_bytes_per_second")


def _in_other_steps(facts: Facts, load: LoadFacts) -> Iterator[FactRow]:
    for other in facts.loads:
        if other.comparable(load):
            yield from facts.tables["link"].select(step=other.step, direction=other.direction)


def _speed(table: PlaceTable, cable: Cable) -> Capacity | None:
    """None: not known, or its agent names a speed that its own counters contradict."""
    counted = list(table.facts.tables["link"].select(entity=cable.id))
    port = table.facts.topology.entities[cable.switch_port]
    speeds = [row["negotiated_bits_per_second"] for row in counted if row["capacity_bytes_per_second"] is not None]
    if counted and not speeds:
        return None
    own = port.attributes.get("speed_bits_per_second")
    if port.kind == "hba":
        own = own or port.attributes.get("capable_bits_per_second")
    technology = port.attributes.get("technology") or ("fibre_channel" if "wwpn" in port.ids else None)
    return _capacity(technology, speeds[-1] if speeds else own)


def _negotiated(table: PlaceTable, cable: Cable) -> bool:
    """Whether the speed of a link is what its ends agreed on, and not only what one of them can do."""
    port = table.facts.topology.entities[cable.switch_port]
    return port.kind != "hba" or port.attributes.get("speed_bits_per_second") is not None


def _capacity(technology: Scalar, speed: Scalar) -> Capacity | None:
    if technology not in ("fibre_channel", "ethernet") or not isinstance(speed, int | float):
        return None
    return link_capacity(cast(Technology, technology), float(speed))


def _unread(table: PlaceTable, links: Sequence[str], _named: Sequence[Claim]) -> Conclusion:
    """Nobody read the links; what was read does not account for the wait."""
    load, first = table.load, links[0]
    because = (
        "nothing that was read accounts for the wait between host and array",
        f"{count(len(links))} links on the way were not counted",
    )
    bottleneck = Bottleneck(
        entity=first,
        kind="link",
        layer="fabric",
        direction=load.direction,
        coincident=tuple(links[1:]),
        wait_at=wait_at(table.facts, load, first),
        because=because,
        overturn_if=("byte counters of these ports below 95 % of what a full link reads, at the same IOPS",),
    )
    return Conclusion((bottleneck,), because)


def _full(table: PlaceTable, binding: Sequence[_Side], _named: Sequence[Claim]) -> Conclusion:
    facts, load, side = table.facts, table.load, binding[0]
    at = percent(side.moved / side.together)
    moved = f"{bandwidth(side.moved)} of payload"
    carries = "carries" if len(side.links) == 1 else "carry together"
    because = (
        f"{moved} = {at} of the {bandwidth(side.together)} that {side} {carries}",
        _flat(facts, load),
        "nobody counted the bytes of these links: it is told by where throughput stands still",
    )
    following = _next(facts, load, binding)
    links = [cable.id for s in binding for cable in s.links]
    bottleneck = Bottleneck(
        entity=links[0],
        kind="link",
        layer="fabric",
        direction=load.direction,
        utilisation=None,
        ceiling_bytes_per_second=side.together,
        ceiling_ops_per_second=side.together / load.operation_bytes if load.operation_bytes else None,
        coincident=tuple(links[1:]),
        wait_at=wait_at(facts, load, links[0]),
        explains=min(1.0, max(0.0, 1 - following.predicted_latency_seconds[0] / load.latency_seconds))
        if following is not None
        else None,
        because=because,
        overturn_if=("byte counters of these ports below 95 % of what a full link reads, at the same IOPS",),
    )
    return Conclusion((bottleneck,), because, following)


def _one_after_the_other(table: PlaceTable, side: _Side, _named: Sequence[Claim]) -> Conclusion:
    facts, load = table.facts, table.load
    moved = f"{bandwidth(side.moved)}: {percent(side.moved / side.payload)} of what one carries"
    because = (
        f"{side} could carry the test side by side, and it moves {moved}",
        _flat(facts, load),
        "nobody counted their bytes: either one path is used, or all of them one after the other",
    )
    entity = wait_at(facts, load, load.entity)
    bottleneck = Bottleneck(
        entity=entity,
        kind="path_policy",
        layer="host",
        direction=load.direction,
        ceiling_bytes_per_second=side.payload,
        ceiling_ops_per_second=side.payload / load.operation_bytes if load.operation_bytes else None,
        coincident=tuple(cable.id for cable in side.links),
        wait_at=entity,
        because=because,
        overturn_if=("byte counters of both ports: each about half full names the policy, one full names that link",),
    )
    return Conclusion((bottleneck,), because)


def _flat(facts: Facts, load: LoadFacts) -> str:
    calm = flat_over_load(facts, load)
    if calm is None:
        return "more load brings no more throughput"
    ratio = load.in_flight_measured / calm.in_flight_measured
    fewer = f"{count(calm.in_flight_measured)} I/Os in flight gave {iops(calm.ops_per_second)}"
    return f"{fewer}, {ratio:.1f} times as many gave {iops(load.ops_per_second)}: more load buys only latency"


def _next(facts: Facts, load: LoadFacts, binding: Sequence[_Side]) -> Next | None:
    """The same links at the speed that the devices at their ends can do. None: not known, or not faster."""
    side = binding[0]
    able = [
        facts.topology.entities[cable.device].attributes.get("capable_bits_per_second")
        for s in binding
        for cable in s.links
    ]
    speeds = [_capacity(side.speed.technology, speed) for speed in able]
    if any(speed is None for speed in speeds) or not load.operation_bytes:
        return None
    slowest = min((speed for speed in speeds if speed is not None), key=lambda s: s.data_bytes_per_second)
    gain = slowest.data_bytes_per_second / side.speed.data_bytes_per_second
    if gain <= 1:
        return None
    low, high = load.ops_per_second, side.together * gain / load.operation_bytes
    flight = load.in_flight_measured
    return Next(side.links[0].id, f"at {slowest.name}", (low, high), (flight / high, flight / low))
