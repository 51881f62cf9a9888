"""Damaged or lost frames, and paths that fail: commands that time out, and TCP segments, are sent again.

Each costs far more than an I/O. A few bad frames a minute can take nearly all throughput of a test, because the I/Os
that wait for their time-out fill the queue. Error counters show it even where no source reads aborts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log

from sanpath.facts.fabric.link_measures import filled_ratio
from sanpath.facts.fabric.load_shares import LOADED
from sanpath.facts.table import FactRow, number
from sanpath.topology.paths import hosts_of_all
from sanpath.units import count, duration, percent
from sanpath.verdict.evidence.likelihoods import UNEXPLAINED, counted
from sanpath.verdict.evidence.tail import tail_weight
from sanpath.verdict.hypotheses.claim import Claim, Evidence, conclusion_of
from sanpath.verdict.places.table import PlaceTable
from sanpath.verdict.places.tcp_path import most_with_loss

_COUNTERS = ("crc_errors_per_second", "errors_per_second")
"""Link facts of damaged frames; the first that was read counts."""
_DEVICE_COUNTERS = {
    "array_port": ("crc_errors_per_second", "invalid_words_per_second", "errors_per_second"),
    "initiator": ("errors_per_second",),
}
"""Fact table → what its devices count of frames that arrived damaged."""
_KINDS = ("hba", "array_port")
_DAMAGE_MOST, _CONFIRMED = 5.0, 1.0
"""Largest log-odds of loss for damaged frames, and for commands aborted beside them: sanpath's own choices, 148 to 1
and 3 to 1. Paths that lose hardly anything to it have bad cables, too."""
_FULL = 0.8
"""Share of its slots in use from which I/Os wait for one that a lost I/O holds: sanpath's own choice."""
_ONE_EVENT = 0.5
"""Number of events below which none happened."""
_NO_ABORTS = -3.0
"""Log-odds where aborted commands are counted and there was none: sanpath's own choice, 1 to 20."""
_RETRANSMIT_RATIO = "tcp_retransmit_ratio"
_SENDER_TABLES: Mapping[str, tuple[str, ...]] = {"host": ("host",), "array": ("array", "volume")}
"""Sender of data → fact tables with its share. A volume has that of its array, which may have no facts of its own."""
_USUAL_LOSS = 0.01
"""Share of TCP segments sent again where only a full queue drops them.

A server whose media are full reads late what it is sent, so its hosts send it again (measured: 1 % over nvmet).
"""
_RETRANSMIT_MOST = 4.0
"""The most that segments sent again count for the claim: sanpath's own choice, 55 to 1. They prove the loss and
not its cost."""
_RETRANSMIT_PRIOR = -1.5
"""Log-odds that the loss limits the load, before the ratio was read: sanpath's own choice, 1 to 4."""
_ABORTS_ALONE = -2.0
"""Log-odds of lost commands where some were aborted and no damaged frame was counted: a stall, or an array that does
not answer, has them aborted as well. sanpath's own choice, 1 to 7."""
_TCP_TIMEOUT_SECONDS = 0.3
"""The shortest time-out of a connection that has measured its round trips (Windows; Linux: 0.2 s). Most lost segments
are sent again sooner, after three later ones have arrived (RFC 5681)."""
_USUAL_ROUND_TRIP_SECONDS = 2e-3
"""Round trip of a segment and its acknowledgement over a few switches, with the time that both ends need, and what
time-outs add: with time-outs a connection moves less than the bound (Padhye, Firoiu, Towsley and Kurose 1998)."""
_LOSS_ALLOWS = 2.0
"""Log-odds of loss where the load moves what it allows: without loss that limits, few networks lose so much."""
_LOSS_ALLOWS_READ = 3.5
"""The same where round trip, segments and bytes are those of the connection itself, so that the bound is its own."""
_ANYWHERE = 1e-4
"""Largest share of segments that a network loses which limits nothing: a fuller queue drops some now and then."""
_UNREAD_END = 0.05
"""Share of the segments sent again that a port has to count to be more suspect than an end that nobody reads."""
_USUAL_SEGMENT_BYTES = 1448.0
"""Payload of a full segment: an Ethernet frame of 1500 bytes less IP and TCP headers with time stamps (RFC 7323)."""
_TOO_SHORT = -9.0
"""Least log-odds of lost I/Os that cannot have taken so long."""
_NEVER = 1e-6
"""Smaller values count as this one, because 0 has no logarithm: sanpath's own choice."""
_FAILED_PATH = 2.0
"""Log-odds of a path that failed or came back in the step: what was sent over it was lost."""
_RARE = -0.7
"""Log-odds of damage before any reading: it is rarer than a queue or a link that is too small."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """A claim for damaged frames or aborted commands, one for TCP segments sent again, one for failed paths."""
    yield from _retransmitted(table)
    yield from _failed_paths(table)
    seconds = max(1.0, table.load.seconds or table.step.seconds)
    damaged = {place: rate * seconds for place, rate in _damaged_frames(table).items()}
    aborted = {device: rate * seconds for device, rate in _counts(table, "device", "aborts_per_second").items()}
    frames, commands = max(damaged.values(), default=0.0), max(aborted.values(), default=0.0)
    if max(frames, commands) < _ONE_EVENT:
        return
    counts, prior = (damaged, _RARE) if frames >= _ONE_EVENT else (aborted, _ABORTS_ALONE)
    entity, evidence = max(counts, key=lambda place: counts[place]), []
    if frames >= _ONE_EVENT:
        # An Ethernet port counts frames that it drops because its buffer is full beside those that are damaged.
        lost = "damaged or dropped" if table.has_ethernet else "damaged"
        words = f"{count(frames)} {lost} frames at {entity} in {seconds:.0f} s"
        evidence.append(Evidence(words, min(_DAMAGE_MOST, counted(frames))))
        evidence += _cost(table, sum(damaged.values()) / seconds)
        evidence += _hardly_sent_again(table)
    if aborted:
        weight = counted(commands) if commands >= _ONE_EVENT else _NO_ABORTS
        if frames >= _ONE_EVENT:  # The same damage, seen twice.
            weight = min(_CONFIRMED, weight)
        evidence.append(Evidence(f"{count(commands)} commands aborted in {seconds:.0f} s", weight))
    yield _claim(table, entity, evidence, prior)


def _failed_paths(table: PlaceTable) -> Iterator[Claim]:
    """A claim for each LUN of the load with a path that failed in the step, or comes and goes around it: its I/Os
    wait for a time-out first."""
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
                evidence = (Evidence(words, _FAILED_PATH),)
                yield _claim(table, f"path:{path}", evidence, _RARE, table.gaps, "all of its paths work")
                break


def _claim(
    table: PlaceTable,
    entity: str,
    evidence: Sequence[Evidence],
    prior: float,
    segments: frozenset[int] | None = None,
    without: str = "its error counters stand still",
    others: Sequence[str] = (),
) -> Claim:
    """`segments`: where I/Os wait, None: wherever what is lost makes them wait. `without`: what refutes the claim if
    the latency stays as it is. `others`: elements that lost them as probably as `entity`."""
    latency_seconds = table.load.latency_seconds
    weight, words = tail_weight(table.load)
    evidence = (*evidence, Evidence(words, weight)) if weight else tuple(evidence)
    explains = _where_lost(table) if segments is None else segments
    lost_seconds = _waited(table, explains)
    lost = f"about {duration(lost_seconds)} of {duration(latency_seconds)} are lost between host and array"
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


def _cost(table: PlaceTable, frames_per_second: float) -> Iterator[Evidence]:
    """Evidence against lost frames, of all places together, that cost too little. Each delays one I/O, by no
    more than the slowest I/O of the test took. Over TCP it delays all that follows on its connection, which is read
    in order, by no more than a time-out."""
    load = table.load
    limits = (
        (table.step.seconds, "the step took"),
        (load.slowest_seconds, "the slowest took"),
        (_TCP_TIMEOUT_SECONDS if table.has_ethernet else None, "TCP sends them again within"),
    )
    longest, because = min((seconds, words) for seconds, words in limits if seconds is not None)
    delayed = max(1.0, table.facts.in_flight_in(load.step)) if table.has_ethernet else 1.0
    most = min(1.0, delayed * frames_per_second / load.ops_per_second) * longest
    # What is lost holds its slot until it is sent again: I/Os that wait for a slot wait for it as well.
    full = {i for i, each in enumerate(table.segments) if each.queue is not None and (each.filled_ratio or 0) > _FULL}
    waited = _waited(table, _where_lost(table) - full)
    if waited > most:
        words = f"sent again, they cost an I/O {duration(most)} at most: {because} {duration(longest)}"
        yield Evidence(words, max(_TOO_SHORT, -(waited - most) / load.latency_seconds / UNEXPLAINED))


def _hardly_sent_again(table: PlaceTable) -> Iterator[Evidence]:
    """Evidence against lost frames over Ethernet where the sender of the data counts few segments again."""
    again = _sent_again(table, _sender(table)) if table.has_ethernet else []
    if again and (weight := max(_TOO_SHORT, *(weight for weight, _, _ in again))) < 0:
        ratio = max(ratio for _, ratio, _ in again)
        yield Evidence(f"at most {percent(ratio)} of the TCP segments were sent again", weight)


def _for_loss(table: PlaceTable, ratio: float, connection: FactRow) -> float:
    """Log-odds of loss as the limit by the share of TCP segments that the sender of the data sent again.

    The load speaks for loss where it moves in a round trip about what that allows, and against it where loss would
    allow far more. A connection moves just as much through a full queue that drops what it cannot hold: as far as a
    round trip is time in a queue, this speaks for neither, unless no link of the path is full enough to have one.
    `connection`: facts of the connection that carries it, empty: these are not read.
    """
    round_trip = number(connection, "round_trip_seconds")
    segment_bytes = number(connection, "segment_bytes") or _USUAL_SEGMENT_BYTES
    carried = number(connection, "bytes_per_second") / max(1.0, number(connection, "connections"))
    carried = carried or table.load.bytes_per_second
    allowed = most_with_loss(segment_bytes, max(ratio, _NEVER))
    round_trips = carried * (round_trip or _USUAL_ROUND_TRIP_SECONDS) / allowed
    alone_ratio = 1.0
    if round_trip:
        without_queue = number(connection, "round_trip_seconds_min") / round_trip
        alone_ratio = min(1.0, max(without_queue, _without_queue(table)))
    unusual_ratio = min(1.0, log(max(ratio, _NEVER) / _NEVER) / log(_ANYWHERE / _NEVER))
    # A receiver that has more to read than is on the way does not wait for what was lost.
    on_the_way, unread = carried * round_trip, number(connection, "unread_bytes")
    waits_ratio = on_the_way / (on_the_way + unread) if on_the_way else 1.0
    most = (_LOSS_ALLOWS_READ if round_trip else _LOSS_ALLOWS) * alone_ratio * unusual_ratio + 2 * log(waits_ratio)
    return max(_unusual(ratio), most + min(0.0, 4 * log(max(round_trips, _NEVER))))


def _without_queue(table: PlaceTable) -> float:
    """Share of the time in which no link of the path can have a queue: its port sends at once what arrives. 0: not
    every link is counted."""
    rows = [*table.on_path, *table.opposite_links]
    if table.uncounted or not table.on_path or any(row["utilisation"] is None for row in rows):
        return 0.0
    return max(0.0, 1 - max(filled_ratio(row) or 0.0 for row in rows))


def _unusual(ratio: float) -> float:
    """Log-odds of loss as the limit by a share of segments alone."""
    return 2 * log(max(ratio, _NEVER) / _USUAL_LOSS)


def _sender(table: PlaceTable) -> str:
    """Who sends the data."""
    return "array" if table.load.direction == "read" else "host"


def _retransmitted(table: PlaceTable) -> Iterator[Claim]:
    """A claim where host or array sent lost TCP segments again.

    They prove the loss, error counters its place: a link, or a port of the host where no link was read. Without such
    counters, all links of the path are named. Where no port is known either, the connection is named.
    """
    again = [each for machine in _SENDER_TABLES for each in _sent_again(table, machine) if each[1] > 0]
    links = [row for row in table.links if row["technology"] == "ethernet"]
    links.sort(key=lambda row: -(filled_ratio(row) or 0.0))
    entities = [str(row["entity"]) for row in links] or ([] if table.links else _ethernet_initiators(table))
    if not entities and table.tcp is not None and not table.links:
        entities = [str(row["entity"]) for row in table.tcp.rows]
    if not entities or not again:
        return
    weight, ratio, sender = max(again)
    entity, *others = _places_of_loss(table, entities, ratio)
    words = f"{sender} sent {percent(ratio)} of its TCP segments again: they were lost on the way"
    evidence = [Evidence(words, min(_RETRANSMIT_MOST, weight)), *_stalls(table, ratio), *_seen_in_tcp(table)]
    yield _claim(table, entity, evidence, _RETRANSMIT_PRIOR, others=others)


def _stalls(table: PlaceTable, ratio: float) -> Iterator[Evidence]:
    """Evidence against loss where segments are sent again so rarely that the waits after them, each of a time-out at
    most, hardly add up. `ratio`: share of segments sent again."""
    most = ratio * table.load.bytes_per_second / _USUAL_SEGMENT_BYTES * _TCP_TIMEOUT_SECONDS
    waited = _waited(table, _where_lost(table)) / table.load.latency_seconds
    if waited > most:
        words = f"each takes {duration(_TCP_TIMEOUT_SECONDS)} at most: {percent(most)} of the time"
        yield Evidence(words, max(_TOO_SHORT, (most - waited) / UNEXPLAINED))


def _seen_in_tcp(table: PlaceTable) -> Iterator[Evidence]:
    """Evidence against lost segments that cost more time than TCP was seen to have them in its hands.

    What is lost, and all that follows it, waits in its sender's TCP until it is acknowledged. A state that lasts a
    share u of the time is met by none of n polls with the probability (1 - u)^n.
    """
    tcp = table.tcp
    if tcp is None or not table.in_tcp or tcp.answers_sending_seconds is None:
        return
    of_answers = tcp.answers_sending_seconds * (1 + tcp.error)
    most = sum(table.segments[index].seconds[1] for index in table.in_tcp) + of_answers
    waited = _waited(table, _where_lost(table))
    unseen_ratio = min(1.0, (waited - most) / table.load.latency_seconds)
    if unseen_ratio > 0:
        words = f"TCP has commands, data and answers of an I/O for {duration(most)} at most"
        yield Evidence(words, max(_TOO_SHORT, tcp.polls * log(max(_NEVER, 1 - unseen_ratio))))


def _places_of_loss(table: PlaceTable, entities: Sequence[str], ratio: float) -> list[str]:
    """The link or port whose ends count most of the segments that were sent again, or several that are as probable.

    A port counts only a part of them, because more is sent again than was lost. It is more probably the place than
    one whose receiving end is not read, unless it counts next to none. `ratio`: share sent again.
    """
    damaged, devices = _damaged_frames(table), _device_errors(table)
    lost = max(_NEVER, ratio * table.load.bytes_per_second / _USUAL_SEGMENT_BYTES)
    receivers = {str(row["entity"]): str(row["receiver"]) for row in table.links}
    unread = {e for e, end in receivers.items() if end.startswith(_KINDS) and end not in devices}
    unread |= {entity for entity in entities if entity not in damaged}
    shares = {e: round(max(damaged.get(e, 0.0) / lost, _UNREAD_END * (e in unread)), 2) for e in entities}
    return [entity for entity in entities if shares[entity] == max(shares.values())]


def _ethernet_initiators(table: PlaceTable) -> list[str]:
    """The Ethernet ports of the load's hosts, without those that count none of its bytes."""
    load, entities = table.load, table.facts.topology.entities
    moved = _counts(table, "initiator", f"bytes_per_second_{load.direction}")
    least = LOADED * load.bytes_per_second
    ethernet = [port for port in table.initiators if entities[port].attributes.get("technology") == "ethernet"]
    return [port for port in ethernet if moved.get(port, least) >= least]


