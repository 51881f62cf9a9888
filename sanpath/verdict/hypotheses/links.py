"""A link is full: by the counters of a switch, by those of a port at one end, or because throughput stops at its
rate."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import log

from sanpath.diagnosis.model import Next
from sanpath.facts.fabric.capacities import capacity_at, is_speed_read
from sanpath.facts.fabric.link_measures import is_saturated
from sanpath.facts.fabric.links import is_faster
from sanpath.facts.fabric.load_shares import IN_USE
from sanpath.facts.fabric.neighbours import WAITED_FOR
from sanpath.facts.facts import Facts
from sanpath.facts.storage.load_volumes import SHARED
from sanpath.facts.table import FactRow, FactValue, number
from sanpath.model import Layer
from sanpath.topology.paths import IoPath, hosts_of_all
from sanpath.units import bandwidth, counted, percent
from sanpath.verdict.evidence.likelihoods import BURSTS, NO_BURSTS, UNEXPLAINED, limit_weight, stall_weight
from sanpath.verdict.evidence.step import flat_throughput_words
from sanpath.verdict.hypotheses.claim import (
    SELDOM,
    UNREAD,
    Claim,
    Conclusion,
    Evidence,
    conclusion_of,
    latency_gain,
    next_limit,
)
from sanpath.verdict.hypotheses.retries import DROPS_WEIGHT, may_overflow
from sanpath.verdict.hypotheses.tcp_windows import congestion
from sanpath.verdict.places.path_links import COINCIDENT, PathLink, initiators_by_target, path_links
from sanpath.verdict.places.table import PlaceTable

_BUSY = 0.5
"""Utilisation from which a port that makes others wait for credit is full. A slow-drain port carries little."""
_MAX_OTHERS_FILL_WEIGHT = 1.5
"""Largest weight of a full link if it is not known whether the test uses it: sanpath's own choice."""
_MAX_USE_PROBABILITY = 0.5
"""Highest probability that the test uses a link whose use is not known: one of two, in two fabrics."""
KNOWN_BY_BYTES_RATIO = 0.95
"""Share of the links, of those that seem to carry the test by the number of their bytes alone, that do: another host
may move as many. sanpath's own choice; such a verdict is B at most."""
_MOST = 0.5
"""Two shares. From the first share of the load's bytes at a device, the load may cause the device's other bytes. From
the second share of foreign bytes on a link, others fill that link."""
_REMAINING_RATIO = 0.5
"""Share of a link's utilisation that remains in a pause of the test, from which the report mentions it."""
_MIN_FEW_HOSTS_WEIGHT = -6.0
"""Smallest log-odds of a link whose hosts have too few I/Os in flight for the wait: sanpath's own choice, 1 to
400."""
_CAP_UNREAD_WEIGHT = -1.2
"""Log-odds of a link that stays just below full if no source shows whether a cap holds it there: sanpath's own
choice, 0.3 to 1."""
_BELOW_FULL = 0.02
"""Distance below full from which an unread cap may limit a link."""
_MIN_UNCOUNTED_WEIGHTS = {"host": -4.0, "array": -2.0}
"""Smallest log-odds of uncounted links, by side. Others may fill what the test leaves: more often at an array's port
than at the host's own."""
_MIN_CAPABLE_ONLY_WEIGHT = -2.5
"""The same for a port of which only the capability is known: it may run slower, and be full."""
_UNCOUNTED_OVERTURN = ("byte counters of the switch ports there below 95 % of what a saturated link carries",)


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for each link that carries the load or may carry it, and one for all links without any reading."""
    links, signs = path_links(table), tuple(congestion(table))
    explains, may_explain, conclude = table.transfer, table.before_transfer, partial(_conclude, table)
    sides_with_room = {link.side for link in links if not link.is_at_limit}
    possible = Counter(link.side for link in links if link.share is None)
    for link in links:
        use_probability = 1.0
        # If all links that the test can use are full, the test uses a full link.
        if link.share is None and link.side in sides_with_room:
            # Each initiator uses one of them.
            use_probability = min(_MAX_USE_PROBABILITY, max(1, len(table.initiators)) / possible[link.side])
        evidence = [*_evidence(table, link, use_probability), *(signs if link.cables else ())]
        evidence += _few_hosts_evidence(table, link, links)
        claim = Claim("link", link.entities[0], explains, evidence, conclude, group="links", may_explain=may_explain)
        yield replace(claim, others_share=number(link.row or {}, "foreign_ratio"))
    unread = _unread(table, links)
    if unread:
        rows = table.rows("link", direction=table.load.direction)
        dropping = {str(row["entity"]) for row in rows if may_overflow(row)}
        unread.sort(key=lambda link: link not in dropping)
        evidence = [Evidence(f"{unread[0]} is on the path, but its utilisation was not measured", 0.0), *signs]
        if unread[0] in dropping:
            evidence.append(Evidence(f"{unread[0]} drops frames, as a full port does", DROPS_WEIGHT))
        because = (
            "nothing that was read accounts for the wait between host and array",
            f"not counted: {counted(len(unread), 'link')} on the path",
        )
        # If all links are unread and one of them is full, it is one that drops frames.
        others = tuple(link for link in unread[1:] if link in dropping or not dropping)
        limits = conclusion_of(
            table, "fabric", because, _UNCOUNTED_OVERTURN, ceiling_ratio=None, coincident=others, by_exclusion=True
        )
        yield Claim("link", unread[0], explains, evidence, limits, UNREAD, may_explain=may_explain)


def _unread(table: PlaceTable, links: Sequence[PathLink]) -> list[str]:
    """The links on the path whose use no source shows: neither a switch, nor the port at one end, nor the load's
    bytes."""
    known = {entity for link in links for entity in link.entities}
    at_known_ports = {
        cable.id for path in table.paths for cable in path.cables if not known.isdisjoint(cable.devices)
    }
    return [link for link in table.uncounted if link not in known | at_known_ports]


def is_known_by_bytes(entity: str) -> bool:
    """Whether only its bytes tell that a link carries the test: it has the name of its switch port, because no source
    names the device there."""
    return entity.startswith("switch_port:")


def _evidence(table: PlaceTable, link: PathLink, use_probability: float) -> Iterator[Evidence]:
    """Evidence for and against a full link. `use_probability`: that the test uses it."""
    weight = limit_weight(link.filled, link.error, NO_BURSTS if link.is_steady else BURSTS)
    if link.cables:
        is_speed_known = is_speed_read(table.facts.topology, table.facts.tables["link"], link.cables[0])
        least = _MIN_UNCOUNTED_WEIGHTS[str(link.side)] if is_speed_known else _MIN_CAPABLE_ONLY_WEIGHT
        yield Evidence(link.words, max(weight, least))
        yield Evidence("their bytes were not measured", SELDOM)
        return
    if use_probability < 1 and link.row is not None:
        # Others may have filled this link: if the test alone filled it, its bytes would show that the test uses it.
        weight = min(weight, _MAX_OTHERS_FILL_WEIGHT)
    if link.row is not None and _is_full_of_others_the_other_way(table, link.row):
        weight = min(weight, _waited_share(table) / UNEXPLAINED)
    yield Evidence(link.words, weight)
    if use_probability < 1:
        yield Evidence("it is not known whether the test uses it", log(use_probability))
    elif is_known_by_bytes(link.entities[0]):
        words = "no source names the device there: the port moves as many bytes as the test, and so may another host"
        yield Evidence(words, log(KNOWN_BY_BYTES_RATIO))
    stall = number(link.row, "upstream_stall_ratio") - number(link.row, "credit_stall_ratio") if link.row else 0.0
    if stall > 0 and link.filled >= max(_BUSY, WAITED_FOR * stall):
        words = f"ports that send to it wait for credit {percent(stall)} of the time"
        yield Evidence(words, max(0.0, stall_weight(stall)) / 2)
    if _may_be_capped(table, link):
        yield Evidence("without data from the array, a cap just below it is possible", _CAP_UNREAD_WEIGHT)


def _few_hosts_evidence(table: PlaceTable, link: PathLink, links: Sequence[PathLink]) -> Iterator[Evidence]:
    """Evidence against a link that only some hosts cross. I/Os of other hosts do not wait for it, nor for equally
    full links of that side. By Little's law, their wait is at most these hosts' share of the I/Os in flight, as a
    share of the mean latency of all."""
    facts, load = table.facts, table.load
    parts = [part for of_part in facts.parts for part in of_part.loads if part.whole == load]
    as_full = (other for other in links if other.side == link.side and other.filled >= (1 - COINCIDENT) * link.filled)
    paths = _all_paths(table) if parts else ()
    held = {host for other in as_full for host in _hosts_over(paths, other)}
    if not held:
        return
    crossing = sum(
        part.in_flight_measured for part in parts if not held.isdisjoint(hosts_of_all(facts.topology, part.roots))
    )
    share = crossing / sum(part.in_flight_measured for part in parts)
    waited = sum(table.segments[index].wait[1] for index in table.transfer) / load.latency_seconds
    if waited > share:
        words = f"only {percent(share)} of the outstanding I/Os come from hosts that cross it"
        yield Evidence(words, max(_MIN_FEW_HOSTS_WEIGHT, (share - waited) / UNEXPLAINED))


def _is_full_of_others_the_other_way(table: PlaceTable, row: FactRow) -> bool:
    """Whether most bytes of a link are not the load's, in the direction in which only the load's commands or
    responses go. These are few and small, and many networks let them pass: only a wait shows that they are in the
    link's queue."""
    return row["direction"] != table.load.direction and (
        row["on_loaded_path"] is False or number(row, "foreign_ratio") > _MOST
    )


