"""Damaged or lost frames, and failing paths: commands time out, or TCP segments are retransmitted.

Each loss costs far more than an I/O. A few bad frames a minute can take nearly all of a test's throughput, because
I/Os that wait for their time-out fill the queue. Error counters show it even if no source reads aborts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import log

from sanpath.facts.fabric.link_measures import filled_ratio
from sanpath.facts.fabric.load_shares import LOADED
from sanpath.facts.table import FactRow, number
from sanpath.topology.keys import normalise
from sanpath.topology.paths import hosts_of_all
from sanpath.units import count, duration, percent
from sanpath.verdict.evidence.likelihoods import UNEXPLAINED, event_weight
from sanpath.verdict.evidence.tail import tail_weight
from sanpath.verdict.hypotheses.claim import Claim, Evidence, conclusion_of
from sanpath.verdict.places.table import PlaceTable
from sanpath.verdict.places.tcp_path import most_with_loss

_COUNTERS = ("crc_errors_per_second", "errors_per_second")
"""Link facts of damaged frames; the first one that was read counts."""
_DEVICE_COUNTERS = {
    "array_port": ("crc_errors_per_second", "invalid_words_per_second", "errors_per_second"),
    "initiator": ("errors_per_second",),
}
"""Fact table → facts of its devices for frames that arrived damaged."""
_KINDS = ("hba", "array_port")
_MAX_DAMAGE_WEIGHT, _MAX_CONFIRMED_WEIGHT = 5.0, 1.0
"""Largest log-odds of loss for damaged frames, and for aborted commands in addition: sanpath's own choices, 148 to 1
and 3 to 1. They are bounded because bad cables are also found on paths that lose hardly any time to them."""
_MOSTLY_DROPPED_RATIO = 0.9
"""Share of drops in a port's lost frames from which damage is not the reason for the loss: sanpath's own choice."""
DROPS_WEIGHT = 0.7
"""Log-odds of a full link for dropped frames at a port of unknown utilisation: sanpath's own choice, 2 to 1. For loss
as the limit they count neither way: a port that is full drops frames, and they cost little beside the wait for it."""
_FULL_RATIO = 0.8
"""Share of a queue's slots in use from which I/Os wait for a slot that a lost I/O holds: sanpath's own choice."""
_MIN_EVENTS = 0.5
"""Smallest number of events that counts. A smaller number means that there was no event."""
_NO_ABORTS_WEIGHT = -3.0
"""Log-odds of loss if aborted commands are counted and there were none: sanpath's own choice, 1 to 20."""
_RETRANSMIT_RATIO = "tcp_retransmit_ratio"
_SENDER_TABLES: Mapping[str, tuple[str, ...]] = {"host": ("host",), "array": ("array", "volume")}
"""Sender of data → fact tables with its retransmitted share. A volume has the share of its array, which may have no
facts of its own."""
_USUAL_LOSS_RATIO = 0.01
"""Share of TCP segments retransmitted if only a full queue drops them. A server with full media is slow to read
received data, so its hosts retransmit (measured: 1 % over nvmet)."""
_MAX_RESENT_WEIGHT = 4.0
"""Largest weight of retransmitted segments for the claim: sanpath's own choice, 55 to 1. They prove the loss, not its
cost."""
_RETRANSMIT_PRIOR = -1.5
"""Log-odds that loss limits the load, before the ratio was read: sanpath's own choice, 1 to 4."""
_ABORTS_PRIOR = -2.0
"""Log-odds of lost commands if some were aborted and no damaged frame was counted: a stall, or an array that does not
answer, also causes aborts. sanpath's own choice, 1 to 7."""
_TCP_TIMEOUT_SECONDS = 0.3
"""Shortest time-out of a connection that has measured its round trips (Windows; Linux: 0.2 s). Most lost segments are
retransmitted sooner, after three later ones have arrived (RFC 5681)."""
_USUAL_ROUND_TRIP_SECONDS = 2e-3
"""Round trip of a segment and its acknowledgement over a few switches, with the time at both ends. It includes what
time-outs add: with time-outs, a connection moves less than the bound (Padhye, Firoiu, Towsley and Kurose 1998)."""
_BOUND_WEIGHT = 2.0
"""Log-odds of loss if the load reaches the bound: few networks lose that much without being limited by it."""
_BOUND_READ_WEIGHT = 3.5
"""The same if round trip, segment size and bytes were read for the connection itself, so that the bound needs no
usual values."""
_HARMLESS_RATIO = 1e-4
"""Largest share of lost segments that limits nothing: a queue that fills up now and then drops some."""
_CLEARLY_LOSSY_RATIO = 0.1
"""Share of the largest ratio of lost segments from which another connection's links may be the lossy ones as well."""
_UNREAD_END_SHARE = 0.05
"""Share of the retransmitted segments that a port must count to be more suspect than an unread end."""
_USUAL_SEGMENT_BYTES = 1448.0
"""Payload of a full segment: an Ethernet frame of 1500 bytes less IP and TCP headers with time stamps (RFC 7323)."""
_MIN_SHORT_WAIT_WEIGHT = -9.0
"""Smallest log-odds of lost I/Os that cannot account for the wait."""
_MIN_RATIO = 1e-6
"""Lower bound of ratios, because 0 has no logarithm: sanpath's own choice."""
_FAILED_PATH_WEIGHT = 2.0
"""Log-odds of a path that failed or came back in the step: I/Os sent over it were lost."""
_DAMAGE_PRIOR = -0.7
"""Log-odds of damage before any reading: it is rarer than an undersized queue or link."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """Claims for damaged frames or aborted commands, for retransmitted TCP segments, and for failed paths."""
    yield from _retransmitted(table)
    yield from _failed_paths(table)
    seconds = max(1.0, table.load.seconds or table.step.seconds)
    damaged = {place: rate * seconds for place, rate in _damaged_frames(table).items()}
    aborted = {device: rate * seconds for device, rate in _counts(table, "device", "aborts_per_second").items()}
    frames, commands = max(damaged.values(), default=0.0), max(aborted.values(), default=0.0)
    if max(frames, commands) < _MIN_EVENTS:
        return
    counts, prior = (damaged, _DAMAGE_PRIOR) if frames >= _MIN_EVENTS else (aborted, _ABORTS_PRIOR)
    entity, evidence = max(counts, key=lambda place: counts[place]), []
    if frames >= _MIN_EVENTS:
        # An Ethernet port also counts frames that it drops because its buffer is full.
        lost = "damaged or dropped" if table.has_ethernet else "damaged"
        words = f"{count(round(frames))} {lost} frames at {entity} in {seconds:.0f} s"
        most = _MAX_DAMAGE_WEIGHT
        rows = table.rows("link", direction=table.load.direction)
        if any(row["entity"] == entity and may_overflow(row) for row in rows):
            words, most = f"{words}; a full port drops frames, too, and its utilisation is not known", 0.0
        evidence.append(Evidence(words, min(most, event_weight(frames))))
        evidence += _cost_evidence(table, sum(damaged.values()) / seconds)
        evidence += _few_retransmissions_evidence(table)
    if aborted:
        weight = event_weight(commands) if commands >= _MIN_EVENTS else _NO_ABORTS_WEIGHT
        if frames >= _MIN_EVENTS:  # Both counters show the same damage.
            weight = min(_MAX_CONFIRMED_WEIGHT, weight)
        evidence.append(Evidence(f"{count(round(commands))} commands aborted in {seconds:.0f} s", weight))
    yield _claim(table, entity, evidence, prior)


def may_overflow(row: FactRow) -> bool:
    """Whether the frames that a link loses may be those that do not fit into the buffer of a full port: an Ethernet
    port whose utilisation is not known drops them, and hardly any arrived damaged."""
    is_unknown = row["technology"] == "ethernet" and row["utilisation"] is None
    dropped, lost = number(row, "discards_per_second"), number(row, "errors_per_second")
    return is_unknown and dropped > 0 and dropped >= _MOSTLY_DROPPED_RATIO * lost


def _failed_paths(table: PlaceTable) -> Iterator[Claim]:
    """A claim for each LUN of the load with a path that failed in the step, or that flaps around it: its I/Os wait
    for a time-out first."""
    topology, load = table.facts.topology, table.load
    hosts = set(hosts_of_all(topology, load.roots))
    for row in table.rows("multipath"):
        if hosts.isdisjoint(topology.related(str(row["entity"]), "attached_to")):
            continue
        for fact, path, when in (
            ("changing_paths", row["lost_path"], "in this step"),
            ("flapping_paths", row["flapping_path"], "again and again around this step"),
        ):
            if row[fact] and path is not None:
                failed, paths = count(number(row, fact)), count(number(row, "paths"))
                words = f"{failed} of {paths} paths failed or came back {when}, {path} first"
                evidence = (Evidence(words, _FAILED_PATH_WEIGHT),)
                yield _claim(table, f"path:{path}", evidence, _DAMAGE_PRIOR, table.gaps, "all of its paths work")
                break


def _claim(
    table: PlaceTable,
    entity: str,
    evidence: Sequence[Evidence],
    prior: float,
    segments: frozenset[int] | None = None,
    without: str = "its error counters do not increase",
    others: Sequence[str] = (),
) -> Claim:
    """A claim that losses at `entity` limit the load.

    `segments`: where I/Os wait, None: wherever a loss delays them. `without`: a condition under which the same
    latency refutes the claim. `others`: elements that are as probable a place of the loss as `entity`."""
    latency_seconds = table.load.latency_seconds
    weight, words = tail_weight(table.load)
    evidence = (*evidence, Evidence(words, weight)) if weight else tuple(evidence)
    explains = _lossy_segments(table) if segments is None else segments
    lost_seconds = _waited_seconds(table, explains)
    lost = f"retries take about {duration(lost_seconds)} of {duration(latency_seconds)} between host and array"
    because = (*(reading.words for reading in evidence), lost)
    share, overturn_if = min(1.0, lost_seconds / latency_seconds), (f"the same latency while {without}",)
    conclude = conclusion_of(
        table,
        "fabric",
        because,
        overturn_if,
        waits_inside=True,
        ceiling_ratio=None,
        explains=share,
        coincident=tuple(others),
    )
    return Claim("retries", entity, explains, evidence, conclude, prior, growth="any", independent_of_load=True)


def _cost_evidence(table: PlaceTable, frames_per_second: float) -> Iterator[Evidence]:
    """Evidence against lost frames if those of all places together cost too little.

    A loss delays one I/O, at most by the time of the slowest I/O of the test. Over TCP it delays all later data of
    its connection, which is delivered in order, at most by a time-out.
    """
    load = table.load
    limits = (
        (table.step.seconds, "the step took"),
        (load.slowest_seconds, "the slowest took"),
        (_TCP_TIMEOUT_SECONDS if table.has_ethernet else None, "TCP sends them again within"),
    )
    longest, because = min((seconds, words) for seconds, words in limits if seconds is not None)
    delayed = max(1.0, table.facts.in_flight_in(load.step)) if table.has_ethernet else 1.0
    most = min(1.0, delayed * frames_per_second / load.ops_per_second) * longest
    # A lost I/O holds its slot until it is sent again: I/Os that wait for a slot also wait for it.
    full = {
        i
        for i, each in enumerate(table.segments)
        if each.queue is not None and (each.filled_ratio or 0) > _FULL_RATIO
    }
    waited = _waited_seconds(table, _lossy_segments(table) - full)
    if waited > most:
        words = f"sent again, they cost an I/O {duration(most)} at most: {because} {duration(longest)}"
        yield Evidence(words, max(_MIN_SHORT_WAIT_WEIGHT, -(waited - most) / load.latency_seconds / UNEXPLAINED))


def _few_retransmissions_evidence(table: PlaceTable) -> Iterator[Evidence]:
    """Evidence against lost frames over Ethernet if the sender of the data retransmits few segments."""
    again = _retransmissions(table, _sender(table)) if table.has_ethernet else []
    if again and (weight := max(_MIN_SHORT_WAIT_WEIGHT, *(weight for weight, _, _ in again))) < 0:
        ratio = max(ratio for _, ratio, _ in again)
        yield Evidence(f"at most {percent(ratio)} of the TCP segments were sent again", weight)


def _loss_weight(table: PlaceTable, ratio: float, connection: FactRow) -> float:
    """Log-odds of loss as the limit, given the share of TCP segments that the data's sender retransmitted.

    Throughput near the bound for this loss and round trip supports loss as the limit. Throughput far below the bound
    contradicts it, unless as much is unacknowledged as the bound allows: with time-outs, a connection moves less. A
    connection limited by a full queue that drops packets also reaches it. So the part of the round trip that may be
    time in a queue counts neither way. A link has no queue while it is not full.
    `connection`: facts of the connection that carries the load, empty: not read.
    """
    round_trip = number(connection, "round_trip_seconds")
    segment_bytes = number(connection, "segment_bytes") or _USUAL_SEGMENT_BYTES
    carried = number(connection, "bytes_per_second") / max(1.0, number(connection, "connections"))
    carried = carried or table.load.bytes_per_second
    allowed = most_with_loss(segment_bytes, max(ratio, _MIN_RATIO))
    held = max(round_trip, _unacknowledged_seconds(table, connection)) if round_trip else _USUAL_ROUND_TRIP_SECONDS
    round_trips = carried * held / allowed
    alone_ratio = 1.0
    if round_trip:
        without_queue = number(connection, "round_trip_seconds_min") / round_trip
        alone_ratio = min(1.0, max(without_queue, _no_queue_ratio(table, connection)))
    unusual_ratio = min(1.0, log(max(ratio, _MIN_RATIO) / _MIN_RATIO) / log(_HARMLESS_RATIO / _MIN_RATIO))
    # A receiver that has more unread data than is in transit does not wait for a lost segment.
    on_the_way, unread = carried * round_trip, number(connection, "unread_bytes")
    waits_ratio = on_the_way / (on_the_way + unread) if on_the_way else 1.0
    most = (_BOUND_READ_WEIGHT if round_trip else _BOUND_WEIGHT) * alone_ratio * unusual_ratio + 2 * log(waits_ratio)
    return max(_ratio_weight(ratio), most + min(0.0, 4 * log(max(round_trips, _MIN_RATIO))))


def _unacknowledged_seconds(table: PlaceTable, connection: FactRow) -> float:
    """Time that sent data of a connection need to be acknowledged. It contains the time in which lost segments are
    sent again; the measured round trip does not, because a retransmitted segment is not timed (RFC 6298, Karn's
    algorithm). 0: not read, or acknowledgements wait for answers."""
    if table.tcp is None or connection.get("sending_seconds") is None:
        return 0.0
    return table.tcp.prompt_ratio * (number(connection, "sending_seconds") - number(connection, "unsent_seconds"))


def _no_queue_ratio(table: PlaceTable, connection: FactRow) -> float:
    """Share of the time in which no link that a connection crosses can have a queue, because its port sends arriving
    frames at once. 0: not every link is counted. All links of the path, if its ends are not known."""
    crossed = _links_between_ends(table, {str(connection["entity"])})
    rows = [row for row in (*table.on_path, *table.opposite_links) if crossed is None or row["entity"] in crossed]
    if table.uncounted or not rows or any(row["utilisation"] is None for row in rows):
        return 0.0
    return max(0.0, 1 - max(filled_ratio(row) or 0.0 for row in rows))


def _ratio_weight(ratio: float) -> float:
    """Log-odds of loss as the limit, given only the share of retransmitted segments."""
    return 2 * log(max(ratio, _MIN_RATIO) / _USUAL_LOSS_RATIO)


def _sender(table: PlaceTable) -> str:
    """The side that sends the data."""
    return "array" if table.load.direction == "read" else "host"


def _retransmitted(table: PlaceTable) -> Iterator[Claim]:
    """A claim if host or array retransmitted TCP segments.

    They prove the loss; error counters show its place: a link, or a port of the host if no link was read. Without
    such counters, all links of the path are named. If no port is known either, or only links that other connections
    cross, the claim names the connection.
    """
    again = [each for machine in _SENDER_TABLES for each in _retransmissions(table, machine) if each[1] > 0]
    links = _crossed(table, [row for row in table.links if row["technology"] == "ethernet"])
    links.sort(key=lambda row: -(filled_ratio(row) or 0.0))
    entities = [str(row["entity"]) for row in links] or ([] if table.links else _ethernet_initiators(table))
    if not again:
        return
    weight, ratio, sender = max(again)
    places = _loss_places(table, entities, ratio) if entities else _worst_connection(table)
    if not places:
        return
    entity, *others = places
    words = f"{sender} sent {percent(ratio)} of its TCP segments again: they were lost on the way"
    evidence = [
        Evidence(words, min(_MAX_RESENT_WEIGHT, weight)),
        *_timeout_evidence(table, ratio),
        *_tcp_evidence(table),
    ]
    yield _claim(table, entity, evidence, _RETRANSMIT_PRIOR, others=others)


def _crossed(table: PlaceTable, links: list[FactRow]) -> list[FactRow]:
    """The links that connections with lost segments cross; all, if the ends of one of these are not known. A link
    that only other connections cross lost nothing."""
    rows = () if table.tcp is None else (*table.tcp.rows, *table.tcp.opposite_rows)
    lost: dict[str, float] = {}
    for row in rows:
        lost[str(row["entity"])] = max(lost.get(str(row["entity"]), 0.0), number(row, "retransmit_ratio"))
    least = _CLEARLY_LOSSY_RATIO * max(lost.values(), default=0.0)
    lossy = {entity for entity, ratio in lost.items() if ratio >= least > 0}
    crossed = _links_between_ends(table, lossy)
    return links if crossed is None else [row for row in links if row["entity"] in crossed]


def _links_between_ends(table: PlaceTable, connections: Iterable[str]) -> set[str] | None:
    """The read links that these TCP connections cross. None: the ends of one are not known, or there is none."""
    ends = set(_ends(table, connections))
    if not ends or (None, None) in ends:
        return None
    return {
        cable.id
        for path in table.paths
        if not ends.isdisjoint(((path.hba, path.array_port), (path.hba, None), (None, path.array_port)))
        for cable in path.cables
    }


def _ends(table: PlaceTable, connections: Iterable[str]) -> Iterator[tuple[str | None, str | None]]:
    """The initiator and the target port at the ends of each of these TCP connections. None: it is not known."""
    topology = table.facts.topology
    by_address = {address: port.id for port in topology.of_kind("hba") for address in port.ids.get("ip", ())}
    for connection in connections:
        address = normalise("ip", str(topology.entities[connection].attributes.get("initiator_address") or ""))
        ends = topology.related(connection, "ends_at")
        hbas: list[str | None] = [end for end in ends if end.startswith("hba:")]
        targets: list[str | None] = [end for end in ends if end.startswith("array_port:")]
        if not hbas and address is not None:
            hbas = [by_address.get(address)]
        yield from product(hbas or [None], targets or [None])


def _timeout_evidence(table: PlaceTable, ratio: float) -> Iterator[Evidence]:
    """Evidence against loss if the waits for retransmissions, of at most a time-out each, are shorter together than
    the observed wait. `ratio`: share of segments retransmitted."""
    most = ratio * table.load.bytes_per_second / _USUAL_SEGMENT_BYTES * _TCP_TIMEOUT_SECONDS
    waited = _waited_seconds(table, _lossy_segments(table)) / table.load.latency_seconds
    if waited > most:
        words = f"each takes {duration(_TCP_TIMEOUT_SECONDS)} at most: {percent(most)} of the time"
        yield Evidence(words, max(_MIN_SHORT_WAIT_WEIGHT, (most - waited) / UNEXPLAINED))


def _tcp_evidence(table: PlaceTable) -> Iterator[Evidence]:
    """Evidence against lost segments if the wait is longer than polls saw data in TCP.

    A lost segment, and all data after it, waits in its sender's TCP until it is acknowledged. If a state lasts for a
    share u of the time, the probability that none of n polls sees it is (1 - u)^n.
    """
    tcp = table.tcp
    if tcp is None or not table.in_tcp or tcp.answers_sending_seconds is None:
        return
    of_answers = tcp.answers_sending_seconds * (1 + tcp.error)
    most = sum(table.segments[index].seconds[1] for index in table.in_tcp) + of_answers
    waited = _waited_seconds(table, _lossy_segments(table))
    unseen_ratio = min(1.0, (waited - most) / table.load.latency_seconds)
    if unseen_ratio > 0:
        words = f"TCP holds the commands, data and responses of an I/O for {duration(most)} at most"
        yield Evidence(words, max(_MIN_SHORT_WAIT_WEIGHT, tcp.polls * log(max(_MIN_RATIO, 1 - unseen_ratio))))


def _loss_places(table: PlaceTable, entities: Sequence[str], ratio: float) -> list[str]:
    """The link or port whose ends count most of the retransmitted segments, or several that are equally probable.

    A port counts only some of them, because more is retransmitted than was lost. A link whose port counts errors is
    more probable than one whose receiving end is not read, unless the port counts hardly any. `ratio`: share of
    segments retransmitted.
    """
    damaged, devices = _damaged_frames(table), _device_errors(table)
    lost = max(_MIN_RATIO, ratio * table.load.bytes_per_second / _USUAL_SEGMENT_BYTES)
    receivers = {str(row["entity"]): str(row["receiver"]) for row in table.links}
    unread = {e for e, end in receivers.items() if end.startswith(_KINDS) and end not in devices}
    unread |= {entity for entity in entities if entity not in damaged}
    shares = {e: round(max(damaged.get(e, 0.0) / lost, _UNREAD_END_SHARE * (e in unread)), 2) for e in entities}
    return [entity for entity in entities if shares[entity] == max(shares.values())]


def _worst_connection(table: PlaceTable) -> list[str]:
    """The connection that retransmits most of its segments in either direction; empty: none retransmits."""
    rows = () if table.tcp is None else (*table.tcp.rows, *table.tcp.opposite_rows)
    lossy = [row for row in rows if number(row, "retransmit_ratio") > 0]
    return [str(max(lossy, key=lambda row: number(row, "retransmit_ratio"))["entity"])] if lossy else []


def _ethernet_initiators(table: PlaceTable) -> list[str]:
    """The Ethernet ports of the load's hosts. Ports that count hardly any bytes of the load are left out."""
    load, entities = table.load, table.facts.topology.entities
    moved = _counts(table, "initiator", f"bytes_per_second_{load.direction}")
    least = LOADED * load.bytes_per_second
    ethernet = [port for port in table.initiators if entities[port].attributes.get("technology") == "ethernet"]
    return [port for port in ethernet if moved.get(port, least) >= least]


