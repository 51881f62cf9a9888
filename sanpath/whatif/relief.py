"""The change that relieves a bottleneck: faster links, more slots, another path policy, or a lifted limit."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.catalogue.catalogue import capacities
from sanpath.catalogue.link_capacity import Capacity, link_capacity
from sanpath.catalogue.values import IN_TURN_POLICIES
from sanpath.diagnosis.model import Bottleneck
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.units import count, join_names
from sanpath.verdict.model import Judgement
from sanpath.whatif.ceilings import Ceiling, technology_of, unknown_spread_reason
from sanpath.whatif.change import Change, Policy
from sanpath.whatif.next_limit import faster_link

_WORTHWHILE_GAIN = 1.1
"""Smallest ratio of ceilings that makes a relief worth a separate change."""

_ETHERNET_SPEEDS = (1e9, 10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 800e9)
"""Speeds of Ethernet ports in bits per second (IEEE 802.3)."""

_LOADS_OWN = ("generator_limited", "demand_limited")
"""Verdicts of a load that sends no more I/Os: a queue below it that lets more through changes nothing."""


def relief(facts: Facts, judgement: Judgement, ceiling: Ceiling | None) -> tuple[Change, str]:
    """The change that relieves the limit of a step, with all coincident elements together, and its description.

    If nothing can be set, the change is empty, and the description gives the reason. `ceiling`: the lowest ceiling,
    which explains the step.
    """
    load = judgement.load
    if not judgement.bottlenecks:
        is_queue = ceiling is not None and ceiling.in_flight is not None and ceiling.entity != load.entity
        if ceiling is not None and is_queue and judgement.kind not in _LOADS_OWN:
            return Change(slots={ceiling.entity: float("inf")}), f"{ceiling.entity} lets all I/Os through"
        if judgement.kind == "concurrency_limited":
            total = facts.in_flight_in(load.step)
            return Change(in_flight=2 * total), f"{load.entity}.in_flight={count(2 * total)}"
        return Change(), f"nothing to relieve: {judgement.because[0] if judgement.because else judgement.kind}"
    bottleneck = judgement.bottlenecks[0]
    if judgement.kind == "configured_cap":
        lifted = frozenset(bottleneck.elements)
        return Change(lifted=lifted), f"the limit of {', '.join(sorted(lifted))} is lifted"
    match bottleneck.kind:
        case "link":
            return _links(facts, judgement, bottleneck)
        case "lun" | "vdisk":
            queues = bottleneck.elements
            words = f"{join_names(queues)} {'lets' if len(queues) == 1 else 'let'} all I/Os through"
            return Change(slots=dict.fromkeys(queues, float("inf"))), words
        case "path_policy" if bottleneck.coincident:
            rows = facts.tables["multipath"].select(step=load.step)
            luns = [str(row["entity"]) for row in rows if row["policy"] in (None, *IN_TURN_POLICIES)]
            policies = {lun: Policy(switch_operations=1.0) for lun in luns}
            words = f"{', '.join(luns) or bottleneck.entity}: the path changes after every I/O"
            if unknown_spread_reason(facts, load, Change(policies=policies)) is not None:
                # The measured shares apply to paths that are used in parallel.
                policies = {}
            return Change(policies=policies, lifted=frozenset({bottleneck.entity}), evenly=True), words
        case "credit_stall":
            lifted = frozenset(bottleneck.elements if bottleneck.culprit is None else [bottleneck.entity])
            words = "accepts frames in time" if bottleneck.culprit else "has enough buffer credits"
            return Change(lifted=lifted), f"{bottleneck.culprit or bottleneck.entity} {words}"
    return (
        Change(),
        f"nothing to relieve: {bottleneck.entity} publishes no ceiling: what it would do with more is not known",
    )


def with_parallel_links(facts: Facts, load: LoadFacts, links: Sequence[str]) -> list[str]:
    """These links, and parallel links of the same speed with nearly the same ceiling. If two fabrics carry equal
    shares and other hosts use a little of one, relieving only the fuller link gains only that little.
    """
    rows = facts.tables["link"].select(step=load.step, direction=load.direction, on_loaded_path=True)
    relieved = [row for row in rows if row["entity"] in links]
    lowest = min((number(row, "ceiling_bytes_per_second") for row in relieved), default=0.0)
    kinds = {(row["side"], row["speed"]) for row in relieved}
    parallel = [
        str(row["entity"])
        for row in rows
        if (row["side"], row["speed"]) in kinds
        and 0 < number(row, "ceiling_bytes_per_second") <= _WORTHWHILE_GAIN * lowest
        and row["entity"] not in links
    ]
    return [*links, *parallel]


def _links(facts: Facts, judgement: Judgement, bottleneck: Bottleneck) -> tuple[Change, str]:
    """Links at the speed that both ends support. If that is unknown: at the speed of other ports of both switches, or
    otherwise at the next higher speed."""
    key = {"step": judgement.load.step, "direction": judgement.load.direction}
    speeds, words = {}, []
    for entity in with_parallel_links(facts, judgement.load, bottleneck.elements):
        row = next(iter(facts.tables["link"].select(**key, entity=entity)), None)
        if row is None:
            return Change(), f"{entity} was measured at no switch: the gain from a faster one is not known"
        faster, reason = faster_link(row), "its ends can do it"
        if faster is None:
            faster, reason = _as_other_ports(facts, row), "other ports of its switches run at it"
        if faster is None:
            faster, reason = _next_speed(row), "the next speed: whether its ends can do more is not known"
        if faster is None:
            return Change(), f"{entity} has no faster speed"
        speeds[entity] = faster
        words.append(f"{entity}.speed={faster.name} ({reason})")
    return Change(speeds=speeds), ", ".join(words)


def _as_other_ports(facts: Facts, row: FactRow) -> Capacity | None:
    """The higher speed of other ports of both switches at a link's ends. None: no other port is faster."""
    speeds: dict[str, float] = {}
    for other in facts.tables["link"].select(step=row["step"]):
        for end in (str(other["sender"]), str(other["receiver"])):
            speeds[end] = max(speeds.get(end, 0.0), number(other, "negotiated_bits_per_second"))
    common = min(speeds.get(str(row[end]), 0.0) for end in ("sender", "receiver"))
    is_faster = row["between_switches"] and common > number(row, "negotiated_bits_per_second")
    return link_capacity(technology_of(row), common) if is_faster else None


def _next_speed(row: FactRow) -> Capacity | None:
    current = number(row, "capacity_bytes_per_second")
    speeds: Sequence[float] = [float(s["nominal_bits_per_second"]) for s in capacities()["fibre_channel"]["speeds"]]
    if technology_of(row) == "ethernet":
        speeds = _ETHERNET_SPEEDS
    capacities_known = [c for speed in speeds if (c := link_capacity(technology_of(row), speed)) is not None]
    return next((c for c in capacities_known if current and c.data_bytes_per_second >= 2 * current), None)
