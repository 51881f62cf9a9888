"""The busiest of many links are those that the figures of every single link give, whatever their ports report."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from sanpath.facts.samples.counters import PORT_SPEED
from sanpath.model import Column, Rows, Table
from sanpath.pulse.busiest import MAX_LINKS, busiest_links
from sanpath.pulse.link_counters import Port, WiredLink
from sanpath.pulse.poll_rounds import Rounds

SOURCES = ("left", "right")
LINKS, POLLS, US = 60, 8, 1_000_000
COUNTERS = ("bytes_tx_total", "bytes_rx_total")


def polled(drawn: random.Random, bits: int) -> dict[str, Rounds]:
    """Two switches, some of whose ports are down, restart, wrap, answer late, appear, or count too much."""
    table = Table("switch_port", (*(Column(name, bits) for name in COUNTERS), Column(PORT_SPEED, scale=1e6)))
    rounds = {source: Rounds(cached=True) for source in SOURCES}
    for source in SOURCES:
        counted = [drawn.choice((0, drawn.randrange(2**31), 2**32 - 3 * 10**8)) for _ in range(LINKS)]
        speeds = [drawn.choice((None, 0.0, 4e3, 8e3, 16e3)) for _ in range(LINKS)]
        for poll in range(1, POLLS):
            number = LINKS - (10 if poll < 4 else 0)
            moved = [drawn.choice((0, 1, 300, 900, 5_000)) * 10**6 for _ in range(number)]
            counted[:number] = [
                0 if drawn.random() < 0.02 else (value + grown) % 2**bits
                for value, grown in zip(counted, moved, strict=False)
            ]
            values = {name: [None if drawn.random() < 0.02 else c for c in counted[:number]] for name in COUNTERS}
            times = [poll * US + drawn.choice((0, 0, 1_000)) for _ in range(number)]
            seen = [poll * US] * number
            for part in (slice(0, 20), slice(20, number)):
                rounds[source].take(
                    Rows(
                        table,
                        [f"port{index}" for index in range(number)][part],
                        seen[part],
                        {**{n: v[part] for n, v in values.items()}, PORT_SPEED: speeds[:number][part]},
                        times[part] if drawn.random() < 0.5 else None,
                    )
                )
    return rounds


def wired(drawn: random.Random) -> list[WiredLink]:
    """Links with one sampled port, with one at each end, with the same at both, and with one that nobody samples."""
    links = []
    for index in range(LINKS):
        near, far = (Port(source, f"port{index}", *COUNTERS) for source in drawn.sample(SOURCES, 2))
        other = replace(near, read=near.write, write=near.read)
        ports = drawn.choice(((near,), (near,), (near, far), (near, other), (replace(near, source="silent"),), ()))
        links.append(WiredLink(f"link{index}", drawn.choice(("fibre_channel", "ethernet")), ports))
    return links


@pytest.mark.parametrize("seed", range(40))
def test_they_are_those_of_every_single_link(seed: int) -> None:
    drawn = random.Random(seed)
    rounds, links = polled(drawn, drawn.choice((32, 64))), wired(drawn)
    each = [now for link in links for now in busiest_links([link], rounds)]
    expected = sorted(each, key=lambda now: now.utilisation, reverse=True)[:MAX_LINKS]
    assert busiest_links(links, rounds) == expected
    assert len(expected) == MAX_LINKS