def _retransmissions(table: PlaceTable, sender: str) -> list[tuple[float, float, str]]:
    """(log-odds of loss, share of segments retransmitted, the sender in words) of each connection of the load, or, if
    connections are not read, of each host or array that counts them. Loss can limit only the side that sends the
    data."""
    sends_data, tcp = sender == _sender(table), table.tcp
    rows = () if tcp is None else tcp.rows if sends_data else tcp.opposite_rows
    found = [
        (row, number(row, "retransmit_ratio"), f"the {sender}, over {row['entity']},")
        for row in rows
        if row.get("retransmit_ratio") is not None
    ]
    found = found or [
        ({}, number(row, _RETRANSMIT_RATIO), "the array" if kind == "volume" else str(row["entity"]))
        for kind in _SENDER_TABLES[sender]
        for row in table.rows(kind)
        if row.get(_RETRANSMIT_RATIO) is not None
    ]
    return [
        (_loss_weight(table, ratio, row) if sends_data else _ratio_weight(ratio), ratio, words)
        for row, ratio, words in found
    ]


def _lossy_segments(table: PlaceTable) -> frozenset[int]:
    """The segments between host and array, and those above the paths of a multipath map, which repeats the I/Os that
    a path lost."""
    queues = enumerate(segment.queue for segment in table.segments)
    return table.gaps | {i for i, queue in queues if queue is not None and queue.below.plane == "device"}


