from __future__ import annotations

import pytest

from sanpath_lab.fibre_channel import LinkDirection, data_bytes_per_second, sequence_of


@pytest.mark.parametrize(
    ("gigabit", "megabytes_per_second"),
    [(1, 106.25), (2, 212.5), (4, 425.0), (8, 850.0), (16, 1700.0), (32, 3400.0)],
)
def test_data_rate_is_that_of_the_standard(gigabit: int, megabytes_per_second: float) -> None:
    assert data_bytes_per_second(gigabit) == pytest.approx(megabytes_per_second * 1e6)


def test_64_kib_take_32_full_frames() -> None:
    data = sequence_of(65536)
    assert (data.frames, data.octets, data.wire_bytes) == (32, 32 * 2076, 32 * 2108)


def test_an_odd_size_takes_one_short_frame_more() -> None:
    data = sequence_of(2049)
    assert (data.frames, data.octets, data.wire_bytes) == (2, 2049 + 56, 2049 + 120)


def test_a_full_4gfc_link_carries_6300_times_64_kib_and_counts_98_and_a_half_percent() -> None:
    link, data = LinkDirection(4), sequence_of(65536)
    transfers = 0
    while True:
        _, finish = link.reserve(data, earliest=0.0)
        if finish > 1.0:
            break
        link.count(data)
        transfers += 1
    assert transfers == 6300
    assert transfers * 65536 == pytest.approx(412.9e6, rel=1e-4)
    assert link.octets / data_bytes_per_second(4) == pytest.approx(0.985, abs=5e-4)


def test_a_transfer_waits_for_the_one_before_it() -> None:
    link, data = LinkDirection(8), sequence_of(2048)
    assert list(link.reserve(data, earliest=1.0)) == pytest.approx([1.0, 1.0 + 2108 / 850e6])
    assert link.reserve(data, earliest=0.5)[0] == pytest.approx(1.0 + 2108 / 850e6)