def _waited_share(table: PlaceTable) -> float:
    """The certain wait of frames, as a share of the time from the transfer down. A single I/O of the test also waits,
    for the I/Os of others."""
    waiting = [table.segments[index] for index in sorted(table.transfer)]
    if not waiting:
        return 0.0
    return min(1.0, sum(segment.independent_wait[0] for segment in waiting) / (waiting[0].remaining_seconds or 1.0))


def _may_be_capped(table: PlaceTable, link: PathLink) -> bool:
    return table.array is None and 1 - link.filled > _BELOW_FULL


def _conclude(table: PlaceTable, claims: Sequence[Claim]) -> Conclusion:
    """The lowest ceiling binds; coincident links are named with it."""
    load = table.load
    named = {claim.entity for claim in claims}
    suspected = [link for link in path_links(table) if link.entities[0] in named]
    # Utilisations as close as coincident ceilings are equally full: a threshold between them would hide one.
    fullest = min(1.0, max(link.filled for link in suspected))
    full = [link for link in suspected if link.filled >= (1 - COINCIDENT) * fullest]
    # An uncounted link is named only if no counted link explains the limit.
    full = [link for link in full if not link.cables] or full
    lowest = min(link.ceiling for link in full)
    # The link is full in the direction opposite to the payload, so its ceiling is unknown.
    against = [link for link in full if link.row is not None and link.row["direction"] != load.direction]
    binding = sorted(against, key=lambda link: -link.filled)
    binding = binding or _binding(table, [link for link in full if link.ceiling <= lowest * (1 + COINCIDENT)])
    first, following = binding[0], _next(table, binding[0])
    return conclusion_of(
        table,
        _layer(table.facts, binding),
        (first.words, *_caused_bytes(table)) if against else tuple(_because(table, first)),
        tuple(_overturn(first, _another_path(table, binding), bool(against))),
        ceiling_ratio=lowest / load.bytes_per_second if lowest and not against else None,
        following=following,
        entity=first.entities[0],
        direction=load.direction if first.row is None else str(first.row["direction"]),
        coincident=tuple(entity for link in binding for entity in link.entities)[1:],
        utilisation=first.utilisation,
        explains=latency_gain(following, load),
    )(claims)


