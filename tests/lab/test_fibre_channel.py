from __future__ import annotations

import pytest

from sanpath_lab.physics.fibre_channel import bursts_of, data_bytes_per_second, sequence_of


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


def test_bursts_carry_what_the_whole_carries_and_the_response_goes_out_with_the_last() -> None:
    response = sequence_of(24)
    bursts = bursts_of(200_000, 32, response)
    whole = sequence_of(200_000) + response
    assert [burst.frames for burst in bursts] == [32, 32, 32, 3]
    assert sum(burst.octets for burst in bursts) == whole.octets
    assert sum(burst.wire_bytes for burst in bursts) == whole.wire_bytes
