"""Links whose bytes no source counts: a plateau at what they can carry together still identifies them.

Two different limits rarely lie within a few percent of each other. So a plateau at the payload of one link of the
topology means that this link limits. A plateau at the payload of all parallel links means that all of them do. Where
there are several and throughput stands at the payload of one, they are used one after the other. Counters of other
steps with the same throughput count as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from sanpath.catalogue.capacity import Capacity, Technology, counted_per_payload, full_ratio, link_capacity
from sanpath.diagnosis.model import Next
from sanpath.facts.compute import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.model import Scalar
from sanpath.topology.paths import Cable
from sanpath.units import bandwidth, count, percent
from sanpath.verdict.evidence.likelihoods import at_limit
from sanpath.verdict.evidence.step import flat_words
from sanpath.verdict.hypotheses.claim import (
    NO_CEILING,
    SELDOM,
    UNREAD,
    Claim,
    Conclusion,
    Evidence,
    gain_of,
    limited_by,
    next_of,
    payload_ceiling,
)
from sanpath.verdict.hypotheses.links import uncounted_ports
from sanpath.verdict.hypotheses.path_policy import in_turn_weight, luns_with_policy, policy_evidence
from sanpath.verdict.hypotheses.tcp_windows import congestion
from sanpath.verdict.places.host_queues import wait_at
from sanpath.verdict.places.table import PlaceTable

_MODEL = 0.015
"""Standard error: the frame model is good to 1 %, and so is throughput."""
_OTHERS_FILL = {"host": -4.0, "switch": -2.0, "array": -2.0}
"""Least log-odds where others may fill what the test leaves: at an array's port more often than at the host's own."""
_SLOWER = -2.5
"""Least log-odds of a port whose capability alone is known: it may run slower than that, and be full."""
_OVERTURN = ("byte counters of these ports below 95 % of what a saturated link reads, at the same IOPS",)
_FLAT = "more load brings no more throughput"


@dataclass(frozen=True, slots=True)
class _Side:
    """Links that no source counted and that share the bytes of the test.

    `moved`: bytes a second of the test that cross them. `payload`: bytes a second of one full link. `faster_links`:
    number of faster links that carry as much as each of them.
    """

    links: Sequence[Cable]
    speed: Capacity
    payload: float
    moved: float
    faster_links: int = 0

    @property
    def total_payload(self) -> float:
        """Bytes a second that all these links carry together when they are full."""
        return self.payload * (len(self.links) + self.faster_links)

    @property
    def utilisation(self) -> float:
        """Share of what all these links carry together that the test moves."""
        return self.moved / self.total_payload

    def __str__(self) -> str:
        links = (
            f"one {self.speed.name} link" if len(self.links) == 1 else f"{len(self.links)} {self.speed.name} links"
        )
        return f"{links} with as much on each of {self.faster_links} faster" if self.faster_links else links


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for the links of each side together, and one for those of a side used one after the other."""
    explains, may_explain = table.transfer, table.before_transfer
    unmeasured = Evidence("their bytes were not measured", SELDOM)
    sides = _sides(table)
    known_links = {cable.id for side in sides for cable in side.links}
    signs = tuple(congestion(table))
    unread = [link for link in table.uncounted if link not in known_links]
    if unread:
        evidence = (Evidence(f"{unread[0]} is on the path, and how full it is was not measured", 0.0), *signs)
        because = (
            "nothing that was read accounts for the wait between host and array",
            f"{count(len(unread))} links on the way were not counted",
        )
        conclude = partial(
            limited_by, table, "fabric", because, _OVERTURN, ceiling=NO_CEILING, coincident=tuple(unread[1:])
        )
        yield Claim("link", unread[0], explains, evidence, conclude, UNREAD, may_explain=may_explain)
    for side in sides:
        first = side.links[0]
        words = f"the test moves {percent(side.utilisation)} of what {side} can carry"
        lowest = _OTHERS_FILL[first.side] if _negotiated(table, first) else _SLOWER
        together = (Evidence(words, max(at_limit(side.utilisation, _MODEL), lowest)), unmeasured, *signs)
        conclude = partial(_conclude_full, table, sides)
        yield Claim("link", first.id, explains, together, conclude, group="links", may_explain=may_explain)
        if len(side.links) > 1:
            of_one = side.moved / side.payload
            words = f"the test moves {percent(of_one)} of what one of {side} can carry"
            luns = len(luns_with_policy(table))
            weight = at_limit(of_one, _MODEL) if luns < 2 else in_turn_weight(of_one, luns, len(side.links))
            one = (Evidence(words, weight), unmeasured, *policy_evidence(table))
            entity = wait_at(table.facts, table.load, table.load.entity)
            in_turn = partial(_conclude_in_turn, table, side)
            yield Claim("path_policy", entity, explains, one, in_turn, UNREAD, may_explain=may_explain)