def _binding(table: PlaceTable, full: Sequence[PathLink]) -> list[PathLink]:
    """Return the full links that bind the load, the most important one first.

    Hosts do not wait for each other: a link that only some hosts cross is no ceiling for the others. It comes after
    links that more hosts cross, and binds together with them only if every host is held back by a link of its own.
    Relieving one of two links in series gains nothing, so it comes after a link that stands alone.
    """
    all_paths = _all_paths(table)
    hosts = {link.entities: _hosts_over(all_paths, link) for link in full}
    carrying = _carrying_paths(table, all_paths)
    paths = {link.entities: carrying.intersection(_paths_over(all_paths, link)) for link in full}
    crossed = Counter(index for of_link in paths.values() for index in of_link)
    in_a_row = {link: all(crossed[i] > 1 for i in of_link) and bool(of_link) for link, of_link in paths.items()}
    ordered = sorted(full, key=lambda k: (-len(hosts[k.entities]), in_a_row[k.entities], *_sort_key(k)))
    most = hosts[ordered[0].entities]
    held: defaultdict[FactValue, set[str]] = defaultdict(set)
    for link in full:
        held[link.side] |= hosts[link.entities]
    return [link for link in ordered if held[link.side] >= most]


def _all_paths(table: PlaceTable) -> list[IoPath]:
    """Return the load's paths: those over switches that were read, and the multipath paths of initiators without any
    of these."""
    topology, cabled = table.facts.topology, {path.hba for path in table.paths}
    unread = [
        IoPath("", host, hba, (), port, "")
        for port, initiators in initiators_by_target(table).items()
        for hba in sorted(initiators - cabled)
        for host in topology.related(hba, "attached_to", "host")
    ]
    return [*table.paths, *unread]