def _waited_seconds(table: PlaceTable, segments: frozenset[int]) -> float:
    """Seconds that an I/O probably waits in these segments, independently of the number in flight."""
    return sum(table.segments[index].independent_wait[1] for index in segments)


def _damaged_frames(table: PlaceTable) -> dict[str, float]:
    """Links on the load's paths, and ports that belong to none of these links → damaged frames a second.

    A path with damaged frames carries little, so it may be missing from the loaded path.
    """
    by_device, by_link = _device_errors(table), dict[str, float]()
    cables = {cable.id for path in table.paths for cable in path.cables}
    for row in table.rows("link", direction=table.load.direction):
        if row["entity"] not in cables:
            continue
        counts = [number(row, name) for name in _COUNTERS if row[name] is not None][:1]
        ends = {f"{kind}:{end}" for kind in _KINDS for end in str(row["entity"]).partition(":")[2].split("--")}
        counts += [by_device.pop(end) for end in ends & by_device.keys()]
        if counts:
            by_link[str(row["entity"])] = sum(counts)
    return by_link | by_device


def _device_errors(table: PlaceTable) -> dict[str, float]:
    """Initiators and target ports of the load → damaged frames a second by their own counters."""
    ports = {*table.initiators, *table.targets, *table.array_ports}
    counts = (_counts(table, kind, *names) for kind, names in _DEVICE_COUNTERS.items())
    return {port: rate for by_port in counts for port, rate in by_port.items() if port in ports}


def _counts(table: PlaceTable, kind: str, *facts: str) -> dict[str, float]:
    """Entities of a fact table → the highest of these facts. Entities without any are left out."""
    rows = table.rows(kind)
    read = {str(row["entity"]): [number(row, fact) for fact in facts if row.get(fact) is not None] for row in rows}
    return {entity: max(values) for entity, values in read.items() if values}