def _sides(table: PlaceTable) -> list[_Side]:
    """The uncounted links at the host and at the array that the test's I/O can cross.

    If some of them carried the same load in other steps, only those count.
    """
    facts, load = table.facts, table.load
    size = load.operation_bytes
    if size is None:
        return []
    cables = {cable.id: cable for path in table.paths for cable in path.cables}
    if not cables:
        cables = {cable.id: cable for cable in _adapters(table)}
    link_rows = facts.tables["link"].select(step=load.step, direction=load.direction)
    counted = {str(row["entity"]): row for row in link_rows if row["utilisation"] is not None}
    same_io = [other for other in facts.loads if other.comparable(load)]
    rows = (r for o in same_io for r in facts.tables["link"].select(step=o.step, direction=o.direction))
    carried = {row["entity"] for row in rows if row["on_loaded_path"]}
    sides = []
    for side in ("host", "array"):
        side_cables = [cable for cable in cables.values() if cable.side == side]
        uncounted = [cable for cable in side_cables if cable.id not in counted]
        links = [cable for cable in uncounted if cable.id in carried] or uncounted
        speeds = {cable.id: _speed(table, cable) for cable in links}
        known_speeds = [speed for speed in speeds.values() if speed is not None]
        if not known_speeds or len(known_speeds) < len(links):
            continue
        # Multipathing gives every path the same load, so the slowest path holds back the others.
        speed = min(known_speeds, key=lambda capacity: capacity.data_bytes_per_second)
        slowest = [cable for cable in links if speeds[cable.id] == speed]
        moved = load.bytes_per_second - sum(_of_the_test(counted[c.id]) for c in side_cables if c.id in counted)
        overhead = full_ratio(speed.technology, size) / counted_per_payload(speed.technology, size)
        payload = speed.data_bytes_per_second * overhead
        sides.append(_Side(slowest, speed, payload, max(0.0, moved), len(links) - len(slowest)))
    return sides


def _adapters(table: PlaceTable) -> Iterator[Cable]:
    """The links of the host's initiators where no switch is read, named by the initiators."""
    counting = {str(row["entity"]) for row, _ in uncounted_ports(table)}
    for hba in dict.fromkeys(table.initiators):
        if hba not in counting:
            yield Cable(hba, hba, hba, "host", "host", "host")


def _of_the_test(row: FactRow) -> float:
    """Bytes a second of a link that belong to the test."""
    return number(row, "bytes_per_second") - number(row, "foreign_bytes_per_second")


def _speed(table: PlaceTable, cable: Cable) -> Capacity | None:
    """The speed of a link. None: unknown, or its agent reports a speed that its own counters contradict."""
    counted = list(table.facts.tables["link"].select(entity=cable.id))
    port = table.facts.topology.entities[cable.switch_port]
    speeds = [row["negotiated_bits_per_second"] for row in counted if row["capacity_bytes_per_second"] is not None]
    if counted and not speeds:
        return None
    port_speed = port.attributes.get("speed_bits_per_second")
    if port.kind == "hba":
        port_speed = port_speed or port.attributes.get("capable_bits_per_second")
    technology = port.attributes.get("technology") or ("fibre_channel" if "wwpn" in port.ids else None)
    return _capacity(technology, speeds[-1] if speeds else port_speed)


def _negotiated(table: PlaceTable, cable: Cable) -> bool:
    """Whether the speed of a link was negotiated, and is not only the capability of one end."""
    port = table.facts.topology.entities[cable.switch_port]
    return port.kind != "hba" or port.attributes.get("speed_bits_per_second") is not None


def _capacity(technology: Scalar, speed: Scalar) -> Capacity | None:
    if technology not in ("fibre_channel", "ethernet") or not isinstance(speed, int | float):
        return None
    return link_capacity(cast(Technology, technology), float(speed))


def _conclude_full(table: PlaceTable, sides: Sequence[_Side], claims: Sequence[Claim]) -> Conclusion:
    named = {claim.entity for claim in claims}
    binding = [side for side in sides if side.links[0].id in named]
    facts, load, side = table.facts, table.load, binding[0]
    share = percent(side.utilisation)
    moved = f"{bandwidth(side.moved)} of payload"
    carries = "carries" if len(side.links) == 1 else "carry together"
    because = (
        f"{moved} = {share} of the {bandwidth(side.total_payload)} that {side} {carries}",
        flat_words(facts, load) or _FLAT,
        "the bytes of these links were not measured: this follows from where throughput stops growing",
    )
    following = _next(facts, load, binding)
    links = [cable.id for binding_side in binding for cable in binding_side.links]
    return limited_by(
        table,
        "fabric",
        because,
        _OVERTURN,
        claims,
        ceiling=payload_ceiling(load, side.total_payload),
        entity=links[0],
        coincident=tuple(links[1:]),
        explains=gain_of(following, load),
        following=following,
    )


def _conclude_in_turn(table: PlaceTable, side: _Side, claims: Sequence[Claim]) -> Conclusion:
    facts, load = table.facts, table.load
    moved = f"{bandwidth(side.moved)}: {percent(side.moved / side.payload)} of what one carries"
    because = (
        f"{side} could carry the test side by side, and it moves {moved}",
        flat_words(facts, load) or _FLAT,
        "their bytes were not measured: either one path is used, or all of them one after the other",
    )
    overturn_if = ("byte counters of both ports: both half used: the policy limits; one saturated: that link does",)
    ceiling, links = payload_ceiling(load, side.payload), tuple(cable.id for cable in side.links)
    return limited_by(table, "host", because, overturn_if, claims, ceiling=ceiling, coincident=links)


def _next(facts: Facts, load: LoadFacts, binding: Sequence[_Side]) -> Next | None:
    """The same links at the speed that the devices at their ends can do. None: unknown, or not faster."""
    side = binding[0]
    capable = [
        facts.topology.entities[cable.device].attributes.get("capable_bits_per_second")
        for binding_side in binding
        for cable in binding_side.links
    ]
    speeds = [_capacity(side.speed.technology, speed) for speed in capable]
    if any(speed is None for speed in speeds) or not load.operation_bytes:
        return None
    slowest = min((s for s in speeds if s is not None), key=lambda s: s.data_bytes_per_second)
    gain = slowest.data_bytes_per_second / side.speed.data_bytes_per_second
    if gain <= 1:
        return None
    return next_of(load, side.links[0].id, f"at {slowest.name}", side.total_payload * gain / load.operation_bytes)