def _hosts_over(paths: Sequence[IoPath], link: PathLink) -> set[str]:
    """Return the hosts of the load whose paths cross a link; empty if no host is known to."""
    return {paths[index].host for index in _paths_over(paths, link)}


def _paths_over(paths: Sequence[IoPath], link: PathLink) -> list[int]:
    """Return the indices of the load's paths that cross a link."""
    names = set(link.entities)
    return [i for i, path in enumerate(paths) if names & {path.hba, path.array_port, *(c.id for c in path.cables)}]


def _carrying_paths(table: PlaceTable, paths: Sequence[IoPath]) -> set[int]:
    """Return the indices of the load's paths on which every link carries more than a trace of the load."""
    rows = table.rows("link", direction=table.load.direction, on_loaded_path=False)
    idle = {row["entity"] for row in rows}
    return {i for i, path in enumerate(paths) if idle.isdisjoint(cable.id for cable in path.cables)}


def _sort_key(link: PathLink) -> tuple[bool, bool, float, tuple[str, ...]]:
    """Sort key: links that a switch counts come first, because their figures are the best evidence. Then those at the
    host, which a person can check first."""
    return link.row is None, link.side != "host", -round(link.utilisation or link.filled, 3), link.entities


def _because(table: PlaceTable, link: PathLink) -> Iterator[str]:
    """The reasons for a full link."""
    facts, load, row = table.facts, table.load, link.row
    flat = flat_throughput_words(facts, load)
    if row is None:
        yield link.words
        if link.cables:
            yield flat or "more load brings no more throughput"
            yield "the bytes of these links were not measured: this follows from where throughput stops growing"
        else:
            yield "no switch port there was measured: these are its own counters"
        return
    moved, capacity = number(row, "bytes_per_second"), number(row, "capacity_bytes_per_second")
    full = f"a saturated {row['speed']} link shows {percent(number(row, 'full_ratio'))}"
    yield f"{bandwidth(moved)} counted of {bandwidth(capacity)} = {percent(number(row, 'utilisation'))}; {full}"
    windows = counted(number(row, "windows"), "window")
    yield f"saturated in {percent(number(row, 'full_windows_ratio'))} of {windows}"
    if number(row, "foreign_ratio") > SHARED:
        foreign = number(row, "foreign_bytes_per_second")
        yield f"{bandwidth(foreign)} of it is not the test's: something else uses this link, too"
    alone = facts.pauses[-1].links.get((link.entities[0], load.direction)) if facts.pauses else None
    if alone is not None and alone >= _REMAINING_RATIO * number(row, "utilisation"):
        yield f"while the test paused, it was still {percent(alone)} utilised"
    if flat is not None:
        yield flat
    if _may_be_capped(table, link):
        yield "a little less than a saturated link carries: without data from the array, a cap there is possible"


