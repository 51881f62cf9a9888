"""Facts of the TCP connections of storage: round trips, retransmissions, and which window limits the sender."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from sanpath.facts.host.tested_machines import as_text
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples, counter_ratio
from sanpath.facts.table import FactRow, FactValue
from sanpath.model import DIRECTIONS, Direction
from sanpath.topology.keys import normalise
from sanpath.topology.paths import hosts_of, machines_of, targets_of
from sanpath.topology.topology import Topology

_KIND = "tcp_connection"


def tcp_connection_rows(
    topology: Topology, loads: Sequence[LoadFacts], samples: Sequence[StepSamples]
) -> Iterator[FactRow]:
    """Yield one row for the connections between two addresses, step and direction, if an end counted it.

    A sender's counters belong to the direction of the data that it sends: an initiator sends writes, a target sends
    reads.
    """
    by_row: dict[tuple[str, str], list[StepSamples]] = {}
    for sample in samples:
        if (entity := topology.known_as.get((sample.source, _KIND, sample.entity))) is not None:
            by_row.setdefault((entity, sample.step), []).append(sample)
    by_address = {address: port.id for port in topology.of_kind("hba") for address in port.ids.get("ip", ())}
    for (entity, step), counted in by_row.items():
        roots = sorted({root for load in loads if load.step == step for root in load.roots})
        on_path = _on_loaded_path(topology, entity, roots, by_address)
        attributes = topology.entities[entity].attributes
        for direction in DIRECTIONS:
            if (facts := _facts(counted, direction)) is not None:
                yield {
                    "entity": entity,
                    "step": step,
                    "direction": direction,
                    "windows": min(sample.windows for sample in counted),
                    "protocol": as_text(attributes.get("protocol")),
                    "initiator_address": as_text(attributes.get("initiator_address")),
                    "portal": as_text(attributes.get("portal")),
                    "on_loaded_path": on_path,
                    **facts,
                }


def _on_loaded_path(
    topology: Topology, entity: str, roots: Sequence[str], by_address: Mapping[str, str]
) -> bool | None:
    """Return whether connections lead from a host of the load to its storage. None: their initiator is not known."""
    ends = topology.related(entity, "ends_at")
    address = normalise("ip", str(topology.entities[entity].attributes.get("initiator_address") or ""))
    ports = [end for end in ends if topology.entities[end].kind == "hba"]
    ports += [by_address[address]] if address is not None and address in by_address else []
    hosts = {end for end in ends if topology.entities[end].kind == "host"}
    hosts |= {host for port in ports for host in topology.related(port, "attached_to", "host")}
    targets = {end for end in ends if topology.entities[end].kind == "array_port"}
    wanted, _ = targets_of(topology, *roots)
    if targets and wanted and targets.isdisjoint(wanted):
        return False
    machines = {m for root in roots for m in (*machines_of(topology, root), *hosts_of(topology, root))}
    return not machines.isdisjoint(hosts) if hosts else None


def _facts(samples: Collection[StepSamples], direction: Direction) -> dict[str, FactValue] | None:
    """Return the facts of one direction; None: no end has counted its bytes."""
    sender = _first_with(samples, f"bytes_acknowledged_{direction}_total")
    receiver = _first_with(samples, f"bytes_received_{direction}_total")
    counted = sender.rate(f"bytes_acknowledged_{direction}_total") if sender is not None else None
    if counted is None and receiver is not None:
        counted = receiver.rate(f"bytes_received_{direction}_total")
    if counted is None:
        return None
    unread = receiver.means.get(f"unread_bytes_{direction}") if receiver is not None else None
    facts: dict[str, FactValue] = {"bytes_per_second": counted, "unread_bytes": unread}
    return facts | _sender_facts(sender, direction, counted) if sender is not None else facts


def _sender_facts(sender: StepSamples, direction: Direction, bytes_per_second: float) -> dict[str, FactValue]:
    """Return the facts that a sender's counters give. Bytes in flight are the rate times the round trip (Little's
    law)."""

    def gauge(name: str) -> float | None:
        return sender.means.get(f"{name}_{direction}")

    def ratio(above: str, below: str) -> float | None:
        return counter_ratio(sender, f"{above}_{direction}_total", f"{below}_{direction}_total")

    round_trip, window, offered = map(gauge, ("round_trip_seconds", "congestion_window_bytes", "send_window_bytes"))
    smallest = sender.last_values.get(f"round_trip_seconds_min_{direction}")
    unsent, queued = gauge("unsent_bytes"), gauge("send_queue_bytes")
    receive, buffer = (ratio(f"{n}_limited_seconds", "busy_seconds") for n in ("receive_window", "send_buffer"))
    sent = "segments_sent"
    on_the_way = bytes_per_second * round_trip if round_trip is not None else None
    return {
        "connections": gauge("connections_in_use"),
        "round_trip_seconds": round_trip,
        "round_trip_seconds_min": smallest,
        "retransmit_ratio": _lost(ratio("segments_retransmitted", sent), ratio("duplicates_reported", sent)),
        "busy_connections": sender.rate(f"busy_seconds_{direction}_total"),
        "receive_window_ratio": receive,
        "send_buffer_ratio": buffer,
        "congestion_window_ratio": on_the_way / window if on_the_way is not None and window else None,
        "congestion_window_bytes": window,
        "send_window_bytes": offered,
        "unsent_seconds": unsent / bytes_per_second if unsent is not None and bytes_per_second else None,
        "sending_seconds": queued / bytes_per_second if queued is not None and bytes_per_second else None,
        "segment_bytes": gauge("segment_bytes"),
    }


def _lost(sent_again: float | None, needless: float | None) -> float | None:
    """Return the share of segments that were lost. None: not counted. Reordered packets look lost and are
    retransmitted needlessly: the receiver reports that it already had them (DSACK, RFC 3708)."""
    return None if sent_again is None else max(0.0, sent_again - (needless or 0.0))


def _first_with(samples: Collection[StepSamples], counter: str) -> StepSamples | None:
    return next((sample for sample in samples if sample.rate(counter) is not None), None)