def _sent_again(table: PlaceTable, sender: str) -> list[tuple[float, float, str]]:
    """(log-odds of loss, share of segments sent again, its sender in words) of each connection of the load; where
    these are not read, of each host or array that counts it. Only who sends the data can be limited by it."""
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
        (_for_loss(table, ratio, row) if sends_data else _unusual(ratio), ratio, words) for row, ratio, words in found
    ]


def _where_lost(table: PlaceTable) -> frozenset[int]:
    """The segments between host and array, and above the paths of a multipath map, which repeats what a path lost."""
    queues = enumerate(segment.queue for segment in table.segments)
    return table.gaps | {i for i, queue in queues if queue is not None and queue.below.plane == "device"}


def _waited(table: PlaceTable, segments: frozenset[int]) -> float:
    """Seconds that an I/O is likely to wait in these segments, however many are in flight."""
    return sum(table.segments[index].independent_wait[1] for index in segments)


def _damaged_frames(table: PlaceTable) -> dict[str, float]:
    """Links on the load's paths, and ports at their ends that no switch counts → damaged frames a second.

    A path with damaged frames carries little: it need not count as part of the loaded path.
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
    """Entities of a fact table → the highest of these facts. Those of which none was read are left out."""
    rows = table.rows(kind)
    read = {str(row["entity"]): [number(row, fact) for fact in facts if row.get(fact) is not None] for row in rows}
    return {entity: max(values) for entity, values in read.items() if values}