def _caused_bytes(table: PlaceTable) -> Iterator[str]:
    """Bytes that the load's devices move in the direction in which the test moves none: a snapshot or a cache reads
    before it writes, and so does RAID with parity."""
    load = table.load
    if table.opposite_direction:
        return
    planes = table.rows("plane")
    moved = {row["entity"]: number(row, "bytes_per_second") for row in planes if row["direction"] == load.direction}
    of_load = {entity for entity, rate in moved.items() if rate >= _MOST * load.bytes_per_second}
    caused = [row for row in planes if row["direction"] != load.direction and row["entity"] in of_load]
    most = max(caused, key=lambda row: number(row, "bytes_per_second"), default=None)
    if most is not None and number(most, "bytes_per_second") > SHARED * load.bytes_per_second:
        verb = "reads" if load.direction == "write" else "writes"
        rate = bandwidth(number(most, "bytes_per_second"))
        yield f"{most['entity']} {verb} {rate} that the test did not ask for, as snapshots, caches and RAID do"


def _another_path(table: PlaceTable, binding: Sequence[PathLink]) -> str:
    """What another path would have to show to overturn the verdict. The test may already use one."""
    named = {entity for link in binding for entity in link.entities}
    others = (row for row in table.links if row["on_loaded_path"] and row["entity"] not in named)
    if any(row["side"] == binding[0].side and number(row, "share") >= IN_USE for row in others):
        return "a run in which this path carries less and IOPS stay the same"
    return f"{'a second' if len(binding) == 1 else 'another'} path that carries bytes of the test at the same IOPS"


def _overturn(link: PathLink, another_path: str, is_against: bool) -> Iterator[str]:
    """What would overturn the verdict. `is_against`: the link is full in the other direction than the test's data."""
    row = link.row
    if row is None:
        yield from _UNCOUNTED_OVERTURN
        return
    yield another_path
    if not is_against and number(row, "foreign_ratio") <= SHARED:
        yield "another host that causes more than 5 % of the bytes of this link; none was seen"
    if row["technology"] == "fibre_channel":
        yield "time without transmit credit on its ports, which would name a slow device behind it"


def _layer(facts: Facts, binding: Sequence[PathLink]) -> Layer:
    """The layer of the end with the lower capability.

    If both ends are equal: the array's front end if every array port in use is full, else the fabric.
    """
    first = binding[0]
    if not first.cables and first.row is None:
        return "host" if first.side == "host" else "array_front"
    rows = [link.row for link in binding if link.row is not None]
    row = rows[0] if rows else {}
    if len(rows) < len(binding) or any(r["side"] == "switch" or r["switch_is_slower"] is not False for r in rows):
        return "fabric"
    if is_faster(number(row, "capable_high_bits_per_second"), number(row, "negotiated_bits_per_second")):
        return "host" if row["side"] == "host" else "array_front"
    key = {"step": row["step"], "direction": row["direction"]}
    ports = facts.tables["link"].select(**key, on_loaded_path=True, side="array")
    return "array_front" if ports and all(is_saturated(port) for port in ports) else "fabric"


def _next(table: PlaceTable, link: PathLink) -> Next | None:
    """The next limit of uncounted links: the same links at the speed that the devices at their ends support. None:
    unknown, or not faster."""
    entities, load, speed = table.facts.topology.entities, table.load, link.speed
    if speed is None or not load.operation_bytes:
        return None
    capable = [entities[cable.device].attributes.get("capable_bits_per_second") for cable in link.cables]
    speeds = [each for bits in capable if (each := capacity_at(speed.technology, bits)) is not None]
    slowest = min(speeds, key=lambda each: each.data_bytes_per_second, default=speed)
    gain = slowest.data_bytes_per_second / speed.data_bytes_per_second
    if gain <= 1 or len(speeds) < len(capable):
        return None
    return next_limit(load, link.entities[0], f"at {slowest.name}", link.ceiling * gain / load.operation_bytes)
