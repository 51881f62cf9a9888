from __future__ import annotations

import pytest

from sanpath_lab.physics.events import EventQueue
from sanpath_lab.physics.exchange import Exchange
from sanpath_lab.physics.fabric import Route
from sanpath_lab.physics.fibre_channel import data_bytes_per_second, sequence_of
from sanpath_lab.physics.link import Burst, LinkDirection

DATA = sequence_of(65536)
SECONDS_AT_4GFC = 32 * 2108 / 425e6


def exchange() -> Exchange:
    return Exchange("read", 65536, Route("", "", (), ()), lambda _: None)


def send(way: tuple[LinkDirection, ...], transfers: int, arrivals: list[float], events: EventQueue) -> None:
    for _ in range(transfers):
        way[0].send(Burst(exchange(), DATA, way, lambda _: arrivals.append(events.now)))


@pytest.fixture
def events() -> EventQueue:
    return EventQueue()


def test_a_full_4gfc_link_carries_6300_times_64_kib_and_counts_98_and_a_half_percent(events: EventQueue) -> None:
    link, arrivals = LinkDirection(events, 4, credits=64), list[float]()
    send((link,), 7000, arrivals, events)
    events.advance(1.0)
    assert len(arrivals) == 6300
    assert link.octets / data_bytes_per_second(4) == pytest.approx(0.985, abs=5e-4)
    assert link.frames == 6300 * 32
    assert link.stall_seconds == 0


def test_transfers_queue_one_behind_the_other(events: EventQueue) -> None:
    link, arrivals = LinkDirection(events, 4, credits=64), list[float]()
    send((link,), 3, arrivals, events)
    events.advance(1.0)
    assert arrivals == pytest.approx([SECONDS_AT_4GFC, 2 * SECONDS_AT_4GFC, 3 * SECONDS_AT_4GFC])


def test_a_switch_passes_on_the_first_frame_while_the_last_is_still_coming(events: EventQueue) -> None:
    way = (
        LinkDirection(events, 4, credits=64, forwarding_seconds=2e-6),
        LinkDirection(events, 4, credits=64),
    )
    arrivals = list[float]()
    send(way, 1, arrivals, events)
    events.advance(1.0)
    assert arrivals == pytest.approx([SECONDS_AT_4GFC + 2108 / 425e6 + 2e-6])


@pytest.mark.parametrize("speeds", [(4, 16), (16, 4)])
def test_two_links_in_a_row_are_as_fast_as_the_slower(events: EventQueue, speeds: tuple[int, int]) -> None:
    way = tuple(LinkDirection(events, speed, credits=64) for speed in speeds)
    arrivals = list[float]()
    send(way, 100, arrivals, events)
    events.advance(1.0)
    assert arrivals[-1] == pytest.approx(100 * SECONDS_AT_4GFC, rel=0.01)


def test_a_slow_line_into_a_fast_one_leaves_the_fast_one_free_for_others(events: EventQueue) -> None:
    """Four 4GFC senders into one 16GFC line: none of them is held up."""
    shared, arrivals = LinkDirection(events, 16, credits=256), list[float]()
    for _ in range(4):
        send((LinkDirection(events, 4, credits=64), shared), 50, arrivals, events)
    events.advance(1.0)
    assert arrivals[-1] == pytest.approx(50 * SECONDS_AT_4GFC, rel=0.05)


def test_a_slow_device_stalls_its_link_for_the_rest_of_the_time(events: EventQueue) -> None:
    link, arrivals = LinkDirection(events, 16, credits=64, drain_ratio=0.1), list[float]()
    send((link,), 10_000, arrivals, events)
    events.advance(1.0)
    sent = link.frames * 2108 / link.bytes_per_second
    assert sent == pytest.approx(0.1, rel=0.01)
    assert link.stall_seconds == pytest.approx(0.9, abs=0.01)
    assert link.stall_ticks == pytest.approx(link.stall_seconds * 400_000, abs=1)


def test_without_a_frame_to_send_missing_credit_is_no_stall(events: EventQueue) -> None:
    link, arrivals = LinkDirection(events, 16, credits=32, drain_ratio=0.01), list[float]()
    send((link,), 1, arrivals, events)
    events.advance(1.0)
    assert (len(arrivals), link.stall_seconds, link.stalls) == (1, 0, 0)


def test_an_ongoing_stall_is_counted_as_it_goes_on(events: EventQueue) -> None:
    link = LinkDirection(events, 16, credits=32, drain_ratio=1e-4)
    send((link,), 2, [], events)
    events.advance(0.1)
    before = link.stall_seconds
    events.advance(0.2)
    assert link.stall_seconds - before == pytest.approx(0.1)
    assert link.stalls == 1


def test_small_frames_take_their_time_on_the_line_and_wait_for_none(events: EventQueue) -> None:
    link, arrivals = LinkDirection(events, 4, credits=64), list[float]()
    for _ in range(1000):
        link.interleave(sequence_of(32))
    send((link,), 1, arrivals, events)
    events.advance(1.0)
    assert arrivals == pytest.approx([SECONDS_AT_4GFC + 1000 * 92 / 425e6])
    assert link.frames == 1032
