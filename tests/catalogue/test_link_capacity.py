"""Capacities against the arithmetic of FC-PI line rates and the frame model, worked out by hand."""

from __future__ import annotations

import pytest

from sanpath.catalogue.link_capacity import Technology, counted_per_payload, full_ratio, link_capacity

KIB = 1024

# speed, line rate GBd, payload bits a line bit, lanes and symbols a baud → data rate MB/s, counted and payload MB/s
# of a full link with 2 KiB frames: 2048 payload + 24 header + 4 CRC = 2076 counted, + 8 SOF/EOF + 24 fill = 2108.
SPEEDS = [
    ("1GFC", 1, 106.25, 105, 103),
    ("2GFC", 2, 212.5, 209, 206),
    ("4GFC", 4, 425, 419, 413),
    ("8GFC", 8, 850, 837, 826),
    ("10GFC", 10, 1275, 1256, 1239),
    ("16GFC", 16, 1700, 1674, 1652),
    ("32GFC", 32, 3400, 3348, 3303),
    ("64GFC", 64, 6800, 6697, 6606),
    ("128GFC", 128, 13200, 13000, 12824),
]


@pytest.mark.parametrize(("name", "gigabit", "data", "counted", "payload"), SPEEDS)
def test_fibre_channel_speeds(name: str, gigabit: float, data: float, counted: float, payload: float) -> None:
    capacity = link_capacity("fibre_channel", gigabit * 1e9)
    assert capacity is not None
    assert capacity.name == name
    assert capacity.data_bytes_per_second == pytest.approx(data * 1e6)
    full = full_ratio("fibre_channel", None) * capacity.data_bytes_per_second
    assert full / 1e6 == pytest.approx(counted, abs=0.7)
    assert full / counted_per_payload("fibre_channel", None) / 1e6 == pytest.approx(payload, abs=0.7)


@pytest.mark.parametrize(
    ("gbaud", "code", "data"),
    [(1.0625, 8 / 10, 106.25), (4.25, 8 / 10, 425), (8.5, 8 / 10, 850), (14.025, 64 / 66, 1700)],
)
def test_data_rates_follow_from_line_rate_and_encoding(gbaud: float, code: float, data: float) -> None:
    assert gbaud * 1e9 * code / 8 == pytest.approx(data * 1e6)
    assert data * 1e6 in [
        capacity.data_bytes_per_second
        for _, gigabit, *_ in SPEEDS
        if (capacity := link_capacity("fibre_channel", gigabit * 1e9)) is not None
    ]


@pytest.mark.parametrize("speed", [0, -1, 3e9, 12e9])
def test_a_speed_that_does_not_exist_has_no_capacity(speed: float) -> None:
    assert link_capacity("fibre_channel", speed) is None


# Counted over wire bytes by hand: data frames of up to 2,048 bytes, each + 28 counted and + 60 on the wire, and the
# response of the block, 24 + 28 counted and 24 + 60 on the wire.
@pytest.mark.parametrize(
    ("block", "counted", "wire", "rounded"),
    [
        (512, 512 + 28 + 52, 512 + 60 + 84, 0.90),
        (4 * KIB, 2 * 2076 + 52, 2 * 2108 + 84, 0.978),
        (8 * KIB, 4 * 2076 + 52, 4 * 2108 + 84, 0.981),
        (64 * KIB, 32 * 2076 + 52, 32 * 2108 + 84, 0.984),
        (1024 * KIB, 512 * 2076 + 52, 512 * 2108 + 84, 0.984),
        (3000, 3000 + 2 * 28 + 52, 3000 + 2 * 60 + 84, 0.970),
    ],
)
def test_what_a_full_fibre_channel_link_reads(block: float, counted: float, wire: float, rounded: float) -> None:
    assert full_ratio("fibre_channel", block) == pytest.approx(counted / wire)
    assert full_ratio("fibre_channel", block) == pytest.approx(rounded, abs=0.005)
    assert counted_per_payload("fibre_channel", block) == pytest.approx(counted / block)


def test_blocks_of_unknown_size_are_taken_for_large_ones() -> None:
    assert full_ratio("fibre_channel", None) == pytest.approx(2076 / 2108)


@pytest.mark.parametrize(
    ("bits", "name"), [(10e9, "10 Gb/s Ethernet"), (25e9, "25 Gb/s Ethernet"), (4e8, "400 Mb/s")]
)
def test_ethernet_carries_its_nominal_speed(bits: float, name: str) -> None:
    capacity = link_capacity("ethernet", bits)
    assert capacity is not None
    assert capacity.data_bytes_per_second == bits / 8
    assert capacity.name.startswith(name)
    # Full frames of 1,518 octets, 20 more for preamble and gap; 64 KiB are 44 full frames and a last one of 1,296:
    # (65536 + 45 x 58) / (65536 + 45 x 78) = 0.987.
    assert full_ratio("ethernet", None) == pytest.approx(1518 / 1538)
    assert full_ratio("ethernet", 64 * KIB) == pytest.approx(68146 / 69046)


@pytest.mark.parametrize("technology", ["fibre_channel", "ethernet"])
def test_a_full_link_never_reads_all_of_its_data_rate(technology: Technology) -> None:
    ratios = [full_ratio(technology, 512 * 2**n) for n in range(12)]
    assert all(0.8 < ratio < 1 for ratio in ratios)
    assert ratios[0] == min(ratios)
