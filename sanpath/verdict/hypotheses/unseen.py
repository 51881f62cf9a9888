"""Something that no source reads: it may account for any wait in its part of the path, and shows nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.facts.fabric.links import wire_seconds
from sanpath.facts.table import number
from sanpath.units import duration
from sanpath.verdict.hypotheses.claim import UNREAD, Claim, Evidence
from sanpath.verdict.hypotheses.queues import host_is_unread
from sanpath.verdict.hypotheses.tcp_windows import reports_windows
from sanpath.verdict.places.table import PlaceTable

_PRIOR = -2.0
"""Log-odds of a gap that no other hypothesis covers, against a place that is covered."""
_GAP = -1.3
"""The same for the gap between the host's last clock and the array's, where the links are counted: adapter, driver,
interrupts and TCP lie there beside the array's front end, and hardly any source reads them."""
_TCP_GAP = -0.9
"""The same over Ethernet: lost segments and the threads of the protocol lie there too."""
_TCP_WINDOW = 0.0
"""The same where a TCP window may be full as well: no source reads it, and it is as likely as an array's door."""
_LEAST_WINDOW_BYTES = 65_535
"""The receive window that a TCP header can name without scaling (RFC 9293, 3.1; RFC 7323, 2.2). No stack of today
offers less for long."""
_OUTSIDE_TCP = -1.8
"""The same where TCP's own clock shows what is in its hands: only adapter, driver and interrupts are left."""
_UNREAD_HOST = -1.8
"""The same where the host is not read: its queues are a claim of their own."""
_SLOW = 5.0
"""Ratio of transfer time to wire time from which the transfer waits for something."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for each gap between two clocks that no source looks into."""
    gaps = table.gaps
    # What the array times itself may grow with the wait in a gap, but is not explained by it alone.
    elsewhere = gaps | table.indices("array_service")
    evidence = (*_slow_transfer(table), *_full_window(table))
    for index in sorted(gaps):
        gap = frozenset({index})
        prior = _prior_with_tcp(table, index) if table.in_tcp else _prior(table)
        yield Claim("unseen", None, gap, evidence, prior=prior, verdict="cannot_tell", may_explain=elsewhere - gap)


def _prior(table: PlaceTable) -> float:
    """Log-odds of something unread in the gaps."""
    if _may_fill_window(table):
        return _TCP_WINDOW
    # Where no switch is read, the fabric is a likely place: no source reads it.
    if not table.links or (table.indices("below") and not table.on_path):
        return UNREAD
    if table.indices("below") and host_is_unread(table):
        return _UNREAD_HOST
    return _TCP_GAP if _uses_tcp(table) else _GAP


def _prior_with_tcp(table: PlaceTable, index: int) -> float:
    """The same where TCP's own clock splits the gap: loss and windows are claims of their own, and what is not in the
    hands of TCP is not in the fabric."""
    if index not in table.in_tcp:
        return _OUTSIDE_TCP
    return _PRIOR if table.links else UNREAD


def _uses_tcp(table: PlaceTable) -> bool:
    """Whether the load crosses Ethernet, by its links or by the host's initiators."""
    entities = table.facts.topology.entities
    technologies = {entities[hba].attributes.get("technology") for hba in table.initiators}
    return "ethernet" in technologies.union(row["technology"] for row in table.on_path)


def _may_fill_window(table: PlaceTable) -> bool:
    is_read = table.tcp is not None and reports_windows(table.tcp)
    return not is_read and _uses_tcp(table) and _on_the_way(table) >= _LEAST_WINDOW_BYTES


def _on_the_way(table: PlaceTable) -> float:
    """The most bytes that are on the way at once: throughput times the part of the gaps that need not be a wait.

    0: the array's time was not read, so that no gap tells the way from the array.
    """
    gaps = [table.segments[index] for index in table.indices("fabric", "array_door")]
    longest_trip_seconds = sum(max(0.0, segment.seconds[1] - segment.wait[0]) for segment in gaps)
    return table.load.bytes_per_second * longest_trip_seconds


def _full_window(table: PlaceTable) -> Iterator[Evidence]:
    """Words for a TCP window that may be full: the prior counts it."""
    if _may_fill_window(table):
        words = f"up to {_on_the_way(table) / 1e3:,.0f} kB are on the way at once, which a TCP window may limit"
        yield Evidence(words, 0.0)


def _slow_transfer(table: PlaceTable) -> Iterator[Evidence]:
    """Evidence of a transfer that takes far longer than the wire needs: something makes it wait."""
    wire = wire_seconds(table.facts.tables["link"], table.load)
    if table.array is None or table.array["san_seconds"] is None or not wire:
        return
    transfer_seconds = number(table.array, "san_seconds")
    if transfer_seconds > _SLOW * wire:
        words = f"the array takes {duration(transfer_seconds)} to transfer what the wire carries in {duration(wire)}"
        yield Evidence(words, 0.0)
